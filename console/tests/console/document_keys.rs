//! Keys that stand in the document: they are shown as what they are, and disabled in a draft; those of an imported document become the console's.

use http::header::LOCATION;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use trilane_console::cases::Role;
use trilane_console::import;
use trilane_console::prices::CatalogueFile;
use trilane_console::secret;
use trilane_console::store::audit::Actor;

use crate::api::Api;
use crate::database::on_both;
use crate::ledger::line;
use crate::lives::{PRICES, document, publish};
use crate::page_security::{PASSWORD, csrf, get, post, session, with_password};

fn with_keys(keys: Value) -> String {
    let mut body: Value = serde_json::from_str(&document("g", PRICES)).unwrap();
    body["keys"] = keys;
    body.to_string()
}

fn ids(list: &Value) -> Vec<&str> {
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key["id"].as_str().unwrap())
        .collect()
}

on_both! {
    async fn are_shown_and_disabled_in_a_draft(database: &TestDatabase) {
        let api = Api::new(database).await;
        with_password(&api, "root", Role::Admin).await;
        let root = api.person("clerk", Role::Admin).await;
        let (ann, bob) = (api.person("ann", Role::Member).await, api.person("bob", Role::Member).await);
        let written = |id: &str, more: Value| {
            let mut key = json!({"id": id, "sha256": secret::digest(id), "group": "g"});
            key.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            key
        };
        let keys = json!([
            written("of-nobody", json!({"expires_at": "2099-01-01T00:00:00Z"})),
            written("of-ann", json!({"owner": "ann", "team": "blue", "limits": {"requests_per_minute": 7, "budget": {"per_month": "20"}}})),
        ]);
        publish(&api, &root, &with_keys(keys)).await;
        api.post(&root, "/api/v1/keys", &json!({"id": "own", "group": "g"})).await.expect(201);
        let used = line("2026-11-24T11:00:00Z", "of-ann", "m", "3").replace("owner of of-ann", "ann");
        api.ledger(&root, "/api/v1/ledger/e/f?from=0", &used).await.expect(200);

        let listed = api.get(&root, "/api/v1/documents/current/keys").await.expect(200);
        assert_eq!(ids(&listed), ["of-ann", "of-nobody"]);
        assert_eq!(ids(&api.get(&root, "/api/v1/keys").await.expect(200)), ["own"], "they are no keys of the console");
        for (query, want) in [
            ("owner=ann", &["of-ann"][..]), ("team=blue", &["of-ann"]), ("team=red", &[]), ("group=h", &[]), ("search=NOB", &["of-nobody"]),
            ("state=active", &["of-ann", "of-nobody"]), ("state=disabled", &[]), ("limit=1", &["of-ann"]),
        ] {
            let found = api.get(&root, &format!("/api/v1/documents/current/keys?{query}")).await.expect(200);
            assert_eq!(ids(&found), want, "{query}");
        }
        assert_eq!(ids(&api.get(&ann, "/api/v1/documents/current/keys").await.expect(200)), ["of-ann"]);
        assert_eq!(ids(&api.get(&bob, "/api/v1/documents/current/keys").await.expect(200)), [""; 0]);
        let key = api.get(&ann, "/api/v1/keys/of-ann").await.expect(200);
        assert_eq!((&key["of_document"], &key["limits"]["requests_per_minute"], &key["team"]), (&json!(true), &json!(7), &json!("blue")));
        assert_eq!(api.get(&ann, "/api/v1/keys/of-ann/models").await.expect(200)["items"][0]["id"], "m");
        api.get(&ann, "/api/v1/keys/of-ann/remaining").await.expect(200);
        for path in ["keys/of-ann", "keys/of-ann/models", "keys/of-ann/remaining"] {
            api.get(&bob, &format!("/api/v1/{path}")).await.problem(404);
        }
        // Nobody changes one as if it were the console's; who may change none learns nothing.
        for method in [Method::PATCH, Method::DELETE] {
            let reply = api.call(&root, method.clone(), "/api/v1/keys/of-ann", &[], &json!({"disabled": true})).await;
            assert!(reply.problem(409).to_string().contains("change it in a draft"), "{method}");
        }
        api.call(&bob, Method::PATCH, "/api/v1/keys/of-ann", &[], &json!({"disabled": true})).await.problem(404);

        let cookie = session(&post(&api, "/sign-in", "", &[("person", "root"), ("password", PASSWORD)]).await);
        let page = get(&api, "/keys", &cookie).await.text;
        assert!(page.contains("Keys of the document") && page.contains("href=\"/keys/of-nobody\""), "{page}");
        assert!(!get(&api, "/keys?group=h", &cookie).await.text.contains("Keys of the document"));
        assert!(get(&api, "/requests", &cookie).await.text.contains("href=\"/keys/of%2Dann\""));
        let page = get(&api, "/keys/of-ann", &cookie).await.text;
        assert!(page.contains("Disable in a draft") && !page.contains("/keys/of-ann/edit") && page.contains("$3.00"), "{page}");
        let sent = post(&api, "/keys/of-ann/disable", &cookie, &[("csrf", &csrf(&page)), ("disabled", "yes")]).await;
        assert_eq!(sent.status, StatusCode::SEE_OTHER);
        let draft = sent.headers[LOCATION].to_str().unwrap().strip_prefix("/drafts/").unwrap().to_owned();
        assert_eq!(api.get(&root, "/api/v1/keys/of-ann").await.expect(200)["disabled"], false, "not yet");
        let diff = api.get(&root, &format!("/api/v1/drafts/{draft}/diff")).await.expect(200);
        assert_eq!(diff["patch"], json!([{"op": "add", "path": "/keys/1/disabled", "value": true}]));
        let seen = [("if-match", "\"1\"")];
        api.call(&root, Method::POST, &format!("/api/v1/drafts/{draft}/publish"), &seen, &Value::Null).await.expect(201);
        assert_eq!(api.get(&root, "/api/v1/keys/of-ann").await.expect(200)["disabled"], true);
        assert!(!get(&api, "/keys/of-ann", &cookie).await.text.contains("Disable in a draft"));
        let page = get(&api, "/keys/of-nobody", &cookie).await.text;
        let begun = post(&api, "/edit", &cookie, &[("csrf", &csrf(&page)), ("key", "of-nobody"), ("form", "limits")]).await;
        let form = begun.headers[LOCATION].to_str().unwrap().to_owned();
        let page = get(&api, &form, &cookie).await.text;
        assert!(form.contains("/limits?key=of-nobody&then=draft") && page.contains("Of this key of the document"), "{form} {page}");
        let limits = [("csrf", &*csrf(&page)), ("revision", "1"), ("then", "draft"), ("limits.requests_per_minute", "9")];
        let saved = post(&api, &form, &cookie, &limits).await;
        let draft = form.strip_prefix("/drafts/").unwrap().split_once('/').unwrap().0;
        assert!(saved.headers[LOCATION].to_str().unwrap().starts_with(&format!("/drafts/{draft}?")), "{:?}", saved.headers);
        let patch = api.get(&root, &format!("/api/v1/drafts/{draft}/diff")).await.expect(200)["patch"].take();
        assert_eq!((patch[0]["op"].as_str(), patch[0]["value"]["requests_per_minute"].as_u64()), (Some("add"), Some(9)), "{patch}");
        let disable = async |token: &str, id: &str| api.post(token, &format!("/api/v1/documents/current/keys/{id}/disable"), &Value::Null).await;
        assert_eq!(disable(&root, "of-nobody").await.expect(201)["note"], "Disables the key of-nobody");
        disable(&root, "own").await.problem(404);
        disable(&ann, "of-ann").await.problem(403);
        api.was_well();
    }
}

on_both! {
    /// Gateways take the document's key, whatever the console says of its own: so does the console.
    async fn a_value_that_is_in_both(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        publish(&api, &root, &document("g", PRICES)).await;
        let made = api.post(&root, "/api/v1/keys", &json!({"id": "own", "group": "g"})).await.expect(201);
        let digest = secret::digest(made["value"].as_str().unwrap()).to_uppercase();
        assert!(api.get(&root, "/api/v1/keys/own").await.expect(200).get("behind").is_none());
        let body = with_keys(json!([{"id": "twin", "sha256": digest, "group": "g"}]));
        let draft = api.post(&root, "/api/v1/drafts", &json!({"body": body})).await.expect(201);
        let checked = api.get(&root, &format!("/api/v1/drafts/{}/check", draft["id"].as_str().unwrap())).await.expect(200);
        let warning = &checked["warnings"][0];
        assert_eq!(warning["path"], "keys[0].sha256", "{checked}");
        assert!(warning["reason"].as_str().unwrap().contains("the console's key own"), "{warning}");
        publish(&api, &root, &body).await;
        assert_eq!(api.get(&root, "/api/v1/keys/own").await.expect(200)["behind"], "twin");
        // A console's key with the id of a document's is the one that is shown.
        publish(&api, &root, &with_keys(json!([{"id": "own", "sha256": secret::digest("x"), "group": "g"}]))).await;
        let key = api.get(&root, "/api/v1/keys/own").await.expect(200);
        assert_eq!((key.get("of_document"), key.get("behind")), (None, None));
        api.was_well();
    }
}

on_both! {
    async fn an_import_takes_them_in(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let actor = Actor { id: "command".to_owned(), address: String::new() };
        let keys = json!([
            {"id": "a", "sha256": secret::digest("a").to_uppercase(), "group": "g", "owner": "sales", "models": ["m"], "addresses": ["10.0.0.0/8"], "expires_at": "2099-01-01T00:00:00Z",
                "limits": {"budget": {"per_month": "$20"}}},
            {"id": "b", "sha256": secret::digest("b"), "group": "g", "disabled": true},
        ]);
        let body = with_keys(keys);
        let prices = CatalogueFile::default();
        assert!(import::document(&api.store, body.clone(), &prices, &actor, 1).await.unwrap());
        let current = api.get(&root, "/api/v1/documents/current").await.expect(200);
        let published: Value = serde_json::from_str(current["body"].as_str().unwrap()).unwrap();
        assert_eq!(published["keys"], json!([]), "no key is in both");
        let listed = api.get(&root, "/api/v1/keys").await.expect(200);
        assert_eq!(ids(&listed), ["a", "b"]);
        let (a, b) = (&listed["items"][0], &listed["items"][1]);
        assert_eq!(a["addresses"], json!(["10.0.0.0/8"]), "what restricts it stays");
        let got = ["owner", "models", "expires_at", "limits", "created_by"].map(|name| a[name].clone());
        assert_eq!(got, [json!("sales"), json!(["m"]), json!("2099-01-01T00:00:00Z"), json!({"budget": {"per_month": "20"}}), json!("command")]);
        assert_eq!(b["disabled"], true);
        // Their values are good for whoever has them, and what was once imported is not again.
        let held = api.get("a", "/api/v1/me/key").await.expect(200);
        assert_eq!(held["key"]["id"], "a");
        assert!(!import::document(&api.store, body, &prices, &actor, 2).await.unwrap());
        let audit = api.get(&root, "/api/v1/audit?action=key.create").await.expect(200);
        assert_eq!(audit["items"].as_array().unwrap().len(), 2);
        api.was_well();
    }
}
