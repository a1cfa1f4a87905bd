//! People, and what each may do.

use super::erasures::Pseudonyms;
use super::{StoreError, Transaction, on_either};

/// A person, or a program that stands for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The id, which is the `owner` of this person's keys.
    pub id: String,
    /// The name.
    pub name: String,
    /// `admin`, `member`, `viewer` or `agent`.
    pub role: String,
    /// Whether nothing is allowed any more.
    pub disabled: bool,
    /// When, in microseconds since 1970.
    pub created_at: i64,
}

type PersonRow = (String, String, String, bool, i64);

fn of(row: PersonRow) -> Person {
    Person {
        id: row.0,
        name: row.1,
        role: row.2,
        disabled: row.3,
        created_at: row.4,
    }
}

/// Adds a person.
///
/// # Errors
/// [`StoreError::Rule`]: the id is another one's too, or was that of somebody whose data was erased, or there is no such role.
pub async fn insert(transaction: &mut Transaction, person: &Person) -> Result<(), StoreError> {
    if Pseudonyms::read(transaction)
        .await?
        .of(&person.id)
        .is_some()
    {
        let why = "this id was that of a person whose data was erased: choose another one";
        return Err(StoreError::Rule(why.to_owned()));
    }
    on_either!(transaction, connection => {
        sqlx::query("INSERT INTO people (id, name, role, disabled, created_at) VALUES ($1, $2, $3, $4, $5)")
            .bind(&person.id)
            .bind(&person.name)
            .bind(&person.role)
            .bind(person.disabled)
            .bind(person.created_at)
            .execute(connection)
            .await?;
    });
    Ok(())
}

/// Changes name, role and whether one is disabled. Sessions of the pages end with another role, and when one is disabled.
/// False: there is none.
///
/// # Errors
/// [`StoreError::Rule`]: there is no such role.
pub async fn update(transaction: &mut Transaction, person: &Person) -> Result<bool, StoreError> {
    let changed = on_either!(transaction, connection => {
        sqlx::query("UPDATE people SET name = $2, role = $3, disabled = $4 WHERE id = $1")
            .bind(&person.id)
            .bind(&person.name)
            .bind(&person.role)
            .bind(person.disabled)
            .execute(connection)
            .await?
            .rows_affected()
    });
    on_either!(transaction, connection => {
        sqlx::query("DELETE FROM sessions WHERE person_id = $1 AND (role <> $2 OR $3)")
            .bind(&person.id)
            .bind(&person.role)
            .bind(person.disabled)
            .execute(connection)
            .await?;
    });
    if person.disabled {
        super::sign_in_links::remove_all(transaction, &person.id).await?;
    }
    Ok(changed > 0)
}

/// Removes a person, with sessions, links, tokens, password and memberships. False: there is none.
///
/// # Errors
/// Those of the database.
pub async fn remove(transaction: &mut Transaction, id: &str) -> Result<bool, StoreError> {
    super::api_tokens::remove_all(transaction, id).await?;
    let removed = on_either!(transaction, connection => {
        sqlx::query("DELETE FROM people WHERE id = $1").bind(id).execute(connection).await?.rows_affected()
    });
    Ok(removed > 0)
}

/// The person of this id.
///
/// # Errors
/// Those of the database.
pub async fn find(transaction: &mut Transaction, id: &str) -> Result<Option<Person>, StoreError> {
    let row: Option<PersonRow> = on_either!(transaction, connection => {
        sqlx::query_as("SELECT id, name, role, disabled, created_at FROM people WHERE id = $1")
            .bind(id)
            .fetch_optional(connection)
            .await?
    });
    Ok(row.map(of))
}

/// People with ids after one.
///
/// # Errors
/// Those of the database.
pub async fn list(
    transaction: &mut Transaction,
    after: &str,
    limit: i64,
) -> Result<Vec<Person>, StoreError> {
    let rows: Vec<PersonRow> = on_either!(transaction, connection => {
        sqlx::query_as(
            "SELECT id, name, role, disabled, created_at FROM people WHERE id > $1 ORDER BY id LIMIT $2",
        )
        .bind(after)
        .bind(limit)
        .fetch_all(connection)
        .await?
    });
    Ok(rows.into_iter().map(of).collect())
}

/// Lets nobody else add or change people until the transaction ends.
///
/// # Errors
/// Those of the database.
pub async fn lock(transaction: &mut Transaction) -> Result<(), StoreError> {
    if let Transaction::Postgres(inner) = transaction {
        sqlx::query("LOCK TABLE people IN SHARE ROW EXCLUSIVE MODE")
            .execute(&mut **inner)
            .await?;
    }
    Ok(())
}

/// How many admins are not disabled.
///
/// # Errors
/// Those of the database.
pub async fn count_admins(transaction: &mut Transaction) -> Result<i64, StoreError> {
    Ok(on_either!(transaction, connection => {
        sqlx::query_scalar("SELECT count(*) FROM people WHERE role = 'admin' AND NOT disabled")
            .fetch_one(connection)
            .await?
    }))
}
