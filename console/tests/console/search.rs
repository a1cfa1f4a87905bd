//! The one search: requests by their ids, and what has a text in its id or name.

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::{Api, ApiReply};
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};
use crate::page_security::{PASSWORD, csrf, get, post, session, with_password};
use crate::requests::line;

/// The times of the requests that were found.
fn times(found: &Value) -> Vec<&str> {
    let items = found["requests"].as_array().unwrap().iter();
    items
        .map(|item| item["line"]["timestamp"].as_str().unwrap())
        .collect()
}

/// The ids of the finds of a kind.
fn ids<'a>(found: &'a Value, kind: &str) -> Vec<&'a str> {
    let items = found[kind].as_array().unwrap().iter();
    items
        .map(|item| item.as_str().or_else(|| item["id"].as_str()).unwrap())
        .collect()
}

async fn filled(api: &Api, admin: &str) {
    let of = |owner: &str, id: &str, more: Value| {
        let mut members = json!({"trilane.key.owner": owner, "request_id": id});
        members
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        members
    };
    let lines = [
        line(
            "2026-11-24T11:01:00Z",
            of(
                "ann",
                "envoy-1",
                json!({"gen_ai.response.id": "msg_1", "trilane.upstream_request_id": "req_1", "trilane.session": "talk-1"}),
            ),
        ),
        line(
            "2026-11-24T11:02:00Z",
            of(
                "bob",
                "envoy-2",
                json!({"gen_ai.response.id": "msg_2", "trilane.session": "talk-1"}),
            ),
        ),
        // A vendor that gives one id to two.
        line(
            "2026-11-24T11:03:00Z",
            of("bob", "envoy-3", json!({"gen_ai.response.id": "msg_2"})),
        ),
    ];
    api.ledger(admin, "/api/v1/ledger/e/f?from=0", &lines.concat())
        .await
        .expect(200);
    publish(api, admin, &document("g", PRICES)).await;
    for key in [
        json!({"id": "blue-ci", "group": "g", "owner": "ann", "label": "Review of code"}),
        json!({"id": "night", "group": "g", "owner": "bob"}),
    ] {
        let mut key = key;
        key["new_owner"] = json!(true);
        api.call(admin, Method::POST, "/api/v1/keys", &[], &key)
            .await
            .expect(201);
    }
    api.call(
        admin,
        Method::POST,
        "/api/v1/teams",
        &[],
        &json!({"id": "blue", "name": "The Blues"}),
    )
    .await
    .expect(201);
}

on_both! {
    async fn all_that_has_an_id_is_found(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let ann = api.person("ann", Role::Member).await;
        filled(&api, &admin).await;
        let find = async |token: &str, text: &str| api.get(token, &format!("/api/v1/search?text={text}")).await.expect(200);
        let [first, second, third] = ["2026-11-24T11:01:00Z", "2026-11-24T11:02:00Z", "2026-11-24T11:03:00Z"];
        for (text, of_admin, of_ann) in [
            ("envoy-1", &[first][..], &[first][..]),
            ("msg_1", &[first], &[first]),
            ("req_1", &[first], &[first]),
            ("envoy-2", &[second], &[]),
            ("msg_2", &[third, second], &[]),
            ("talk-1", &[second, first], &[first]),
            ("-", &[], &[]),
            ("envoy", &[], &[]),
            ("MSG_1", &[], &[]),
        ] {
            assert_eq!(times(&find(&admin, text).await), of_admin, "{text}");
            assert_eq!(times(&find(&ann, text).await), of_ann, "{text}");
        }
        let long: String = (10..31)
            .map(|minute| line(&format!("2026-11-24T12:{minute}:00Z"), json!({"trilane.session": "long"})))
            .collect();
        api.ledger(&admin, "/api/v1/ledger/e/long?from=0", &long).await.expect(200);
        let session = find(&admin, "long").await;
        assert_eq!((times(&session).len(), &session["has_more_requests"]), (20, &json!(true)));
        assert_eq!(find(&admin, "talk-1").await["has_more_requests"], json!(false));
        // The console's own id.
        let ours = find(&admin, "envoy-1").await["requests"][0]["id"].as_str().unwrap().to_owned();
        assert_eq!(times(&find(&admin, &ours).await), [first]);
        let all = find(&admin, "blue").await;
        assert_eq!((ids(&all, "keys"), ids(&all, "teams"), ids(&all, "people")), (vec!["blue-ci"], vec!["blue"], vec![]));
        assert_eq!(ids(&find(&admin, "BLUES").await, "teams"), ["blue"]);
        assert_eq!(ids(&find(&admin, "review").await, "keys"), ["blue-ci"]);
        assert_eq!(ids(&find(&admin, "ann").await, "people"), ["ann"]);
        let group = find(&admin, "g").await;
        assert!(ids(&group, "groups").contains(&"g"), "{group}");
        let model = find(&admin, "m").await;
        assert!(ids(&model, "models").contains(&"m"), "{model}");
        // Members see neither people nor the document, and keys of their own.
        let own = find(&ann, "n").await;
        assert_eq!((ids(&own, "people"), ids(&own, "groups"), ids(&own, "models")), (vec![], vec![], vec![]));
        assert_eq!(ids(&own, "keys"), ["blue-ci"]);
        for bad in ["", "%00", "tl-01234567890123456789"] {
            api.get(&admin, &format!("/api/v1/search?text={bad}")).await.problem(400);
        }
        api.was_well();
    }

}

on_both! {
    /// A search leads to what it found, and a whole key is in no address.
    async fn one_find_is_gone_to(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("admin", Role::Admin).await;
        with_password(&api, "root", Role::Admin).await;
        filled(&api, &admin).await;
        let cookie = session(&post(&api, "/sign-in", "", &[("person", "root"), ("password", PASSWORD)]).await);
        let value = api
            .call(&admin, Method::POST, "/api/v1/keys", &[], &json!({"id": "whole", "group": "g", "owner": "ann"}))
            .await
            .expect(201)["value"]
            .as_str()
            .unwrap()
            .to_owned();
        let page = get(&api, "/search", &cookie).await;
        assert_eq!(page.status, 200);
        let csrf = csrf(&page.text);
        let to = |reply: &ApiReply| reply.headers["location"].to_str().unwrap().to_owned();
        for (text, want) in [("night", "/search?text=night"), (value.as_str(), "/keys/whole")] {
            let reply = post(&api, "/search", &cookie, &[("csrf", &csrf), ("text", text)]).await;
            assert_eq!(to(&reply), want, "{text}");
        }
        let unknown = "tl-01234567890123456789";
        let reply = post(&api, "/search", &cookie, &[("csrf", &csrf), ("text", unknown)]).await;
        assert!(reply.status == 200 && reply.text.contains("No key has this value") && !reply.text.contains(unknown));
        assert_eq!(to(&get(&api, "/search?text=night", &cookie).await), "/keys/night");
        assert!(to(&get(&api, "/search?text=req_1", &cookie).await).starts_with("/requests/"));
        let several = get(&api, "/search?text=blue", &cookie).await;
        assert!(several.status == 200 && several.text.contains("/keys/blue-ci") && several.text.contains("/teams/blue"), "{}", several.text);
        api.was_well();
    }
}
