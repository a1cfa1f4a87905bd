//! Usage by day: it is that by hour and that of the lines, whatever is rolled up when.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use proptest::prelude::*;
use rust_decimal::Decimal;
use time::OffsetDateTime;
use time::macros::datetime;
use trilane_console::cases::Role;
use trilane_console::ledger::UsageColumn;
use trilane_console::ledger::{LedgerRecord, UsageTotals};
use trilane_console::store::usage_hours::{self, UsageQuery};
use trilane_console::store::{Store, usage_days};

use crate::api::Api;
use crate::database::{TestDatabase, on_both};
use crate::ledger::{expected, position, send, stored};

/// All hours of the lines here are over by then.
const LATER: OffsetDateTime = datetime!(2026-12-02 12:00 UTC);

/// A line of a key that belongs to a team.
fn line(at: &str, key: &str, team: &str, charge: &str) -> String {
    let line = crate::ledger::line(at, key, "m", charge);
    line.replace(
        "\"trilane.group\"",
        &format!("\"trilane.key.team\":\"{team}\",\"trilane.group\""),
    )
}

type Shown = BTreeMap<Vec<String>, String>;

async fn asked(store: &Store, query: UsageQuery) -> Shown {
    let mut transaction = store.read().await.unwrap();
    let query = UsageQuery {
        limit: 1_000_000,
        ..query
    };
    let sums = usage_hours::sums(&mut transaction, &query).await.unwrap();
    transaction.rollback().await;
    sums.into_iter().map(shown).collect()
}

fn shown(sums: usage_hours::UsageSums) -> (Vec<String>, String) {
    let text = format!(
        "{:?} {} {} {} {}",
        sums.counts,
        sums.charge.text(),
        sums.estimated_charge.text(),
        sums.costed_charge.text(),
        sums.cost.text()
    );
    (sums.values, text)
}

/// Reads from lines the columns that are asked for, within the hours that are.
fn of_lines(files: &[&[u8]], query: &UsageQuery) -> Shown {
    let mut sums: BTreeMap<Vec<String>, UsageTotals> = BTreeMap::new();
    for line in files
        .iter()
        .flat_map(|file| file.split(|byte| *byte == b'\n'))
    {
        let Ok(record) = LedgerRecord::parse(line) else {
            continue;
        };
        let hour = format!("{}T{:02}", record.time.date(), record.time.hour());
        let is_within = query.since.as_ref().is_none_or(|since| hour >= *since)
            && query.until.as_ref().is_none_or(|until| hour < *until)
            && query.team.as_ref().is_none_or(|team| record.team() == team)
            && query
                .owner
                .as_ref()
                .is_none_or(|owner| record.owner() == owner);
        if !is_within {
            continue;
        }
        let value = |column: &UsageColumn| match column {
            UsageColumn::Hour => hour.clone(),
            UsageColumn::Day => hour[..10].to_owned(),
            UsageColumn::Month => hour[..7].to_owned(),
            UsageColumn::Team => record.team().to_owned(),
            UsageColumn::Key => record.key().to_owned(),
            other => panic!("{other:?}"),
        };
        let key = query.by.iter().map(value).collect();
        sums.entry(key).or_default().add(&record);
    }
    let shown = |totals: &UsageTotals| {
        let counts = trilane_console::ledger::Measure::ALL.map(|measure| totals.count(measure));
        format!(
            "{counts:?} {}",
            totals.amounts().map(|sum| sum.text()).join(" ")
        )
    };
    sums.iter()
        .map(|(key, totals)| (key.clone(), shown(totals)))
        .collect()
}

fn queries() -> Vec<UsageQuery> {
    let by = |columns: &[UsageColumn]| UsageQuery {
        by: columns.to_vec(),
        ..UsageQuery::default()
    };
    let hour = |text: &str| Some(text.to_owned());
    vec![
        by(&[]),
        by(&[UsageColumn::Hour, UsageColumn::Key]),
        by(&[UsageColumn::Day]),
        by(&[UsageColumn::Day, UsageColumn::Team]),
        by(&[UsageColumn::Month, UsageColumn::Key]),
        UsageQuery {
            since: hour("2026-11-24T00"),
            ..by(&[UsageColumn::Day])
        },
        UsageQuery {
            until: hour("2026-11-25T00"),
            ..by(&[UsageColumn::Key])
        },
        UsageQuery {
            since: hour("2026-11-23T11"),
            until: hour("2026-11-25T07"),
            ..by(&[UsageColumn::Day, UsageColumn::Key])
        },
        UsageQuery {
            since: hour("2026-11-24T03"),
            until: hour("2026-11-24T21"),
            ..by(&[UsageColumn::Day])
        },
        UsageQuery {
            since: hour("2026-11-23T23"),
            until: hour("2026-11-24T01"),
            ..by(&[UsageColumn::Team])
        },
        UsageQuery {
            team: Some("red".to_owned()),
            ..by(&[UsageColumn::Day])
        },
        UsageQuery {
            team: Some(String::new()),
            ..by(&[UsageColumn::Day])
        },
        UsageQuery {
            owner: Some("owner of k1".to_owned()),
            since: hour("2026-11-23T05"),
            ..by(&[UsageColumn::Day])
        },
    ]
}

async fn compare(store: &Store, files: &[&[u8]], when: &str) {
    for query in queries() {
        let want = of_lines(files, &query);
        assert_eq!(asked(store, query.clone()).await, want, "{when}: {query:?}");
    }
}

async fn count(database: &TestDatabase, table: &str) -> usize {
    let start = format!("{table} ");
    let dump = database.dump().await;
    dump.lines().filter(|line| line.starts_with(&start)).count()
}

fn any_line() -> impl Strategy<Value = String> {
    (0_u32..96, 0_u8..4, 0_usize..3, 0_u64..10_000_000, 0_u32..12).prop_map(
        |(hour, key, team, units, places)| {
            let at = format!("2026-11-{:02}T{:02}:30:00Z", 22 + hour / 24, hour % 24);
            let charge = Decimal::from_i128_with_scale(i128::from(units), places);
            line(
                &at,
                &format!("k{key}"),
                ["", "red", "blue"][team],
                &charge.to_string(),
            )
        },
    )
}

/// Lines that are sent, and until which hour usage is rolled up then.
type Steps = Vec<(Vec<String>, Option<u32>)>;

fn steps() -> impl Strategy<Value = Steps> {
    let lines = prop::collection::vec(any_line(), 0..12);
    prop::collection::vec((lines, prop::option::of(0_u32..100)), 1..8)
}

async fn random(database: &TestDatabase, steps: &Steps) {
    let store = database.open().await;
    let mut text = String::new();
    for (lines, until) in steps {
        let part = lines.concat();
        send(&store, "e", text.len(), part.as_bytes())
            .await
            .unwrap();
        text.push_str(&part);
        if let Some(hour) = until {
            let until = format!("2026-11-{:02}T{:02}", 22 + hour / 24, hour % 24);
            while usage_days::roll_up_some(&store, &until).await.unwrap() {}
        }
        compare(&store, &[text.as_bytes()], "between").await;
    }
    usage_days::roll_up(&store, LATER).await.unwrap();
    compare(&store, &[text.as_bytes()], "rolled up").await;
    assert_eq!(stored(&store).await, expected(&[text.as_bytes()]));
    store.close().await;
}

fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

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

on_both! {
    /// Days are read, not hours: what is asked for of keys by day is what usage_by_day says. And a late line counts at once in both.
    async fn days_are_read_and_late_lines_count_at_once(database: &TestDatabase) {
        let store = database.open().await;
        let first = line("2026-11-24T11:00:00Z", "k1", "red", "0.1") + &line("2026-11-24T12:00:00Z", "k1", "red", "0.2");
        send(&store, "e", 0, first.as_bytes()).await.unwrap();
        assert_eq!(count(database, "usage_by_day").await, 0);
        usage_days::roll_up(&store, LATER).await.unwrap();
        assert_eq!(count(database, "usage_by_day").await, 1);
        let late = line("2026-11-24T10:00:00Z", "k1", "red", "1") + &line("2026-11-23T10:00:00Z", "k2", "", "2") + &line("2026-12-02T11:00:00Z", "k2", "", "4");
        send(&store, "e", first.len(), late.as_bytes()).await.unwrap();
        compare(&store, &[first.as_bytes(), late.as_bytes()], "late").await;
        usage_days::roll_up(&store, LATER).await.unwrap();
        assert_eq!(count(database, "usage_by_day").await, 2, "the last hour is not over for long enough");
        compare(&store, &[first.as_bytes(), late.as_bytes()], "rolled up again").await;
        database.execute("UPDATE usage_by_hour SET \"requests\" = 1000").await.unwrap();
        let by = UsageQuery { by: vec![UsageColumn::Key], until: Some("2026-11-25T00".to_owned()), ..UsageQuery::default() };
        let found = asked(&store, by).await;
        assert!(found[&vec!["k1".to_owned()]].starts_with("[3, "), "{found:?}");
    }
}

on_both! {
    /// Without keys, owners and teams the few rows of all are read, whatever is rolled up: the rows of keys are as good as gone.
    async fn what_is_asked_of_all_reads_no_row_of_a_key(database: &TestDatabase) {
        let store = database.open().await;
        let text: String = (0..4).map(|n| line(&format!("2026-11-2{n}T1{n}:00:00Z"), &format!("k{n}"), "red", "0.1")).collect();
        send(&store, "e", 0, text.as_bytes()).await.unwrap();
        usage_days::roll_up(&store, datetime!(2026-11-22 12:00 UTC)).await.unwrap();
        let whole = || UsageQuery { since: Some("2026-11-20T00".to_owned()), ..UsageQuery::default() };
        let part = || UsageQuery { since: Some("2026-11-20T11".to_owned()), until: Some("2026-11-23T13".to_owned()), ..UsageQuery::default() };
        for table in ["usage_by_hour", "usage_by_day"] {
            database.execute(&format!("UPDATE {table} SET \"requests\" = 1000")).await.unwrap();
        }
        for (case, query, want, rows) in [
            ("all", whole(), "[4, ", 1),
            ("by day", UsageQuery { by: vec![UsageColumn::Day], ..whole() }, "[1, ", 4),
            ("by month and model", UsageQuery { by: vec![UsageColumn::Month, UsageColumn::Model], ..whole() }, "[4, ", 1),
            ("by hour", UsageQuery { by: vec![UsageColumn::Hour], ..whole() }, "[1, ", 4),
            ("parts of days", part(), "[2, ", 1),
            ("of a group", UsageQuery { group: Some("g".to_owned()), ..whole() }, "[4, ", 1),
            ("of another group", UsageQuery { group: Some("h".to_owned()), ..whole() }, "", 0),
            ("by team", UsageQuery { by: vec![UsageColumn::Team], ..whole() }, "[4000, ", 1),
            ("of a key", UsageQuery { key: Some("k3".to_owned()), ..whole() }, "[1000, ", 1),
        ] {
            let found = asked(&store, query).await;
            assert_eq!(found.len(), rows, "{case}: {found:?}");
            assert!(found.values().all(|sums| sums.starts_with(want)), "{case}: {found:?}");
        }
    }
}

on_both! {
    /// Rows are rolled up a bounded number at a time, each in the order of hours and keys, and a roll-up that is given up at
    /// any moment loses and repeats nothing.
    async fn given_up_at_any_moment(database: &TestDatabase) {
        let store = database.open().await;
        let at = |n: u32| format!("2026-11-{:02}T{:02}:00:00Z", 22 + n / 1500, n / 100 % 24);
        let text: String = (0..4500).map(|n| line(&at(n), &format!("k{}", n % 400), "red", "0.001")).collect();
        send(&store, "e", 0, text.as_bytes()).await.unwrap();
        assert!(usage_days::roll_up_some(&store, "2026-12-01T00").await.unwrap());
        assert_eq!(count(database, "usage_by_day").await, 400, "the first thousand rows of hours");
        let (mut given_up, mut turn) = (0, 0_u64);
        loop {
            turn += 1;
            let patience = Duration::from_micros(turn * 377 % 20_000 + turn / 20 * 20_000);
            match tokio::time::timeout(patience, usage_days::roll_up_some(&store, "2026-12-01T00")).await {
                Err(_) => given_up += 1,
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => break,
                Ok(Err(error)) => panic!("{error}"),
            }
            if turn % 5 == 0 {
                let by = UsageQuery { by: vec![UsageColumn::Day, UsageColumn::Key], ..UsageQuery::default() };
                assert_eq!(asked(&store, by.clone()).await, of_lines(&[text.as_bytes()], &by), "turn {turn}");
            }
        }
        assert!(given_up > 2, "{given_up}");
        compare(&store, &[text.as_bytes()], "rolled up").await;
    }
}

on_both! {
    /// Two consoles take lines in, late ones too, while both roll up.
    async fn two_consoles_at_once(database: &TestDatabase) {
        let consoles = [database.open().await, database.open().await];
        let at = |n: u32| format!("2026-11-{:02}T{:02}:00:00Z", 22 + n * 7 % 4, n % 24);
        let text: String = (0..400).map(|n| line(&at(n), &format!("k{}", n % 5), "red", "0.01")).collect();
        let mut tasks = Vec::new();
        for envoy in 0..4 {
            let (store, text) = (consoles[envoy % 2].clone(), text.clone());
            tasks.push(tokio::spawn(async move {
                let (envoy, bytes, mut at) = (format!("e{envoy}"), text.as_bytes(), 0);
                while at < bytes.len() {
                    let end = (at + 6000).min(bytes.len());
                    at = position(send(&store, &envoy, at, &bytes[at..end]).await);
                }
            }));
        }
        for store in &consoles {
            let store = store.clone();
            tasks.push(tokio::spawn(async move {
                for turn in 0..40_u32 {
                    let until = format!("2026-11-{:02}T{:02}", 22 + turn % 5, turn % 24);
                    while usage_days::roll_up_some(&store, &until).await.unwrap() {}
                    tokio::time::sleep(Duration::from_millis(3)).await;
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        compare(&consoles[0], &[text.as_bytes(); 4], "at once").await;
        usage_days::roll_up(&consoles[1], LATER).await.unwrap();
        compare(&consoles[0], &[text.as_bytes(); 4], "rolled up").await;
    }
}

/// All rows, so many at a time.
async fn in_pages(store: &Store, query: &UsageQuery, limit: i64) -> Shown {
    let (mut pages, mut after) = (Shown::new(), None);
    loop {
        let page = UsageQuery {
            limit,
            after: after.take(),
            ..query.clone()
        };
        let mut transaction = store.read().await.unwrap();
        let sums = usage_hours::sums(&mut transaction, &page).await.unwrap();
        transaction.rollback().await;
        let Some(last) = sums.last() else {
            return pages;
        };
        after = Some([last.values.clone(), vec![last.currency.clone()]].concat());
        for (values, text) in sums.into_iter().map(shown) {
            assert_eq!(pages.insert(values, text), None, "a row on two pages");
        }
    }
}

on_both! {
    /// Pages whose rows are added up from days, hours behind them, and hours of days that are asked for in part. Not every key has
    /// rows in each, so that the first rows of one are not those of another.
    async fn pages_of_several_parts(database: &TestDatabase) {
        let store = database.open().await;
        let at = [("2026-11-20", 5), ("2026-11-21", 1), ("2026-11-21", 22), ("2026-11-22", 3), ("2026-11-22", 20), ("2026-11-23", 2)];
        let lines = at.iter().zip(0..).flat_map(|((day, hour), turn)| (0..9).filter(move |key| (key + turn) % 3 > 0).map(move |key| {
            let team = ["red", "blue", ""][key % 3];
            line(&format!("{day}T{hour:02}:10:00Z"), &format!("k{key}"), team, "0.1")
        }));
        let text: String = lines.collect();
        send(&store, "e", 0, text.as_bytes()).await.unwrap();
        let by = |columns: &[UsageColumn]| UsageQuery { by: columns.to_vec(), ..UsageQuery::default() };
        let hours = |query: UsageQuery| UsageQuery {
            since: Some("2026-11-20T04".to_owned()),
            until: Some("2026-11-23T03".to_owned()),
            ..query
        };
        for now in [datetime!(2026-11-19 00:00 UTC), datetime!(2026-11-22 04:00 UTC), LATER] {
            usage_days::roll_up(&store, now).await.unwrap();
            for query in [
                by(&[UsageColumn::Key]),
                hours(by(&[UsageColumn::Key])),
                hours(by(&[UsageColumn::Team])),
                hours(by(&[UsageColumn::Day, UsageColumn::Key])),
                hours(by(&[UsageColumn::Month, UsageColumn::Key])),
            ] {
                let whole = of_lines(&[text.as_bytes()], &query);
                for limit in [1, 2, 4, 100] {
                    let pages = in_pages(&store, &query, limit).await;
                    assert_eq!(pages, whole, "{limit} rows a page, rolled up at {now}: {query:?}");
                }
            }
        }
    }
}

on_both! {
    /// Pages of usage by hour, many rows in few hours and few in many: together they are the whole.
    async fn pages_by_hour(database: &TestDatabase) {
        let store = database.open().await;
        let at = [("2025-01-01", "00"), ("2026-11-01", "23"), ("2026-11-02", "00"), ("2026-11-02", "01"), ("2026-11-30", "12")];
        let text: String = at.iter().flat_map(|(day, hour)| (0..7).map(move |key| {
            line(&format!("{day}T{hour}:10:00Z"), &format!("k{key}"), if key == 0 { "red" } else { "" }, "0.1")
        })).collect();
        send(&store, "e", 0, text.as_bytes()).await.unwrap();
        let hour = |text: &str| Some(text.to_owned());
        let by = || UsageQuery { by: vec![UsageColumn::Hour, UsageColumn::Key], ..UsageQuery::default() };
        for query in [
            by(),
            UsageQuery { team: Some("red".to_owned()), ..by() },
            UsageQuery { since: hour("2026-11-02T00"), ..by() },
            UsageQuery { until: hour("2026-11-02T01"), ..by() },
            UsageQuery { since: hour("2020-01-01T00"), until: hour("2030-01-01T00"), ..by() },
        ] {
            let whole = of_lines(&[text.as_bytes()], &query);
            for limit in [1, 3, 7, 8, 34, 35] {
                let pages = in_pages(&store, &query, limit).await;
                assert_eq!(pages, whole, "{limit} rows a page: {query:?}");
            }
        }
        // Hours behind a page are not added up: this one's sum is more than there can be.
        let too_much = "UPDATE usage_by_hour SET \"requests\" = 9000000000000000000 WHERE hour = '2026-11-30T12'";
        database.execute(too_much).await.unwrap();
        for (limit, want) in [(1, Some(1)), (6, Some(6)), (7, None)] {
            let page = UsageQuery { by: vec![UsageColumn::Hour, UsageColumn::Team], since: hour("2026-11-01T00"), limit, ..UsageQuery::default() };
            let mut transaction = store.read().await.unwrap();
            let sums = usage_hours::sums(&mut transaction, &page).await;
            transaction.rollback().await;
            assert_eq!(sums.ok().map(|sums| sums.len()), want, "{limit} rows a page");
        }
    }
}

on_both! {
    /// The team of a request is that of its key at the time of the request.
    async fn by_team(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let text = line("2026-11-24T11:00:00Z", "k1", "red", "1") + &line("2026-11-24T11:01:00Z", "k1", "blue", "2") + &line("2026-11-24T11:02:00Z", "k2", "", "4");
        api.ledger(&admin, "/api/v1/ledger/e/f?from=0", &text).await.expect(200);
        let found = api.get(&admin, "/api/v1/usage?by=team").await.expect(200);
        let shown: Vec<_> = found["items"].as_array().unwrap().iter().map(|item| (item["values"]["team"].as_str().unwrap(), item["charge"].as_str().unwrap())).collect();
        assert_eq!(shown, [("", "4"), ("blue", "2"), ("red", "1")]);
        let page = api.get(&admin, "/api/v1/usage?by=team&limit=1").await.expect(200);
        let next = format!("/api/v1/usage?by=team&cursor={}", page["next"].as_str().unwrap());
        assert_eq!(api.get(&admin, &next).await.expect(200)["items"].as_array().unwrap().len(), 2);
        let found = api.get(&admin, "/api/v1/usage?by=key&team=red").await.expect(200);
        assert_eq!((found["items"].as_array().unwrap().len(), found["items"][0]["charge"].as_str()), (1, Some("1")));
        api.call(&admin, Method::GET, "/api/v1/usage?team=%00", &[], &serde_json::Value::Null).await.problem(400);
        api.was_well();
    }
}
