//! The holder's view of a key: the remaining budgets, and why requests fail now.

use http::Method;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use trilane_console::cases::Role;
use trilane_console::secret::NewSecret;
use trilane_console::timestamp;

use crate::api::Api;
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};

/// A moment so many seconds ago. What is spent counts at the end of a request, so that is always this day's.
fn ago(seconds: i64) -> String {
    timestamp::text(
        (OffsetDateTime::now_utc() - Duration::seconds(seconds))
            .replace_nanosecond(0)
            .unwrap(),
    )
}

/// A line of ann's key with members in place of others.
fn line(at: &str, members: Value) -> String {
    let mut line = json!({"timestamp": at, "request_id": at, "duration_ms": 0, "http.response.status_code": 200,
        "http.request.method": "POST", "url.path": "/v1/chat/completions", "trilane.protocol": "A", "trilane.endpoint": "chat_completions",
        "trilane.usage.status": "complete", "trilane.outcome": "finished", "trilane.key.id": "ka", "trilane.key.owner": "ann",
        "trilane.key.team": "blue", "trilane.key.found_in": "authorization", "trilane.group": "g", "trilane.source": "g",
        "trilane.account": "secret-account", "trilane.model": "m", "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 3});
    let of = line.as_object_mut().unwrap();
    of.extend(members.as_object().unwrap().clone());
    format!("{line}\n")
}

/// Sends lines as one more file, and returns what is left for ann's key then.
async fn after(api: &Api, admin: &str, file: &str, lines: &[String]) -> Value {
    api.ledger(
        admin,
        &format!("/api/v1/ledger/e/{file}?from=0"),
        &lines.concat(),
    )
    .await
    .expect(200);
    api.get(admin, "/api/v1/keys/ka/remaining")
        .await
        .expect(200)
}

on_both! {
    /// Shows the rest of each budget, to the last digit, and the budget that stops requests.
    async fn what_is_left(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (admin, ann) = (api.person("root", Role::Admin).await, api.person("ann", Role::Member).await);
        let bob = api.person("bob", Role::Member).await;
        let mut written: Value = serde_json::from_str(&document("g", PRICES)).unwrap();
        written["groups"][0]["limits"] = json!({"output_tokens_per_minute": 5000, "budget": {"per_month": "1000"}});
        publish(&api, &admin, &written.to_string()).await;
        let limits = json!({"requests_per_minute": 60, "concurrent_requests": 4, "budget": {"per_day": "$2", "per_month": "20.50"}});
        api.post(&admin, "/api/v1/keys", &json!({"id": "ka", "group": "g", "owner": "ann", "team": "blue", "limits": limits})).await.expect(201);
        let budget = async |of: &str, body: Value| api.call(&admin, Method::PUT, &format!("/api/v1/budgets/{of}"), &[], &body).await.expect(200);
        budget("owner/ann", json!({"per_month": "1.2"})).await;
        let charge = |amount: &str| line(&ago(1), json!({"trilane.charge": amount, "trilane.currency": "USD"}));
        let other = line(&ago(1), json!({"trilane.key.id": "kb", "trilane.charge": "0.9", "trilane.currency": "USD"}));
        // An account that is charged in another currency spends nothing of these budgets.
        let foreign = line(&ago(1), json!({"trilane.charge": "7", "trilane.currency": "AUD"}));
        let left = after(&api, &admin, "1", &[charge("0.00000000000000000001"), other, foreign]).await;

        let now = OffsetDateTime::now_utc();
        let tomorrow = format!("{}T00:00:00Z", now.date().next_day().unwrap());
        let next = now.date().replace_day(1).unwrap() + Duration::days(32);
        let next_month = format!("{}T00:00:00Z", next.replace_day(1).unwrap());
        assert_eq!(left["currency"], "USD");
        assert_eq!(left["subjects"], json!([
            {"kind": "key", "id": "ka", "limits": [{"limit": "requests_per_minute", "allowed": 60}, {"limit": "concurrent_requests", "allowed": 4}],
             "budgets": [
                {"window": "day", "allowed": "2", "used": "0.00000000000000000001", "left": "1.99999999999999999999", "exhausted": false, "renews_at": tomorrow, "tightest": false},
                {"window": "month", "allowed": "20.5", "used": "0.00000000000000000001", "left": "20.49999999999999999999", "exhausted": false, "renews_at": next_month, "tightest": false}]},
            {"kind": "owner", "id": "ann", "limits": [],
             "budgets": [{"window": "month", "allowed": "1.2", "used": "0.90000000000000000001", "left": "0.29999999999999999999", "exhausted": false, "renews_at": next_month, "tightest": true}]},
            {"kind": "group", "id": "g", "limits": [{"limit": "output_tokens_per_minute", "allowed": 5000}],
             "budgets": [{"window": "month", "allowed": "1000", "used": "0.90000000000000000001", "left": "999.09999999999999999999", "exhausted": false, "renews_at": next_month, "tightest": false}]},
        ]), "{left}");
        assert_eq!(left["requests"], json!({"state": "served", "text": "Requests are served."}));

        // Its owner sees the same without the amounts of what others use as well, nobody else anything.
        let of_group = left["subjects"][2]["budgets"][0].clone();
        let mut left = left;
        left["subjects"][2]["budgets"][0] = json!({"window": "month", "exhausted": false, "renews_at": next_month, "tightest": false});
        assert_eq!(of_group["allowed"], "1000", "an admin does");
        assert_eq!(api.get(&ann, "/api/v1/keys/ka/remaining").await.expect(200), left);
        api.get(&bob, "/api/v1/keys/ka/remaining").await.problem(404);
        let own = api.get(&ann, "/api/v1/me/keys").await.expect(200);
        assert_eq!(own["items"].as_array().unwrap().len(), 1);
        assert_eq!((&own["items"][0]["remaining"], &own["items"][0]["key"]["id"]), (&left, &json!("ka")));
        for token in [&bob, &admin] {
            assert_eq!(api.get(token, "/api/v1/me/keys").await.expect(200)["items"], json!([]), "these are one's own, whatever the role");
        }

        // Whose budget is spent: of several the one that begins anew last, and of equals that of the key.
        let why = |left: &Value| (left["requests"]["reason"].clone(), left["requests"]["text"].as_str().unwrap().to_owned(), left["requests"]["renews_at"].clone());
        let utc = |moment: &str| moment.replace('T', " ").replace(":00Z", " UTC");
        let left = after(&api, &admin, "2", &[charge("1.99999999999999999999")]).await;
        let of_key = format!("Today's budget of the key is spent: $2.00 of $2.00. It begins anew at {}.", utc(&tomorrow));
        // On the last day of a month both begin anew at once.
        let is_last_day = tomorrow == next_month;
        let of_owner = format!("This month's budget of the key's owner is spent: $2.90 of $1.20. It begins anew at {}.", utc(&next_month));
        let text = if is_last_day { of_key.clone() } else { of_owner };
        assert_eq!(why(&left), (json!("budget_spent"), text, json!(next_month)));
        assert_eq!(left["subjects"][1]["budgets"][0]["left"], "0", "nothing less than nothing is left");
        api.call(&admin, Method::DELETE, "/api/v1/budgets/owner/ann", &[], &Value::Null).await.expect(204);
        let left = api.get(&ann, "/api/v1/keys/ka/remaining").await.expect(200);
        assert_eq!(why(&left), (json!("budget_spent"), of_key.clone(), json!(tomorrow)));
        budget("team/blue", json!({"per_month": "1.5"})).await;
        let left = api.get(&ann, "/api/v1/keys/ka/remaining").await.expect(200);
        let of_team = format!("This month's budget of the key's team is spent. It begins anew at {}.", utc(&next_month));
        let text = if is_last_day { of_key } else { of_team };
        assert_eq!(why(&left), (json!("budget_spent"), text, json!(next_month)));
        // Of equals the one that begins anew last: on the last day of a month both do at once.
        let of_team = json!([{"window": "month", "exhausted": true, "renews_at": next_month, "tightest": tomorrow != next_month}]);
        assert_eq!(left["subjects"][1]["budgets"], of_team, "{left}");
        api.was_well();
    }
}

on_both! {
    /// The reason that requests fail now: by the key, by the document, and by the latest requests.
    async fn why_requests_fail(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        api.post(&admin, "/api/v1/keys", &json!({"id": "ka", "group": "g", "owner": "ann", "team": "blue"})).await.expect(201);
        let change = async |body: Value| {
            api.call(&admin, Method::PATCH, "/api/v1/keys/ka", &[], &body).await.expect(200);
        };
        let now = async || api.get(&admin, "/api/v1/keys/ka/remaining").await.expect(200)["requests"].clone();
        let reason = async || now().await["reason"].clone();
        assert_eq!(reason().await, "no_document");
        publish(&api, &admin, &document("h", PRICES)).await;
        assert_eq!(reason().await, "no_group");
        publish(&api, &admin, &document("g", PRICES)).await;
        assert_eq!(reason().await, Value::Null);
        assert!(now().await["text"].as_str().unwrap().contains("no request in the last 15 minutes"));
        change(json!({"models": ["m"]})).await;
        publish(&api, &admin, &document("g", PRICES).replace(r#""id": "m""#, r#""id": "n""#)).await;
        assert_eq!(reason().await, "no_models");
        change(json!({"models": null})).await;
        publish(&api, &admin, &document("g", PRICES)).await;
        change(json!({"expires_at": "2026-01-01T00:00:00Z"})).await;
        assert_eq!(now().await, json!({"state": "fail", "reason": "expired", "text": "The key has expired at 2026-01-01 00:00 UTC.",
            "advice": "Use another key, or ask an admin for a later end."}));
        change(json!({"disabled": true})).await;
        assert_eq!(now().await, json!({"state": "fail", "reason": "disabled", "text": "The key is disabled.", "advice": "Use another key, or ask an admin to enable it."}));
        change(json!({"disabled": false, "expires_at": null})).await;

        // An account whose vendor's quota is spent; then another model goes well; then this one.
        let failed = json!([{"account": "secret-account", "kind": "rate_limited", "status": 429}, {"account": "other", "kind": "rate_limited", "status": 429}]);
        let spent = line(&ago(50), json!({"http.response.status_code": 429, "trilane.outcome": "upstream_failed", "trilane.usage.status": "failed",
            "trilane.tries": 2, "trilane.tries.failed": failed}));
        let requests = after(&api, &admin, "1", &[spent]).await["requests"].clone();
        let text = "Requests for m fail: the upstream account has reached its vendor's limit, or its quota is spent.";
        assert_eq!(requests, json!({"state": "fail", "reason": "upstream_quota", "text": text,
            "advice": "Your key is fine: wait, or use another model; an admin can add an account."}));
        let requests = after(&api, &admin, "2", &[line(&ago(40), json!({"trilane.model": "n"}))]).await["requests"].clone();
        assert_eq!((&requests["state"], &requests["reason"]), (&json!("some_fail"), &json!("upstream_quota")));
        let requests = after(&api, &admin, "3", &[line(&ago(30), json!({}))]).await["requests"].clone();
        assert_eq!((&requests["state"], requests.get("reason")), (&json!("served"), None));

        // What a decision refused is over as soon as the gateway would decide otherwise.
        let refused = |seconds, code: &str, more: Value| {
            let mut members = json!({"http.response.status_code": 404, "trilane.outcome": "refused", "trilane.usage.status": "none", "error.type": code,
                "trilane.model": null, "gen_ai.request.model": "later"});
            members.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            line(&ago(seconds), members)
        };
        let requests = after(&api, &admin, "4", &[refused(20, "model_not_found", json!({}))]).await["requests"].clone();
        assert_eq!((&requests["state"], &requests["reason"]), (&json!("some_fail"), &json!("refused")));
        assert_eq!(requests["text"], "Requests for later fail: the key's group has no model of this name.");
        assert_eq!(requests["advice"], "Use one of the key's models.");
        publish(&api, &admin, &document("g", PRICES).replace(r#""models": ["#, r#""models": [{"id": "later", "free": true}, "#)).await;
        assert_eq!(reason().await, Value::Null);

        // A limit that drains by the minute.
        let limit = json!({"http.response.status_code": 429, "trilane.limit": "requests", "trilane.limit.scope": "group"});
        let requests = after(&api, &admin, "5", &[refused(5, "rate_limit_exceeded", limit)]).await["requests"].clone();
        assert_eq!((&requests["state"], &requests["reason"]), (&json!("some_fail"), &json!("limit_reached")));
        assert!(requests["text"].as_str().unwrap().contains("requests a minute of the group is used up"), "{requests}");
        api.was_well();
    }
}

on_both! {
    /// Shows the holder of a key its own data and nothing of the rest; a guess learns nothing, and is slowed.
    async fn by_the_key_itself(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        publish(&api, &admin, &document("g", PRICES)).await;
        let made = api.post(&admin, "/api/v1/keys", &json!({"id": "ka", "group": "g", "owner": "ann", "team": "blue", "label": "laptop",
            "limits": {"budget": {"per_day": "5"}}})).await.expect(201);
        let value = made["value"].as_str().unwrap();
        let other = line(&ago(2), json!({"trilane.key.id": "kb", "request_id": "another"}));
        let own = line(&ago(1), json!({"request_id": "mine", "trilane.charge": "1.25", "trilane.currency": "USD"}));
        after(&api, &admin, "1", &[other, own]).await;
        let audited = api.get(&admin, "/api/v1/audit").await.text;

        let reply = api.get(value, "/api/v1/me/key").await;
        assert_eq!(reply.headers["cache-control"], "no-store");
        assert!(reply.headers.get("set-cookie").is_none());
        assert!(!reply.text.contains(value) && !reply.text.contains("secret-account") && !reply.text.contains("root"), "{}", reply.text);
        let seen = reply.expect(200);
        assert_eq!((&seen["key"]["id"], &seen["key"]["label"]), (&json!("ka"), &json!("laptop")));
        let model = &seen["models"]["items"][0];
        assert_eq!((&model["id"], &model["protocol"], &model["health"]), (&json!("m"), &json!("A"), &json!({"state": "good", "good_percent": 100})));
        let spent = json!([{"currency": "USD", "amount": "1.25"}]);
        assert_eq!((&seen["spent_today"], &seen["key"]["spent_this_month"]), (&spent, &spent));
        assert_eq!(seen["remaining"]["subjects"][0]["budgets"][0]["left"], "3.75");
        assert_eq!(seen["remaining"], api.get(&admin, "/api/v1/keys/ka/remaining").await.expect(200));
        api.call(&admin, Method::PUT, "/api/v1/budgets/team/blue", &[], &json!({"per_month": "$9"})).await.expect(200);
        let of_team = &api.get(value, "/api/v1/me/key").await.expect(200)["remaining"]["subjects"][1]["budgets"][0];
        let told: Vec<&String> = of_team.as_object().unwrap().keys().collect();
        assert_eq!(told, ["exhausted", "renews_at", "tightest", "window"], "what others spend is not told");
        let used = &seen["usage"];
        assert_eq!((used.as_array().unwrap().len(), &used[0]["values"]["model"], &used[0]["charge"]), (1, &json!("m"), &json!("1.25")), "{used}");
        assert!(used[0].get("cost").is_none(), "{used}");
        let requests = seen["requests"].as_array().unwrap();
        assert_eq!(requests.len(), 1);
        assert_eq!((&requests[0]["request_id"], &requests[0]["charge"], &requests[0]["status"]), (&json!("mine"), &json!("1.25"), &json!(200)));

        // What is disabled is told, for whoever has the key.
        api.call(&admin, Method::PATCH, "/api/v1/keys/ka", &[], &json!({"disabled": true})).await.expect(200);
        assert_eq!(api.get(value, "/api/v1/me/key").await.expect(200)["remaining"]["requests"]["reason"], "disabled");

        // Whatever is no key gets the same answer; asking with a key counts for nothing, however often.
        let stranger = NewSecret::key().unwrap();
        let mut answers = Vec::new();
        for wrong in ["", stranger.reveal(), "x", &admin, &value.to_uppercase(), &format!("{value}x"), "tl-\u{0}"] {
            let request = http::Request::get("/api/v1/me/key").header("authorization", format!("Bearer {}", wrong.replace('\0', " ")));
            let reply = api.send(request.body(axum::body::Body::empty()).unwrap()).await;
            assert_eq!(reply.headers["cache-control"], "no-store");
            answers.push(reply.problem(401));
        }
        answers.push(api.get("", "/api/v1/me/key").await.problem(401));
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        for _ in 0..40 {
            api.get(value, "/api/v1/me/key").await.expect(200);
        }
        let mut statuses = Vec::new();
        for _ in 0..40 {
            statuses.push(api.get(stranger.reveal(), "/api/v1/me/key").await.status.as_u16());
        }
        assert!(statuses[..20].iter().all(|status| *status == 401), "{statuses:?}");
        let slowed = statuses.iter().filter(|status| **status == 429).count();
        assert!(slowed >= 10, "{statuses:?}");
        let reply = api.get(stranger.reveal(), "/api/v1/me/key").await;
        assert_eq!(reply.headers["retry-after"], "60");
        reply.problem(429);
        // Whoever has a key is not kept out by a stranger at the same address.
        api.get(value, "/api/v1/me/key").await.expect(200);
        let changes = api.get(&admin, "/api/v1/audit").await.expect(200);
        assert_eq!(changes["items"].as_array().unwrap().len(), serde_json::from_str::<Value>(&audited).unwrap()["items"].as_array().unwrap().len() + 2, "the budget, and the key");
        api.was_well();
    }
}
