//! People, and what each may do.

use super::erasures::Pseudonyms;
use super::locked_row::{LockedRow, for_update};
use super::{StoreError, Transaction, execute, fetch, stopped_keys};

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
    /// The time at which the person was added, in microseconds since 1970.
    pub created_at: i64,
    /// The group of keys that sign-ins of this person make, if one is chosen.
    pub key_group: Option<String>,
}

/// The numbers of what a person can be recognized by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PersonAccess {
    /// Open sessions of the pages.
    pub sessions: i64,
    /// Links that sign in.
    pub links: i64,
    /// Tokens of the API.
    pub tokens: i64,
    /// Sign-ins of clients.
    pub sign_ins: i64,
    /// Keys that are not disabled, old values among them.
    pub keys: i64,
    /// Keys that were disabled with the person.
    pub stopped_keys: i64,
}

/// Counts what a person can be recognized by now; sessions that were not used since `used_since` have ended.
///
/// # Errors
/// Those of the database.
pub async fn count_access(
    transaction: &mut Transaction,
    person: &str,
    now: i64,
    used_since: i64,
) -> Result<PersonAccess, StoreError> {
    let (sessions, links, tokens, sign_ins): (i64, i64, i64, i64) = fetch!(
        transaction,
        query_as.fetch_one,
        "SELECT (SELECT count(*) FROM sessions WHERE person_id = $1 AND expires_at > $2 AND used_at > $3), \
         (SELECT count(*) FROM sign_in_links WHERE person_id = $1 AND expires_at > $2), \
         (SELECT count(*) FROM api_tokens WHERE person_id = $1 AND (expires_at IS NULL OR expires_at > $2)), \
         (SELECT count(*) FROM client_sign_ins WHERE person_id = $1 AND expires_at > $2)",
        (person, now, used_since)
    );
    let (keys, stopped_keys) = stopped_keys::count(transaction, person).await?;
    Ok(PersonAccess {
        sessions,
        links,
        tokens,
        sign_ins,
        keys,
        stopped_keys,
    })
}

/// A person as the database has it.
pub(super) type PersonRow = (String, String, String, bool, i64, Option<String>);

pub(super) fn of(row: PersonRow) -> Person {
    Person {
        id: row.0,
        name: row.1,
        role: row.2,
        disabled: row.3,
        created_at: row.4,
        key_group: row.5,
    }
}

const BY_ID: &str =
    "SELECT id, name, role, disabled, created_at, key_group FROM people WHERE id = $1";

/// The rule of a person's id, for the error of another one.
pub const ID: &str = "must be 1 to 128 signs of ASCII without blanks and capital letters, and neither command nor stranger";

/// Whether this may be the id of a person. One way of writing it only: nobody is taken for somebody else.
pub fn is_id(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_graphic() && !byte.is_ascii_uppercase();
    (1..=128).contains(&text.len()) && text.bytes().all(is_sign) && !super::audit::is_reserved(text)
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
    execute!(
        transaction,
        "INSERT INTO people (id, name, role, disabled, created_at, key_group) VALUES ($1, $2, $3, $4, $5, $6)",
        (
            &person.id,
            &person.name,
            &person.role,
            person.disabled,
            person.created_at,
            &person.key_group
        )
    )
}

/// Changes name, role, group of keys and whether one is disabled. Sessions of the pages and tokens end with another role, and when one is
/// disabled; so do links and known devices then. The ids of the tokens that have ended.
///
/// # Errors
/// [`StoreError::Rule`]: there is no such role.
pub async fn update(
    transaction: &mut Transaction,
    before: &LockedRow<Person>,
    person: &Person,
) -> Result<Vec<String>, StoreError> {
    execute!(
        transaction,
        "UPDATE people SET name = $2, role = $3, disabled = $4, key_group = $5 WHERE id = $1",
        (
            &before.id,
            &person.name,
            &person.role,
            person.disabled,
            &person.key_group
        )
    )?;
    execute!(
        transaction,
        "DELETE FROM sessions WHERE person_id = $1 AND (role <> $2 OR $3)",
        (&before.id, &person.role, person.disabled)
    )?;
    if person.disabled {
        super::sign_in_links::remove_all(transaction, &before.id).await?;
        super::sign_in_devices::remove_all(transaction, &before.id).await?;
    }
    if person.disabled || person.role != before.role {
        return super::api_tokens::remove_all(transaction, &before.id).await;
    }
    Ok(Vec::new())
}

/// The addresses from which a person's keys may be used, a JSON list; `None`: any.
///
/// # Errors
/// Those of the database.
pub async fn addresses(
    transaction: &mut Transaction,
    id: &str,
) -> Result<Option<String>, StoreError> {
    let row: Option<Option<String>> = fetch!(
        transaction,
        query_scalar.fetch_optional,
        "SELECT addresses FROM people WHERE id = $1",
        (id)
    );
    Ok(row.flatten())
}

/// Sets them. The transaction has its turn to change keys: the feed tells the person's keys anew.
///
/// # Errors
/// Those of the database.
pub async fn set_addresses(
    transaction: &mut Transaction,
    person: &LockedRow<Person>,
    addresses: Option<&str>,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE people SET addresses = $2 WHERE id = $1",
        (&person.id, addresses)
    )?;
    // The triggers of keys look at their owner.
    execute!(
        transaction,
        "UPDATE keys SET disabled = disabled WHERE owner = $1",
        (&person.id)
    )
}

/// Removes a person, with sessions, links, tokens, password and memberships.
///
/// # Errors
/// Those of the database.
pub async fn remove(
    transaction: &mut Transaction,
    person: &LockedRow<Person>,
) -> Result<(), StoreError> {
    super::api_tokens::remove_all(transaction, &person.id).await?;
    execute!(
        transaction,
        "DELETE FROM people WHERE id = $1",
        (&person.id)
    )
}

/// The person of this id.
///
/// # Errors
/// Those of the database.
pub async fn find(transaction: &mut Transaction, id: &str) -> Result<Option<Person>, StoreError> {
    let row: Option<PersonRow> = fetch!(transaction, query_as.fetch_optional, BY_ID, (id));
    Ok(row.map(of))
}

/// The person of this id, to be changed or removed, or to get a token, a link or a session: of those none is made for a person who
/// is disabled at the same moment.
///
/// # Errors
/// Those of the database.
pub async fn find_locked(
    transaction: &mut Transaction,
    id: &str,
) -> Result<Option<LockedRow<Person>>, StoreError> {
    let sql = for_update(transaction, BY_ID).await?;
    let row: Option<PersonRow> = fetch!(transaction, query_as.fetch_optional, sql, (id));
    Ok(row.map(of).map(LockedRow::new))
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
    let rows: Vec<PersonRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT id, name, role, disabled, created_at, key_group FROM people WHERE id > $1 ORDER BY id LIMIT $2",
        (after, limit)
    );
    Ok(rows.into_iter().map(of).collect())
}

/// Lets nobody else add or change people until the transaction ends.
///
/// # Errors
/// Those of the database.
pub async fn lock(transaction: &mut Transaction) -> Result<(), StoreError> {
    // Before it, as everywhere.
    Pseudonyms::share(transaction).await?;
    if let Transaction::Postgres(inner) = transaction {
        sqlx::query("LOCK TABLE people IN SHARE ROW EXCLUSIVE MODE")
            .execute(&mut **inner)
            .await?;
    }
    Ok(())
}

/// Counts the admins that are not disabled.
///
/// # Errors
/// Those of the database.
pub async fn count_admins(transaction: &mut Transaction) -> Result<i64, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_one,
        "SELECT count(*) FROM people WHERE role = 'admin' AND NOT disabled",
        ()
    ))
}
