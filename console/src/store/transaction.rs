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
    /// The collation by which texts have the case of ASCII letters alone: in PostgreSQL that of others depends on the database's locale.
    pub(super) const fn collation(&self) -> &'static str {
        match self {
            Self::Sqlite(..) => "",
            Self::Postgres(_) => " COLLATE \"C\"",
        }
    }

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

/// Runs a statement with these values; the result of that.
macro_rules! execute {
    ($transaction:expr, $sql:expr, ($($value:expr),* $(,)?)) => {
        $crate::store::on_either!($transaction, connection => {
            let done = sqlx::query($sql)$(.bind($value))*.execute(connection).await;
            done.map(drop).map_err($crate::store::StoreError::from)
        })
    };
}
pub(crate) use execute;

/// Fetches what a query with these values finds, by one of the ways of `sqlx`: `query_as.fetch_all`.
macro_rules! fetch {
    ($transaction:expr, $query:ident . $fetch:ident, $sql:expr, ($($value:expr),* $(,)?)) => {
        $crate::store::on_either!($transaction, connection => {
            sqlx::$query($sql)$(.bind($value))*.$fetch(connection).await?
        })
    };
    ($transaction:expr, $query:ident . $fetch:ident, $sql:expr, [..$values:expr]) => {
        $crate::store::on_either!($transaction, connection => {
            let mut query = sqlx::$query($sql);
            for value in $values {
                query = query.bind(value);
            }
            query.$fetch(connection).await?
        })
    };
}
pub(crate) use fetch;
