//! Sessions of the pages. Only digests of their tokens are known.

use super::old_rows::OldRows;
use super::people::Person;
use super::{StoreError, Transaction, execute, fetch};

/// Begins a session of a person, which ends at `expires_at` at the latest; by an identity provider, if one is named.
///
/// # Errors
/// Those of the database.
pub async fn insert(
    transaction: &mut Transaction,
    digest: &str,
    person: &Person,
    provider: Option<&str>,
    now: i64,
    expires_at: i64,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO sessions (digest, person_id, role, created_at, used_at, expires_at, provider_id) VALUES ($1, $2, $3, $4, $4, $5, $6)",
        (digest, &person.id, &person.role, now, expires_at, provider)
    )
}

/// The holder of an open session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionHolder {
    /// The person.
    pub person: Person,
    /// The time of its last use, as far as that is noted, in microseconds since 1970.
    pub used_at: i64,
    /// The identity provider by which it began, and when that was last asked about the person; `None`: it began otherwise.
    pub provider: Option<(String, i64)>,
}

/// Returns the holder of a session: if it has not expired, was used since `used_since`, and the person is not disabled and has the
/// role of its beginning.
///
/// # Errors
/// Those of the database.
pub async fn holder(
    transaction: &mut Transaction,
    digest: &str,
    now: i64,
    used_since: i64,
) -> Result<Option<SessionHolder>, StoreError> {
    type SessionRow = (
        String,
        String,
        String,
        bool,
        i64,
        Option<String>,
        i64,
        Option<String>,
        Option<i64>,
    );
    let row: Option<SessionRow> = fetch!(
        transaction,
        query_as.fetch_optional,
        "SELECT people.id, people.name, people.role, people.disabled, people.created_at, people.key_group, sessions.used_at, \
         sessions.provider_id, identities.asked_at \
         FROM sessions JOIN people ON people.id = sessions.person_id AND people.role = sessions.role \
         LEFT JOIN identities ON identities.provider_id = sessions.provider_id AND identities.person_id = people.id \
         WHERE sessions.digest = $1 AND sessions.expires_at > $2 AND sessions.used_at > $3 AND NOT people.disabled",
        (digest, now, used_since)
    );
    Ok(row.map(
        |(id, name, role, disabled, created_at, key_group, used_at, provider, asked_at)| {
            SessionHolder {
                person: Person {
                    id,
                    name,
                    role,
                    disabled,
                    created_at,
                    key_group,
                },
                used_at,
                provider: provider.zip(asked_at),
            }
        },
    ))
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
    execute!(
        transaction,
        "UPDATE sessions SET used_at = $2 WHERE digest = $1",
        (digest, now)
    )
}

/// A session, as far as it may be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSession {
    /// The digest of its token.
    pub digest: String,
    /// The time at which it began, in microseconds since 1970.
    pub created_at: i64,
    /// The time of its last use, as far as that is noted.
    pub used_at: i64,
    /// The time at which it ends at the latest.
    pub expires_at: i64,
}

/// Open sessions of a person that began before one, the latest first.
///
/// # Errors
/// Those of the database.
pub async fn of_person(
    transaction: &mut Transaction,
    person: &str,
    (now, used_since): (i64, i64),
    before: Option<(i64, String)>,
    limit: i64,
) -> Result<Vec<OpenSession>, StoreError> {
    let (began, digest) = before.unwrap_or((i64::MAX, String::new()));
    let rows: Vec<(String, i64, i64, i64)> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT digest, created_at, used_at, expires_at FROM sessions WHERE person_id = $1 AND expires_at > $2 AND used_at > $3 \
         AND (created_at, digest) < ($4, $5) ORDER BY created_at DESC, digest DESC LIMIT $6",
        (person, now, used_since, began, &digest, limit)
    );
    let open = rows
        .into_iter()
        .map(|(digest, created_at, used_at, expires_at)| OpenSession {
            digest,
            created_at,
            used_at,
            expires_at,
        });
    Ok(open.collect())
}

/// Ends a session.
///
/// # Errors
/// Those of the database.
pub async fn remove(transaction: &mut Transaction, digest: &str) -> Result<(), StoreError> {
    execute!(
        transaction,
        "DELETE FROM sessions WHERE digest = $1",
        (digest)
    )
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
    execute!(
        transaction,
        "DELETE FROM sessions WHERE person_id = $1 AND digest <> $2",
        (person, but)
    )
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
