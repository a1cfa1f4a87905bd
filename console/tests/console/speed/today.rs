//! The overview and usage of an hour that is not rolled up: of many keys, and a day that is.

use time::{Duration, OffsetDateTime};
use trilane_console::cases::Role;
use trilane_console::store::usage_days;

use super::usage::{of_all, row_sums};
use super::{SpeedMeter, measured, rows, tell};
use crate::api::Api;
use crate::database::TestDatabase;
use crate::page_security::{PASSWORD, get, post, session, with_password};

/// Writes so many rows of an hour, each of a key of its own.
fn hour(database: &TestDatabase, hour: &str, count: u64) -> String {
    let columns =
        "hour, key_id, owner, team, group_id, source, account, model, entry, outcome, currency";
    let (names, values) = row_sums();
    let last = count - 1;
    let numbers = if database.is_postgres() {
        format!("SELECT n FROM generate_series(0, {last}) AS n")
    } else {
        format!(
            "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < {last}) SELECT n FROM numbers"
        )
    };
    format!(
        "INSERT INTO usage_by_hour ({columns}, {names}) \
         SELECT '{hour}', 'key_' || n, 'owner-' || (n % 200), 'team-' || (n % 5), 'group-' || (n % 4), 's', 'a-' || (n % 2), \
         'model-' || (n % 5), 'vb_messages', 'finished', 'USD', {values} FROM ({numbers}) AS numbers"
    )
}

async fn measure(database: &TestDatabase) {
    let api = Api::new(database).await;
    with_password(&api, "root", Role::Admin).await;
    let session = session(
        &post(
            &api,
            "/sign-in",
            "",
            &[("person", "root"), ("password", PASSWORD)],
        )
        .await,
    );
    let now = OffsetDateTime::now_utc();
    let keys = rows(50_000);
    let name = |time: OffsetDateTime| format!("{}T{:02}", time.date(), time.hour());
    let meter = SpeedMeter::start(database);
    for hours in 0..3 {
        let at = name(now - Duration::hours(hours));
        database.execute(&hour(database, &at, keys)).await.unwrap();
    }
    database.execute(&of_all()).await.unwrap();
    if database.is_postgres() {
        database.execute("ANALYZE").await.unwrap();
    }
    println!("  3 hours of {keys} keys, added in {}", meter.stop());
    for rolled_up in [false, true] {
        if rolled_up {
            usage_days::roll_up(&api.store, now).await.unwrap();
        }
        println!(
            "  {}",
            if rolled_up {
                "as a minute later"
            } else {
                "nothing is rolled up"
            }
        );
        let day = now.date().to_string();
        for path in [
            "/".to_owned(),
            format!("/usage?since={day}"),
            format!("/usage?by=key&since={day}"),
            format!("/usage?by=model&since={day}"),
        ] {
            let (api, session, path) = (&api, &session, &path);
            tell(path, 5, async |_| {
                let reply = get(api, path, session).await;
                assert_eq!(reply.status, 200, "{path}");
            })
            .await;
        }
    }
    api.was_well();
}

measured!(measure);
