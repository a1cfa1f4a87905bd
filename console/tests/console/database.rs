//! An empty database of either engine for one test.

use tempfile::TempDir;
use trilane_console::store::{DatabaseAddress, Store};

use crate::postgres;

/// A database that nobody else uses.
#[derive(Debug)]
pub struct TestDatabase {
    pub address: DatabaseAddress,
    /// The URL of PostgreSQL, or the directory of SQLite.
    pub text: String,
    kept: Kept,
}

#[derive(Debug)]
enum Kept {
    Directory(#[expect(dead_code, reason = "it is removed when dropped")] TempDir),
    Name(String),
}

impl TestDatabase {
    pub fn sqlite() -> Self {
        let directory = TempDir::new().unwrap();
        let text = directory.path().to_str().unwrap().to_owned();
        Self {
            address: DatabaseAddress::parse(&text),
            text,
            kept: Kept::Directory(directory),
        }
    }

    pub async fn postgres() -> Self {
        let (name, text) = postgres::create().await;
        Self {
            address: DatabaseAddress::parse(&text),
            text,
            kept: Kept::Name(name),
        }
    }

    pub async fn open(&self) -> Store {
        Store::open(&self.address).await.unwrap()
    }

    pub fn is_postgres(&self) -> bool {
        matches!(self.kept, Kept::Name(_))
    }

    /// Any statement, past the console.
    pub async fn execute(&self, sql: &str) -> Result<(), sqlx::Error> {
        use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
        let sql = AssertSqlSafe(sql.to_owned());
        if self.is_postgres() {
            let mut connection = sqlx::PgConnection::connect(&self.text).await?;
            connection.execute(sqlx::raw_sql(sql)).await?;
            connection.close().await
        } else {
            let url = format!("sqlite://{}/console.db", self.text);
            let mut connection = sqlx::SqliteConnection::connect(&url).await?;
            connection.execute(sqlx::raw_sql(sql)).await?;
            connection.close().await
        }
    }

    /// All that every table has, as text.
    pub async fn dump(&self) -> String {
        use sqlx::{AssertSqlSafe, Connection as _, query_scalar};
        let mut all = String::new();
        if self.is_postgres() {
            let mut connection = sqlx::PgConnection::connect(&self.text).await.unwrap();
            let tables: Vec<String> = query_scalar(
                "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                 WHERE n.nspname = 'public' AND c.relkind = 'r' ORDER BY 1",
            )
            .fetch_all(&mut connection)
            .await
            .unwrap();
            for table in tables {
                let sql = AssertSqlSafe(format!("SELECT row_to_json(t)::text FROM \"{table}\" t"));
                let rows: Vec<String> = query_scalar(sql).fetch_all(&mut connection).await.unwrap();
                for row in rows {
                    all.push_str(&format!("{table} {row}\n"));
                }
            }
        } else {
            let url = format!("sqlite://{}/console.db", self.text);
            let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
            let tables: Vec<String> =
                query_scalar("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
                    .fetch_all(&mut connection)
                    .await
                    .unwrap();
            for table in tables {
                let columns: Vec<String> = query_scalar("SELECT name FROM pragma_table_info($1)")
                    .bind(&table)
                    .fetch_all(&mut connection)
                    .await
                    .unwrap();
                let columns: Vec<String> = columns
                    .iter()
                    .map(|name| format!("quote(\"{name}\")"))
                    .collect();
                let sql = AssertSqlSafe(format!(
                    "SELECT {} FROM \"{table}\"",
                    columns.join(" || ' ' || ")
                ));
                let rows: Vec<String> = query_scalar(sql).fetch_all(&mut connection).await.unwrap();
                for row in rows {
                    all.push_str(&format!("{table} {row}\n"));
                }
            }
        }
        all
    }

    /// The end of a test that has succeeded.
    pub async fn drop(self) {
        if let Kept::Name(name) = &self.kept {
            postgres::drop(name).await;
        }
    }
}

/// A test on both engines.
macro_rules! on_both {
    ($(#[doc = $doc:literal])* async fn $name:ident($database:ident: &TestDatabase) $body:block) => {
        $(#[doc = $doc])*
        mod $name {
            use super::*;

            async fn check($database: &crate::database::TestDatabase) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                let database = crate::database::TestDatabase::sqlite();
                check(&database).await;
                database.drop().await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                let database = crate::database::TestDatabase::postgres().await;
                check(&database).await;
                database.drop().await;
            }
        }
    };
}
pub(crate) use on_both;
