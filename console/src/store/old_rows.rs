//! Rows that are old are deleted a bounded number at a time, each in a transaction of its own: between two of them other writers
//! have their turn, so that no ledger and no page waits for more than one.

use sqlx::AssertSqlSafe;

use super::{Store, StoreError, on_either};
use crate::in_transaction;

/// The most rows that one transaction deletes.
pub const BATCH: i64 = 2000;

/// The condition by which rows of a table are old.
#[derive(Debug, Clone, Copy)]
pub struct OldRows {
    /// The table.
    pub table: &'static str,
    /// The columns of its primary key.
    pub key: &'static str,
    /// The SQL condition for a row that is old; `$1` is the cutoff.
    pub condition: &'static str,
    /// A statement that takes the lock which whoever changes the table takes first.
    pub lock: Option<&'static str>,
}

/// Before when rows are old.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cutoff {
    /// A moment in microseconds since 1970.
    Moment(i64),
    /// A day or a month, as text.
    Period(String),
}

impl OldRows {
    /// Deletes all of them. How many there were.
    ///
    /// # Errors
    /// Those of the database; some may be deleted.
    pub async fn delete(&self, store: &Store, cutoff: &Cutoff) -> Result<u64, StoreError> {
        let mut all = 0_u64;
        loop {
            let deleted = self.delete_some(store, cutoff).await?;
            all = all.saturating_add(deleted);
            if i64::try_from(deleted).unwrap_or(i64::MAX) < BATCH {
                return Ok(all);
            }
        }
    }

    /// Deletes [`BATCH`] of them at most. How many there were.
    ///
    /// # Errors
    /// Those of the database; nothing is deleted then.
    pub async fn delete_some(&self, store: &Store, cutoff: &Cutoff) -> Result<u64, StoreError> {
        let Self {
            table,
            key,
            condition,
            lock,
        } = self;
        let sql = format!(
            "DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE {condition} LIMIT {BATCH})"
        );
        in_transaction!(store, transaction => {
            let sql = AssertSqlSafe(sql.clone());
            let deleted = on_either!(transaction, connection => {
                if let Some(lock) = lock {
                    sqlx::query(*lock).execute(&mut *connection).await?;
                }
                let delete = sqlx::query(sql);
                let delete = match cutoff {
                    Cutoff::Moment(at) => delete.bind(*at),
                    Cutoff::Period(period) => delete.bind(period),
                };
                delete.execute(connection).await?.rows_affected()
            });
            Ok(deleted)
        })
    }
}
