//! Documents that are written but not published.

use super::locked_row::{LockedRow, for_update};
use super::{StoreError, Transaction, execute, fetch};

/// A draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The id of the draft.
    pub id: String,
    /// Grows with each change.
    pub revision: i64,
    /// The version that was in force when it was begun; 0: none was.
    pub based_on: i64,
    /// The text of the draft.
    pub body: String,
    /// The id of the person who last changed it.
    pub author: String,
    /// The purpose of the draft, in words.
    pub note: String,
    /// The time at which the draft was begun, in microseconds since 1970.
    pub created_at: i64,
    /// The time of the latest change, in microseconds since 1970.
    pub changed_at: i64,
}

type DraftRow = (String, i64, i64, String, String, String, i64, i64);

fn of(row: DraftRow) -> Draft {
    Draft {
        id: row.0,
        revision: row.1,
        based_on: row.2,
        body: row.3,
        author: row.4,
        note: row.5,
        created_at: row.6,
        changed_at: row.7,
    }
}

const BY_ID: &str = "SELECT id, revision, based_on, body, author, note, created_at, changed_at FROM drafts WHERE id = $1";

/// Adds a draft.
///
/// # Errors
/// Those of the database.
pub async fn insert(transaction: &mut Transaction, draft: &Draft) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO drafts (id, revision, based_on, body, author, note, created_at, changed_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        (
            &draft.id,
            draft.revision,
            draft.based_on,
            &draft.body,
            &draft.author,
            &draft.note,
            draft.created_at,
            draft.changed_at
        )
    )
}

/// The draft of this id.
///
/// # Errors
/// Those of the database.
pub async fn find(transaction: &mut Transaction, id: &str) -> Result<Option<Draft>, StoreError> {
    let row: Option<DraftRow> = fetch!(transaction, query_as.fetch_optional, BY_ID, (id));
    Ok(row.map(of))
}

/// The draft of this id, to be changed or removed.
///
/// # Errors
/// Those of the database.
pub async fn find_locked(
    transaction: &mut Transaction,
    id: &str,
) -> Result<Option<LockedRow<Draft>>, StoreError> {
    let sql = for_update(transaction, BY_ID).await?;
    let row: Option<DraftRow> = fetch!(transaction, query_as.fetch_optional, sql, (id));
    Ok(row.map(of).map(LockedRow::new))
}

/// Drafts with ids after one, without their texts.
///
/// # Errors
/// Those of the database.
pub async fn list(
    transaction: &mut Transaction,
    after: &str,
    limit: i64,
) -> Result<Vec<Draft>, StoreError> {
    let rows: Vec<DraftRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT id, revision, based_on, '', author, note, created_at, changed_at FROM drafts WHERE id > $1 \
         ORDER BY id LIMIT $2",
        (after, limit)
    );
    Ok(rows.into_iter().map(of).collect())
}

/// Drafts that a person has changed last and that go on from a version, the latest first.
///
/// # Errors
/// Those of the database.
pub async fn of_author(
    transaction: &mut Transaction,
    author: &str,
    based_on: i64,
    limit: i64,
) -> Result<Vec<Draft>, StoreError> {
    let rows: Vec<DraftRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT id, revision, based_on, body, author, note, created_at, changed_at FROM drafts \
         WHERE author = $1 AND based_on = $2 ORDER BY changed_at DESC, id LIMIT $3",
        (author, based_on, limit)
    );
    Ok(rows.into_iter().map(of).collect())
}

/// Puts a changed draft in the place of one.
///
/// # Errors
/// Those of the database.
pub async fn replace(
    transaction: &mut Transaction,
    before: &LockedRow<Draft>,
    draft: &Draft,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE drafts SET revision = $2, based_on = $3, body = $4, author = $5, note = $6, changed_at = $7 WHERE id = $1",
        (
            &before.id,
            draft.revision,
            draft.based_on,
            &draft.body,
            &draft.author,
            &draft.note,
            draft.changed_at
        )
    )
}

/// Removes a draft.
///
/// # Errors
/// Those of the database.
pub async fn remove(
    transaction: &mut Transaction,
    draft: &LockedRow<Draft>,
) -> Result<(), StoreError> {
    execute!(transaction, "DELETE FROM drafts WHERE id = $1", (&draft.id))
}
