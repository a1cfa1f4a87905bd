//! The identities of people at identity providers.

use super::{StoreError, Transaction, execute, fetch, on_either};

/// A person, as an identity provider knows the person. `Debug` does not print the refresh token.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The provider's id.
    pub provider: String,
    /// The name of the person at the provider, which never changes (`sub`).
    pub subject: String,
    /// The person's id.
    pub person: String,
    /// The refresh token, sealed (`identity_providers/secrets.rs`); `None`: the provider gave none.
    pub refresh_token: Option<String>,
    /// The time at which the provider last vouched for the person, in microseconds since 1970.
    pub checked_at: i64,
    /// The time at which the provider was last asked.
    pub asked_at: i64,
    /// Whether the provider has ended it, until the next sign-in.
    pub ended: bool,
    /// The role that a rule gave last.
    pub given_role: Option<String>,
    /// The group of keys that a rule gave last.
    pub given_key_group: Option<String>,
    /// The time of the first sign-in, in microseconds since 1970.
    pub created_at: i64,
}

impl core::fmt::Debug for Identity {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Identity")
            .field("provider", &self.provider)
            .field("person", &self.person)
            .finish_non_exhaustive()
    }
}

/// The identities that are read at once.
const READ: i64 = 500;

type IdentityRow = (
    String,
    String,
    String,
    Option<String>,
    i64,
    i64,
    bool,
    Option<String>,
    Option<String>,
    i64,
);

fn of(row: IdentityRow) -> Identity {
    Identity {
        provider: row.0,
        subject: row.1,
        person: row.2,
        refresh_token: row.3,
        checked_at: row.4,
        asked_at: row.5,
        ended: row.6,
        given_role: row.7,
        given_key_group: row.8,
        created_at: row.9,
    }
}

/// Adds an identity, or puts it in the place of what was known of the same.
///
/// # Errors
/// [`StoreError::Conflict`]: the person is another subject's of this provider by now, or is no more.
pub async fn set(transaction: &mut Transaction, identity: &Identity) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO identities (provider_id, subject, person_id, refresh_token, checked_at, asked_at, ended, given_role, given_key_group, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT (provider_id, subject) DO UPDATE SET refresh_token = excluded.refresh_token, checked_at = excluded.checked_at, \
         asked_at = excluded.asked_at, ended = excluded.ended, given_role = excluded.given_role, given_key_group = excluded.given_key_group",
        (
            &identity.provider,
            &identity.subject,
            &identity.person,
            &identity.refresh_token,
            identity.checked_at,
            identity.asked_at,
            identity.ended,
            &identity.given_role,
            &identity.given_key_group,
            identity.created_at
        )
    )
}

/// The identity of a subject.
///
/// # Errors
/// Those of the database.
pub async fn find(
    transaction: &mut Transaction,
    provider: &str,
    subject: &str,
) -> Result<Option<Identity>, StoreError> {
    let row: Option<IdentityRow> = fetch!(
        transaction,
        query_as.fetch_optional,
        "SELECT provider_id, subject, person_id, refresh_token, checked_at, asked_at, ended, given_role, given_key_group, created_at \
         FROM identities WHERE provider_id = $1 AND subject = $2",
        (provider, subject)
    );
    Ok(row.map(of))
}

/// The identities of a person, in the order of the providers.
///
/// # Errors
/// Those of the database.
pub async fn of_person(
    transaction: &mut Transaction,
    person: &str,
) -> Result<Vec<Identity>, StoreError> {
    let rows: Vec<IdentityRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT provider_id, subject, person_id, refresh_token, checked_at, asked_at, ended, given_role, given_key_group, created_at \
         FROM identities WHERE person_id = $1 ORDER BY provider_id",
        (person)
    );
    Ok(rows.into_iter().map(of).collect())
}

/// Identities after one, in the order of providers and subjects.
///
/// # Errors
/// Those of the database.
pub async fn list(
    transaction: &mut Transaction,
    after: &(String, String),
) -> Result<Vec<Identity>, StoreError> {
    let rows: Vec<IdentityRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT provider_id, subject, person_id, refresh_token, checked_at, asked_at, ended, given_role, given_key_group, created_at \
         FROM identities WHERE (provider_id, subject) > ($1, $2) ORDER BY provider_id, subject LIMIT $3",
        (&after.0, &after.1, READ)
    );
    Ok(rows.into_iter().map(of).collect())
}

/// Takes the right to ask the provider, for one of several that are about to: whoever is first, if it was not asked since
/// `asked_before`. A refresh token that changes with each use must not be used twice.
///
/// # Errors
/// Those of the database.
pub async fn claim(
    transaction: &mut Transaction,
    identity: &Identity,
    asked_before: i64,
    now: i64,
) -> Result<bool, StoreError> {
    let claimed = on_either!(transaction, connection => {
        sqlx::query("UPDATE identities SET asked_at = $4 WHERE provider_id = $1 AND subject = $2 AND asked_at <= $3 AND NOT ended")
            .bind(&identity.provider)
            .bind(&identity.subject)
            .bind(asked_before)
            .bind(now)
            .execute(connection)
            .await?
            .rows_affected()
    });
    Ok(claimed > 0)
}

/// Notes when the provider may be asked again.
///
/// # Errors
/// Those of the database.
pub async fn set_asked(
    transaction: &mut Transaction,
    identity: &Identity,
    asked_at: i64,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE identities SET asked_at = $3 WHERE provider_id = $1 AND subject = $2",
        (&identity.provider, &identity.subject, asked_at)
    )
}

/// Ends an identity, until the next sign-in, and the sessions by it.
///
/// # Errors
/// Those of the database.
pub async fn end(transaction: &mut Transaction, identity: &Identity) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE identities SET ended = TRUE, refresh_token = NULL WHERE provider_id = $1 AND subject = $2",
        (&identity.provider, &identity.subject)
    )?;
    execute!(
        transaction,
        "DELETE FROM sessions WHERE provider_id = $1 AND person_id = $2",
        (&identity.provider, &identity.person)
    )
}

/// Removes the identity of a person at a provider, and the sessions by it. False: there is none.
///
/// # Errors
/// Those of the database.
pub async fn remove(
    transaction: &mut Transaction,
    provider: &str,
    person: &str,
) -> Result<bool, StoreError> {
    execute!(
        transaction,
        "DELETE FROM sessions WHERE provider_id = $1 AND person_id = $2",
        (provider, person)
    )?;
    let removed = on_either!(transaction, connection => {
        sqlx::query("DELETE FROM identities WHERE provider_id = $1 AND person_id = $2")
            .bind(provider)
            .bind(person)
            .execute(connection)
            .await?
            .rows_affected()
    });
    Ok(removed > 0)
}

/// Puts the same refresh token, sealed anew, in the place of what is there. False: another one is there by now.
///
/// # Errors
/// Those of the database.
pub async fn reseal(
    transaction: &mut Transaction,
    identity: &Identity,
    before: &str,
    token: &str,
) -> Result<bool, StoreError> {
    let changed = on_either!(transaction, connection => {
        sqlx::query("UPDATE identities SET refresh_token = $4 WHERE provider_id = $1 AND subject = $2 AND refresh_token = $3")
            .bind(&identity.provider)
            .bind(&identity.subject)
            .bind(before)
            .bind(token)
            .execute(connection)
            .await?
            .rows_affected()
    });
    Ok(changed > 0)
}

/// Whether an admin who is not disabled has an identity that has not ended, at a provider that is enabled.
///
/// # Errors
/// Those of the database.
pub async fn has_admin(transaction: &mut Transaction) -> Result<bool, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_one,
        "SELECT EXISTS (SELECT 1 FROM identities JOIN people ON people.id = person_id JOIN identity_providers ON identity_providers.id = provider_id \
         WHERE role = 'admin' AND NOT disabled AND NOT ended AND enabled)",
        ()
    ))
}
