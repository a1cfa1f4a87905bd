//! The address of the database.

use core::fmt;
use std::path::PathBuf;

/// The address of the database.
#[derive(Debug, Clone)]
pub enum DatabaseAddress {
    /// SQLite, in this directory.
    Directory(PathBuf),
    /// PostgreSQL, at this URL.
    Postgres(DatabaseUrl),
}

/// A URL of a database, which may have a password. `Debug` does not print it.
#[derive(Clone)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DatabaseUrl(..)")
    }
}

impl DatabaseAddress {
    /// Reads a URL `postgres://…`, or else the path of a directory.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            Self::Postgres(DatabaseUrl(text.to_owned()))
        } else {
            Self::Directory(text.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_printed() {
        let address = DatabaseAddress::parse("postgres://console:hunter2@db/console\n");
        assert!(
            matches!(&address, DatabaseAddress::Postgres(url) if url.reveal().ends_with("/console"))
        );
        assert!(!format!("{address:?}").contains("hunter2"));
    }

    #[test]
    fn all_else_is_a_directory() {
        let address = DatabaseAddress::parse("/var/lib/trilane");
        assert!(
            matches!(address, DatabaseAddress::Directory(path) if path == std::path::Path::new("/var/lib/trilane"))
        );
    }
}
