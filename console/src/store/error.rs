//! The errors of the database.

use core::fmt;

use sqlx::migrate::MigrateError;

use super::AsStoreError;
use super::migration::VERSIONS;
use crate::counted::counted;

/// The reason that a statement failed. No text of it has a password or a value of a statement.
#[derive(Debug)]
pub enum StoreError {
    /// The URL cannot be read.
    Address,
    /// It cannot be reached, or broke off.
    Unreachable(String),
    /// The change lost against another one and may be done again.
    Conflict,
    /// A rule of a table is violated: its name or text.
    Rule(String),
    /// Its tables cannot become those of this release.
    Tables(String),
    /// Its tables are of a newer release: their version.
    Newer(i64),
    /// A value in it cannot be read: which.
    Value(String),
    /// Anything else.
    Other(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => f.write_str("the database's URL cannot be read"),
            Self::Unreachable(why) => write!(f, "the database cannot be reached: {why}"),
            Self::Conflict => f.write_str("the database is too busy with other changes"),
            Self::Rule(rule) => write!(f, "{rule}"),
            Self::Tables(why) => write!(
                f,
                "the database's tables cannot be brought up to date: {why}"
            ),
            Self::Newer(version) => write!(
                f,
                "the database is of a newer release: its tables have version {version}, and this release knows {}. Start the newer \
                 release again, or restore a backup of this one",
                VERSIONS
                    .iter()
                    .map(|known| known.number)
                    .max()
                    .unwrap_or_default()
            ),
            Self::Value(what) => write!(f, "the database has a value that cannot be read: {what}"),
            Self::Other(why) => write!(f, "the database: {why}"),
        }
    }
}

impl core::error::Error for StoreError {}

impl AsStoreError for StoreError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict)
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let error = Self::of(error);
        if let Some(kind) = error.kind() {
            counted().database_error(kind);
        }
        error
    }
}

impl StoreError {
    /// The kind of a fault, for metrics; `None`: it is none of the database's.
    const fn kind(&self) -> Option<&'static str> {
        match self {
            Self::Unreachable(_) => Some("unreachable"),
            Self::Conflict => Some("conflict"),
            Self::Tables(_) | Self::Newer(_) => Some("tables"),
            Self::Value(_) => Some("value"),
            Self::Other(_) => Some("other"),
            Self::Address | Self::Rule(_) => None,
        }
    }

    fn of(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(error) => {
                let code = error.code().unwrap_or_default();
                match &*code {
                    // PostgreSQL: a serialization failure, a deadlock, a lock that was waited for too long. SQLite: busy, in its three kinds.
                    "40001" | "40P01" | "55P03" | "5" | "261" | "517" => Self::Conflict,
                    // PostgreSQL: a statement took too long.
                    "57014" => Self::Unreachable("a statement took too long".to_owned()),
                    // PostgreSQL: shut down, or going to.
                    "57P01" | "57P02" | "57P03" | "53300" => {
                        Self::Unreachable(error.message().to_owned())
                    }
                    // What a row belongs to was removed at the same moment: done again, the change finds that out.
                    _ if error.is_foreign_key_violation() => Self::Conflict,
                    _ if error.is_unique_violation() || error.is_check_violation() => {
                        Self::Rule(error.constraint().unwrap_or(error.message()).to_owned())
                    }
                    // PostgreSQL: a trigger's own; SQLite's `RAISE(ABORT)`.
                    "P0001" | "23514" | "1811" => Self::Rule(error.message().to_owned()),
                    _ => Self::Other(error.message().to_owned()),
                }
            }
            sqlx::Error::Io(error) => Self::Unreachable(error.to_string()),
            sqlx::Error::Tls(error) => Self::Unreachable(error.to_string()),
            sqlx::Error::PoolTimedOut => {
                Self::Unreachable("others take too long: no connection is free".to_owned())
            }
            sqlx::Error::PoolClosed => Self::Unreachable("the console is about to end".to_owned()),
            sqlx::Error::ColumnDecode { index, .. } => Self::Value(index),
            error => Self::Other(error.to_string()),
        }
    }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) => error.into(),
            MigrateError::VersionMissing(version) => Self::Newer(version),
            error => Self::Tables(error.to_string()),
        }
    }
}
