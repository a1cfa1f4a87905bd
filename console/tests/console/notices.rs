//! The receivers of notices: what could never arrive is refused, a test is sent at once, and secrets are not shown.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use http::Method;
use serde_json::{Value, json};
use time::OffsetDateTime;
use trilane_console::cases::Role;
use trilane_console::webhooks::delivery;
use trilane_console::webhooks::kind::WebhookKind;

use crate::api::Api;
use crate::database::on_both;

const PATH: &str = "/api/v1/webhooks";

/// Takes one request and answers with a status. Returns its address, and the request as it comes.
fn receiver(status: &'static str) -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/T/B/secret-path", listener.local_addr().unwrap());
    let taken = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut text = String::new();
        let mut buffer = [0; 4096];
        loop {
            let read = stream.read(&mut buffer).unwrap();
            text.push_str(core::str::from_utf8(&buffer[..read]).unwrap());
            if read == 0 || text.trim_end().ends_with('}') {
                break;
            }
        }
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).unwrap();
        text
    });
    (url, taken)
}

on_both! {
    /// The reason says what to do.
    async fn that_could_never_arrive(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        for (kind, url, want) in [
            ("webhook", "example.com", "must be an address"),
            ("slack", "https://a:b@hooks.slack.com/x", "without a user"),
            ("slack", "http://hooks.slack.com/x", "must be https"),
            ("teams", "https://127.0.0.1/x", "127.0.0.1, which is no address of the internet"),
            ("webhook", "https://localhost:8443/x", "--allow-private-webhooks"),
            ("webhook", "https://[fd00::1]/x", "no address of the internet"),
            ("email", "https://example.com/", "must be mailto:"),
            ("email", "mailto:ann", "is no e-mail address"),
            ("email", "mailto:ann@example.com", "--smtp-url"),
        ] {
            let problem = api.post(&admin, PATH, &json!({"kind": kind, "url": url})).await.problem(422);
            assert_eq!(problem["problems"][0]["path"], "url", "{url}: {problem}");
            let reason = problem["problems"][0].to_string();
            assert!(reason.contains(want), "{url}: {reason}");
        }
        assert_eq!(api.get(&admin, PATH).await.expect(200)["items"], json!([]));
        api.was_well();
    }
}

on_both! {
    /// It is sent at once, and noted.
    async fn are_tested(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let admin = api.person("root", Role::Admin).await;
        for kind in [WebhookKind::Webhook, WebhookKind::Slack, WebhookKind::Teams] {
            let name = kind.name();
            let (url, taken) = receiver("200 OK");
            let made = api.post(&admin, PATH, &json!({"kind": name, "url": url})).await.expect(201);
            assert_eq!(made.get("secret").is_some(), kind == WebhookKind::Webhook, "{made}");
            let path = format!("{PATH}/{}", made["webhook"]["id"].as_str().unwrap());
            let test = format!("{path}/test");
            assert_eq!(api.post(&admin, &test, &Value::Null).await.expect(200), json!({"delivered": true}));
            let request = taken.join().unwrap();
            assert!(request.starts_with("POST /T/B/secret-path "), "{request}");
            assert!(request.contains("notices of your trilane console arrive here"), "{request}");
            let marks = [("trilane-webhook-signature", WebhookKind::Webhook), ("plain_text", WebhookKind::Slack), ("AdaptiveCard", WebhookKind::Teams)];
            for (mark, of) in marks {
                assert_eq!(request.contains(mark), of == kind, "{mark}: {request}");
            }
            let listed = api.get(&admin, PATH).await.expect(200)["items"][0].clone();
            assert!(listed["delivered_at"].is_string() && listed.get("failure").is_none(), "{listed}");
            // Nobody listens there any more.
            let failed = api.post(&admin, &test, &Value::Null).await.expect(200);
            assert_eq!(failed["delivered"], false, "{failed}");
            let listed = api.get(&admin, PATH).await.expect(200)["items"][0].clone();
            assert_eq!(listed["failure"]["problem"], failed["problem"]);
            // The newest entry: that it was added.
            let audit = api.get(&admin, "/api/v1/audit").await.expect(200)["items"][0].clone();
            assert_eq!(audit["action"], "webhook.create");
            let hides = kind != WebhookKind::Webhook;
            for shown in [&made, &listed, &failed, &audit] {
                assert!(!hides || !shown.to_string().contains("secret-path"), "{shown}");
            }
            api.call(&admin, Method::DELETE, &path, &[], &Value::Null).await.expect(204);
            api.post(&admin, &test, &Value::Null).await.problem(404);
        }
        assert_eq!(delivery::take(&api.store, || None, OffsetDateTime::now_utc()).await.unwrap(), None, "a test is no message that waits");
        api.was_well();
    }
}

on_both! {
    /// The answer is shown by its status.
    async fn that_refuse(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let admin = api.person("root", Role::Admin).await;
        let (url, taken) = receiver("404 Not Found");
        let made = api.post(&admin, PATH, &json!({"kind": "slack", "url": url})).await.expect(201);
        let test = format!("{PATH}/{}/test", made["webhook"]["id"].as_str().unwrap());
        let tested = api.post(&admin, &test, &Value::Null).await.expect(200);
        assert_eq!(tested, json!({"delivered": false, "problem": "it answers 404 Not Found"}));
        taken.join().unwrap();
        api.was_well();
    }
}
