//! The agent's databases: copies of what the console says, which its gateway is told from.
//!
//! Each has the version of its tables (`user_version`). A release knows the statements that make each version of the one before.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

/// The longest wait for the other connection of this agent.
const PATIENCE: Duration = Duration::from_secs(5);

/// The reason that a database cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub enum DatabaseProblem {
    /// Its tables are of a newer release: their version, and the newest that this release knows.
    Newer(i64, i64),
    /// Anything else.
    Unusable(String),
}

impl fmt::Display for DatabaseProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer(found, known) => write!(
                f,
                "it is of a newer release: its tables have version {found}, and this release knows {known}. Start the newer release again"
            ),
            Self::Unusable(why) => f.write_str(why),
        }
    }
}

impl From<rusqlite::Error> for DatabaseProblem {
    fn from(error: rusqlite::Error) -> Self {
        Self::Unusable(error.to_string())
    }
}

impl From<String> for DatabaseProblem {
    fn from(why: String) -> Self {
        Self::Unusable(why)
    }
}

impl From<DatabaseProblem> for String {
    fn from(problem: DatabaseProblem) -> Self {
        problem.to_string()
    }
}

/// Opens a database, makes it where there is none, and brings its tables to the last of these versions.
///
/// # Errors
/// It cannot be used, or is of a newer release.
pub fn open(file: &Path, versions: &[&str]) -> Result<Connection, DatabaseProblem> {
    let known = i64::try_from(versions.len()).unwrap_or(i64::MAX);
    let mut connection = Connection::open(file)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let version = |connection: &Connection| {
        connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))
    };
    // Without a lock at first: the other connection may be writing for long.
    let mut found = version(&connection)?;
    if found < known {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        found = version(&transaction)?;
        let missing = usize::try_from(found).unwrap_or_default();
        for statements in versions.iter().skip(missing) {
            transaction.execute_batch(statements)?;
        }
        transaction.pragma_update(None, "user_version", found.max(known))?;
        transaction.commit()?;
    }
    if found > known {
        return Err(DatabaseProblem::Newer(found, known));
    }
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "CREATE TABLE keys (id TEXT); INSERT INTO keys VALUES ('k');";
    const SECOND: &str = "ALTER TABLE keys ADD COLUMN more INTEGER NOT NULL DEFAULT 7;";

    #[test]
    fn each_version_is_made_of_the_one_before_and_a_newer_one_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("a.db");
        drop(open(&file, &[FIRST]).unwrap());
        for turn in ["next", "again"] {
            let connection = open(&file, &[FIRST, SECOND]).unwrap();
            let row = connection.query_row("SELECT id, more FROM keys", [], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
            });
            assert_eq!(row.unwrap(), ("k".to_owned(), 7), "{turn}");
        }
        let refused = open(&file, &[FIRST]).unwrap_err().to_string();
        let why = "of a newer release: its tables have version 2, and this release knows 1";
        assert!(refused.contains(why), "{refused}");
        open(&file, &[FIRST, SECOND]).unwrap();
    }

    #[test]
    fn a_version_that_cannot_be_made_changes_nothing() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("a.db");
        drop(open(&file, &[FIRST]).unwrap());
        let bad = "CREATE TABLE more (id TEXT); INSERT INTO nowhere VALUES (1);";
        open(&file, &[FIRST, bad]).unwrap_err();
        open(&file, &[FIRST, "CREATE TABLE more (id TEXT);"]).unwrap();
    }
}
