//! The search among more keys than it looks at one by one, beside a plain look at all of them.

use proptest::prelude::*;
use tokio::runtime::Builder;
use trilane_console::cases::Role;
use trilane_console::in_transaction;
use trilane_console::store::key_lists::{self, KeyFilter, KeyRange, KeyState};
use trilane_console::store::key_search::{self, LOOKED_AT};
use trilane_console::store::keys::{self, StoredKey};
use trilane_console::store::{Store, Transaction, key_grams};

use crate::api::Api;
use crate::database::{TestDatabase, on_both};
use crate::retention::many;

const NOW: &str = "2026-11-24T12:00:00Z";

/// Adds more keys than a search looks at one by one, whose texts have only digits. All others come behind them.
async fn add_many(database: &TestDatabase) {
    let (digest, id) = match database.is_postgres() {
        true => ("lpad(to_hex(n), 64, '0')", "lpad(CAST(n AS TEXT), 6, '0')"),
        false => ("printf('%064x', n)", "printf('%06d', n)"),
    };
    let insert = format!(
        "INSERT INTO keys (sha256, id, group_id) SELECT {digest}, {id}, 'g' FROM ({{numbers}}) AS numbers"
    );
    let rows = u32::try_from(LOOKED_AT).unwrap() + 50;
    database
        .execute(&many(database, rows, &insert))
        .await
        .unwrap();
}

fn key(id: &str, label: &str) -> StoredKey {
    let hex = id
        .bytes()
        .fold(String::new(), |all, byte| format!("{all}{byte:02x}"));
    StoredKey {
        sha256: format!("{hex:f>64}"),
        id: id.to_owned(),
        group_id: "g".to_owned(),
        label: Some(label.to_owned()),
        ..StoredKey::default()
    }
}

async fn add(store: &Store, key: &StoredKey) {
    in_transaction!(store, transaction => keys::insert(transaction, key).await).unwrap();
}

fn ids(keys: &[StoredKey]) -> Vec<String> {
    keys.iter().map(|key| key.id.clone()).collect()
}

/// Collects the results of a search, page by page, and counts the pages.
async fn found(store: &Store, filter: &KeyFilter<'_>) -> (Vec<String>, usize) {
    let mut all = Vec::new();
    let mut after = filter.after.to_owned();
    let mut pages = 0;
    loop {
        pages += 1;
        assert!(pages < 1000, "it does not end");
        let filter = KeyFilter {
            after: &after,
            ..filter.clone()
        };
        let mut transaction = store.read().await.unwrap();
        let page = key_search::find(&mut transaction, &filter).await.unwrap();
        transaction.rollback().await;
        all.extend(ids(&page.keys));
        let is_full = page.keys.len() == usize::try_from(filter.limit).unwrap();
        let last = page
            .keys
            .last()
            .filter(|_| is_full)
            .map(|key| key.id.clone());
        match last.or(page.searched_to) {
            Some(next) => after = next,
            None => return (all, pages),
        }
    }
}

async fn search(store: &Store, text: &str) -> Vec<String> {
    let filter = KeyFilter {
        search: Some(text),
        now: NOW,
        limit: 20,
        ..KeyFilter::default()
    };
    found(store, &filter).await.0
}

on_both! {
    async fn texts_of_any_kind(database: &TestDatabase) {
        let store = database.open().await;
        add_many(database).await;
        let long = format!("{}the end of it", "long ".repeat(1000));
        for (id, label) in [
            ("k-case", "Laptop of ANN"), ("k-great", "Ä"), ("k-letter", "q"), ("k-like", r"a%b_c\d"), ("k-long", long.as_str()),
            ("k-quotes", r#"it's "so" *:& | NOT"#), ("k-rtl", "مفتاح المراجعة אבג"), ("k-small", "ä"), ("k-wide", "東京 🦀"),
        ] {
            add(&store, &key(id, label)).await;
        }
        let owned = StoredKey { owner: Some("zoë".to_owned()), hint: Some("Xy7Z".to_owned()), ..key("k-owned", "of her") };
        add(&store, &owned).await;
        // As long as they are due, once they are in the index, and where only some are.
        for case in ["not made", "made", "changed"] {
            match case {
                "made" => key_grams::index_all(&store).await.unwrap(),
                "changed" => database.execute("UPDATE keys SET label = label || ' ' WHERE id > 'k-l'").await.unwrap(),
                _ => {}
            }
            for (text, want) in [
                ("laptop of ann", &["k-case"][..]), ("LAPTOP", &["k-case"]), ("NN", &["k-case"]), ("k-CASE", &["k-case"]), ("ä", &["k-small"]),
                ("Ä", &["k-great"]), ("q", &["k-letter", "k-quotes"]), ("%", &["k-like"]), ("_", &["k-like"]), ("a%b_c", &["k-like"]),
                ("a_b", &[]), (r"\", &["k-like"]), (r"c\D", &["k-like"]), ("the end of it", &["k-long"]), ("g long long l", &["k-long"]),
                ("'", &["k-quotes"]), ("t's \"S", &["k-quotes"]), ("*", &["k-quotes"]), (":&", &["k-quotes"]), (" | not", &["k-quotes"]),
                ("אבג", &["k-rtl"]), ("ح", &["k-rtl"]), ("ح ا", &["k-rtl"]), ("京", &["k-wide"]), ("東京 🦀", &["k-wide"]), ("🦀", &["k-wide"]),
                ("ZOë", &["k-owned"]), ("zoË", &[]), ("xy7z", &["k-owned"]), ("7Z", &["k-owned"]), ("nothing like that", &[]), ("\n", &[]), ("a\nb", &[]),
            ] {
                assert_eq!(search(&store, text).await, want, "{text:?}, {case}");
            }
            let twice = long.repeat(2);
            assert_eq!(search(&store, &twice).await, [""; 0], "more than any text has, {case}");
        }
    }
}

on_both! {
    /// A program that knows nothing of the search changes keys by SQL.
    async fn by_anybody(database: &TestDatabase) {
        let store = database.open().await;
        add_many(database).await;
        for id in ["k1", "k2", "k3", "k4"] {
            add(&store, &key(id, "alike")).await;
        }
        key_grams::index_all(&store).await.unwrap();
        assert_eq!(search(&store, "alike").await, ["k1", "k2", "k3", "k4"]);
        for (sql, alike, other) in [
            ("UPDATE keys SET label = 'otherwise' WHERE id = 'k1'", &["k2", "k3", "k4"][..], &["k1"][..]),
            ("UPDATE keys SET id = 'otherwise' WHERE id = 'k2'", &["k3", "k4", "otherwise"], &["k1", "otherwise"]),
            ("UPDATE keys SET owner = 'otherwise', label = NULL WHERE id = 'k3'", &["k4", "otherwise"], &["k1", "k3", "otherwise"]),
            ("DELETE FROM keys WHERE id = 'k1'", &["k4", "otherwise"], &["k3", "otherwise"]),
            ("UPDATE keys SET hint = 'WISE' WHERE id = 'k4'", &["k4", "otherwise"], &["k3", "otherwise"]),
        ] {
            database.execute(sql).await.unwrap();
            for case in ["due", "in the index"] {
                assert_eq!(search(&store, "alike").await, alike, "{sql}: {case}");
                assert_eq!(search(&store, "otherwise").await, other, "{sql}: {case}");
                key_grams::index_all(&store).await.unwrap();
            }
        }
        assert_eq!(search(&store, "wise").await, ["k3", "k4", "otherwise"]);
        let same = "UPDATE keys SET disabled = true, label = label";
        database.execute(same).await.unwrap();
        let dump = database.dump().await;
        let rows = |table: &str| dump.lines().filter(|line| line.starts_with(&format!("{table} "))).count();
        assert_eq!((rows("key_search_due"), rows("key_search")), (0, rows("keys")), "nothing of keys that are gone");
        if !database.is_postgres() {
            assert_eq!(rows("key_grams_docsize"), rows("keys"));
        }
    }
}

on_both! {
    async fn the_index_is_used(database: &TestDatabase) {
        let store = database.open().await;
        add_many(database).await;
        add(&store, &key("k1", "somewhere")).await;
        add(&store, &key("k2", "somewhere")).await;
        key_grams::index_all(&store).await.unwrap();
        if database.is_postgres() {
            database.execute("ANALYZE").await.unwrap();
        }
        let filter = KeyFilter { search: Some("mewhe"), now: NOW, limit: 20, ..KeyFilter::default() };
        let mut transaction = store.read().await.unwrap();
        if let Transaction::Postgres(inner) = &mut transaction {
            // So few keys are read as soon one by one.
            sqlx::query("SET LOCAL enable_seqscan = off").execute(&mut **inner).await.unwrap();
        }
        let page = key_search::find(&mut transaction, &filter).await.unwrap();
        assert_eq!((ids(&page.keys), page.searched_to), (vec!["k1".to_owned(), "k2".to_owned()], None));
        if let Transaction::Postgres(inner) = &mut transaction {
            let scans: i64 = sqlx::query_scalar("SELECT pg_stat_get_xact_numscans('key_search_by_gram'::regclass)")
                .fetch_one(&mut **inner)
                .await
                .unwrap();
            assert!(scans > 0);
        }
        transaction.rollback().await;
        // What is not in it is not found any more, which no look at all keys would miss.
        database.execute("DELETE FROM key_search WHERE id = 'k1'").await.unwrap();
        assert_eq!(search(&store, "mewhe").await, ["k2"]);
    }
}

on_both! {
    /// Searches a state that hardly any of many keys has: each page looks at some thousand keys, and says that it goes on.
    async fn a_page_without_keys_that_goes_on(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        add_many(database).await;
        let expired = StoredKey { expires_at: Some("2026-01-01T00:00:00Z".to_owned()), ..key("k0", "0000") };
        add(&api.store, &expired).await;
        key_grams::index_all(&api.store).await.unwrap();
        for text in ["0", "00"] {
            let path = format!("/api/v1/keys?state=expired&search={text}");
            let page = api.get(&admin, &path).await.expect(200);
            assert_eq!(page["items"].as_array().unwrap().len(), 0, "{page}");
            let next = page["next"].as_str().unwrap();
            let page = api.get(&admin, &format!("{path}&cursor={next}")).await.expect(200);
            assert_eq!((page["items"][0]["id"].as_str(), page.get("next")), (Some("k0"), None), "{page}");
        }
        api.was_well();
    }
}

/// A step of the simulation on the keys k0 to k11: a change, or a search.
#[derive(Debug, Clone)]
enum SearchStep {
    Put {
        number: u8,
        label: String,
        owner: Option<String>,
        disabled: bool,
    },
    Remove(u8),
    Index,
    Search(String, Option<KeyState>),
}

/// Few letters, so that much is alike, and none that the many keys have.
fn letters(most: usize) -> impl Strategy<Value = String> {
    let letter = prop::sample::select(vec![
        'a', 'A', 'b', '%', '_', '\\', '\'', '"', ' ', 'é', '京', '🦀',
    ]);
    prop::collection::vec(letter, 1..=most).prop_map(String::from_iter)
}

fn any_step() -> impl Strategy<Value = SearchStep> {
    let state = prop::option::of(prop::sample::select(vec![
        KeyState::Active,
        KeyState::Disabled,
    ]));
    let put = (
        0_u8..12,
        letters(8),
        prop::option::of(letters(4)),
        any::<bool>(),
    );
    prop_oneof![
        6 => put.prop_map(|(number, label, owner, disabled)| SearchStep::Put { number, label, owner, disabled }),
        1 => (0_u8..12).prop_map(SearchStep::Remove),
        1 => Just(SearchStep::Index),
        8 => (letters(5), state).prop_map(|(text, state)| SearchStep::Search(text, state)),
    ]
}

async fn run(store: &Store, steps: &[SearchStep]) {
    for step in steps {
        match step {
            SearchStep::Put {
                number,
                label,
                owner,
                disabled,
            } => {
                let key = StoredKey {
                    owner: owner.clone(),
                    disabled: *disabled,
                    ..key(&format!("k{number}"), label)
                };
                in_transaction!(store, transaction => match keys::find_locked(transaction, &key.id).await? {
                    Some(before) => keys::update(transaction, &before, &key).await,
                    None => keys::insert(transaction, &key).await,
                })
                .unwrap();
            }
            SearchStep::Remove(number) => {
                let id = format!("k{number}");
                in_transaction!(store, transaction => match keys::find_locked(transaction, &id).await? {
                    Some(key) => keys::remove(transaction, &key).await,
                    None => Ok(()),
                })
                .unwrap();
            }
            SearchStep::Index => key_grams::index_all(store).await.unwrap(),
            SearchStep::Search(text, state) => {
                let filter = KeyFilter {
                    search: Some(text),
                    state: *state,
                    now: NOW,
                    limit: 5,
                    ..KeyFilter::default()
                };
                let all = KeyFilter {
                    limit: 1_000_000,
                    ..filter.clone()
                };
                let mut transaction = store.read().await.unwrap();
                let plain = key_lists::list(&mut transaction, &all, KeyRange::All)
                    .await
                    .unwrap();
                transaction.rollback().await;
                assert_eq!(found(store, &filter).await.0, ids(&plain), "{step:?}");
            }
        }
    }
}

async fn as_by_a_look_at_all(database: &TestDatabase, steps: &[SearchStep]) {
    let store = database.open().await;
    add_many(database).await;
    key_grams::index_all(&store).await.unwrap();
    run(&store, steps).await;
    store.close().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_on_sqlite(steps in prop::collection::vec(any_step(), 60..120)) {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(as_by_a_look_at_all(&TestDatabase::sqlite(), &steps));
    }

    #[test]
    fn random_on_postgres(steps in prop::collection::vec(any_step(), 60..120)) {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let database = runtime.block_on(TestDatabase::postgres());
        runtime.block_on(as_by_a_look_at_all(&database, &steps));
        runtime.block_on(database.drop());
    }
}
