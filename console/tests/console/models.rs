//! The models that one's own keys may use, and the status of all.

use http::Method;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use trilane_console::cases::Role;
use trilane_console::timestamp;

use crate::api::Api;
use crate::database::on_both;
use crate::lives::publish;
use crate::page_security::get;

const PATH: &str = "/api/v1/me/models";

fn document() -> Value {
    json!({"currency": "USD", "keys": [], "groups": [
        {"id": "g", "name": "G", "protocol": "A", "multiplier": "0.3333", "cluster": "secret-cluster", "models": [
            {"id": "m", "prices": {"input": "1.234567", "output": "2", "per_call": {"web_search": "0.01"}}},
            {"id": "n", "display_name": "The n", "prices": {"input": "1", "above": [{"input_tokens": 1000, "prices": {"input": "2"}}]}},
            {"id": "free", "free": true}, {"id": "unpriced"},
            {"id": "not-ours", "entitled": false, "prices": {"input": "1"}}]},
        {"id": "h", "protocol": "B", "multiplier": "4", "cluster": "c", "models": [{"id": "m", "prices": {"input": "1"}}]},
        {"id": "mixed", "protocol": "Mixed", "models": [{"id": "m", "entry": "vb_messages"}, {"id": "n", "entry": "responses"}],
         "entries": {"responses": {"source": "g"}, "vb_messages": {"source": "h", "extra_multiplier": "0.5"}}}]})
}

/// A line of the group `g`, of so many minutes ago.
fn line(id: u32, minutes: i64, model: &str, outcome: &str) -> String {
    let at = OffsetDateTime::now_utc() - Duration::minutes(minutes);
    let at = timestamp::text(at.replace_nanosecond(0).unwrap());
    let line = json!({"timestamp": at, "request_id": id.to_string(), "duration_ms": 0, "http.response.status_code": 200,
        "http.request.method": "POST", "url.path": "/v1/responses", "trilane.protocol": "A", "trilane.endpoint": "responses",
        "trilane.usage.status": "complete", "trilane.outcome": outcome, "trilane.key.id": "secret-key", "trilane.key.owner": "somebody",
        "trilane.group": "g", "trilane.source": "g", "trilane.account": "secret-account", "trilane.model": model});
    format!("{line}\n")
}

/// Model, protocol, group, multiplier and price of input of each.
fn terms(found: &Value) -> Vec<[String; 5]> {
    let items = found["items"].as_array().unwrap().iter();
    let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    let each = items.map(|of| {
        [
            &of["id"],
            &of["protocol"],
            &of["group"],
            &of["multiplier"],
            &of["prices"]["input"],
        ]
        .map(text)
    });
    each.collect()
}

on_both! {
    async fn what_my_keys_may_use(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let ann = api.person("ann", Role::Member).await;
        let agent = api.person("edge", Role::Agent).await;
        assert_eq!(api.get(&ann, PATH).await.expect(200)["items"], json!([]), "no document");
        publish(&api, &admin, &document().to_string()).await;
        assert_eq!(api.get(&ann, PATH).await.expect(200)["items"], json!([]), "no key");
        api.get(&agent, PATH).await.problem(403);

        let key = async |body: Value| api.post(&admin, "/api/v1/keys", &body).await.expect(201);
        key(json!({"id": "k1", "group": "g", "owner": "ann"})).await;
        key(json!({"id": "k2", "group": "g", "owner": "ann"})).await;
        let whole: Vec<[String; 5]> = [
            ["m", "A", "g", "0.3333", "0.4114811811"],
            ["n", "A", "g", "0.3333", "0.3333"],
            ["free", "A", "g", "0.3333", ""],
            ["unpriced", "A", "g", "0.3333", ""],
        ].map(|of| of.map(str::to_owned)).to_vec();
        let found = api.get(&ann, PATH).await.expect(200);
        assert_eq!(terms(&found), whole, "each once, and none that the account may not use");
        assert_eq!(found["currency"], "USD");
        let of = |place: usize, name: &str| found["items"][place][name].clone();
        assert_eq!(of(0, "prices"), json!({"input": "0.4114811811", "output": "0.6666", "per_call.web_search": "0.003333"}));
        assert_eq!((of(0, "has_other_prices"), of(1, "has_other_prices")), (json!(false), json!(true)));
        assert_eq!((of(1, "name"), of(2, "free"), of(3, "free")), (json!("The n"), json!(true), json!(false)));
        assert_eq!(of(0, "health"), json!({"state": "unknown"}));
        assert_eq!(api.get(&admin, PATH).await.expect(200)["items"], json!([]), "one's own, whatever the role");

        // What is not good now shows nothing; a multiplier of a key's own is another price; one that is too great leaves none.
        for id in ["k1", "k2"] {
            api.call(&admin, Method::PATCH, &format!("/api/v1/keys/{id}"), &[], &json!({"disabled": true})).await.expect(200);
        }
        key(json!({"id": "k3", "group": "g", "owner": "ann", "models": ["m"], "multiplier": "2"})).await;
        key(json!({"id": "k4", "group": "mixed", "owner": "ann"})).await;
        key(json!({"id": "k5", "group": "h", "owner": "ann", "max_multiplier": "3"})).await;
        let found = api.get(&ann, PATH).await.expect(200);
        let want = [["m", "A", "g", "2", "2.469134"], ["m", "B", "mixed", "2.0", "2"], ["n", "A", "mixed", "0.3333", "0.3333"]];
        let found: Vec<[String; 5]> = terms(&found);
        let found: Vec<[&str; 5]> = found.iter().map(|of| of.each_ref().map(String::as_str)).collect();
        let exact = |of: &[&str; 5]| of[3].parse::<f64>().unwrap();
        assert_eq!(found.len(), want.len(), "{found:?}");
        for (found, want) in found.iter().zip(&want) {
            assert_eq!((&found[..3], exact(found), found[4]), (&want[..3], exact(want), want[4]));
        }
        api.was_well();
    }
}

on_both! {
    async fn how_models_do(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let admin = api.person("root", Role::Admin).await;
        let ann = api.person("ann", Role::Member).await;
        publish(&api, &admin, &document().to_string()).await;
        for group in ["g", "h"] {
            api.post(&admin, "/api/v1/keys", &json!({"id": group, "group": group, "owner": "ann"})).await.expect(201);
        }
        let lines = [
            line(1, 1, "m", "finished"), line(2, 1, "m", "upstream_failed"), line(3, 1, "m", "refused"), line(4, 1, "m", "client_abort"),
            line(5, 1, "n", "finished"), line(6, 180, "n", "upstream_failed"), line(7, 1, "free", "timeout"),
        ];
        api.ledger(&admin, "/api/v1/ledger/e/1?from=0", &lines.concat()).await.expect(200);
        let found = api.get(&ann, PATH).await.expect(200);
        let health: Vec<(&Value, &Value, &Value)> = found["items"].as_array().unwrap().iter()
            .map(|of| (&of["id"], &of["health"]["state"], &of["health"]["good_percent"])).collect();
        let [m, n, free, unpriced] = ["m", "n", "free", "unpriced"].map(Value::from);
        let [good, some, fails, unknown] = ["good", "some_fail", "fails", "unknown"].map(Value::from);
        let (none, all, half) = (json!(0), json!(100), json!(50));
        let want = [(&m, &some, &half), (&n, &good, &all), (&free, &fails, &none), (&unpriced, &unknown, &Value::Null), (&m, &unknown, &Value::Null)];
        assert_eq!(health, want, "of one's own group, without what says nothing of the model");

        // A model that is served in two styles counts as one.
        let page = get(&api, "/status", "").await;
        assert_eq!(page.status, 200);
        for shown in ["free", "unpriced", "50 % good", "100 % good", "0 % good", "No requests", "Requests to 3 models fail"] {
            assert!(page.text.contains(shown), "{shown}: {}", page.text);
        }
        for secret in ["secret", "somebody", "ann", "root", "mixed", "not-ours"] {
            let main = page.text.split("<main").nth(1).unwrap();
            assert!(!main.contains(secret), "{secret}: {main}");
        }
        let other = Api::new(database).await;
        assert_eq!(get(&other, "/status", "").await.status, 404, "off unless it is asked for");
        api.was_well();
    }
}
