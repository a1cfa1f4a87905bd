//! Lines with values that no gateway writes: each is counted or put aside, and none stops a batch, a sum or a page.

use http::Method;
use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use tokio::runtime::Runtime;
use trilane_console::cases::Role;
use trilane_console::store::usage_days;

use crate::api::Api;
use crate::database::{TestDatabase, on_both};
use crate::ledger::line;
use crate::lives::{PRICES, document, publish};
use crate::page_security::{PASSWORD, get, post, session, with_password};

/// Now, so that pages of today and this month have it.
fn at() -> String {
    let now = OffsetDateTime::now_utc();
    trilane_console::timestamp::text(now)
}

/// A line with this member in the place of its own, or beside the others.
fn with(member: &str, value: &str) -> String {
    let members = [
        ("timestamp", json!(at()).to_string()),
        ("http.response.status_code", "200".to_owned()),
        ("trilane.usage.status", "\"complete\"".to_owned()),
        ("trilane.outcome", "\"finished\"".to_owned()),
        ("trilane.key.id", "\"absurd\"".to_owned()),
        ("trilane.key.owner", "\"root\"".to_owned()),
        ("trilane.account", "\"a\"".to_owned()),
        ("trilane.model", "\"m\"".to_owned()),
        ("trilane.charge", "\"0.5\"".to_owned()),
        ("trilane.currency", "\"USD\"".to_owned()),
    ];
    let mut members: Vec<_> = members.map(|(name, value)| (name.to_owned(), value)).into();
    members.retain(|(name, _)| name != member);
    members.push((member.to_owned(), value.to_owned()));
    let members = members
        .iter()
        .map(|(name, value)| format!("\"{name}\":{value}"));
    format!("{{{}}}\n", members.collect::<Vec<_>>().join(","))
}

/// A console with an admin: a token, and a session of the pages.
struct AbsurdLedger {
    api: Api,
    token: String,
    session: String,
}

impl AbsurdLedger {
    async fn new(database: &TestDatabase) -> Self {
        let api = Api::new(database).await;
        with_password(&api, "root", Role::Admin).await;
        let token = api.person("automat", Role::Admin).await;
        publish(&api, &token, &document("g", PRICES)).await;
        let session = session(
            &post(
                &api,
                "/sign-in",
                "",
                &[("person", "root"), ("password", PASSWORD)],
            )
            .await,
        );
        Self {
            api,
            token,
            session,
        }
    }

    /// Sends lines and a good one behind them; how many were counted and kept aside.
    async fn send(&self, file: &str, lines: &str) -> (u64, u64) {
        let good = line(&at(), "good", "m", "0.25");
        let path = format!("/api/v1/ledger/e/{file}?from=0");
        let taken = self
            .api
            .ledger(&self.token, &path, &format!("{lines}{good}"))
            .await
            .expect(200);
        let count = |name: &str| taken[name].as_u64().unwrap();
        (count("lines"), count("aside"))
    }

    /// Requests of the key of good lines.
    async fn good(&self) -> u64 {
        let usage = self
            .api
            .get(&self.token, "/api/v1/usage?by=key&key=good")
            .await
            .expect(200);
        let items = usage["items"].as_array().unwrap().iter();
        items
            .map(|item| item["counts"]["requests"].as_u64().unwrap())
            .sum()
    }

    async fn is_well(&self, case: &str) {
        let day = at()[..10].to_owned();
        let mut paths: Vec<String> = [
            "hour",
            "day",
            "month",
            "key",
            "owner",
            "team",
            "group",
            "source",
            "account",
            "model",
            "entry",
            "outcome",
            "client",
            "session",
            "label:project",
        ]
        .iter()
        .flat_map(|by| {
            [
                format!("/api/v1/usage?by={by}"),
                format!("/api/v1/usage?by={by}&since={day}"),
            ]
        })
        .collect();
        for by in ["key", "owner", "team", "group", "model", "account"] {
            paths.push(format!("/api/v1/usage/top?currency=USD&by={by}"));
        }
        for kind in ["key", "owner"] {
            paths.push(format!(
                "/api/v1/spend?kind={kind}&subject=root&period={day}"
            ));
        }
        let others = [
            "/api/v1/first-bytes",
            "/api/v1/attempts",
            "/api/v1/requests?limit=200",
            "/api/v1/feed/spend",
            "/api/v1/budgets/nearly-spent",
            "/api/v1/ledger/e/f/aside",
            "/api/v1/envoys",
        ];
        paths.extend(others.map(str::to_owned));
        for path in paths {
            let reply = self.api.get(&self.token, &path).await;
            assert_eq!(reply.status, 200, "{case}: {path}: {reply:?}");
        }
        let mut pages: Vec<String> = [
            "/",
            "/usage",
            "/usage.csv",
            "/requests",
            "/keys",
            "/accounts",
            "/accounts?period=hour",
            "/budgets",
            "/nearly-spent",
            "/settings",
            "/me",
            "/teams",
            "/people",
            "/audit",
        ]
        .map(str::to_owned)
        .into();
        for by in ["hour", "key", "model", "account", "outcome"] {
            pages.push(format!("/usage?by={by}&since={day}"));
        }
        let requests = self
            .api
            .get(&self.token, "/api/v1/requests?limit=200")
            .await
            .expect(200);
        for request in requests["items"].as_array().unwrap() {
            let id = request["id"].as_str().unwrap();
            let id: String =
                percent_encoding::utf8_percent_encode(id, percent_encoding::NON_ALPHANUMERIC)
                    .to_string();
            pages.push(format!("/requests/{id}"));
        }
        for path in pages {
            let reply = get(&self.api, &path, &self.session).await;
            assert_eq!(reply.status, 200, "{case}: {path}: {}", reply.text);
        }
        self.api.was_well();
    }
}

fn random_name(seed: u64, length: usize) -> String {
    // Nothing that a database could make shorter.
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let letters = (0..length).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'!' + u8::try_from(state % 90).unwrap())
    });
    letters.filter(|letter| !"\"\\".contains(*letter)).collect()
}

on_both! {
    async fn that_were_found(database: &TestDatabase) {
        let asked = AbsurdLedger::new(database).await;
        let names = ["trilane.key.id", "trilane.key.owner", "trilane.key.team", "trilane.group", "trilane.source", "trilane.account",
            "trilane.entry", "trilane.model", "trilane.outcome"];
        let names_of = |length: usize| {
            let members = names.iter().zip(1..).map(|(name, seed)| format!("\"{name}\":\"{}\"", random_name(seed, length)));
            format!("{{\"timestamp\":\"{}\",\"http.response.status_code\":200,{}}}\n", at(), members.collect::<Vec<_>>().join(","))
        };
        let great = with("trilane.charge", "\"999999999.99999999999999999999\"");
        let cases = [
            ("a count of 2^64 - 1", with("gen_ai.usage.input_tokens", "18446744073709551615"), (0, 1)),
            ("a count of 2^63", with("gen_ai.usage.output_tokens", "9223372036854775808"), (0, 1)),
            ("the greatest count, often", with("gen_ai.usage.input_tokens", "1000000000").repeat(50), (50, 0)),
            ("a sum of more than 28 digits", great.repeat(50), (50, 0)),
            ("a charge that none is", with("trilane.charge", "\"1000000000\""), (0, 1)),
            ("a currency of HTML", with("trilane.currency", "\"<b>\""), (0, 1)),
            ("no currency", with("trilane.currency", "\"\""), (1, 0)),
            ("another currency", with("trilane.currency", "\"ZZZ\""), (1, 0)),
            ("names that no index takes", names_of(256), (0, 1)),
            ("names that an index takes", names_of(220), (1, 0)),
            ("the last year", with("timestamp", "\"9999-12-31T23:59:59.999Z\""), (1, 0)),
            ("the first year", with("timestamp", "\"0000-01-01T00:00:00Z\""), (1, 0)),
            ("as long as can be", with("duration_ms", "18446744073709551615"), (1, 0)),
            ("much that is not of the ledger", "x\n".repeat(100_000), (0, 100_000)),
            ("a thousand brackets", with("trilane.tries.failed", &"[".repeat(1000)), (0, 1)),
        ];
        let count = u64::try_from(cases.len()).unwrap();
        for (number, (case, lines, (counted, aside))) in cases.into_iter().enumerate() {
            let got = asked.send(&format!("f{number}"), &lines).await;
            assert_eq!(got, (counted + 1, aside), "{case}");
        }
        assert_eq!(asked.good().await, count);
        asked.is_well("before days are rolled up").await;
        usage_days::roll_up(&asked.api.store, OffsetDateTime::now_utc() + Duration::days(1)).await.unwrap();
        asked.is_well("after").await;
        assert_eq!(asked.good().await, count);
    }
}

on_both! {
    /// Puts lines aside with a reason in few words.
    async fn why_they_are_aside(database: &TestDatabase) {
        let asked = AbsurdLedger::new(database).await;
        let long = format!("\"{}\"", "\u{20ac}".repeat(200_000));
        let lines = [
            with("gen_ai.usage.input_tokens", "1000000001"),
            with("trilane.currency", "\"<b>\""),
            with("timestamp", &long),
            with("trilane.charge", &long),
        ];
        asked.send("f", &lines.concat()).await;
        let aside = asked.api.call(&asked.token, Method::GET, "/api/v1/ledger/e/f/aside", &[], &Value::Null).await.expect(200);
        let items = aside["items"].as_array().unwrap();
        for (item, want) in items.iter().zip(["the count of input is more than 10^9", "trilane.currency is no code", "timestamp \"", "trilane.charge \""]) {
            let detail = item["detail"].as_str().unwrap();
            assert_eq!(item["reason"], "damaged", "{want}");
            assert!(detail.starts_with(want) && detail.len() < 300, "{want}: {detail}");
        }
        assert_eq!(items.len(), 4);
    }
}

/// Any JSON value, as text: also one that no type holds.
fn any_value() -> BoxedStrategy<String> {
    let number = prop_oneof![
        Just("0".to_owned()),
        Just("-1".to_owned()),
        Just("1.5".to_owned()),
        Just("1e400".to_owned()),
        Just("-0".to_owned()),
        any::<u64>().prop_map(|number| number.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        "[1-9][0-9]{0,60}",
        (0_u64..=1_000_000_001).prop_map(|number| number.to_string()),
    ];
    let text = prop_oneof![
        Just("\"-\"".to_owned()),
        Just("\"\"".to_owned()),
        Just("\"<b>\"".to_owned()),
        Just("\"\\u0000\"".to_owned()),
        Just("\"\\ud800\"".to_owned()),
        Just("\"=1+1\"".to_owned()),
        Just("\"../x?a=b&c#d\"".to_owned()),
        "[A-Z]{3}".prop_map(|text| format!("\"{text}\"")),
        "[0-9]{1,40}(\\.[0-9]{1,40})?".prop_map(|text| format!("\"{text}\"")),
        "\\PC{0,90}".prop_map(|text| Value::from(text).to_string()),
        (0_usize..3000).prop_map(|length| Value::from("\u{20ac}".repeat(length)).to_string()),
        (0_u64..99, 0_usize..300)
            .prop_map(|(seed, length)| Value::from(random_name(seed, length)).to_string()),
        "(0000|2026|9999)-(01|02|12)-(01|29|31)T(00|23):59:60?Z"
            .prop_map(|text| format!("\"{text}\"")),
    ];
    let other = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        Just("[{\"account\":\"a\",\"kind\":\"connection\"},1]".to_owned()),
        Just("[[[[{}]]]]".to_owned()),
        Just("nonsense".to_owned())
    ];
    prop_oneof![3 => number, 3 => text, 1 => other].boxed()
}

/// Every member that is read.
const MEMBERS: &[&str] = &[
    "timestamp",
    "duration_ms",
    "http.response.status_code",
    "trilane.time_to_first_byte_us",
    "trilane.tries",
    "trilane.tries.failed",
    "trilane.usage.status",
    "trilane.outcome",
    "trilane.key.id",
    "trilane.key.owner",
    "trilane.key.team",
    "trilane.group",
    "trilane.source",
    "trilane.account",
    "trilane.entry",
    "trilane.model",
    "trilane.charge",
    "trilane.currency",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_creation.input_tokens",
    "trilane.usage.cache_creation_1h.input_tokens",
    "gen_ai.usage.reasoning.output_tokens",
    "trilane.usage.images",
    "trilane.usage.calls.web_search",
    "trilane.estimated.output_tokens",
    "trilane.instance",
    "trilane.spent.key.day",
    "trilane.spent.owner.day",
    "trilane.uncovered",
    "trilane.spent.team.day",
    "request_id",
    "url.path",
];

fn lines() -> impl Strategy<Value = Vec<String>> {
    let line = (prop::sample::select(MEMBERS), any_value())
        .prop_map(|(member, value)| with(member, &value));
    prop::collection::vec(line, 1..40)
}

fn check(runtime: &Runtime, database: &TestDatabase, lines: &[String]) {
    runtime.block_on(async {
        let asked = AbsurdLedger::new(database).await;
        let (counted, aside) = asked.send("f", &lines.concat()).await;
        assert_eq!(
            counted + aside,
            u64::try_from(lines.len()).unwrap() + 1,
            "every line is somewhere"
        );
        assert_eq!(asked.good().await, 1);
        asked.is_well("any").await;
        asked.api.store.close().await;
    });
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn sqlite(lines in lines()) {
        check(&runtime(), &TestDatabase::sqlite(), &lines);
    }

    #[test]
    fn postgres(lines in lines()) {
        let runtime = runtime();
        let database = runtime.block_on(TestDatabase::postgres());
        check(&runtime, &database, &lines);
        runtime.block_on(database.drop());
    }
}
