//! Keys of `trilane serve` and a document come over as copies.

use sqlx::{Connection as _, Executor as _, SqliteConnection};
use trilane_console::documents::DocumentError;
use trilane_console::feed::sqlite::{KEYS, LIMITS, OWNER};
use trilane_console::import::{self, ImportError};
use trilane_console::prices::CatalogueFile;
use trilane_console::store::audit::Actor;
use trilane_console::store::key_lists::{self, KeyFilter, KeyRange};
use trilane_console::store::{documents, drafts};

use crate::database::on_both;

fn actor() -> Actor {
    Actor {
        id: "command".to_owned(),
        address: String::new(),
    }
}

/// A database of `trilane serve`, of a release.
async fn served(directory: &std::path::Path, schema: &[&str], inserts: &str) -> std::path::PathBuf {
    let file = directory.join(format!("keys-{}.db", schema.len()));
    let mut connection =
        SqliteConnection::connect(&format!("sqlite://{}?mode=rwc", file.display()))
            .await
            .unwrap();
    let sql = sqlx::AssertSqlSafe([&schema.concat(), inserts].concat());
    connection.execute(sqlx::raw_sql(sql)).await.unwrap();
    connection.close().await.unwrap();
    file
}

on_both! {
    async fn keys_of_every_release(database: &TestDatabase) {
        let directory = tempfile::tempdir().unwrap();
        let digest = |digit: char| digit.to_string().repeat(64);
        let old = format!("INSERT INTO keys (sha256, id, group_id, expires_at, disabled) VALUES ('{}', 'k1', 'g', '2027-01-01T00:00:00Z', 1)", digest('a'));
        let new = format!("INSERT INTO keys (sha256, id, group_id, owner, label, created_at, limits) VALUES ('{}', 'k2', 'g', 'ann', 'laptop', 'then', '{{\"requests_per_minute\": 5}}')", digest('b'));
        let of_0_1 = served(directory.path(), &[KEYS], &old).await;
        let before = std::fs::read(&of_0_1).unwrap();
        let store = database.open().await;
        assert_eq!(import::keys_of_serve(&store, &of_0_1, &actor(), 1).await.unwrap(), Some(1));
        assert_eq!(std::fs::read(&of_0_1).unwrap(), before, "it is as it was");
        let today = served(directory.path(), &[KEYS, LIMITS, OWNER], &new).await;
        assert_eq!(import::keys_of_serve(&store, &today, &actor(), 2).await.unwrap(), None, "there are keys");
        database.execute("DELETE FROM keys").await.unwrap();
        assert_eq!(import::keys_of_serve(&store, &today, &actor(), 2).await.unwrap(), Some(1));
        let mut transaction = store.read().await.unwrap();
        let all = key_lists::list(&mut transaction, &KeyFilter { limit: 10, ..KeyFilter::default() }, KeyRange::All).await.unwrap();
        transaction.rollback().await;
        let key = &all[0];
        assert_eq!((key.sha256.as_str(), key.id.as_str(), key.owner.as_deref(), key.label.as_deref()), (digest('b').as_str(), "k2", Some("ann"), Some("laptop")));
        assert_eq!(key.limits.as_deref(), Some("{\"requests_per_minute\": 5}"));

        for (name, content) in [("nothing", None), ("text", Some("no database")), ("other", Some(""))] {
            let file = directory.path().join(name);
            if let Some(content) = content {
                std::fs::write(&file, content).unwrap();
            }
            let failed = import::keys_of_serve(&store, &file, &actor(), 3).await;
            assert!(matches!(failed, Err(ImportError::File(_))), "{name}: {failed:?}");
        }
    }
}

on_both! {
    /// Other changes of keys come between, and a copy that is broken off goes on where it was.
    async fn many_keys(database: &TestDatabase) {
        const MANY: usize = 9500;
        let directory = tempfile::tempdir().unwrap();
        let values: Vec<String> = (0..MANY).map(|n| format!("('{n:064x}', 'k{n:05}', 'g')")).collect();
        let insert = format!("INSERT INTO keys (sha256, id, group_id) VALUES {}", values.join(", "));
        let file = served(directory.path(), &[KEYS, LIMITS, OWNER], &insert).await;
        let store = database.open().await;
        let ids = async || {
            let mut transaction = store.read().await.unwrap();
            let all = key_lists::list(&mut transaction, &KeyFilter { limit: 10_000, ..KeyFilter::default() }, KeyRange::All).await.unwrap();
            transaction.rollback().await;
            all.into_iter().map(|key| key.id).collect::<Vec<_>>()
        };
        let copying = {
            let (store, file) = (store.clone(), file.clone());
            tokio::spawn(async move { import::keys_of_serve(&store, &file, &actor(), 1).await.map(drop) })
        };
        while ids().await.is_empty() {
            tokio::task::yield_now().await;
        }
        copying.abort();
        let _ = copying.await;
        let before = ids().await.len();
        assert!((900..MANY).contains(&before), "it was broken off: {before}");
        // A revocation, in the middle of it.
        database.execute("DELETE FROM keys WHERE id = 'k00007'").await.unwrap();
        assert_eq!(import::keys_of_serve(&store, &file, &actor(), 2).await.unwrap(), Some(MANY));
        let all = ids().await;
        assert_eq!(all.len(), MANY - 1, "each once");
        assert!(!all.contains(&"k00007".to_owned()), "what was revoked stays revoked");
        assert_eq!(import::keys_of_serve(&store, &file, &actor(), 3).await.unwrap(), None);
    }
}

on_both! {
    async fn the_first_document(database: &TestDatabase) {
        let store = database.open().await;
        let bad = import::document(&store, "{}".to_owned(), &CatalogueFile::default(), &actor(), 1).await;
        assert!(matches!(bad, Err(ImportError::Document(DocumentError::Invalid(_)))), "{bad:?}");
        let sample = include_str!("../../../envoy/gateway.json").to_owned();
        assert!(import::document(&store, sample.clone(), &CatalogueFile::default(), &actor(), 1).await.unwrap());
        assert!(!import::document(&store, "{}".to_owned(), &CatalogueFile::default(), &actor(), 2).await.unwrap(), "there is one");
        let mut transaction = store.read().await.unwrap();
        let current = documents::current(&mut transaction).await.unwrap().unwrap();
        assert_eq!((current.version, current.body), (1, sample));
        assert!(drafts::list(&mut transaction, "", 9).await.unwrap().is_empty());
    }
}
