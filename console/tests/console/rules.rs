//! Rules of the database, for every writer: one bad key would stop the feed for every gateway.

use trilane_console::feed::PageRequest;
use trilane_console::store::key_feed;

use crate::database::{TestDatabase, on_both};

/// A value of SQL, and whether it is refused.
type Case = (&'static str, &'static str, bool);

const LIMITS: &[Case] = &[
    ("limits", "NULL", false),
    ("limits", r#"'{"requests_per_minute": 1}'"#, false),
    (
        "limits",
        r#"'{"requests_per_minute": 1000000000, "concurrent_requests": null}'"#,
        false,
    ),
    (
        "limits",
        r#"'{"budget": {"per_day": "0.00000000000000000001"}}'"#,
        false,
    ),
    (
        "limits",
        r#"'{"budget": {"per_month": "999999999.99", "per_day": null, "spent": {"at": "2026-11-24T00:00:00Z", "in_day": "0", "in_month": "1.5"}}}'"#,
        false,
    ),
    (
        "limits",
        r#"'{"budget": {"per_day": "1", "spent": null}}'"#,
        false,
    ),
    (
        "limits",
        r#"'{"budget": {"per_day": "1", "spent": {"at": "2026-11-24T00:00:00Z", "in_day": "9", "in_month": "10"}}}'"#,
        false,
    ),
    ("limits", "''", true),
    ("limits", "'x'", true),
    ("limits", "'[]'", true),
    ("limits", "'5'", true),
    ("limits", "'null'", true),
    ("limits", "'{}'", true),
    ("limits", r#"'{"requests_per_minute": null}'"#, true),
    ("limits", r#"'{"requests_per_minute": 0}'"#, true),
    ("limits", r#"'{"requests_per_minute": -1}'"#, true),
    ("limits", r#"'{"requests_per_minute": 1000000001}'"#, true),
    (
        "limits",
        r#"'{"requests_per_minute": 99999999999999999999}'"#,
        true,
    ),
    ("limits", r#"'{"requests_per_minute": 1.5}'"#, true),
    ("limits", r#"'{"requests_per_minute": "1"}'"#, true),
    ("limits", r#"'{"requests_per_minute": true}'"#, true),
    ("limits", r#"'{"requests_per_hour": 1}'"#, true),
    (
        "limits",
        r#"'{"requests_per_minute": 1, "requests_per_minute": 2}'"#,
        true,
    ),
    ("limits", r#"'{"budget": {}}'"#, true),
    ("limits", r#"'{"budget": []}'"#, true),
    ("limits", r#"'{"budget": {"per_day": null}}'"#, true),
    ("limits", r#"'{"budget": {"per_day": 1}}'"#, true),
    ("limits", r#"'{"budget": {"per_day": "0"}}'"#, true),
    ("limits", r#"'{"budget": {"per_day": "0.00"}}'"#, true),
    ("limits", r#"'{"budget": {"per_day": "-1"}}'"#, true),
    ("limits", r#"'{"budget": {"per_day": "1e3"}}'"#, true),
    ("limits", r#"'{"budget": {"per_day": "1."}}'"#, true),
    ("limits", r#"'{"budget": {"per_day": ".5"}}'"#, true),
    ("limits", r#"'{"budget": {"per_day": "1000000000"}}'"#, true),
    (
        "limits",
        r#"'{"budget": {"per_day": "0.000000000000000000001"}}'"#,
        true,
    ),
    (
        "limits",
        r#"'{"budget": {"per_day": "1", "per_day": "2"}}'"#,
        true,
    ),
    ("limits", r#"'{"budget": {"per_week": "1"}}'"#, true),
    (
        "limits",
        r#"'{"budget": {"per_day": "1", "spent": {}}}'"#,
        true,
    ),
    (
        "limits",
        r#"'{"budget": {"per_day": "1", "spent": {"at": "yesterday"}}}'"#,
        true,
    ),
    (
        "limits",
        r#"'{"budget": {"per_day": "1", "spent": {"at": "2026-02-30T00:00:00Z"}}}'"#,
        true,
    ),
    (
        "limits",
        r#"'{"budget": {"per_day": "1", "spent": {"at": "2026-11-24T00:00:00Z", "in_day": "10", "in_month": "9"}}}'"#,
        true,
    ),
];

const FIELDS: &[Case] = &[
    ("addresses", "'[\"10.0.0.0/8\", \"::1\"]'", false),
    ("addresses", "'[]'", false),
    ("addresses", "'[\"10.0.0.0/99\"]'", false),
    ("addresses", "'[\"example.com\"]'", true),
    ("addresses", "'10.0.0.0/8'", true),
    ("addresses", "'{}'", true),
    ("addresses", "'[\"10.0.0.0/8\"'", true),
    ("addresses", "NULL", false),
    ("id", "'a-Z_0.:'", false),
    ("id", "''", true),
    ("id", "'a b'", true),
    ("id", "'ä'", true),
    ("id", "'two'", true),
    (
        "id",
        "'0123456789012345678901234567890123456789012345678901234567890123'",
        false,
    ),
    (
        "id",
        "'01234567890123456789012345678901234567890123456789012345678901234'",
        true,
    ),
    ("group_id", "'g/h'", true),
    ("group_id", "NULL", true),
    ("sha256", "'abc'", true),
    (
        "sha256",
        "'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'",
        true,
    ),
    (
        "sha256",
        "'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb'",
        true,
    ),
    ("expires_at", "NULL", false),
    ("expires_at", "'2028-02-29T23:59:59Z'", false),
    ("expires_at", "'2027-02-29T23:59:59Z'", true),
    ("expires_at", "'2027-01-01'", true),
    ("expires_at", "'2027-01-01 00:00:00Z'", true),
    ("expires_at", "'2027-01-01T00:00:00+00:00'", true),
    ("expires_at", "'2027-01-01T00:00:00.5Z'", true),
    ("expires_at", "'2027-01-01T24:00:00Z'", true),
    ("owner", "NULL", false),
    ("owner", "'Zoë, sales'", false),
    ("owner", "''", true),
    ("owner", "'a\nb'", true),
    ("owner", "'a\u{85}b'", true),
    ("owner", "'\u{7f}'", true),
    ("team", "NULL", false),
    ("team", "'east_1.b:c-d'", false),
    ("team", "''", true),
    ("team", "'a team'", true),
    ("team", "'ä'", true),
    ("models", "NULL", false),
    ("models", r#"'["gpt-5.1", "a/b:c@d+e[1m]_f"]'"#, false),
    ("models", "'[]'", true),
    ("models", "'{}'", true),
    ("models", "'null'", true),
    ("models", "'x'", true),
    ("models", "''", true),
    ("models", "'[7]'", true),
    ("models", "'[null]'", true),
    ("models", r#"'[""]'"#, true),
    ("models", r#"'["a b"]'"#, true),
    ("models", r#"'["ä"]'"#, true),
    ("models", r#"'["\u00e4"]'"#, true),
    ("models", r#"'["a", "a"]'"#, true),
    ("models", r#"'["a", "\u0061"]'"#, true),
];

const MULTIPLIERS: &[(&str, bool)] = &[
    ("'0'", false),
    ("'0.1500'", false),
    ("'1000000.0000'", false),
    ("'1000000.0001'", true),
    ("'1000001'", true),
    ("'9999999.9999'", true),
    ("'0.12345'", true),
    ("'-1'", true),
    ("'1.'", true),
    ("'.5'", true),
    ("'1e3'", true),
    ("''", true),
    ("NULL", false),
];

/// A key has a multiplier or a greatest one.
const BOTH_MULTIPLIERS: &[Case] = &[
    ("multiplier", "'1'", false),
    ("max_multiplier", "'1'", true),
    ("multiplier", "NULL", false),
    ("max_multiplier", "'1'", false),
    ("multiplier", "'1'", true),
];

on_both! {
    async fn what_is_refused(database: &TestDatabase) {
        let store = database.open().await;
        let insert = |id: &str, digit: char| {
            let digest = digit.to_string().repeat(64);
            format!("INSERT INTO keys (sha256, id, group_id) VALUES ('{digest}', '{id}', 'g')")
        };
        database.execute(&insert("one", 'a')).await.unwrap();
        database.execute(&insert("two", 'b')).await.unwrap();
        let anew = PageRequest { cursor: None, limit: 10 };
        let long = format!("'{}'", "x".repeat(129));
        let longest = format!("'{}'", "x".repeat(128));
        let blanks = format!("'{{\"requests_per_minute\":{}1}}'", " ".repeat(1000));
        let more = [("owner", long.as_str(), true), ("owner", longest.as_str(), false), ("limits", blanks.as_str(), true)];
        let named = |count: usize| format!("'[{}]'", (0..count).map(|n| format!("\"m{n}\"")).collect::<Vec<_>>().join(","));
        let (most, too_many) = (named(64), named(65));
        let name = |length: usize| format!("'[\"{}\"]'", "m".repeat(length));
        let (name, long_name) = (name(128), name(129));
        let models = [("models", most.as_str(), false), ("models", too_many.as_str(), true),
            ("models", name.as_str(), false), ("models", long_name.as_str(), true)];
        let multipliers = ["multiplier", "max_multiplier"].into_iter()
            .flat_map(|column| MULTIPLIERS.iter().map(move |(value, refused)| (column, *value, *refused)));
        let multipliers = multipliers.chain(BOTH_MULTIPLIERS.iter().copied());
        let more = more.into_iter().chain(models).chain(multipliers);
        let cases = LIMITS.iter().chain(FIELDS).copied().chain(more);
        for (column, value, refused) in cases {
            let update = database.execute(&format!("UPDATE keys SET {column} = {value} WHERE sha256 LIKE 'a%'")).await;
            assert_eq!(update.is_err(), refused, "{column} = {value}: {update:?}");
            // Whatever got in, a gateway takes.
            let page = key_feed::page(&store, &anew).await;
            assert!(page.is_ok(), "{column} = {value}: {page:?}");
        }
    }
}

/// `TRUNCATE` would tell no gateway.
#[tokio::test]
async fn nobody_truncates() {
    let database = TestDatabase::postgres().await;
    database.open().await;
    let refused = database.execute("TRUNCATE keys").await;
    assert!(refused.unwrap_err().to_string().contains("DELETE"));
    database.drop().await;
}
