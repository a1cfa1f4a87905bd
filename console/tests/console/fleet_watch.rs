//! The alerts when an Envoy is away, when an account has no credential, and when its vendor refuses it.

use http::Method;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use trilane_console::cases::Role;
use trilane_console::credentials::SealingKeys;
use trilane_console::store::Store;
use trilane_console::webhooks::delivery;
use trilane_console::webhooks::fleet_watch::FleetWatch;

use crate::api::Api;
use crate::credentials::publish;
use crate::database::on_both;

const SOON: Duration = Duration::minutes(4);
const LATER: Duration = Duration::minutes(6);

/// The messages that are due after a look by a process that has told nothing yet: each without its id and time, by receiver.
async fn told(store: &Store, keys: Option<SealingKeys>, now: OffsetDateTime) -> Vec<Value> {
    FleetWatch::default()
        .look(store, || keys, now)
        .await
        .unwrap();
    let mut all = Vec::new();
    while let Some(message) = delivery::take(store, || None, now).await.unwrap() {
        let mut body: Value = serde_json::from_str(&message.body).unwrap();
        let facts = body.as_object_mut().unwrap();
        assert_eq!(facts.remove("id").unwrap(), message.id.as_str());
        assert!(
            facts
                .remove("text")
                .is_some_and(|text| text.as_str() != Some(""))
        );
        assert_eq!(
            facts.remove("at").unwrap(),
            trilane_console::timestamp::text(now)
        );
        facts.insert("to".to_owned(), json!(message.url));
        all.push(body);
        delivery::close(store, &message, Ok(()), now).await.unwrap();
    }
    all.sort_by_key(Value::to_string);
    all
}

async fn hook(api: &Api, admin: &str, url: &str) {
    let body = json!({"url": url});
    api.post(admin, "/api/v1/webhooks", &body).await.expect(201);
}

on_both! {
    /// Once for each webhook and absence, whichever console looks.
    async fn an_envoy_that_is_away(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let token = api.post(&admin, "/api/v1/envoys", &json!({"id": "edge"})).await.expect(201)["token"].clone();
        api.post(&admin, "/api/v1/envoys", &json!({"id": "new"})).await.expect(201);
        let agent = api.post("", "/api/v1/enrol", &json!({"token": token})).await.expect(201)["token"].as_str().unwrap().to_owned();
        let report = json!({"version": "0.2.0"});
        api.call(&agent, Method::PUT, "/api/v1/envoys/edge/report", &[], &report).await.expect(204);
        let seen = api.get(&admin, "/api/v1/envoys/edge").await.expect(200)["seen_at"].clone();
        let now = OffsetDateTime::now_utc();
        let away = |to: &str, seen: &Value| json!({"type": "envoy.not_seen", "envoy": "edge", "name": "edge", "seen_at": seen, "to": to});

        assert_eq!(told(&api.store, None, now + LATER).await, [Value::Null; 0], "nobody wants to know");
        for url in ["https://a.example/", "https://b.example/"] {
            hook(&api, &admin, url).await;
        }
        assert_eq!(told(&api.store, None, now + SOON).await, [Value::Null; 0]);
        let other = database.open().await;
        let (one, two) = tokio::join!(told(&api.store, None, now + LATER), told(&other, None, now + LATER));
        let mut both = [one, two].concat();
        both.sort_by_key(Value::to_string);
        assert_eq!(both, [away("https://a.example/", &seen), away("https://b.example/", &seen)]);
        assert_eq!(told(&api.store, None, now + LATER * 2).await, [Value::Null; 0], "it was told");
        hook(&api, &admin, "https://c.example/").await;
        assert_eq!(told(&api.store, None, now + LATER * 2).await, [away("https://c.example/", &seen)], "who asks later is told as well");

        // It comes back, and is away once more.
        database.execute("UPDATE envoys SET seen_at = seen_at + 3600000000 WHERE id = 'edge'").await.unwrap();
        let again = api.get(&admin, "/api/v1/envoys/edge").await.expect(200)["seen_at"].clone();
        let hour = Duration::HOUR;
        assert_eq!(told(&api.store, None, now + hour + SOON).await, [Value::Null; 0]);
        let names = ["https://a.example/", "https://b.example/", "https://c.example/"];
        assert_eq!(told(&api.store, None, now + hour + LATER).await, names.map(|to| away(to, &again)));

        // Of one that is gone for good nobody is told for ever, and of one that was revoked not at all.
        database.execute("DELETE FROM webhook_events").await.unwrap();
        assert_eq!(told(&api.store, None, now + Duration::days(31)).await, [Value::Null; 0]);
        assert_eq!(told(&api.store, None, now + Duration::days(29)).await.len(), 3);
        database.execute("DELETE FROM webhook_events").await.unwrap();
        api.call(&admin, Method::DELETE, "/api/v1/envoys/edge", &[], &Value::Null).await.expect(204);
        assert_eq!(told(&api.store, None, now + Duration::days(2)).await, [Value::Null; 0]);
        api.was_well();
    }
}

on_both! {
    /// Every day as long as it lasts.
    async fn an_account_without_a_credential(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        hook(&api, &admin, "https://a.example/").await;
        let account = |id: &str, credential: &str| json!({"id": id, "url": format!("https://{id}.example"), "credential": credential});
        let document = json!({"currency": "USD", "keys": [], "groups": [{"id": "g", "name": "G", "protocol": "B", "multiplier": "1.0000",
            "accounts": [account("kept", "main"), account("without", "second"), account("by-file", "third"), account("elsewhere", "main")],
            "models": [{"id": "m", "prices": {"input": "1", "output": "2"}}]}]});
        publish(&api, &admin, &document.to_string()).await;
        let here = json!({"value": "sk-of-the-vendor-0000000000", "destinations": [{"url": "https://kept.example"}]});
        api.call(&admin, Method::PUT, "/api/v1/credentials/main", &[], &here).await.expect(200);
        let now = OffsetDateTime::now_utc();
        let answered = json!({"timestamp": trilane_console::timestamp::text(now + LATER), "duration_ms": 5, "http.response.status_code": 200,
            "trilane.usage.status": "complete", "trilane.outcome": "finished", "trilane.group": "g", "trilane.source": "g",
            "trilane.account": "by-file", "trilane.tries": 1});
        api.ledger(&admin, "/api/v1/ledger/e/f?from=0", &format!("{answered}\n")).await.expect(200);
        let keys = || Some(api.sealing_keys.read().unwrap());
        let lacks = |account: &str, credential: &str, reason: &str| {
            json!({"type": "account.no_credential", "group": "g", "account": account, "credential": credential, "reason": reason,
                "to": "https://a.example/"})
        };

        assert_eq!(told(&api.store, keys(), now + SOON).await, [Value::Null; 0], "its credentials may be coming");
        assert_eq!(told(&api.store, None, now + LATER).await, [Value::Null; 0], "a console that keeps none");
        let both = [lacks("elsewhere", "main", "not_kept"), lacks("without", "second", "not_kept")];
        assert_eq!(told(&api.store, keys(), now + LATER).await, both);
        assert_eq!(told(&api.store, keys(), now + LATER).await, [Value::Null; 0], "it was told today");
        let there = json!({"value": "sk-of-the-vendor-0000000001", "destinations": [{"url": "https://kept.example"}, {"url": "https://elsewhere.example"}]});
        api.call(&admin, Method::PUT, "/api/v1/credentials/main", &[], &there).await.expect(200);
        assert_eq!(told(&api.store, keys(), now + Duration::DAY + LATER).await, [lacks("without", "second", "not_kept")]);

        // The file of keys is lost; and what answered three days ago may have no credential any more.
        std::fs::remove_file(api.sealing_keys.path()).unwrap();
        api.sealing_keys.create().unwrap();
        let all = [
            lacks("by-file", "third", "not_kept"),
            lacks("elsewhere", "main", "unreadable"),
            lacks("kept", "main", "unreadable"),
            lacks("without", "second", "not_kept"),
        ];
        assert_eq!(told(&api.store, keys(), now + Duration::days(3)).await, all);
        api.was_well();
    }
}

/// A line of a request of this moment.
fn asked(at: OffsetDateTime, status: u16, answered_by: &str, failed: &Value) -> String {
    let at = trilane_console::timestamp::text(at);
    let tries = failed.as_array().unwrap().len() + usize::from(status == 200);
    let line = json!({"timestamp": at, "duration_ms": 5, "http.response.status_code": status, "trilane.usage.status": "none",
        "trilane.outcome": "finished", "trilane.group": "g", "trilane.source": "g", "trilane.account": answered_by, "trilane.tries": tries,
        "trilane.tries.failed": failed});
    format!("{line}\n")
}

on_both! {
    /// It is red and told at once, by the first refusal since its last good answer, and forgotten with the next good one.
    async fn an_account_that_its_vendor_refuses(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        hook(&api, &admin, "https://a.example/").await;
        let account = |id: &str| json!({"id": id, "url": format!("https://{id}.example"), "credential": id});
        let document = json!({"currency": "USD", "keys": [], "groups": [{"id": "g", "name": "G", "protocol": "B", "multiplier": "1.0000",
            "accounts": [account("one"), account("two")], "models": [{"id": "m", "prices": {"input": "1", "output": "2"}}]}]});
        publish(&api, &admin, &document.to_string()).await;
        let no_credit = json!([{"account": "one", "kind": "unauthorized", "status": 400, "fault": "no_credit",
            "error": {"type": "invalid_request_error", "code": "insufficient_quota"}}]);
        let limited = json!([{"account": "one", "kind": "rate_limited", "status": 429}, {"account": "one", "kind": "no_model", "status": 404}]);
        let gone = json!([{"account": "gone", "kind": "unauthorized", "status": 401}]);
        let second = Duration::SECOND;
        let mut position = 0;
        let now = OffsetDateTime::now_utc();
        let since = trilane_console::timestamp::text(now - second * 50);
        // (case, the line: how long ago, what failed, the status; whether `one` is refused)
        for (case, line, refused) in [
            ("it answers", asked(now - second * 60, 200, "one", &json!([])), false),
            ("a limit and a model are no refusals", asked(now - second * 55, 200, "two", &limited), false),
            ("refused, and another one answers", asked(now - second * 50, 200, "two", &no_credit), true),
            ("an error of the request says nothing", asked(now - second * 45, 400, "one", &json!([])), true),
            ("refused again", asked(now - second * 40, 200, "two", &no_credit), true),
            ("an older answer, read late", asked(now - second * 58, 200, "one", &json!([])), true),
            ("an account that no document has", asked(now - second * 35, 401, "gone", &gone), true),
            ("it answers again", asked(now - second * 30, 200, "one", &json!([])), false),
        ] {
            api.ledger(&admin, &format!("/api/v1/ledger/e/f?from={position}"), &line).await.expect(200);
            position += line.len();
            let known = api.get(&admin, "/api/v1/account-refusals").await.expect(200);
            let known: Vec<_> = known["items"].as_array().unwrap().iter().filter(|of| of["account"] != "gone").cloned().collect();
            let names: Vec<_> = known.iter().map(|of| json!([of["group"], of["account"], of["fault"], of["status"], of["code"]])).collect();
            let want = json!(["g", "one", "no_credit", 400, "insufficient_quota"]);
            assert_eq!(names, if refused { vec![want] } else { vec![] }, "{case}");
            if refused {
                let known = known[0]["since"].as_str().unwrap();
                assert_eq!(known[..19], since[..19], "{case}: {known}");
            }
            let told = told(&api.store, None, now).await;
            let types: Vec<_> = told.iter().map(|of| json!([of["type"], of["group"], of["account"], of["fault"], of["code"]])).collect();
            let want = json!(["account.refused", "g", "one", "no_credit", "insufficient_quota"]);
            let is_new = case.starts_with("refused, and");
            assert_eq!(types, if is_new { vec![want] } else { vec![] }, "{case}: told once");
        }
        api.was_well();
    }
}

on_both! {
    /// It looks every ten seconds, and puts nothing into the database twice.
    async fn is_not_in_a_hurry(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        hook(&api, &admin, "https://a.example/").await;
        let mut watch = FleetWatch::default();
        let now = OffsetDateTime::now_utc();
        let mut looked = Vec::new();
        for second in 0..25 {
            let asked = || {
                looked.push(second);
                None
            };
            watch.look(&api.store, asked, now + Duration::seconds(second)).await.unwrap();
        }
        assert_eq!(looked, [0, 10, 20]);
        api.was_well();
    }
}
