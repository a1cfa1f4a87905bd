//! Keys with models and a multiplier of their own.

use super::records::{ExchangeEvent, GOOD, play};
use super::*;

/// (case, request, credential, status, ids, multipliers)
type OwnListCase<'a> = (&'a str, &'a str, &'a str, u16, &'a [&'a str], &'a [&'a str]);
/// (case, path, headers, model, status and code of a refusal, the path that the message names)
type OwnAccessCase<'a> = (
    &'a str,
    &'a str,
    &'a [&'a str],
    &'a str,
    Option<(u16, &'a str)>,
    Option<&'a str>,
);

const V: &str = "anthropic-version: 2023-06-01";

#[test]
fn a_list_has_what_the_key_may_use() {
    let (in_force, world) = setting();
    let cases: &[OwnListCase<'_>] = &[
        (
            "of B",
            "/v1/models",
            "x-api-key: k-own-b",
            200,
            &["claude-z-2"],
            &[],
        ),
        (
            "the group's stays whole",
            "/v1/models",
            "x-api-key: k-b",
            200,
            &["claude-x-4-5", "claude-z-2"],
            &[],
        ),
        (
            "of a Mixed group",
            "/v1/models",
            "x-api-key: k-own-mixed",
            200,
            &["gpt-x", "gem-1"],
            &["0.1500", "0.1500"],
        ),
        (
            "of a Mixed group, C",
            "/v1beta/models",
            "x-goog-api-key: k-own-mixed",
            200,
            &["models/gem-1"],
            &["0.1500"],
        ),
        (
            "all of a Mixed group",
            "/v1/models",
            "x-api-key: k-own-price",
            200,
            &["claude-x-4-5", "gpt-x", "gem-1"],
            &["0.0000", "0.0000", "0.0000"],
        ),
        (
            "one",
            "/v1/models/claude-z-2-thinking",
            "x-api-key: k-own-b",
            200,
            &["claude-z-2"],
            &[],
        ),
        (
            "one of the group alone",
            "/v1/models/claude-x-4-5",
            "x-api-key: k-own-b",
            404,
            &[],
            &[],
        ),
        (
            "one of the Mixed group alone",
            "/v1/models/claude-x-4-5",
            "x-api-key: k-own-mixed",
            404,
            &[],
            &[],
        ),
    ];
    for (case, path, credential, status, ids, multipliers) in cases {
        let head = head(&format!("GET {path}"), &[credential]);
        let outcome = Exchange::default().on_request_head(&head, true, Some(&in_force), &world);
        let (got, code, body) = reply_of(&outcome).unwrap();
        assert_eq!(got, *status, "{case}: {body}");
        if got == 404 {
            assert_eq!(code, Some("model_not_found"), "{case}");
            continue;
        }
        let list = body.get("data").or_else(|| body.get("models"));
        let items = list.map_or_else(
            || vec![body.clone()],
            |list| list.as_array().unwrap().clone(),
        );
        let texts = |name: &str| {
            items
                .iter()
                .filter_map(|item| Some(item.get(name)?.as_str()?.to_owned()))
                .collect::<Vec<_>>()
        };
        let named = if path.starts_with("/v1beta") {
            texts("name")
        } else {
            texts("id")
        };
        assert_eq!(named, *ids, "{case}");
        assert_eq!(texts("multiplier"), *multipliers, "{case}");
    }
}

#[test]
fn a_request_may_use_the_keys_own_models() {
    let (in_force, world) = setting();
    let cases: &[OwnAccessCase<'_>] = &[
        (
            "its own",
            "/v1/messages",
            &["x-api-key: k-own-b", V],
            "claude-z-2",
            None,
            None,
        ),
        (
            "a variant of its own",
            "/v1/messages",
            &["x-api-key: k-own-b", V],
            "claude-z-2-20260101-thinking",
            None,
            None,
        ),
        (
            "of the group alone",
            "/v1/messages",
            &["x-api-key: k-own-b", V],
            "claude-x-4-5",
            Some((404, "model_not_found")),
            None,
        ),
        // What the key has no right to is not told from what is not there.
        (
            "not entitled",
            "/v1/messages",
            &["x-api-key: k-own-b", V],
            "claude-y-1",
            Some((404, "model_not_found")),
            None,
        ),
        (
            "of Mixed",
            "/v1/responses",
            &["authorization: Bearer k-own-mixed"],
            "gpt-x",
            None,
            None,
        ),
        (
            "of Mixed alone",
            "/v1/messages",
            &["x-api-key: k-own-mixed", V],
            "claude-x-4-5",
            Some((404, "model_not_found")),
            None,
        ),
        (
            "at another entry, its own",
            "/v1/messages",
            &["x-api-key: k-own-mixed", V],
            "gpt-x",
            Some((404, "model_not_found")),
            Some("/v1/responses"),
        ),
        (
            "at another entry, of the group alone",
            "/v1/responses",
            &["authorization: Bearer k-own-mixed"],
            "claude-x-4-5",
            Some((404, "model_not_found")),
            None,
        ),
    ];
    for (case, path, headers, model, want, entry) in cases {
        let mut exchange = Exchange::default();
        let head = head(&format!("POST {path}"), headers);
        let held = exchange.on_request_head(&head, false, Some(&in_force), &world);
        assert_eq!(held, Outcome::Pause, "{case}");
        let body = json!({"model": model, "messages": [], "input": "x"}).to_string();
        let outcome = exchange.on_request_body(body.as_bytes(), true, &Unlimited);
        let got = reply_of(&outcome);
        let told = got
            .as_ref()
            .map(|(status, code, _)| (*status, code.unwrap_or_default()));
        assert_eq!(told, *want, "{case}");
        let message = got.map(|(_, _, body)| body.to_string()).unwrap_or_default();
        let names = ["/v1/responses", "/v1/messages"]
            .into_iter()
            .find(|path| message.contains(path));
        assert_eq!(names, *entry, "{case}: {message}");
    }
}

#[test]
fn a_request_costs_by_the_keys_own_multiplier() {
    let body = br#"{"model":"claude-z-2","messages":[]}"#;
    let events = [
        ExchangeEvent::Body(body, true),
        GOOD,
        ExchangeEvent::Chunk(r#"{"usage":{"input_tokens":10,"output_tokens":3}}"#),
        ExchangeEvent::End,
    ];
    // (10 × 3 + 3 × 15) / 10^6, times the multiplier
    for (key, multiplier, charge, team) in [
        ("k-b", "2.0000", "0.00015", None),
        ("k-own-b", "1.5000", "0.0001125", Some("east")),
    ] {
        let headers = [&*format!("x-api-key: {key}"), V];
        let record = play("POST /v1/messages", &headers, &events, "");
        assert_eq!(
            record.route.unwrap().multiplier.to_string(),
            multiplier,
            "{key}"
        );
        assert_eq!(record.charge.unwrap().to_string(), charge, "{key}");
        assert_eq!(record.team.as_deref(), team, "{key}");
    }
}
