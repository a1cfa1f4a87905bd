//! Requests: found by what they are, one at a time with its explanation, and counted by hour.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;
use trilane_console::store::requests::SEARCHED;

use crate::api::Api;
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};

/// A line with members in place of others.
pub fn line(at: &str, members: Value) -> String {
    let mut line = json!({"timestamp": at, "request_id": at, "duration_ms": 1500, "http.response.status_code": 200,
        "http.request.method": "POST", "url.path": "/v1/chat/completions", "trilane.protocol": "A", "trilane.endpoint": "chat_completions",
        "trilane.usage.status": "complete", "trilane.outcome": "finished", "trilane.key.id": "k", "trilane.key.owner": "ann",
        "trilane.key.team": "blue", "trilane.group": "g", "trilane.source": "g", "trilane.account": "one", "trilane.tries": 1,
        "trilane.model": "m", "gen_ai.request.model": "m", "trilane.multiplier": "1.0000",
        "gen_ai.usage.input_tokens": 1000, "gen_ai.usage.output_tokens": 10, "trilane.charge": "0.00102", "trilane.currency": "USD",
        "trilane.time_to_first_byte_us": 812_000});
    let of = line.as_object_mut().unwrap();
    for (name, value) in members.as_object().unwrap() {
        if value.is_null() {
            of.remove(name);
        } else {
            of.insert(name.clone(), value.clone());
        }
    }
    format!("{line}\n")
}

fn at(minute: u32) -> String {
    format!("2026-11-24T11:{minute:02}:00Z")
}

/// The minutes of those that were found.
fn minutes(found: &Value) -> Vec<String> {
    let items = found["items"].as_array().unwrap().iter();
    items
        .map(|item| item["line"]["timestamp"].as_str().unwrap()[14..16].to_owned())
        .collect()
}

async fn filled(api: &Api, admin: &str) {
    let lines = [
        line(&at(1), json!({})),
        line(
            &at(2),
            json!({"trilane.key.id": "k2", "trilane.key.owner": "bob", "trilane.key.team": "red"}),
        ),
        line(
            &at(3),
            json!({"trilane.model": "n", "trilane.account": "two"}),
        ),
        line(
            &at(4),
            json!({"http.response.status_code": 429, "trilane.outcome": "refused", "trilane.usage.status": "none",
            "trilane.charge": null, "trilane.account": null, "trilane.tries": null, "error.type": "rate_limit_exceeded",
            "trilane.limit": "requests", "trilane.limit.scope": "key"}),
        ),
        line(
            &at(5),
            json!({"http.response.status_code": 0, "trilane.outcome": "client_abort"}),
        ),
        line(
            &at(6),
            json!({"trilane.tries": 3, "trilane.account": "two", "trilane.time_to_first_byte_us": 40_000,
            "trilane.tries.failed": [{"account": "one", "kind": "rate_limited", "status": 429},
                {"account": "three", "kind": "connection", "status": 0, "reason": "x"}, {"account": "three", "kind": "made up"}]}),
        ),
    ];
    api.ledger(admin, "/api/v1/ledger/e/f?from=0", &lines.concat())
        .await
        .expect(200);
}

on_both! {
    async fn are_found_by_what_they_are(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (admin, ann) = (api.person("root", Role::Admin).await, api.person("ann", Role::Member).await);
        filled(&api, &admin).await;
        let all = ["06", "05", "04", "03", "02", "01"];
        for (query, want) in [
            ("", &all[..]),
            ("key=k2", &["02"]),
            ("owner=bob", &["02"]),
            ("team=red", &["02"]),
            ("team=blue&model=n", &["03"]),
            ("group=g", &all),
            ("group=h", &[]),
            ("account=two", &["06", "03"]),
            ("outcome=refused", &["04"]),
            ("status=429", &["04"]),
            ("status=4xx", &["04"]),
            ("status=0", &["05"]),
            ("status=2xx&key=k", &["06", "03", "01"]),
            ("since=2026-11-24T11:05:00Z", &["06", "05"]),
            ("until=2026-11-24T11:03:00Z&owner=ann", &["01"]),
            ("since=2026-11-24T13:03:00%2B02:00&until=2026-11-24T11:04:00Z&model=n", &["03"]),
        ] {
            let found = api.get(&admin, &format!("/api/v1/requests?{query}")).await.expect(200);
            assert_eq!(minutes(&found), want, "{query}");
            assert_eq!(found.get("next"), None, "{query}");
        }
        let own = api.get(&ann, "/api/v1/requests?status=2xx").await.expect(200);
        assert_eq!(minutes(&own), ["06", "03", "01"]);
        api.get(&ann, "/api/v1/requests?owner=bob").await.problem(403);
        assert_eq!(minutes(&api.get(&ann, "/api/v1/requests?key=k2").await.expect(200)), [""; 0]);
        for wrong in ["status=4", "status=x", "status=9xx", "since=yesterday", "model=%00", "cursor=zz", "limit=0"] {
            let reply = api.get(&admin, &format!("/api/v1/requests?{wrong}")).await;
            if wrong != "status=4" {
                reply.problem(400);
            }
        }
        // From page to page, whatever is filtered by.
        for query in ["", "status=2xx&", "owner=ann&"] {
            let whole = api.get(&admin, &format!("/api/v1/requests?{query}")).await.expect(200);
            let (mut cursor, mut seen) = (String::new(), Vec::new());
            loop {
                let page = api.get(&admin, &format!("/api/v1/requests?{query}limit=2{cursor}")).await.expect(200);
                seen.extend(minutes(&page));
                let Some(next) = page["next"].as_str() else { break };
                cursor = format!("&cursor={next}");
            }
            assert_eq!(seen, minutes(&whole), "{query}");
        }
        api.was_well();
    }
}

on_both! {
    /// Lines of one moment, some at the same position of other files: none is left out between two pages, none comes twice.
    async fn of_one_moment(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let lines = line(&at(1), json!({})).repeat(3);
        for (envoy, file) in [("e", "a"), ("e", "b"), ("f", "a"), ("f", "c")] {
            api.ledger(&admin, &format!("/api/v1/ledger/{envoy}/{file}?from=0"), &lines).await.expect(200);
        }
        let ids = |page: &Value| page["items"].as_array().unwrap().iter().map(|item| item["id"].to_string()).collect::<Vec<_>>();
        for query in ["", "status=2xx&", "owner=ann&", "key=k&"] {
            let whole = ids(&api.get(&admin, &format!("/api/v1/requests?{query}")).await.expect(200));
            assert_eq!(whole.iter().collect::<BTreeSet<_>>().len(), 12, "{query}");
            for limit in [1, 5] {
                let (mut cursor, mut seen) = (String::new(), Vec::new());
                loop {
                    let page = api.get(&admin, &format!("/api/v1/requests?{query}limit={limit}{cursor}")).await.expect(200);
                    seen.extend(ids(&page));
                    let Some(next) = page["next"].as_str() else { break };
                    cursor = format!("&cursor={next}");
                }
                assert_eq!(seen, whole, "{query}, {limit}");
            }
        }
        api.was_well();
    }
}

on_both! {
    /// A page looks at a bounded number of lines, and the next one goes on from there.
    async fn what_is_rare_is_found_in_steps(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let most = usize::try_from(SEARCHED).unwrap();
        let rare = line("2026-11-24T10:00:00Z", json!({"trilane.model": "rare"}));
        let common = line("2026-11-24T11:00:00Z", json!({}));
        let lines = rare + &common.repeat(most + 5);
        let mut from = 0;
        while from < lines.len() {
            let end = lines.len().min(from + (4 << 20));
            let taken = api.ledger(&admin, &format!("/api/v1/ledger/e/f?from={from}"), &lines[from..end]).await.expect(200);
            from = usize::try_from(taken["position"].as_u64().unwrap()).unwrap();
        }
        let first = api.get(&admin, "/api/v1/requests?model=rare").await.expect(200);
        assert_eq!(minutes(&first), [""; 0], "the search ended before it");
        let next = first["next"].as_str().unwrap();
        let second = api.get(&admin, &format!("/api/v1/requests?model=rare&cursor={next}")).await.expect(200);
        assert_eq!(minutes(&second), ["00"]);
        assert_eq!(second.get("next"), None);
    }
}

on_both! {
    async fn one_with_its_explanation(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (admin, ann) = (api.person("root", Role::Admin).await, api.person("ann", Role::Member).await);
        publish(&api, &admin, &document("g", PRICES)).await;
        api.post(&admin, "/api/v1/keys", &json!({"id": "k", "group": "g", "owner": "ann"})).await.expect(201);
        filled(&api, &admin).await;
        let all = api.get(&admin, "/api/v1/requests").await.expect(200);
        let path = |place: usize| format!("/api/v1/requests/{}", all["items"][place]["id"].as_str().unwrap());
        let part = |of: &Value, name: &str| {
            let parts = of["parts"].as_array().unwrap().iter();
            parts.clone().find(|part| part["part"] == name).map(|part| part["text"].as_str().unwrap().to_owned())
        };

        let one = api.get(&admin, &path(0)).await.expect(200);
        assert_eq!(one["line"], all["items"][0]["line"]);
        let tried = part(&one, "tried").unwrap();
        assert!(tried.starts_with("one has reached a limit (429); then three could not be reached"), "{tried}");
        let bill = &one["bill"];
        assert_eq!((&bill["charge"], &bill["as_charged"]), (&json!("0.00102"), &json!(true)), "{one}");
        assert_eq!(bill["items"], json!([{"what": "input", "amount": 1000, "price": "1", "cost": "0.001"},
            {"what": "output", "amount": 10, "price": "2", "cost": "0.00002"}]));
        assert_eq!(one["bill_by"], 1);
        assert_eq!((&one["now"]["decision"], &one["now"]["upstream"]["cluster"]), (&json!("forwarded"), &json!("c")), "{one}");

        let refused = api.get(&admin, &path(2)).await.expect(200);
        assert_eq!(refused.get("bill"), None);
        assert!(part(&refused, "why").unwrap().contains("requests of the key"), "{refused}");

        // A member sees one's own, without where it goes.
        let own = api.get(&ann, &path(0)).await.expect(200);
        assert_eq!((&own["now"]["decision"], &own["now"]["upstream"]), (&json!("forwarded"), &Value::Null));
        api.get(&ann, &path(4)).await.problem(404);
        for id in ["x", "1~2~e~f", "%00", "9223372036854775808~0~e~f"] {
            api.get(&admin, &format!("/api/v1/requests/{id}")).await.problem(404);
        }

        // The charge is that of the prices of its time, and what would happen is that of now.
        publish(&api, &admin, &document("g", r#", "prices": {"input": "5", "output": "5"}"#)).await;
        api.call(&admin, Method::PATCH, "/api/v1/keys/k", &[], &json!({"disabled": true})).await.expect(200);
        let later = api.get(&admin, &path(0)).await.expect(200);
        // The lines of these tests are older than the first version: only the newest prices are left to explain by.
        assert_eq!(later["bill"]["as_charged"], false);
        assert_eq!((&later["now"]["decision"], &later["now"]["answer"]["code"]), (&json!("refused"), &json!("invalid_api_key")), "{later}");
        api.call(&admin, Method::DELETE, "/api/v1/keys/k", &[], &Value::Null).await.expect(204);
        let gone = api.get(&admin, &path(0)).await.expect(200);
        assert_eq!(gone.get("now"), None);
        assert!(gone["not_now"].as_str().unwrap().contains("removed"));
        api.was_well();
    }
}

on_both! {
    /// A charge is explained by the version of its time, however often prices have changed since.
    async fn a_charge_of_then(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        publish(&api, &admin, &document("g", PRICES)).await;
        publish(&api, &admin, &document("g", "")).await;
        let lines = line("2026-11-24T11:00:00Z", json!({}));
        api.ledger(&admin, "/api/v1/ledger/e/f?from=0", &lines).await.expect(200);
        database.execute("UPDATE documents SET published_at = 1 WHERE version = 1").await.unwrap();
        let all = api.get(&admin, "/api/v1/requests").await.expect(200);
        let one = api.get(&admin, &format!("/api/v1/requests/{}", all["items"][0]["id"].as_str().unwrap())).await.expect(200);
        assert_eq!((&one["bill_by"], &one["bill"]["as_charged"]), (&json!(1), &json!(true)), "{one}");
    }
}

on_both! {
    async fn are_counted_by_hour(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (admin, ann) = (api.person("root", Role::Admin).await, api.person("ann", Role::Member).await);
        filled(&api, &admin).await;
        // The same again: counts are added up.
        let again = line("2026-11-25T11:00:00Z", json!({"trilane.time_to_first_byte_us": 7_000_000}));
        api.ledger(&admin, "/api/v1/ledger/e/g?from=0", &again.repeat(2)).await.expect(200);
        api.ledger(&admin, "/api/v1/ledger/e/h?from=0", &again).await.expect(200);

        let soon = api.get(&admin, "/api/v1/first-bytes").await.expect(200);
        // Neither the refused one nor the one without an answer.
        assert_eq!(soon["items"], json!([{"period": "", "name": "", "requests": 7, "within_ms": {"50": 1, "1000": 3, "7500": 3},
            "half_within_ms": 1000, "p95_within_ms": 7500}]));
        let by_day = api.get(&admin, "/api/v1/first-bytes?period=day&by=model&until=2026-11-25").await.expect(200);
        let days: Vec<_> = by_day["items"].as_array().unwrap().iter().map(|item| (&item["period"], &item["name"], &item["requests"])).collect();
        assert_eq!(days, [(&json!("2026-11-24"), &json!("m"), &json!(3)), (&json!("2026-11-24"), &json!("n"), &json!(1))]);

        let tries = api.get(&admin, "/api/v1/attempts?by=account&until=2026-11-25").await.expect(200);
        assert_eq!(tries["items"], json!([
            {"period": "", "name": "one", "source": "g", "attempts": 4, "failed": 1, "ended": {"answered": 2, "client_left": 1, "rate_limited": 1}},
            {"period": "", "name": "three", "source": "g", "attempts": 1, "failed": 1, "ended": {"connection": 1}},
            {"period": "", "name": "two", "source": "g", "attempts": 1, "failed": 0, "ended": {"answered": 1}},
        ]));
        let hours = api.get(&admin, "/api/v1/attempts?period=hour&account=one").await.expect(200);
        let hours: Vec<_> = hours["items"].as_array().unwrap().iter().map(|item| (&item["period"], &item["attempts"])).collect();
        assert_eq!(hours, [(&json!("2026-11-24T11"), &json!(4)), (&json!("2026-11-25T11"), &json!(3))]);
        for wrong in ["first-bytes?by=source", "attempts?by=model", "attempts?period=year", "first-bytes?since=x", "attempts?account=%00"] {
            api.get(&admin, &format!("/api/v1/{wrong}")).await.problem(400);
        }
        api.get(&ann, "/api/v1/first-bytes").await.problem(403);
        api.was_well();
    }
}
