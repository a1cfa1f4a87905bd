//! `GET /v1/usage`.

use super::*;

/// Asks for what is left. The report as text, so that every digit of a number is compared.
fn ask(credential: &str, in_force: &InForce, world: &Limited) -> (u16, String) {
    let head = head("GET /v1/usage", &[credential]);
    let mut exchange = Exchange::default();
    let outcome = exchange.on_request_head(&head, true, Some(in_force), world);
    let reply = reply(outcome, credential);
    assert_eq!(
        exchange.on_done(&FakeEnd(""), world).unwrap().charge,
        None,
        "{credential}"
    );
    (reply.status, String::from_utf8(reply.body).unwrap())
}

#[test]
fn what_is_left_is_told_exactly() {
    let of_key =
        json!({"requests_per_minute": 10, "budget": {"per_day": "0.0016", "per_month": "100"}});
    let of_group =
        json!({"concurrent_requests": 3, "budget": {"per_day": "7.00000000000000000001"}});
    let (in_force, world) = limited(&of_key, &of_group);
    let (status, before) = ask("x-api-key: k-b", &in_force, &world);
    assert_eq!(status, 200, "{before}");
    let looked = ask("x-api-key: k-b", &in_force, &world).1;
    assert_eq!(looked, before, "asking is counted nowhere");
    let (mut exchange, _) = B.send(&in_force, &world);
    exchange.on_response_head(
        &FakeHead {
            status: 200,
            details: UPSTREAM,
        },
        false,
        &world,
    );
    for chunk in [MESSAGE, MESSAGE_END] {
        exchange.on_response_body(chunk.as_bytes(), chunk.len(), false, &world);
    }
    exchange.on_response_body(&[], 0, true, &world);
    let charge = exchange
        .on_done(&FakeEnd(FINISHED), &world)
        .unwrap()
        .charge
        .unwrap();
    let report: Value = serde_json::from_str(&ask("x-api-key: k-b", &in_force, &world).1).unwrap();
    let at = |pointer: &str| {
        report
            .pointer(pointer)
            .unwrap_or_else(|| panic!("{pointer}: {report}"))
            .clone()
    };
    let spent = charge.to_string();
    assert_eq!(at("/mode"), "quota_limited");
    assert_eq!(at("/isValid"), true);
    assert_eq!(at("/unit"), "USD");
    assert_eq!(at("/planName"), "b");
    assert_eq!(at("/limits/0/scope"), "key");
    assert_eq!(at("/limits/0/budgets/0/window"), "day");
    assert_eq!(at("/limits/0/budgets/0/limit"), "0.0016");
    assert_eq!(at("/limits/0/budgets/0/spent"), spent);
    assert_eq!(at("/limits/0/budgets/0/resets_at"), "2026-11-23T00:00:00Z");
    assert_eq!(at("/limits/0/budgets/1/resets_at"), "2026-12-01T00:00:00Z");
    assert_eq!(at("/limits/0/rates/0/per_minute"), "requests");
    assert_eq!(at("/limits/0/rates/0/remaining"), 9);
    assert_eq!(at("/limits/1/scope"), "group");
    assert_eq!(at("/limits/1/concurrent_requests"), 3);
    assert_eq!(at("/limits/0/budgets/0/reserved"), "0");
    assert_eq!(at("/limits/0/budgets/0/exhausted"), true);
    let of_group =
        json!({"window": "day", "exhausted": false, "resets_at": "2026-11-23T00:00:00Z"});
    assert_eq!(at("/limits/1/budgets"), json!([of_group]), "no amounts");
    // The tightest budget is the quota, spent or not.
    assert_eq!(at("/quota/limit").to_string(), "0.0016");
    assert_eq!(at("/rate_limits/0/window"), "1d");
    assert_eq!(at("/rate_limits/1/window"), "1mo");
}

/// The amounts that others spend of a budget are not reported, but its exhaustion is: each request shows it.
#[test]
fn a_group_s_budget_is_told_of_without_amounts() {
    let noon = "2026-11-22T12:00:00Z";
    let group = |spent: &str| {
        let spent = json!({"at": noon, "in_day": spent, "in_month": spent});
        json!({"budget": {"per_month": "12345", "spent": spent}})
    };
    let own = json!({"budget": {"per_day": "8"}});
    let cases = [
        (
            "nothing of its own",
            json!(null),
            "678",
            "unrestricted",
            "-1",
        ),
        ("one of its own", own.clone(), "678", "quota_limited", "8"),
        ("spent", own, "12345", "quota_limited", "0"),
        (
            "spent, none of its own",
            json!(null),
            "12345",
            "quota_limited",
            "0",
        ),
    ];
    for (case, of_key, spent, mode, remaining) in cases {
        let (in_force, world) = limited(&of_key, &group(spent));
        let (_, body) = ask("x-api-key: k-b", &in_force, &world);
        let report: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(report["mode"], mode, "{case}");
        assert_eq!(report["remaining"].to_string(), remaining, "{case}");
        let is_spent = spent == "12345";
        let status = if is_spent {
            "quota_exhausted"
        } else {
            "active"
        };
        assert_eq!(report["status"], status, "{case}");
        let limits = report["limits"].as_array().unwrap();
        let told = &limits.last().unwrap()["budgets"][0];
        assert_eq!(told["exhausted"], is_spent, "{case}");
        for amount in ["678", "12345", "11667"] {
            assert!(!body.contains(amount), "{case}: {body}");
        }
    }
}

#[test]
fn any_key_may_ask_in_any_header() {
    let (in_force, world) = limited(
        &json!({"requests_per_minute": 10}),
        &json!({"requests_per_minute": 99}),
    );
    for key in ["a", "b", "c", "b-current", "mixed"] {
        for credential in [
            "authorization: Bearer k-",
            "x-api-key: k-",
            "x-goog-api-key: k-",
        ] {
            let (status, body) = ask(&format!("{credential}{key}"), &in_force, &world);
            assert_eq!(status, 200, "{credential}{key}: {body}");
            let report: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(report["mode"], "unrestricted", "{credential}{key}");
            assert_eq!(report["remaining"].to_string(), "-1", "{credential}{key}");
            assert_eq!(
                report["limits"][0]["rates"][0]["remaining"], 10,
                "{credential}{key}"
            );
        }
    }
    for credential in [
        "authorization: Bearer k-none",
        "x-api-key: k-off",
        "x-goog-api-key: k-old",
        "x-other: k-a",
    ] {
        assert_eq!(ask(credential, &in_force, &world).0, 401, "{credential}");
    }
}

#[test]
fn without_limits_no_counter_is_read() {
    let (in_force, world) = setting();
    let head = head("GET /v1/usage", &["authorization: Bearer k-new"]);
    let outcome = Exchange::default().on_request_head(&head, true, Some(&in_force), &world);
    let (status, _, body) = reply_of(&outcome).unwrap();
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["limits"], json!([]));
    assert_eq!(body["remaining"].to_string(), "-1");
    assert_eq!(body["expires_at"], "2100-01-01T00:00:00Z");
}
