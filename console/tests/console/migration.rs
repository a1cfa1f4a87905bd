//! Tables of this release, of the next one, and of others.

use trilane_console::store::{Store, StoreError, TableVersion, VERSIONS};

use crate::database::on_both;
use crate::ledger::{expected, line, send, stored};

/// The next release: it has added a column with a default, and a table.
const NEXT: [TableVersion; 2] = next(
    "ALTER TABLE requests ADD COLUMN more BIGINT NOT NULL DEFAULT 7; CREATE TABLE more (id TEXT);",
);

const fn next(statements: &'static str) -> [TableVersion; 2] {
    let [first] = VERSIONS else {
        panic!("add this release's other versions")
    };
    let next = TableVersion {
        number: 2,
        name: "more",
        sqlite: "",
        postgres: "",
        both: statements,
    };
    [*first, next]
}

on_both! {
    /// Consoles that start together make the tables once.
    async fn many_start_at_once(database: &TestDatabase) {
        let start = |address| tokio::spawn(async move { Store::open(&address).await.map(|_| ()) });
        let starts: Vec<_> = (0..16).map(|_| start(database.address.clone())).collect();
        for start in starts {
            start.await.unwrap().unwrap();
        }
    }
}

on_both! {
    /// The next release brings the tables to its version, and what was in them stays. A console of this one that runs goes on
    /// beside it; one that starts refuses them, and says why.
    async fn the_next_release(database: &TestDatabase) {
        let before = database.open().await;
        let text = line("2026-11-24T11:00:00Z", "k", "m", "1");
        send(&before, "e", 0, text.as_bytes()).await.unwrap();
        for start in ["first", "again"] {
            let after = Store::open_at(&database.address, &NEXT).await.unwrap_or_else(|error| panic!("{start}: {error}"));
            after.close().await;
            database.execute("SELECT more FROM requests WHERE more = 7").await.unwrap();
        }
        send(&before, "e", text.len(), text.as_bytes()).await.unwrap();
        assert_eq!(stored(&before).await, expected(&[text.repeat(2).as_bytes()]));
        before.close().await;

        let refused = Store::open(&database.address).await.map(drop).unwrap_err();
        assert!(matches!(refused, StoreError::Newer(2)), "{refused:?}");
        let why = refused.to_string();
        assert!(why.contains("newer release: its tables have version 2, and this release knows 1"), "{why}");
    }
}

on_both! {
    /// A migration that fails changes nothing.
    async fn a_migration_that_fails(database: &TestDatabase) {
        database.open().await.close().await;
        let versions = next("CREATE TABLE more (id TEXT); INSERT INTO nowhere VALUES (1);");
        Store::open_at(&database.address, &versions).await.map(drop).unwrap_err();
        database.execute("SELECT id FROM more").await.unwrap_err();
        database.open().await.close().await;
    }
}

on_both! {
    /// A migration that was done, and is another one by now, is refused.
    async fn another_past(database: &TestDatabase) {
        database.open().await.close().await;
        database.execute("UPDATE _sqlx_migrations SET checksum = 'x'").await.unwrap();
        let opened = Store::open(&database.address).await;
        assert!(matches!(opened, Err(StoreError::Tables(_))), "{opened:?}");
    }
}

on_both! {
    /// Tables that are somebody else's stay as they are.
    async fn somebody_elses(database: &TestDatabase) {
        let store = database.open().await;
        store.close().await;
        database.execute("DROP TABLE _sqlx_migrations").await.unwrap();
        assert!(Store::open(&database.address).await.is_err());
        database.execute("SELECT feed FROM key_feed").await.unwrap();
    }
}
