//! A transaction on either engine.

use core::fmt;

use super::{StoreError, WriteTurn};
use sqlx::{Postgres, Sqlite};

/// A transaction. One that is dropped changes nothing.
pub enum Transaction {
    /// Of SQLite, with the turn of one that writes.
    Sqlite(sqlx::Transaction<'static, Sqlite>, Option<WriteTurn>),
    /// Of PostgreSQL.
    Postgres(sqlx::Transaction<'static, Postgres>),
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite(..) => "Transaction(SQLite)",
            Self::Postgres(_) => "Transaction(PostgreSQL)",
        })
    }
}

impl Transaction {
    /// Makes its changes last.
    ///
    /// # Errors
    /// It may or may not have been committed, if the database broke off meanwhile.
    pub async fn commit(self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(inner, _turn) => inner.commit().await?,
            Self::Postgres(inner) => inner.commit().await?,
        }
        Ok(())
    }

    /// Takes its changes back, and waits until that is done.
    pub async fn rollback(self) {
        let _ = match self {
            Self::Sqlite(inner, _turn) => inner.rollback().await,
            Self::Postgres(inner) => inner.rollback().await,
        };
    }
}

/// Evaluates an expression with the connection of whichever engine there is.
macro_rules! on_either {
    ($transaction:expr, $connection:ident => $body:expr) => {
        match $transaction {
            $crate::store::Transaction::Sqlite(inner, _) => {
                let $connection = &mut **inner;
                $body
            }
            $crate::store::Transaction::Postgres(inner) => {
                let $connection = &mut **inner;
                $body
            }
        }
    };
}
pub(crate) use on_either;
