//! Usage of 10⁷ requests: the sums of a month, as pages ask for them.

use time::macros::datetime;
use trilane_console::cases::Role;
use trilane_console::ledger::Sum;
use trilane_console::store::usage_days;

use super::{SpeedMeter, measured, rows, tell};
use crate::api::Api;
use crate::database::TestDatabase;

/// The counts of a row.
const COUNTS: [&str; 25] = [
    "requests",
    "complete",
    "estimated",
    "partial",
    "none",
    "failed",
    "input",
    "output",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
    "reasoning",
    "tool_use",
    "input_image",
    "images",
    "input_audio",
    "output_audio",
    "output_image",
    "web_search",
    "code_execution",
    "file_search",
    "maps_search",
    "estimated_input",
    "estimated_output",
    "uncovered",
];

/// The columns of a row's sums, and the values of one that charges.
pub fn row_sums() -> (String, String) {
    let charge = Sum::parse("1.2345678901").unwrap().columns();
    let amounts = [
        ("charge", charge),
        ("estimated_charge", [0; Sum::COLUMNS]),
        ("costed_charge", charge),
        ("cost", charge),
    ];
    let amounts = amounts.into_iter().flat_map(|(name, columns)| {
        let columns = columns.into_iter().enumerate();
        columns.map(move |(place, column)| (format!("{name}_{place}"), column.to_string()))
    });
    let counts = COUNTS.map(|name| {
        let count = match name {
            "requests" | "complete" => "14",
            "input" | "output" => "14000",
            _ => "0",
        };
        (format!("\"{name}\""), count.to_owned())
    });
    let (names, values): (Vec<_>, Vec<_>) = counts.into_iter().chain(amounts).unzip();
    (names.join(", "), values.join(", "))
}

/// The statement by which an intake adds the rows of hours to those of all.
pub fn of_all() -> String {
    let (names, _) = row_sums();
    let sums: Vec<_> = names
        .split(", ")
        .map(|name| format!("sum({name})"))
        .collect();
    let key = "group_id, source, account, model, entry, outcome, currency";
    let table = |period: &str, length: u8| {
        format!(
            "INSERT INTO usage_of_all_by_{period} ({period}, {key}, {names}) \
             SELECT substr(hour, 1, {length}), {key}, {} FROM usage_by_hour GROUP BY substr(hour, 1, {length}), {key}",
            sums.join(", "),
        )
    };
    format!("{}; {}", table("hour", 13), table("day", 10))
}

/// Hours of a month, 100 keys of 20 owners, 5 models, 2 outcomes: ten million requests, some fourteen to a row.
fn sums(database: &TestDatabase, hours: u64) -> String {
    let columns =
        "hour, key_id, owner, team, group_id, source, account, model, entry, outcome, currency";
    let (names, values) = row_sums();
    let (numbers, hour) = if database.is_postgres() {
        (
            "SELECT n FROM generate_series(0, $LAST) AS n",
            "to_char(timestamp '2026-11-01' + n / 1000 * interval '1 hour', 'YYYY-MM-DD\"T\"HH24')",
        )
    } else {
        (
            "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < $LAST) SELECT n FROM numbers",
            "strftime('%Y-%m-%dT%H', '2026-11-01', '+' || (n / 1000) || ' hours')",
        )
    };
    let numbers = numbers.replace("$LAST", &(hours * 1000 - 1).to_string());
    format!(
        "INSERT INTO usage_by_hour ({columns}, {names}) \
         SELECT {hour}, 'key_' || (n % 100), 'owner-' || (n % 20), 'team-' || (n % 5), 'group-' || (n % 4), 's', 'a-' || (n % 2), 'model-' || (n / 100 % 5), 'vb_messages', \
         CASE WHEN n / 500 % 2 = 0 THEN 'finished' ELSE 'failed' END, 'USD', {values} FROM ({numbers}) AS numbers"
    )
}

async fn measure(database: &TestDatabase) {
    let api = Api::new(database).await;
    let (admin, member) = (
        api.person("root", Role::Admin).await,
        api.person("owner-7", Role::Member).await,
    );
    let hours = rows(30 * 24);
    let meter = SpeedMeter::start(database);
    database.execute(&sums(database, hours)).await.unwrap();
    database.execute(&of_all()).await.unwrap();
    if database.is_postgres() {
        database.execute("ANALYZE").await.unwrap();
    }
    println!("  {hours} hours of 1000 rows, added in {}", meter.stop());
    let meter = SpeedMeter::start(database);
    let now = datetime!(2026-11-30 12:00 UTC);
    usage_days::roll_up(&api.store, now).await.unwrap();
    println!("  rolled up in {}", meter.stop());
    for (what, token, query) in [
        ("all", &admin, ""),
        ("by day", &admin, "by=day"),
        ("by day and model", &admin, "by=day,model"),
        ("by key", &admin, "by=key"),
        ("by team", &admin, "by=team"),
        ("by hour and model", &admin, "by=hour,model"),
        (
            "by model of a day",
            &admin,
            "by=model&since=2026-11-01&until=2026-11-02",
        ),
        (
            "by hour of a day",
            &admin,
            "by=hour&since=2026-11-01&until=2026-11-02",
        ),
        ("by day of a key", &admin, "by=day&key=key_7"),
        (
            "by day and model of an owner",
            &admin,
            "by=day,model&owner=owner-7",
        ),
        ("a member's own by day", &member, "by=day"),
    ] {
        let api = &api;
        tell(what, 5, async |_| {
            drop(
                api.get(token, &format!("/api/v1/usage?{query}"))
                    .await
                    .expect(200),
            )
        })
        .await;
    }
    api.was_well();
}

measured!(measure);
