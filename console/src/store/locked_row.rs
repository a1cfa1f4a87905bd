//! Rows that are about to be changed.
//!
//! A change of a row reads it with a lock first: the `update`, `replace` and `remove` of a table take nothing but a
//! [`LockedRow`]. So no change is made of what somebody else has changed meanwhile: who comes second waits, and reads what the first
//! has left. A revision is compared with the row that is locked.
//!
//! Writers of SQLite take turns, from the beginning of their transactions; PostgreSQL locks the row.

use core::ops::Deref;

use sqlx::AssertSqlSafe;

use super::erasures::Pseudonyms;
use super::{StoreError, Transaction};

/// A row as it is until the transaction ends, but for what this transaction does to it.
#[derive(Debug)]
pub struct LockedRow<T>(T);

impl<T> LockedRow<T> {
    /// A row that was read with [`for_update`].
    pub(super) const fn new(row: T) -> Self {
        Self(row)
    }

    /// The row, unlocked as far as changes of it are concerned.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for LockedRow<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A query that locks the rows that it finds. Ids that are erased are locked before them, as everywhere: the audit of the change
/// will look at those.
///
/// # Errors
/// Those of the database.
pub(super) async fn for_update(
    transaction: &mut Transaction,
    select: &str,
) -> Result<AssertSqlSafe<String>, StoreError> {
    Pseudonyms::share(transaction).await?;
    Ok(AssertSqlSafe(match transaction {
        Transaction::Sqlite(..) => select.to_owned(),
        Transaction::Postgres(_) => format!("{select} FOR UPDATE"),
    }))
}
