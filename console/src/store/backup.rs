//! A copy of the database while it is in use. PostgreSQL has `pg_dump` for that.

use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::{DatabaseAddress, PATIENCE, StoreError, make_private};

/// Writes a copy of SQLite's database to a new file, of one state, for its owner only. Consoles go on meanwhile, and the tables
/// stay those of their release.
///
/// # Errors
/// It is PostgreSQL, there is no database, or the file is there already or cannot be written.
pub async fn write(address: &DatabaseAddress, file: &Path) -> Result<(), StoreError> {
    let DatabaseAddress::Directory(directory) = address else {
        let why = "PostgreSQL has its own: pg_dump --format=custom";
        return Err(StoreError::Other(why.to_owned()));
    };
    if file.exists() {
        return Err(StoreError::Other(format!("{} exists", file.display())));
    }
    let mut connection = SqliteConnectOptions::new()
        .filename(directory.join("console.db"))
        .busy_timeout(PATIENCE)
        .connect()
        .await?;
    // SQLite writes into a file that is there as long as it is empty.
    make_private(file);
    let written = vacuum_into(&mut connection, file).await;
    let _ = connection.close().await;
    if written.is_err() {
        let _ = std::fs::remove_file(file);
    }
    written
}

async fn vacuum_into(connection: &mut SqliteConnection, file: &Path) -> Result<(), StoreError> {
    let name = file.to_str();
    let name = name.ok_or_else(|| StoreError::Other("the file's name is not UTF-8".to_owned()))?;
    sqlx::query("VACUUM INTO $1")
        .bind(name)
        .execute(connection)
        .await?;
    Ok(())
}
