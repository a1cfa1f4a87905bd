//! A group whose entries have several sources.

use serde_json::{Value, json};

use crate::desk::Desk;

fn desk() -> Desk {
    let desk = Desk::new();
    let account = |id: &str, url: &str| json!([{"id": id, "url": url, "credential": id}]);
    let document = json!({
        "groups": [
            {"id": "openai", "protocol": "A", "multiplier": "1", "clients": "current",
             "accounts": account("one", "https://openai.example"), "models": [{"id": "gpt"}]},
            {"id": "router", "protocol": "A", "multiplier": "1.1", "clients": "current",
             "accounts": account("two", "https://router.example/api/v1"), "models": [{"id": "qwen", "upstream": "qwen/qwen"}]},
            {"id": "anthropic", "protocol": "B", "multiplier": "1", "clients": "current", "count_tokens": true,
             "accounts": account("three", "https://anthropic.example"), "models": [{"id": "claude-opus-9"}]},
            {"id": "deepseek", "protocol": "B", "multiplier": "1", "clients": "current",
             "accounts": account("four", "https://deepseek.example"), "models": [{"id": "chat"}]},
            {"id": "all", "protocol": "Mixed", "clients": "current",
             "entries": {
                "responses": {"sources": [{"source": "openai"}, {"source": "router", "extra_multiplier": "1.5"}]},
                "vb_messages": {"sources": [{"source": "anthropic"}, {"source": "deepseek"}]}},
             "models": [
                {"id": "gpt", "entry": "responses", "source": "openai"},
                {"id": "qwen", "entry": "responses", "source": "router"},
                {"id": "claude-opus-9", "entry": "vb_messages", "source": "anthropic"},
                {"id": "chat", "entry": "vb_messages", "source": "deepseek"}]}
        ],
        "keys": []
    });
    desk.write("sources.json", &document.to_string());
    desk
}

fn explain(desk: &Desk, model: &str, path: &str) -> Value {
    let body = json!({"model": model, "messages": [], "max_tokens": 1});
    desk.write("body.json", &body.to_string());
    let ran = desk.run(&[
        "explain",
        "--document",
        "sources.json",
        "--format",
        "json",
        "--group",
        "all",
        "--body",
        "body.json",
        "POST",
        path,
    ]);
    ran.json()
}

/// The reason at a step.
fn reason(explained: &Value, step: &str) -> String {
    let mut steps = explained["steps"].as_array().unwrap().iter();
    let found = steps.find(|each| each["step"] == step);
    found.map_or_else(String::new, |step| step["reason"].to_string())
}

#[test]
fn a_model_says_which_source() {
    let desk = desk();
    for (model, source, multiplier, url) in [
        (
            "gpt",
            "openai",
            "1.0000",
            "https://openai.example/v1/chat/completions",
        ),
        (
            "qwen",
            "router",
            "1.6500",
            "https://router.example/api/v1/chat/completions",
        ),
    ] {
        let explained = explain(&desk, model, "/v1/chat/completions");
        assert_eq!(explained["decision"], "forwarded", "{explained}");
        let found = (&explained["source"], &explained["multiplier"]);
        assert_eq!(found, (&json!(source), &json!(multiplier)), "{explained}");
        assert_eq!(explained["upstream"]["urls"][0]["url"], url, "{explained}");
        let route = reason(&explained, "route");
        assert!(route.contains(&format!("source {source}")), "{route}");
    }
}

#[test]
fn without_one_the_sources_are_named() {
    let desk = desk();
    let explained = explain(&desk, "none", "/v1/chat/completions");
    assert_eq!(explained["decision"], "refused", "{explained}");
    assert_eq!(explained["source"], Value::Null, "{explained}");
    let route = reason(&explained, "route");
    assert!(
        route.contains("whose source the model says: openai, router"),
        "{route}"
    );
    let counted = explain(&desk, "claude-opus-9", "/v1/messages/count_tokens");
    assert_eq!(counted["decision"], "forwarded", "{counted}");
    let refused = explain(&desk, "chat", "/v1/messages/count_tokens");
    assert_eq!(refused["decision"], "refused", "{refused}");
    assert_eq!(
        refused["answer"]["code"], "count_tokens_not_supported",
        "{refused}"
    );
    assert!(
        reason(&refused, "route").contains("source deepseek"),
        "{refused}"
    );
    let rights = reason(&refused, "rights");
    assert!(
        rights.contains("Token counting is not supported"),
        "{refused}"
    );
}
