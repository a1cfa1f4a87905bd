//! Lists, searches and changes with a million keys.

use http::Method;
use serde_json::json;
use trilane_console::cases::Role;
use trilane_console::store::disk_use;
use trilane_console::store::{Store, key_grams};

use super::{SpeedMeter, measured, rows, tell};
use crate::api::Api;
use crate::database::TestDatabase;

/// Keys as another program may add them: one owner in a thousand keys, one group in fifty.
fn keys(database: &TestDatabase, count: u64) -> String {
    let columns = "INSERT INTO keys (sha256, id, group_id, owner, label)";
    if database.is_postgres() {
        return format!(
            "{columns} SELECT encode(sha256(n::text::bytea), 'hex'), 'key_' || n, 'group-' || (n % 50), 'owner-' || (n % 1000), 'label ' || n \
             FROM generate_series(1, {count}) AS n"
        );
    }
    format!(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count}) {columns} \
         SELECT printf('%064x', n), 'key_' || n, 'group-' || (n % 50), 'owner-' || (n % 1000), 'label ' || n FROM numbers"
    )
}

/// The size of the database, in bytes.
async fn bytes(store: &Store) -> i64 {
    disk_use::read(store).await.unwrap().bytes
}

async fn measure(database: &TestDatabase) {
    let api = Api::new(database).await;
    let (admin, member) = (
        api.person("root", Role::Admin).await,
        api.person("owner-7", Role::Member).await,
    );
    let count = rows(1_000_000);
    let meter = SpeedMeter::start(database);
    database.execute(&keys(database, count)).await.unwrap();
    println!("  {count} keys, added in {}", meter.stop());
    for search in ["label+77777", "nothing"] {
        let path = format!("/api/v1/keys?search={search}");
        let what = format!("a search for {search} before they are in the index");
        tell(&what, 5, async |_| {
            drop(api.get(&admin, &path).await.expect(200))
        })
        .await;
    }
    let before = bytes(&api.store).await;
    let meter = SpeedMeter::start(database);
    key_grams::index_all(&api.store).await.unwrap();
    let cost = meter.stop();
    let more = (bytes(&api.store).await - before) >> 20;
    println!("  the search has them after {cost}, with {more} MiB more");
    if database.is_postgres() {
        database.execute("VACUUM ANALYZE").await.unwrap();
    }
    let page = api.get(&admin, "/api/v1/keys?limit=500").await.expect(200);
    let next = page["next"].as_str().unwrap();
    for (what, token, path) in [
        ("the first page", &admin, "/api/v1/keys".to_owned()),
        (
            "a page of 500 behind another",
            &admin,
            format!("/api/v1/keys?limit=500&cursor={next}"),
        ),
        (
            "keys of an owner",
            &admin,
            "/api/v1/keys?owner=owner-999".to_owned(),
        ),
        (
            "keys of nobody",
            &admin,
            "/api/v1/keys?owner=nobody".to_owned(),
        ),
        (
            "a search that finds some",
            &admin,
            "/api/v1/keys?search=label+77777".to_owned(),
        ),
        (
            "a search that finds one",
            &admin,
            "/api/v1/keys?search=key_654321".to_owned(),
        ),
        (
            "a search that finds none",
            &admin,
            "/api/v1/keys?search=nothing".to_owned(),
        ),
        (
            "a search for what all have, in a state that none has",
            &admin,
            "/api/v1/keys?search=key_&state=expired".to_owned(),
        ),
        (
            "a search for two characters that some have",
            &admin,
            "/api/v1/keys?search=99".to_owned(),
        ),
        (
            "a page of the feed of keys",
            &admin,
            "/api/v1/feed/keys".to_owned(),
        ),
        (
            "keys of a group",
            &admin,
            "/api/v1/keys?group=group-49".to_owned(),
        ),
        ("a member's own", &member, "/api/v1/keys".to_owned()),
        ("one key", &admin, "/api/v1/keys/key_777".to_owned()),
    ] {
        let api = &api;
        let path = path.as_str();
        tell(what, 200, async |_| {
            drop(api.get(token, path).await.expect(200))
        })
        .await;
    }
    let change = async |time| {
        let body = json!({"disabled": time % 2 == 0});
        api.call(&admin, Method::PATCH, "/api/v1/keys/key_777", &[], &body)
            .await
            .expect(200);
    };
    tell("a change of one", 100, change).await;
    let name = async |time| {
        let body = json!({"label": format!("name {time}")});
        api.call(&admin, Method::PATCH, "/api/v1/keys/key_777", &[], &body)
            .await
            .expect(200);
    };
    tell("another name for one", 100, name).await;
    let look = async |_| key_grams::index_all(&api.store).await.unwrap();
    tell("a look for keys that are due", 100, look).await;
    api.was_well();
}

measured!(measure);
