//! Tokens of the API. Only their digests are known.

use super::old_rows::OldRows;
use super::people::Person;
use super::{StoreError, Transaction, execute, fetch, on_either};

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiToken {
    /// The id of the token.
    pub id: String,
    /// The digest of the token, 64 hexadecimal digits.
    pub digest: String,
    /// The id of the person it belongs to.
    pub person_id: String,
    /// The purpose of the token, in words.
    pub name: String,
    /// The last four characters of the token.
    pub hint: String,
    /// Until when, in microseconds since 1970; `None`: for ever.
    pub expires_at: Option<i64>,
    /// The time at which the token was created, in microseconds since 1970.
    pub created_at: i64,
    /// The scopes, with blanks between; `None`: all that the person may do.
    pub scopes: Option<String>,
}

/// The holder of a token that was sent.
#[derive(Debug)]
pub struct TokenHolder {
    /// The id of the token.
    pub token: String,
    /// Its scopes.
    pub scopes: Option<String>,
    /// The person it belongs to.
    pub person: Person,
}

type TokenRow = (
    String,
    String,
    String,
    String,
    String,
    Option<i64>,
    i64,
    Option<String>,
);

fn of(row: TokenRow) -> ApiToken {
    ApiToken {
        id: row.0,
        digest: row.1,
        person_id: row.2,
        name: row.3,
        hint: row.4,
        expires_at: row.5,
        created_at: row.6,
        scopes: row.7,
    }
}

/// Adds a token.
///
/// # Errors
/// Those of the database.
pub async fn insert(transaction: &mut Transaction, token: &ApiToken) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO api_tokens (id, digest, person_id, name, hint, expires_at, created_at, scopes) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        (
            &token.id,
            &token.digest,
            &token.person_id,
            &token.name,
            &token.hint,
            token.expires_at,
            token.created_at,
            &token.scopes
        )
    )
}

/// The holder of the token with this digest, if it has not expired.
///
/// # Errors
/// Those of the database.
pub async fn holder(
    transaction: &mut Transaction,
    digest: &str,
    now: i64,
) -> Result<Option<TokenHolder>, StoreError> {
    type TokenSignInRow = (
        String,
        Option<String>,
        String,
        String,
        String,
        bool,
        i64,
        Option<String>,
    );
    let row: Option<TokenSignInRow> = fetch!(
        transaction,
        query_as.fetch_optional,
        "SELECT api_tokens.id, scopes, people.id, people.name, people.role, people.disabled, people.created_at, people.key_group \
         FROM api_tokens JOIN people ON people.id = api_tokens.person_id \
         WHERE digest = $1 AND (expires_at IS NULL OR expires_at > $2) AND NOT disabled",
        (digest, now)
    );
    Ok(row.map(
        |(token, scopes, id, name, role, disabled, created_at, key_group)| {
            let person = Person {
                id,
                name,
                role,
                disabled,
                created_at,
                key_group,
            };
            TokenHolder {
                token,
                scopes,
                person,
            }
        },
    ))
}

/// Tokens of a person, or of all, with ids after one.
///
/// # Errors
/// Those of the database.
pub async fn list(
    transaction: &mut Transaction,
    person: Option<&str>,
    after: &str,
    limit: i64,
) -> Result<Vec<ApiToken>, StoreError> {
    let rows: Vec<TokenRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT id, digest, person_id, name, hint, expires_at, created_at, scopes FROM api_tokens \
         WHERE id > $1 AND ($2 IS NULL OR person_id = $2) ORDER BY id LIMIT $3",
        (after, person, limit)
    );
    Ok(rows.into_iter().map(of).collect())
}

/// Removes a token, of this person if one is named. False: there is none.
///
/// # Errors
/// Those of the database.
pub async fn remove(
    transaction: &mut Transaction,
    id: &str,
    person: Option<&str>,
) -> Result<bool, StoreError> {
    let removed = on_either!(transaction, connection => {
        sqlx::query("DELETE FROM api_tokens WHERE id = $1 AND ($2 IS NULL OR person_id = $2)")
            .bind(id)
            .bind(person)
            .execute(connection)
            .await?
            .rows_affected()
    });
    Ok(removed > 0)
}

/// Removes all tokens of a person. Their ids.
///
/// # Errors
/// Those of the database.
pub async fn remove_all(
    transaction: &mut Transaction,
    person: &str,
) -> Result<Vec<String>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_all,
        "DELETE FROM api_tokens WHERE person_id = $1 RETURNING id",
        (person)
    ))
}

/// Tokens that had expired before a moment.
pub const EXPIRED: OldRows = OldRows {
    table: "api_tokens",
    key: "id",
    condition: "expires_at < $1",
    lock: None,
};
