//! Tests of accounts against stand-ins of vendors: what came back, said in a sentence, and no credential anywhere.

use std::net::TcpListener;

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::Api;
use crate::credentials::publish;
use crate::database::on_both;
use crate::vendors::{self, CREDENTIAL, VendorServer};

const WRONG: &str = "sk-dont-tell-wrong";

/// A document with a group for each of these: protocol, URL, more of the account.
fn document(accounts: &[(&str, String, Value)]) -> String {
    let groups = accounts.iter().enumerate().map(|(i, (protocol, url, more))| {
        let mut account = json!({"id": "a", "url": url, "credential": format!("c{i}")});
        let more = more.as_object().into_iter().flatten();
        more.for_each(|(name, value)| account[name] = value.clone());
        json!({"id": format!("g{i}"), "protocol": protocol, "multiplier": "1.0000", "accounts": [account],
            "models": [{"id": "m", "prices": {"input": "1", "output": "2"}}]})
    });
    json!({"currency": "USD", "keys": [], "groups": groups.collect::<Vec<_>>()}).to_string()
}

async fn test(api: &Api, token: &str, place: usize, value: Option<&str>) -> Value {
    let body = value.map_or_else(|| json!({}), |value| json!({"value": value}));
    let path = format!("/api/v1/accounts/g{place}/a/test");
    let reply = api.post(token, &path, &body).await;
    assert!(!reply.text.contains("dont-tell"), "{reply:?}");
    reply.expect(200)
}

on_both! {
    async fn a_credential_that_works_and_one_that_does_not(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let admin = api.person("root", Role::Admin).await;
        let (a, b, c) = (vendors::openai(), vendors::anthropic(), vendors::gemini());
        publish(&api, &admin, &document(&[
            ("A", a.url("/v1"), json!({})),
            ("B", b.url(""), json!({})),
            ("C", c.url(""), json!({})),
            ("B", b.url(""), json!({"header": "bearer"})),
        ])).await;
        for (place, name, models) in [(0, "A", 5), (1, "B", 3), (2, "C", 3), (3, "B by Bearer", 3)] {
            let kept = format!("/api/v1/credentials/c{place}");
            let none = test(&api, &admin, place, None).await;
            assert_eq!((&none["works"], &none["outcome"]), (&json!(false), &json!("no_credential")), "{name}");
            let refused = test(&api, &admin, place, Some(WRONG)).await;
            assert_eq!(refused["outcome"], "credential_refused", "{name}: {refused}");
            assert!(refused["text"].as_str().unwrap().contains("refused the credential"), "{refused}");
            let works = json!({"works": true, "outcome": "works", "models": models,
                "text": format!("the credential works; {models} models")});
            assert_eq!(test(&api, &admin, place, Some(CREDENTIAL)).await, works, "{name}: given");
            assert_eq!(test(&api, &admin, place, None).await["outcome"], "no_credential", "{name}: it is not kept by that");
            api.call(&admin, Method::PUT, &kept, &[], &json!({"value": CREDENTIAL})).await.expect(200);
            assert_eq!(test(&api, &admin, place, None).await, works, "{name}: kept");
        }
        assert_eq!(b.asked().last().unwrap().headers["authorization"], format!("Bearer {CREDENTIAL}"));
        api.post(&admin, "/api/v1/accounts/g0/b/test", &json!({})).await.problem(404);
        api.post(&admin, "/api/v1/accounts/x/a/test", &json!({})).await.problem(404);
        let wrong = api.post(&admin, "/api/v1/accounts/g0/a/test", &json!({"value": "two words"})).await;
        assert_eq!(wrong.problem(422)["problems"][0]["path"], "value");

        // The latest of each with what is kept; what was typed says nothing of that.
        test(&api, &admin, 0, Some(WRONG)).await;
        api.call(&admin, Method::PUT, "/api/v1/credentials/c1", &[], &json!({"value": WRONG})).await.expect(200);
        test(&api, &admin, 1, None).await;
        let latest = api.get(&admin, "/api/v1/account-tests").await.expect(200);
        let latest: Vec<String> = latest["items"].as_array().unwrap().iter().map(|of| format!("{}/{} {}", of["group"], of["account"], of["outcome"])).collect();
        let want = ["works", "credential_refused", "works", "works"].iter().enumerate();
        assert_eq!(latest, want.map(|(place, outcome)| format!("\"g{place}\"/\"a\" \"{outcome}\"")).collect::<Vec<_>>());

        let audit = api.get(&admin, "/api/v1/audit?action=account.test&object=g0/a").await.expect(200);
        let told: Vec<&Value> = audit["items"].as_array().unwrap().iter().map(|entry| &entry["after"]).collect();
        let of = |outcome: &str, credential: &str| json!({"outcome": outcome, "credential": credential});
        assert_eq!(told, [
            &of("credential_refused", "given"), &of("works", "kept"), &of("no_credential", "kept"), &of("works", "given"), &of("credential_refused", "given"),
            &of("no_credential", "kept"),
        ]);
        assert!(!database.dump().await.contains("dont-tell"));
        api.was_well();
    }
}

on_both! {
    async fn what_came_back_instead(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let admin = api.person("root", Role::Admin).await;
        let of = |status: u16, body: &'static str| VendorServer::new(move |_| (status, body.to_owned()));
        let (empty, gone, dear) = (of(200, r#"{"object":"list","data":[]}"#), of(404, "{}"), of(429, "{}"));
        let plain = of(200, "{}").url("").replace("http:", "https:");
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let cases: [(&str, String, Value, &str, &str); 8] = [
            ("no models", empty.url("/v1"), json!({}), "no_models", "lists no models. May this account use any?"),
            ("another path", gone.url("/v1"), json!({}), "status", "answered 404. Is this the base address"),
            ("its quota is spent", dear.url("/v1"), json!({}), "quota", "or its quota is spent"),
            ("no such name", "https://no-such-host.invalid/v1".to_owned(), json!({}), "not_resolved", "does not resolve"),
            ("nobody listens", format!("http://{closed}/v1"), json!({}), "not_reached", "is not reachable"),
            ("no TLS", plain, json!({}), "tls", "TLS with 127.0.0.1"),
            ("link-local", "http://169.254.169.254/v1".to_owned(), json!({}), "address_refused", "No vendor is there, and no option allows it"),
            ("a file at the gateway", empty.url("/v1").replace("http:", "https:"), json!({"ca": "own.crt"}), "tls", "own.crt is none that this console can use"),
        ];
        let accounts = cases.iter().map(|(_, url, more, ..)| ("A", url.clone(), more.clone()));
        publish(&api, &admin, &document(&accounts.collect::<Vec<_>>())).await;
        for (place, (case, _, _, outcome, sentence)) in cases.iter().enumerate() {
            let told = test(&api, &admin, place, Some(CREDENTIAL)).await;
            assert_eq!((&told["works"], &told["outcome"]), (&json!(false), &json!(outcome)), "{case}: {told}");
            assert!(told["text"].as_str().unwrap().contains(sentence), "{case}: {told}");
        }
        assert_eq!(test(&api, &admin, 1, Some(CREDENTIAL)).await["status"], 404);
        api.was_well();
    }
}

on_both! {
    /// Unless it is allowed, nothing is sent to addresses of one's own network, whatever name they have.
    async fn private_addresses_are_not_asked(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let vendor = vendors::openai();
        let by_name = vendor.url("/v1").replace("127.0.0.1", "localhost");
        publish(&api, &admin, &document(&[
            ("A", vendor.url("/v1"), json!({})),
            ("A", by_name, json!({})),
            ("A", "http://10.0.0.1/v1".to_owned(), json!({})),
            ("A", "http://example.invalid/v1".to_owned(), json!({"proxy": vendor.url("")})),
        ])).await;
        for place in 0..4 {
            let told = test(&api, &admin, place, Some(CREDENTIAL)).await;
            assert_eq!(told["outcome"], "address_refused", "{place}: {told}");
            let text = told["text"].as_str().unwrap();
            assert!(text.contains("no address of the internet") && text.contains("--allow-private-accounts"), "{text}");
        }
        assert!(vendor.asked().is_empty(), "nothing was sent");
        api.was_well();
    }
}
