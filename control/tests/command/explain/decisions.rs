//! Each way in which a decision can end: at which step, with which words, and with which code the command
//! does.

use serde_json::Value;

use super::{CHAT, OPUS};
use crate::desk::Desk;

/// (case, arguments with `~` for a blank, body, status and code, last step come to, part of its reason)
type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const SENT: &str = "forwarded";
const UNKNOWN: &str = "401 invalid_api_key";

#[rustfmt::skip]
const CASES: [Case; 37] = [
    ("forwarded", "--key-id key_a POST /v1/chat/completions", CHAT,
        SENT, "model", "which is gpt-5.1; upstream it keeps the name"),
    ("embeddings", "--key-id key_a POST /v1/embeddings", CHAT, SENT, "model", "gpt-5.1"),
    ("by its value", "--key-file key.txt POST /v1/responses", CHAT, SENT, "model", "gpt-5.1"),
    ("on the command line", "--key sk-dont-tell-a POST /v1/responses", CHAT, SENT, "model", "gpt-5.1"),
    ("in a header", "-H Authorization:~Bearer~sk-dont-tell-a POST /v1/responses", CHAT,
        SENT, "model", "gpt-5.1"),
    ("anybody of a group", "--group a POST /v1/responses", CHAT, SENT, "model", "gpt-5.1"),
    ("through an entry", "--key-id key_m POST /v1/responses", CHAT, SENT, "model", "gpt-5.1"),
    ("a list", "--key-id key_a GET /v1/models", "", "200", "list", "group a (protocol A, clients strict)"),
    ("the list of C", "--key-id key_c GET /v1beta/models", "", "200", "list", "group c"),
    ("health", "GET /healthz", "", "200", "endpoint", "no key is asked for"),
    ("no such path", "--key-id key_a POST /v2/x", "", "404 not_found", "endpoint", "no such path"),
    ("another method", "--key-id key_a GET /v1/responses", "",
        "405 method_not_allowed", "endpoint", "POST only"),
    ("no key", "POST /v1/responses", CHAT, UNKNOWN, "credential", "no key in authorization: Bearer"),
    ("no key in its place", "--key-id key_a --key-in x-api-key POST /v1/responses", CHAT,
        UNKNOWN, "credential", "no key in authorization"),
    ("what is no key", "-H authorization:~Basic~sk-dont-tell POST /v1/responses", CHAT,
        UNKNOWN, "credential", "is no key"),
    ("an unknown key", "--key sk-dont-tell-nobody POST /v1/responses", CHAT,
        UNKNOWN, "key", "does not know this key"),
    ("disabled", "--key-id key_off POST /v1/responses", CHAT, UNKNOWN, "key", "key_off is disabled"),
    ("expired", "--key-id key_over POST /v1/responses", CHAT,
        UNKNOWN, "key", "key_over expired at 2025-01-01T00:00:00Z"),
    ("another form than its group takes", "--key-id key_b --key-in authorization POST /v1/messages", OPUS,
        UNKNOWN, "key", "key_b is good, but the group b takes none in authorization: Bearer"),
    ("in the query", "--key-id key_c --key-in query POST /v1beta/models/m:generateContent?alt=sse", "{}",
        UNKNOWN, "key", "query_key"),
    ("another protocol", "--key-id key_a POST /v1/messages", OPUS,
        "403 protocol_not_allowed", "route", "speaks protocol A"),
    ("no entry", "--key-id key_m POST /v1beta/models/x:generateContent", "{}",
        "403 protocol_not_allowed", "route", "no entry vc_generate_content"),
    ("a list of another protocol", "--key-id key_a GET /v1beta/models", "",
        "403 protocol_not_allowed", "list", "speaks protocol A"),
    ("no version", "--key-id key_b POST /v1/messages", OPUS,
        "400 invalid_version", "version", "must be present"),
    ("no counting", "--key-id key_b -H anthropic-version:2023-06-01 POST /v1/messages/count_tokens", OPUS,
        "404 count_tokens_not_supported", "rights", "not supported"),
    ("no images", "--key-id key_a POST /v1/images/generations", "{}",
        "404 images_not_supported", "rights", "not supported"),
    ("no account's resources", "--key-id key_c GET /v1beta/files", "",
        "404 not_found", "rights", "not served"),
    ("no body", "--key-id key_a POST /v1/responses", "", "400 invalid_body", "body", "empty"),
    ("no JSON", "--key-id key_a POST /v1/responses", "{]", "400 invalid_body", "body", ""),
    ("packed", "--key-id key_a -H content-encoding:gzip POST /v1/responses", CHAT,
        "415 request_body_encoding_unsupported", "body", "gzip"),
    ("no model", "--key-id key_a POST /v1/responses", "{}", "400 model_missing", "model", "model"),
    ("an unknown model", "--key-id key_a POST /v1/responses", r#"{"model":"gpt-9"}"#,
        "404 model_not_found", "model", "gpt-9"),
    ("a model without a right to it", "--key-id key_a POST /v1/responses", r#"{"model":"gpt-4"}"#,
        "403 model_not_entitled", "model", "no right"),
    ("an unknown model in the path", "--key-id key_c POST /v1beta/models/x:generateContent", "{}",
        "404 model_not_found", "model", "models/x"),
    ("another model in the body", "--key-id key_c POST /v1beta/models/gemini-2.5-flash:generateContent",
        r#"{"model":"y"}"#, "400 model_mismatch", "model", "not the model in the path"),
    ("background work", "--key-id key_a POST /v1/responses", r#"{"model":"gpt-5.1","background":true}"#,
        "400 background_not_supported", "model", "background"),
    ("no JSON behind the model", "--key-id key_a POST /v1/responses", r#"{"model":"gpt-5.1",]"#,
        "400 invalid_body", "body", ""),
];

#[test]
fn decisions() {
    let desk = Desk::new();
    for (case, args, body, answer, last, reason) in CASES {
        desk.write("body.json", body);
        let args: Vec<String> = args.split(' ').map(|arg| arg.replace('~', " ")).collect();
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        if !body.is_empty() {
            args.extend(["--body", "body.json"]);
        }
        let (status, code) = answer.split_once(' ').unwrap_or((answer, ""));
        let (decision, exit) = match (answer, code) {
            (SENT, _) => (SENT, 0),
            (_, "") => ("answered", 0),
            _ => ("refused", 1),
        };
        let ran = desk.run(
            &[
                &["explain", "--format", "json", "--document", "gateway.json"],
                args.as_slice(),
            ]
            .concat(),
        );
        assert_eq!(ran.code, exit, "{case}: {ran:?}");
        let told = ran.json();
        assert_eq!(told["decision"], decision, "{case}: {ran:?}");
        let found = told["answer"]["status"]
            .as_u64()
            .map_or(SENT.to_owned(), |status| status.to_string());
        assert_eq!(found, status, "{case}");
        assert_eq!(
            told["answer"]["code"].as_str().unwrap_or(""),
            code,
            "{case}"
        );
        assert_eq!(told["upstream"].is_null(), answer != SENT, "{case}");
        let steps = told["steps"].as_array().unwrap();
        let reached = steps
            .iter()
            .rfind(|step| step["result"] != "not_reached")
            .unwrap();
        assert_eq!(reached["step"], last, "{case}: {ran:?}");
        assert!(
            reached["reason"].as_str().unwrap().contains(reason),
            "{case}: {reached}"
        );
        let refused: Vec<&Value> = steps
            .iter()
            .filter(|step| step["result"] == "refused")
            .collect();
        assert_eq!(
            refused,
            if exit == 0 { vec![] } else { vec![reached] },
            "{case}"
        );
        let people =
            desk.run(&[&["explain", "--document", "gateway.json"], args.as_slice()].concat());
        assert_eq!(people.code, exit, "{case}: {people:?}");
        let end = if answer == SENT {
            SENT.to_owned()
        } else {
            format!("{decision}: {answer}")
        };
        assert!(
            people.out.lines().any(|line| line == end),
            "{case}: {end}: {people:?}"
        );
        let body = told["answer"]["body"].as_str().unwrap_or("");
        assert!(
            people.out.contains(body),
            "{case}: the exact body: {people:?}"
        );
    }
}
