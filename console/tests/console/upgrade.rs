//! Tables of this release and of the next one.

use trilane_console::store::{Store, StoreError};

use crate::database::on_both;
use crate::ledger::{expected, line, send, stored};

on_both! {
    /// Consoles that start together make the tables once.
    async fn many_start_at_once(database: &TestDatabase) {
        let start = |address| tokio::spawn(async move { Store::open(&address).await.map(|_| ()) });
        let starts: Vec<_> = (0..6).map(|_| start(database.address.clone())).collect();
        for start in starts {
            start.await.unwrap().unwrap();
        }
    }
}

on_both! {
    /// The next release has been here: it has added a column with a default, and a table. This one goes on.
    async fn beside_the_next_release(database: &TestDatabase) {
        let before = database.open().await;
        let text = line("2026-11-24T11:00:00Z", "k", "m", "1");
        send(&before, "e", 0, text.as_bytes()).await.unwrap();
        let next = "ALTER TABLE keys ADD COLUMN more TEXT; ALTER TABLE usage_hours ADD COLUMN more BIGINT NOT NULL DEFAULT 0; \
            ALTER TABLE requests ADD COLUMN more TEXT; CREATE TABLE more (id TEXT); \
            INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (1000, 'next', true, '', 0)";
        database.execute(next).await.unwrap();
        // One that runs already, and one that is started anew.
        let after = database.open().await;
        send(&before, "e", text.len(), text.as_bytes()).await.unwrap();
        send(&after, "e", 2 * text.len(), text.as_bytes()).await.unwrap();
        assert_eq!(stored(&after).await, expected(&[text.repeat(3).as_bytes()]));
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
