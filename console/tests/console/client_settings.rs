//! The settings that clients ask gateways for.

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;
use trilane_console::client_settings::SettingsEnvelope;

use crate::api::Api;
use crate::database::on_both;

const PATH: &str = "/api/v1/client-settings";
const FEED: &str = "/api/v1/feed/client-settings";

/// The places of the problems of an answer.
fn places(problem: &Value) -> Vec<&str> {
    let problems = problem["problems"].as_array().unwrap();
    problems
        .iter()
        .map(|problem| problem["path"].as_str().unwrap())
        .collect()
}

on_both! {
    async fn inert_settings_and_others(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let agent = api.person("edge", Role::Agent).await;
        let viewer = api.person("vic", Role::Viewer).await;
        let put = async |token: &str, body: Value| api.call(token, Method::PUT, PATH, &[], &body).await;
        api.get(&root, PATH).await.problem(404);
        assert_eq!(api.get(&agent, FEED).await.status, 204, "there are none");

        let inert = json!({"model": "opus", "env": {"CLAUDE_CODE_ENABLE_TELEMETRY": "1"}, "permissions": {"deny": ["WebFetch"]}});
        let written = put(&root, json!({"settings": inert})).await.expect(200);
        assert_eq!((&written["settings"], &written["approved"]), (&inert, &json!([])));
        let fed = api.get(&agent, FEED).await;
        let envelope = SettingsEnvelope::parse(fed.text.as_bytes()).unwrap();
        assert_eq!(fed.json()["settings"], inert);
        let etag = fed.headers["etag"].to_str().unwrap();
        assert_eq!(etag, format!("\"{}\"", envelope.checksum()));
        assert_eq!(api.call(&agent, Method::GET, FEED, &[("if-none-match", etag)], &Value::Null).await.status, 304);

        // Each name that is not inert is told, and nothing is changed.
        let others = json!({"apiKeyHelper": "date", "env": {"NODE_OPTIONS": "--require x", "OTEL_LOGS_EXPORTER": "otlp", "MY_TOKEN": "x"}});
        let refused = put(&root, json!({"settings": others, "approve": ["apiKeyHelper", "env.MY_TOKEN"]})).await;
        assert_eq!(places(&refused.problem(422)), ["settings.env.MY_TOKEN", "settings.env.NODE_OPTIONS"]);
        put(&viewer, json!({"settings": inert})).await.problem(403);
        put(&root, json!({"settings": []})).await.problem(422);
        put(&root, json!({"settings": {"model": "x".repeat(40_000)}})).await.problem(422);
        assert_eq!(api.get(&agent, FEED).await.json()["settings"], inert);

        // A token that publishes documents writes inert settings, and approves none.
        let scoped = async |scopes: &[&str]| {
            let made = api.post(&root, "/api/v1/tokens", &json!({"name": "ci", "scopes": scopes})).await.expect(201);
            made["value"].as_str().unwrap().to_owned()
        };
        let hooks = json!({"hooks": {"Stop": []}});
        let approved = json!({"settings": hooks, "approve": ["hooks", "not there"]});
        let documents = scoped(&["documents:write"]).await;
        put(&documents, json!({"settings": inert})).await.expect(200);
        let refused = put(&documents, approved.clone()).await.problem(403);
        assert!(refused["detail"].as_str().unwrap().contains("machines:write"), "{refused}");
        let both = scoped(&["documents:write", "machines:write"]).await;
        let written = put(&both, approved).await.expect(200);
        assert_eq!(written["approved"], json!(["hooks"]));
        let entries = api.get(&root, "/api/v1/audit?action=client_settings.").await.expect(200);
        let latest = &entries["items"][0];
        assert_eq!((&latest["before"]["settings"], &latest["after"]), (&inert, &json!({"settings": hooks, "approved": ["hooks"]})));

        assert_eq!(api.call(&root, Method::DELETE, PATH, &[], &Value::Null).await.status, 204);
        api.call(&root, Method::DELETE, PATH, &[], &Value::Null).await.problem(404);
        assert_eq!(api.get(&agent, FEED).await.status, 204);
        api.was_well();
    }
}
