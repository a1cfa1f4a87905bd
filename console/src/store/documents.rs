//! Published documents. The greatest version is in force.

use serde::Deserialize;

use super::{StoreError, Transaction, execute, fetch};

/// A published document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedDocument {
    /// The version, from 1.
    pub version: i64,
    /// The text of the document, as it was written.
    pub body: String,
    /// The same as gateways get it: with numbers where it names the catalogue of prices.
    pub served: String,
    /// The digest of what gateways get.
    pub etag: String,
    /// The id of the person who published it.
    pub author: String,
    /// The publisher's note on the reason for this version.
    pub note: String,
    /// The version that it publishes again.
    pub again: Option<i64>,
    /// The time of publication, in microseconds since 1970.
    pub published_at: i64,
}

type DocumentVersionRow = (
    i64,
    String,
    String,
    String,
    String,
    String,
    Option<i64>,
    i64,
);

fn of(row: DocumentVersionRow) -> PublishedDocument {
    PublishedDocument {
        version: row.0,
        body: row.1,
        served: row.2,
        etag: row.3,
        author: row.4,
        note: row.5,
        again: row.6,
        published_at: row.7,
    }
}

/// The currency of a document.
fn currency_of(served: &str) -> String {
    #[derive(Deserialize)]
    struct OfDocument {
        currency: Option<String>,
    }
    let read = serde_json::from_str::<OfDocument>(served).ok();
    read.and_then(|read| read.currency).unwrap_or_default()
}

/// The currency of the version in force; empty where there is none, or it has no prices.
///
/// # Errors
/// Those of the database.
pub async fn currency(transaction: &mut Transaction) -> Result<String, StoreError> {
    let found: Option<String> = fetch!(
        transaction,
        query_scalar.fetch_optional,
        "SELECT currency FROM documents ORDER BY version DESC LIMIT 1",
        ()
    );
    Ok(found.unwrap_or_default())
}

/// Lets nobody else publish until the transaction ends.
///
/// # Errors
/// Those of the database.
pub async fn lock(transaction: &mut Transaction) -> Result<(), StoreError> {
    if let Transaction::Postgres(inner) = transaction {
        sqlx::query("LOCK TABLE documents IN SHARE ROW EXCLUSIVE MODE")
            .execute(&mut **inner)
            .await?;
    }
    Ok(())
}

/// The document in force.
///
/// # Errors
/// Those of the database.
pub async fn current(
    transaction: &mut Transaction,
) -> Result<Option<PublishedDocument>, StoreError> {
    let row: Option<DocumentVersionRow> = fetch!(
        transaction,
        query_as.fetch_optional,
        "SELECT version, body, served, etag, author, note, again, published_at FROM documents ORDER BY version DESC LIMIT 1",
        ()
    );
    Ok(row.map(of))
}

/// The digest of the document in force.
///
/// # Errors
/// Those of the database.
pub async fn current_etag(transaction: &mut Transaction) -> Result<Option<String>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_optional,
        "SELECT etag FROM documents ORDER BY version DESC LIMIT 1",
        ()
    ))
}

/// One version.
///
/// # Errors
/// Those of the database.
pub async fn find(
    transaction: &mut Transaction,
    version: i64,
) -> Result<Option<PublishedDocument>, StoreError> {
    let row: Option<DocumentVersionRow> = fetch!(
        transaction,
        query_as.fetch_optional,
        "SELECT version, body, served, etag, author, note, again, published_at FROM documents WHERE version = $1",
        (version)
    );
    Ok(row.map(of))
}

/// The document that was in force at a moment, in microseconds since 1970.
///
/// # Errors
/// Those of the database.
pub async fn at(
    transaction: &mut Transaction,
    moment: i64,
) -> Result<Option<PublishedDocument>, StoreError> {
    let row: Option<DocumentVersionRow> = fetch!(
        transaction,
        query_as.fetch_optional,
        "SELECT version, body, served, etag, author, note, again, published_at FROM documents WHERE published_at <= $1 \
         ORDER BY version DESC LIMIT 1",
        (moment)
    );
    Ok(row.map(of))
}

/// Versions before one, the latest first, without their texts.
///
/// # Errors
/// Those of the database.
pub async fn history(
    transaction: &mut Transaction,
    before: i64,
    limit: i64,
) -> Result<Vec<PublishedDocument>, StoreError> {
    let rows: Vec<DocumentVersionRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT version, '', '', etag, author, note, again, published_at FROM documents WHERE version < $1 \
         ORDER BY version DESC LIMIT $2",
        (before, limit)
    );
    Ok(rows.into_iter().map(of).collect())
}

/// Adds a version. The caller holds the [`lock`].
///
/// # Errors
/// Those of the database.
pub async fn insert(
    transaction: &mut Transaction,
    document: &PublishedDocument,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO documents (version, body, served, etag, currency, author, note, again, published_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        (
            document.version,
            &document.body,
            &document.served,
            &document.etag,
            currency_of(&document.served),
            &document.author,
            &document.note,
            document.again,
            document.published_at
        )
    )
}
