//! Prices by the region of the account that answers, whichever that is.

use super::records::WHOLE;
use super::*;

/// A source with an account in a region before one that is anywhere, and one with a single account in a region.
fn document_of_regions() -> Value {
    let accounts = json!([
        {"id": "near", "url": "https://us.h", "credential": "k1", "region": "us"},
        {"id": "far", "url": "https://h", "credential": "k2", "region": "global", "priority": 1},
    ]);
    let prices = json!({
        "input": "10", "output": "20",
        "tiers": {
            "us": {"input": "11", "output": "22"},
            "fast": {"input": "30", "output": "60", "tiers": {"us": {"input": "33", "output": "66"}}},
        },
    });
    let mut document = document();
    for group in document["groups"].as_array_mut().unwrap() {
        match group["id"].as_str() {
            Some("b-accounts") => group["accounts"] = accounts.clone(),
            Some("b-account") => group["accounts"][0]["region"] = "eu".into(),
            _ => continue,
        }
        group["multiplier"] = "1".into();
        group["models"] = json!([{"id": "claude-z-2", "prices": prices}]);
    }
    document
}

/// Charges a response of 1000 input and 100 output tokens that has this in its usage: the charge, what no price covers and
/// the place in the record.
fn charged(key: &str, failed: &[&str], usage: &str) -> (String, Vec<&'static str>, Option<String>) {
    let (in_force, world) = setting_of(&document_of_regions());
    // Nobody sees the attempts at an only one.
    let accounts: &[&str] = match key {
        "k-b-accounts" => &["near", "far"],
        _ => &[],
    };
    let key = format!("x-api-key: {key}");
    let headers = [key.as_str(), "anthropic-version: 2023-06-01"];
    let mut exchange = Exchange::default();
    let head = head("POST /v1/messages", &headers);
    exchange.on_request_head(&head, false, Some(&in_force), &world);
    exchange.on_request_body(WHOLE, true, &world);
    for account in failed {
        world.try_by_hop(account, Some((429, "via_upstream;-;")));
    }
    if let [_, _] = accounts {
        world.try_by_hop(accounts[failed.len()], None);
    }
    let good = FakeHead {
        status: 200,
        details: UPSTREAM,
    };
    exchange.on_response_head(&good, false, &world);
    let body = format!(
        r#"{{"id":"m","content":[{{"type":"text","text":"hi"}}],"stop_reason":"end_turn","usage":{{"input_tokens":1000,"output_tokens":100{usage}}}}}"#
    );
    drop(exchange.on_response_body(body.as_bytes(), body.len(), true, &world));
    let record = exchange.on_done(&FakeEnd(""), &world).expect("a record");
    (
        record.charge.expect("a charge").to_string(),
        record.uncovered.names().collect(),
        record.reading.inference_geo.map(Into::into),
    )
}

#[test]
fn the_account_that_answered_has_the_price_of_its_region() {
    const UNCOVERED: &[&str] = &["inference_geo"];
    let several = "k-b-accounts";
    // (case, key, accounts that failed, what the usage has besides, charge, what no price covers, place)
    let cases: [(_, _, &[&str], _, _, &[&str], _); 9] = [
        ("its region", several, &[], "", "0.0132", &[], Some("us")),
        (
            "after a failover to one that is anywhere",
            several,
            &["near"],
            "",
            "0.012",
            &[],
            None,
        ),
        (
            "a speed, in its region",
            several,
            &[],
            r#","speed":"fast""#,
            "0.0396",
            &[],
            Some("us"),
        ),
        (
            "an answer that says anywhere",
            several,
            &[],
            r#","inference_geo":"global""#,
            "0.0132",
            &[],
            Some("us"),
        ),
        (
            "an answer that says where",
            several,
            &["near"],
            r#","inference_geo":"us""#,
            "0.0132",
            &[],
            Some("us"),
        ),
        (
            "an answer that says another place than its account",
            several,
            &[],
            r#","inference_geo":"eu""#,
            "0.012",
            UNCOVERED,
            Some("eu"),
        ),
        (
            "anywhere, by an answer and its account",
            several,
            &["near"],
            r#","inference_geo":"global""#,
            "0.012",
            &[],
            Some("global"),
        ),
        (
            "an only account, in a region without a price",
            "k-b-account",
            &[],
            "",
            "0.012",
            UNCOVERED,
            Some("eu"),
        ),
        (
            "an only account, and an answer with a place that has one",
            "k-b-account",
            &[],
            r#","inference_geo":"us""#,
            "0.0132",
            &[],
            Some("us"),
        ),
    ];
    for (case, key, failed, usage, charge, uncovered, place) in cases {
        let want = (
            charge.to_owned(),
            uncovered.to_vec(),
            place.map(str::to_owned),
        );
        assert_eq!(charged(key, failed, usage), want, "{case}");
    }
}
