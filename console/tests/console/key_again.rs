//! An id of a key that is used again: nobody sees what was another owner's.

use http::Method;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use trilane_console::cases::Role;
use trilane_console::timestamp;

use crate::api::Api;
use crate::database::on_both;
use crate::ledger::line;

/// A line of this owner's key `k`, just now.
fn spent(owner: &str, charge: &str) -> String {
    let now = OffsetDateTime::now_utc() - Duration::seconds(2);
    let at = timestamp::text(now.replace_nanosecond(0).unwrap());
    let own = format!(r#""trilane.key.owner":"{owner}""#);
    let own = if owner.is_empty() {
        r#""x":1"#.to_owned()
    } else {
        own
    };
    line(&at, "k", "m", charge).replace(r#""trilane.key.owner":"owner of k""#, &own)
}

/// Shows the key `k`: in the list and by itself, to its holder, and its spend. Each as numbers of requests or amounts.
async fn shown(api: &Api, token: &str, value: &str) -> Value {
    let month = OffsetDateTime::now_utc().date().to_string()[..7].to_owned();
    let amounts = |list: &Value| {
        list.as_array()
            .unwrap()
            .iter()
            .map(|of| of["amount"].clone())
            .collect::<Vec<_>>()
    };
    let key = api.get(token, "/api/v1/keys/k").await.expect(200);
    let listed = api.get(token, "/api/v1/keys?with=use").await.expect(200);
    let spend = api
        .get(
            token,
            &format!("/api/v1/spend?kind=key&subject=k&period={month}"),
        )
        .await
        .expect(200);
    let held = api.get(value, "/api/v1/me/key").await.expect(200);
    json!({
        "key": amounts(&key["spent_this_month"]),
        "used": key.get("last_used_at").is_some(),
        "list": amounts(&listed["items"][0]["spent_this_month"]),
        "spend": amounts(&spend["spent"]),
        "held": amounts(&held["key"]["spent_this_month"]),
        "held_today": amounts(&held["spent_today"]),
        "held_requests": held["requests"].as_array().unwrap().len(),
    })
}

fn only(amounts: Value, used: bool, requests: usize) -> Value {
    json!({"key": amounts, "used": used, "list": amounts, "spend": amounts, "held": amounts, "held_today": amounts, "held_requests": requests})
}

on_both! {
    /// Removed and made anew for somebody else, given to somebody else, without an owner, and back again.
    async fn an_id_shows_what_is_its_present_owners(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let (ann, bob) = (api.person("ann", Role::Member).await, api.person("bob", Role::Member).await);
        crate::lives::publish(&api, &admin, &crate::lives::document("g", crate::lives::PRICES)).await;
        let make = async |owner: &str| {
            let owner = if owner.is_empty() { Value::Null } else { json!(owner) };
            let made = api.post(&admin, "/api/v1/keys", &json!({"id": "k", "group": "g", "owner": owner})).await.expect(201);
            made["value"].as_str().unwrap().to_owned()
        };
        let send = async |file: &str, text: &str| api.ledger(&admin, &format!("/api/v1/ledger/e/{file}?from=0"), text).await.expect(200);
        let remove = async || api.call(&admin, Method::DELETE, "/api/v1/keys/k", &[], &Value::Null).await.expect(204);
        let of_anns = make("ann").await;
        send("1", &spent("ann", "1.25")).await;
        assert_eq!(shown(&api, &ann, &of_anns).await, only(json!(["1.25"]), true, 1), "one owner");
        remove().await;

        let value = make("bob").await;
        for token in [&bob, &admin] {
            assert_eq!(shown(&api, token, &value).await, only(json!([]), false, 0), "anew, for bob");
        }
        api.get(&ann, "/api/v1/keys/k").await.problem(404);
        send("2", &spent("bob", "0.5")).await;
        // A line of the one before that comes late.
        send("3", &spent("ann", "2")).await;
        send("4", &spent("bob", "0.25")).await;
        for token in [&bob, &admin] {
            assert_eq!(shown(&api, token, &value).await, only(json!(["0.75"]), true, 2), "bob's");
        }
        // Each sees one's own, wherever it is; sums lose nothing.
        for (token, want) in [(&ann, json!([2])), (&bob, json!([2])), (&admin, json!([4]))] {
            let usage = api.get(token, "/api/v1/usage?key=k").await.expect(200);
            let counts: Vec<&Value> = usage["items"].as_array().unwrap().iter().map(|of| &of["counts"]["requests"]).collect();
            assert_eq!(json!(counts), want);
        }

        let give = async |owner: Value| api.call(&admin, Method::PATCH, "/api/v1/keys/k", &[], &json!({"owner": owner})).await.expect(200);
        give(json!("ann")).await;
        assert_eq!(shown(&api, &ann, &value).await["spend"], json!(["3.25"]), "given to ann");
        give(Value::Null).await;
        assert_eq!(shown(&api, &admin, &value).await, only(json!([]), false, 0), "nobody's");
        send("5", &spent("", "8")).await;
        assert_eq!(shown(&api, &admin, &value).await, only(json!(["8"]), true, 1), "nobody's, used");
        api.was_well();
    }
}
