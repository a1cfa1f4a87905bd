//! Sessions of the pages. Only digests of their tokens are known.

use super::old_rows::OldRows;
use super::people::Person;
use super::{StoreError, Transaction, on_either};

/// Begins a session of a person, which ends at `expires_at` at the latest.
///
/// # Errors
/// Those of the database.
pub async fn insert(
    transaction: &mut Transaction,
    digest: &str,
    person: &Person,
    now: i64,
    expires_at: i64,
) -> Result<(), StoreError> {
    on_either!(transaction, connection => {
        sqlx::query(
            "INSERT INTO sessions (digest, person_id, role, created_at, used_at, expires_at) VALUES ($1, $2, $3, $4, $4, $5)",
        )
        .bind(digest)
        .bind(&person.id)
        .bind(&person.role)
        .bind(now)
        .bind(expires_at)
        .execute(connection)
        .await?;
    });
    Ok(())
}

/// Returns the person of a session, and when it was last used: if it has not expired, was used since `used_since`, and the person is not
/// disabled and has the role of its beginning.
///
/// # Errors
/// Those of the database.
pub async fn holder(
    transaction: &mut Transaction,
    digest: &str,
    now: i64,
    used_since: i64,
) -> Result<Option<(Person, i64)>, StoreError> {
    type SessionRow = (String, String, String, bool, i64, i64);
    let row: Option<SessionRow> = on_either!(transaction, connection => {
        sqlx::query_as(
            "SELECT people.id, people.name, people.role, people.disabled, people.created_at, sessions.used_at \
             FROM sessions JOIN people ON people.id = sessions.person_id AND people.role = sessions.role \
             WHERE sessions.digest = $1 AND sessions.expires_at > $2 AND sessions.used_at > $3 AND NOT people.disabled",
        )
        .bind(digest)
        .bind(now)
        .bind(used_since)
        .fetch_optional(connection)
        .await?
    });
    Ok(row.map(|(id, name, role, disabled, created_at, used_at)| {
        let person = Person {
            id,
            name,
            role,
            disabled,
            created_at,
        };
        (person, used_at)
    }))
}

/// Notes that a session is used.
///
/// # Errors
/// Those of the database.
pub async fn touch(
    transaction: &mut Transaction,
    digest: &str,
    now: i64,
) -> Result<(), StoreError> {
    on_either!(transaction, connection => {
        sqlx::query("UPDATE sessions SET used_at = $2 WHERE digest = $1")
            .bind(digest)
            .bind(now)
            .execute(connection)
            .await?;
    });
    Ok(())
}

/// Ends a session.
///
/// # Errors
/// Those of the database.
pub async fn remove(transaction: &mut Transaction, digest: &str) -> Result<(), StoreError> {
    on_either!(transaction, connection => {
        sqlx::query("DELETE FROM sessions WHERE digest = $1")
            .bind(digest)
            .execute(connection)
            .await?;
    });
    Ok(())
}

/// Ends all sessions of a person, but for one.
///
/// # Errors
/// Those of the database.
pub async fn remove_others(
    transaction: &mut Transaction,
    person: &str,
    but: &str,
) -> Result<(), StoreError> {
    on_either!(transaction, connection => {
        sqlx::query("DELETE FROM sessions WHERE person_id = $1 AND digest <> $2")
            .bind(person)
            .bind(but)
            .execute(connection)
            .await?;
    });
    Ok(())
}

/// Sessions that have expired by a moment.
pub const EXPIRED: OldRows = OldRows {
    table: "sessions",
    key: "digest",
    condition: "expires_at <= $1",
    lock: None,
};

/// Sessions that were not used since a moment.
pub const IDLE: OldRows = OldRows {
    table: "sessions",
    key: "digest",
    condition: "used_at <= $1",
    lock: None,
};
