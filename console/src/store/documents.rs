//! Published documents. The greatest version is in force.

use super::{StoreError, Transaction, on_either};

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
    let row: Option<DocumentVersionRow> = on_either!(transaction, connection => {
        sqlx::query_as(
            "SELECT version, body, served, etag, author, note, again, published_at FROM documents ORDER BY version DESC LIMIT 1",
        )
        .fetch_optional(connection)
        .await?
    });
    Ok(row.map(of))
}

/// The digest of the document in force.
///
/// # Errors
/// Those of the database.
pub async fn current_etag(transaction: &mut Transaction) -> Result<Option<String>, StoreError> {
    Ok(on_either!(transaction, connection => {
        sqlx::query_scalar("SELECT etag FROM documents ORDER BY version DESC LIMIT 1")
            .fetch_optional(connection)
            .await?
    }))
}

/// One version.
///
/// # Errors
/// Those of the database.
pub async fn find(
    transaction: &mut Transaction,
    version: i64,
) -> Result<Option<PublishedDocument>, StoreError> {
    let row: Option<DocumentVersionRow> = on_either!(transaction, connection => {
        sqlx::query_as(
            "SELECT version, body, served, etag, author, note, again, published_at FROM documents WHERE version = $1",
        )
        .bind(version)
        .fetch_optional(connection)
        .await?
    });
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
    let row: Option<DocumentVersionRow> = on_either!(transaction, connection => {
        sqlx::query_as(
            "SELECT version, body, served, etag, author, note, again, published_at FROM documents WHERE published_at <= $1 \
             ORDER BY version DESC LIMIT 1",
        )
        .bind(moment)
        .fetch_optional(connection)
        .await?
    });
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
    let rows: Vec<DocumentVersionRow> = on_either!(transaction, connection => {
        sqlx::query_as(
            "SELECT version, '', '', etag, author, note, again, published_at FROM documents WHERE version < $1 \
             ORDER BY version DESC LIMIT $2",
        )
        .bind(before)
        .bind(limit)
        .fetch_all(connection)
        .await?
    });
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
    on_either!(transaction, connection => {
        sqlx::query(
            "INSERT INTO documents (version, body, served, etag, author, note, again, published_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(document.version)
        .bind(&document.body)
        .bind(&document.served)
        .bind(&document.etag)
        .bind(&document.author)
        .bind(&document.note)
        .bind(document.again)
        .bind(document.published_at)
        .execute(connection)
        .await?;
    });
    Ok(())
}
