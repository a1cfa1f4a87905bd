//! Usage by what requests say of themselves: clients, sessions and labels.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::datetime;
use trilane_console::cases::Role;
use trilane_console::intake::void;
use trilane_console::ledger::{LedgerRecord, Sum, UsageColumn};
use trilane_console::store::audit::Actor;
use trilane_console::store::usage_hours::{self, UsageQuery};
use trilane_console::store::{Store, StoreError, usage_days, usage_dimensions};
use trilane_console::{in_transaction, maintenance};

use crate::api::Api;
use crate::database::{TestDatabase, on_both};
use crate::ledger::{position, send};
use crate::requests;

/// All days of the lines here are over by then.
const LATER: OffsetDateTime = datetime!(2026-12-02 12:00 UTC);

/// A line of a request that says something of itself.
fn line(at: &str, key: &str, charge: &str, said: Value) -> String {
    let mut members = json!({"trilane.key.id": key, "trilane.key.owner": if key == "ka" { "ann" } else { "bob" }, "trilane.charge": charge});
    members
        .as_object_mut()
        .unwrap()
        .extend(said.as_object().unwrap().clone());
    requests::line(at, members)
}

/// Rows of usage: the values in the order of the names, requests and charge.
fn rows(list: &Value, names: &[&str]) -> Vec<String> {
    let items = list["items"].as_array().unwrap().iter();
    let row = |item: &Value| {
        let values = names
            .iter()
            .map(|name| item["values"][name].as_str().unwrap());
        let mut row: Vec<_> = values.map(str::to_owned).collect();
        row.push(item["counts"]["requests"].to_string());
        row.push(item["charge"].as_str().unwrap().to_owned());
        row.join(" ")
    };
    items.map(row).collect()
}

async fn count(database: &TestDatabase) -> usize {
    let dump = database.dump().await;
    dump.lines()
        .filter(|row| row.starts_with("usage_by_dimension "))
        .count()
}

/// Makes all lines of an Envoy void.
async fn void_all(store: &Store, envoy: &str) {
    let actor = Actor {
        id: "root".to_owned(),
        address: String::new(),
    };
    let begun: Result<_, StoreError> = in_transaction!(store, transaction => void::begin(transaction, envoy, (0, 4_000_000_000_000_000), &actor, 0).await);
    begun.unwrap().unwrap();
    void::run_all(store).await.unwrap();
}

on_both! {
    async fn what_is_asked_for(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (root, ann) = (api.person("root", Role::Admin).await, api.person("ann", Role::Member).await);
        let said = |client: &str, session: &str, project: &str| json!({"trilane.client": client, "trilane.session": session, "trilane.labels": {"project": project}});
        let lines = [
            line("2026-11-23T23:59:59Z", "ka", "1", said("c/1", "s1", "p")),
            line("2026-11-24T10:00:00Z", "ka", "2", said("c/1", "s1", "q")),
            line("2026-11-24T11:00:00Z", "kb", "4", json!({"trilane.client": "c/1", "trilane.key.team": "red"})),
            line("2026-11-24T12:00:00Z", "kb", "8", json!({"trilane.client": "d", "trilane.labels": {"project": "p", "task": "t\u{0}"}})),
            // It says nothing, or what no gateway writes.
            line("2026-11-24T13:00:00Z", "ka", "16", json!({})),
            line("2026-11-24T14:00:00Z", "ka", "32", json!({"trilane.client": "-", "trilane.session": "", "trilane.labels": {"Project": "p"}})),
            line("2026-11-24T15:00:00Z", "ka", "64", json!({"trilane.client": "x".repeat(129), "trilane.session": 1, "trilane.labels": "p"})),
        ];
        api.ledger(&root, "/api/v1/ledger/e/f?from=0", &lines.concat()).await.expect(200);
        let all: &[(&str, &str, &[&str])] = &[
            (&root, "by=client", &["c/1 3 7", "d 1 8"]),
            (&root, "by=session", &["s1 2 3"]),
            (&root, "by=label:project", &["p 2 9", "q 1 2"]),
            (&root, "by=label:task", &["t\u{fffd} 1 8"]),
            (&root, "by=label:other", &[]),
            (&root, "by=day,client", &["2026-11-23 c/1 1 1", "2026-11-24 c/1 2 6", "2026-11-24 d 1 8"]),
            (&root, "by=client,month", &["c/1 2026-11 3 7", "d 2026-11 1 8"]),
            (&root, "by=key,owner,client", &["ka ann c/1 2 3", "kb bob c/1 1 4", "kb bob d 1 8"]),
            (&root, "by=team,client&key=kb", &["blue d 1 8", "red c/1 1 4"]),
            (&root, "by=client&owner=bob", &["c/1 1 4", "d 1 8"]),
            (&root, "by=client&team=red", &["c/1 1 4"]),
            (&root, "by=client&since=2026-11-24", &["c/1 2 6", "d 1 8"]),
            (&root, "by=client&until=2026-11-24T00", &["c/1 1 1"]),
            (&root, "by=client&since=2026-11-23&until=2026-11-24", &["c/1 1 1"]),
            (&root, "by=client,currency&limit=1", &["c/1 USD 3 7"]),
            // Members see their own.
            (&ann, "by=client", &["c/1 2 3"]),
            (&ann, "by=label:project", &["p 1 1", "q 1 2"]),
        ];
        let check = async |when: &str| {
            for (who, query, want) in all {
                let by = query.split(['=', '&']).nth(1).unwrap();
                let list = api.get(who, &format!("/api/v1/usage?{query}")).await.expect(200);
                assert_eq!(rows(&list, &by.split(',').collect::<Vec<_>>()), *want, "{when}: {query}");
            }
        };
        check("as they came").await;
        usage_days::roll_up(&api.store, LATER).await.unwrap();
        usage_dimensions::fold(&api.store, LATER).await.unwrap();
        check("folded").await;

        // Page by page.
        let list = api.get(&root, "/api/v1/usage?by=client,key&limit=2").await.expect(200);
        let next = api.get(&root, &format!("/api/v1/usage?by=client,key&limit=2&cursor={}", list["next"].as_str().unwrap())).await.expect(200);
        assert_eq!([rows(&list, &["client", "key"]), rows(&next, &["client", "key"])].concat(), ["c/1 ka 2 3", "c/1 kb 1 4", "d kb 1 8"]);
        void_all(&api.store, "e").await;
        assert_eq!(count(database).await, 0);
        api.was_well();
    }
}

on_both! {
    /// A request for what is not added up is wrong, and is told what is.
    async fn what_is_not_added_up(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let others = ["group", "model", "source", "account", "entry", "outcome", "hour"];
        let columns = others.map(|column| format!("by={column},client"));
        let filters = ["group", "model", "account"].map(|filter| format!("by=session&{filter}=x"));
        let times = ["since=2026-11-24T01", "until=2026-11-24T23"].map(|time| format!("by=label:project&{time}"));
        let two = ["by=client,session", "by=client,label:project", "by=label:a,label:b"].map(str::to_owned);
        for query in columns.iter().chain(&filters).chain(&times).chain(&two) {
            let problem = api.get(&root, &format!("/api/v1/usage?{query}")).await.problem(400);
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("goes with the columns key, owner, team, day, month and currency"), "{query}: {detail}");
        }
        for query in ["by=label:", "by=label", "by=label:Project", "by=status,client", "by=client,client"] {
            let problem = api.get(&root, &format!("/api/v1/usage?{query}")).await.problem(400);
            assert!(problem["detail"].as_str().unwrap().starts_with("by has a name"), "{query}");
        }
        for by in ["client", "session", "label:project"] {
            api.get(&root, &format!("/api/v1/usage/top?currency=USD&by={by}")).await.problem(400);
        }
    }
}

on_both! {
    /// Of a day that is over each key has its greatest values and the rest, and lines that come later are added to these.
    async fn the_greatest_and_the_rest(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let said = |n: u32| json!({"trilane.client": format!("c{n:02}"), "trilane.session": format!("s{n:02}"), "trilane.labels": {"project": format!("p{n:02}")}});
        let at = |n: u32| format!("2026-11-24T{:02}:00:00Z", n % 24);
        // The charge of the last is the greatest; the first two have none, and the second of them has more requests.
        let mut lines: Vec<String> = (0..33).map(|n| line(&at(n), "ka", &n.saturating_sub(1).to_string(), said(n))).collect();
        lines.push(line(&at(1), "ka", "0", said(1)));
        // Other keys and days have their own.
        lines.push(line(&at(0), "kb", "0.5", said(0)));
        lines.push(line("2026-11-23T10:00:00Z", "ka", "0.25", said(0)));
        lines.push(line("2026-12-02T10:00:00Z", "ka", "0.125", said(0)));
        api.ledger(&root, "/api/v1/ledger/e/f?from=0", &lines.concat()).await.expect(200);
        let of_day = async |by: &str, key: &str| {
            let path = format!("/api/v1/usage?by={by}&key={key}&since=2026-11-24&until=2026-11-25");
            rows(&api.get(&root, &path).await.expect(200), &[by])
        };
        for by in ["client", "session", "label:project"] {
            assert_eq!(of_day(by, "ka").await.len(), 33, "{by}: as they came");
        }
        usage_dimensions::fold(&api.store, datetime!(2026-11-25 00:04 UTC)).await.unwrap();
        assert_eq!(of_day("session", "ka").await.len(), 33, "most lines of the day have not come");
        usage_days::roll_up(&api.store, LATER).await.unwrap();
        usage_dimensions::fold(&api.store, LATER).await.unwrap();
        // Of the two sessions that charge nothing the one with two requests is kept.
        for (by, most, rest, last) in [
            ("client", 8, " 26 276", "c32 1 31"),
            ("session", 32, " 1 0", "s32 1 31"),
            ("label:project", 16, " 18 120", "p32 1 31"),
        ] {
            let found = of_day(by, "ka").await;
            assert_eq!(found.len(), most + 1, "{by}: {found:?}");
            assert_eq!((found[0].as_str(), found[most].as_str()), (rest, last), "{by}");
            assert_eq!(of_day(by, "kb").await.len(), 1, "{by}");
        }
        // A line that comes later goes to the row that its value has, or to the rest.
        let late = [
            line(&at(5), "ka", "1000", said(32)),
            line(&at(5), "ka", "2000", said(0)),
            line(&at(5), "ka", "4000", said(77)),
            line(&at(5), "kb", "0.5", said(1)),
        ];
        api.ledger(&root, "/api/v1/ledger/late/f?from=0", &late.concat()).await.expect(200);
        for (by, rest, last) in [
            ("client", " 28 6276", "c32 2 1031"),
            ("session", " 3 6000", "s32 2 1031"),
            ("label:project", " 20 6120", "p32 2 1031"),
        ] {
            let found = of_day(by, "ka").await;
            assert_eq!((found[0].as_str(), found.last().unwrap().as_str()), (rest, last), "{by}");
            assert_eq!(of_day(by, "kb").await.len(), 2, "{by}: where there are few, a late one has its row");
        }
        // What is void is taken from where it went.
        void_all(&api.store, "late").await;
        assert_eq!(of_day("session", "ka").await[0], " 1 0");
        assert_eq!(of_day("session", "ka").await[32], "s32 1 31");
        void_all(&api.store, "e").await;
        assert_eq!(count(database).await, 0);
        api.was_well();
    }
}

on_both! {
    /// Sessions go with the requests that have them; clients and labels stay.
    async fn sessions_go_with_their_requests(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let now = OffsetDateTime::now_utc();
        let said = json!({"trilane.client": "c", "trilane.session": "s", "trilane.labels": {"project": "p"}});
        let lines = [29, 31].map(|days| {
            let at = (now - time::Duration::days(days)).date();
            line(&format!("{at}T00:00:00Z"), "ka", "1", said.clone())
        });
        api.ledger(&root, "/api/v1/ledger/e/f?from=0", &lines.concat()).await.expect(200);
        let retention = maintenance::Retention { removals: 30, requests: 30 };
        for _ in 0..2 {
            maintenance::run(&api.store, retention).await.unwrap();
            for (by, want) in [("client", "c 2 2"), ("session", "s 1 1"), ("label:project", "p 2 2")] {
                let found = api.get(&root, &format!("/api/v1/usage?by={by}")).await.expect(200);
                assert_eq!(rows(&found, &[by]), [want], "{by}");
            }
        }
        api.was_well();
    }
}

/// Adds up requests and charges by day and key.
type Added = BTreeMap<(String, String), (u64, Sum)>;

/// Returns the same as texts.
fn shown(added: &Added) -> Vec<String> {
    let rows = added.iter();
    rows.map(|(key, (requests, charge))| format!("{key:?} {requests} {}", charge.text()))
        .collect()
}

async fn added(store: &Store, column: &UsageColumn) -> Added {
    let query = UsageQuery {
        by: vec![UsageColumn::Day, UsageColumn::Key, column.clone()],
        limit: 1_000_000,
        ..UsageQuery::default()
    };
    let mut transaction = store.read().await.unwrap();
    let sums = usage_hours::sums(&mut transaction, &query).await.unwrap();
    transaction.rollback().await;
    let mut added = Added::new();
    for sums in sums {
        let key = (sums.values[0].clone(), sums.values[1].clone());
        let (requests, charge) = added.entry(key).or_default();
        *requests += sums.counts[0];
        charge.add_sum(&sums.charge);
    }
    added
}

fn of_lines(text: &str, column: &UsageColumn) -> Added {
    let mut added = Added::new();
    for line in text.lines() {
        let record = LedgerRecord::parse(line.as_bytes()).unwrap();
        if column.value(&record).is_empty() {
            continue;
        }
        let key = (record.time.date().to_string(), record.key().to_owned());
        let (requests, charge) = added.entry(key).or_default();
        *requests += 1;
        charge.add(record.charge.unwrap_or_default());
    }
    added
}

fn any_line() -> impl Strategy<Value = String> {
    (0_u32..72, 0_u8..2, 0_u8..14, 0_u8..20, 0_u32..1000).prop_map(
        |(hour, key, client, project, charge)| {
            let at = format!("2026-11-{:02}T{:02}:30:00Z", 22 + hour / 24, hour % 24);
            let mut said = json!({"trilane.labels": {"project": format!("p{project}")}});
            if client > 0 {
                said["trilane.client"] = json!(format!("c{client}"));
            }
            line(&at, &format!("k{key}"), &format!("0.{charge}"), said)
        },
    )
}

/// Lines that are sent, and until which hour days are folded then.
type Steps = Vec<(Vec<String>, Option<u32>)>;

fn steps() -> impl Strategy<Value = Steps> {
    let lines = prop::collection::vec(any_line(), 0..30);
    prop::collection::vec((lines, prop::option::of(0_u32..100)), 1..6)
}

async fn random(database: &TestDatabase, steps: &Steps) {
    let store = database.open().await;
    let columns = ["client", "label:project"].map(|name| UsageColumn::of(name).unwrap());
    let mut text = String::new();
    for (number, (lines, until)) in steps.iter().enumerate() {
        let envoy = format!("e{number}");
        let part = lines.concat();
        let mut at = 0;
        while at < part.len() {
            at = position(send(&store, &envoy, at, &part.as_bytes()[at..]).await);
        }
        text.push_str(&part);
        if let Some(hour) = until {
            let until = format!("2026-11-{:02}", 22 + hour / 24);
            while usage_dimensions::fold_some(&store, &until).await.unwrap() {}
        }
        for column in &columns {
            let (found, want) = (added(&store, column).await, of_lines(&text, column));
            assert_eq!(shown(&found), shown(&want), "{column:?}");
        }
    }
    for number in 0..steps.len() {
        void_all(&store, &format!("e{number}")).await;
    }
    assert_eq!(count(database).await, 0, "all lines are void");
    store.close().await;
}

fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    /// No line is lost or counted twice, whatever is folded when, and voids take all of it away.
    #[test]
    fn random_sqlite(steps in steps()) {
        runtime().block_on(random(&TestDatabase::sqlite(), &steps));
    }

    #[test]
    fn random_postgres(steps in steps()) {
        runtime().block_on(async {
            let database = TestDatabase::postgres().await;
            random(&database, &steps).await;
            database.drop().await;
        });
    }
}
