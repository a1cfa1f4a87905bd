//! Recovery after a loss, by the operator of the console.

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;
use trilane_console::first_admin;
use trilane_console::secret::NewSecret;
use trilane_console::store::{DatabaseAddress, backup, key_feed};

use crate::api::Api;
use crate::database::{TestDatabase, on_both};

on_both! {
    async fn a_lost_token_is_replaced(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (member, agent) = (api.person("ann", Role::Member).await, api.person("edge", Role::Agent).await);
        let now = time::OffsetDateTime::now_utc().unix_timestamp() * 1_000_000;
        let mut recovered = String::new();
        for (case, person, want) in [("nobody is there", "admin", true), ("a member", "ann", true), ("an agent", "edge", false)] {
            let token = NewSecret::token().unwrap();
            assert_eq!(first_admin::recover(&api.store, person, &token, now).await.unwrap(), want, "{case}");
            let me = api.get(token.reveal(), "/api/v1/me").await;
            match want {
                true => {
                    assert_eq!(me.expect(200)["role"], "admin", "{case}");
                    recovered = token.reveal().to_owned();
                }
                false => drop(me.problem(401)),
            }
        }
        let late = NewSecret::token().unwrap();
        assert!(first_admin::recover(&api.store, "ann", &late, now - 3_600_000_001).await.unwrap());
        api.get(late.reveal(), "/api/v1/me").await.problem(401);
        // The token of another role has ended; a second one for an admin ends none.
        api.get(&member, "/api/v1/me").await.problem(401);
        let member = recovered;
        assert_eq!(api.get(&agent, "/api/v1/me").await.expect(200)["role"], "agent");
        let audit = api.get(&member, "/api/v1/audit").await.expect(200).to_string();
        assert!(audit.contains("person.recover") && !audit.contains(late.reveal()));
        api.was_well();
    }
}

on_both! {
    /// A gateway that is ahead of a restored database reads all of it again.
    async fn a_restored_database_begins_another_feed(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        api.post(&admin, "/api/v1/keys", &json!({"id": "k", "group": "g"})).await.expect(201);
        let feed = api.get(&admin, "/api/v1/feed/keys").await.expect(200);
        let path = format!("/api/v1/feed/keys?cursor={}", feed["cursor"].as_str().unwrap());
        api.get(&admin, &path).await.expect(200);
        key_feed::begin_anew(&api.store, 0).await.unwrap();
        api.get(&admin, &path).await.problem(410);
        let anew = api.get(&admin, "/api/v1/feed/keys").await.expect(200);
        assert_eq!(anew["changes"][0]["id"], "k");
        api.was_well();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_has_what_was_there() {
    let database = TestDatabase::sqlite();
    let api = Api::new(&database).await;
    let admin = api.person("root", Role::Admin).await;
    let new = json!({"id": "before", "group": "g"});
    api.post(&admin, "/api/v1/keys", &new).await.expect(201);
    let restored = TestDatabase::sqlite();
    let file = std::path::Path::new(&restored.text).join("console.db");
    // The console is open, and goes on.
    backup::write(&database.address, &file).await.unwrap();
    assert!(
        backup::write(&database.address, &file).await.is_err(),
        "it is there"
    );
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    api.post(
        &admin,
        "/api/v1/keys",
        &json!({"id": "after", "group": "g"}),
    )
    .await
    .expect(201);
    let path = "/api/v1/keys/before";
    api.call(&admin, Method::DELETE, path, &[], &Value::Null)
        .await
        .expect(204);

    let other = Api::new(&restored).await;
    let ids = other.get(&admin, "/api/v1/keys").await.expect(200);
    let ids: Vec<&str> = ids["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|key| key["id"].as_str())
        .collect();
    // A key that was removed since is good again, which the documentation says.
    assert_eq!(ids, ["before"]);
    let postgres = DatabaseAddress::parse("postgres://localhost/x");
    let refused = backup::write(&postgres, std::path::Path::new("/nowhere/x")).await;
    assert!(refused.unwrap_err().to_string().contains("pg_dump"));
}
