//! The lives of keys, documents and ledger lines over the API.

use http::Method;
use http::header::ETAG;
use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::Api;
use crate::database::{TestDatabase, on_both};
use crate::ledger::line;

pub fn document(group: &str, prices: &str) -> String {
    format!(
        r#"{{"currency": "USD", "groups": [{{"id": "{group}", "name": "G", "protocol": "A", "multiplier": "1.0000",
            "cluster": "c", "models": [{{"id": "m"{prices}}}]}}], "keys": []}}"#
    )
}

pub const PRICES: &str = r#", "prices": {"input": "1", "output": "2"}"#;

pub async fn publish(api: &Api, admin: &str, body: &str) -> Value {
    let draft = api
        .post(admin, "/api/v1/drafts", &json!({"body": body}))
        .await
        .expect(201);
    let path = format!("/api/v1/drafts/{}/publish", draft["id"].as_str().unwrap());
    let reply = api
        .call(
            admin,
            Method::POST,
            &path,
            &[("if-match", "\"1\"")],
            &Value::Null,
        )
        .await;
    reply.expect(201)
}

on_both! {
    async fn of_a_key(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let change = async |id: &str, body: Value| api.call(&admin, Method::PATCH, &format!("/api/v1/keys/{id}"), &[], &body).await;

        let made = api.post(&admin, "/api/v1/keys", &json!({"group": "g", "owner": "ann", "label": "laptop",
            "limits": {"requests_per_minute": 60}, "expires_at": "2099-01-01T00:00:00Z"})).await.expect(201);
        let value = made["value"].as_str().unwrap();
        let id = made["key"]["id"].as_str().unwrap();
        assert!(value.starts_with("tl-") && value.ends_with(made["key"]["hint"].as_str().unwrap()));
        assert_eq!(made["key"]["created_by"], "root");
        let mut seen = api.get(&admin, &format!("/api/v1/keys/{id}")).await.expect(200);
        // What it has spent is told of one key alone.
        assert_eq!(seen.as_object_mut().unwrap().remove("spent_this_month"), Some(json!([])));
        assert_eq!(seen, made["key"]);

        let feed = api.get(&admin, "/api/v1/feed/keys").await.expect(200);
        assert_eq!(feed["changes"][0]["sha256"], trilane_console::secret::digest(value));
        assert_eq!(feed["changes"][0]["limits"], json!({"requests_per_minute": 60}));

        let changed = change(id, json!({"owner": null, "limits": null, "disabled": true, "label": "desk"})).await.expect(200);
        let members = seen.as_object_mut().unwrap();
        for gone in ["owner", "limits"] {
            members.remove(gone);
        }
        members.insert("disabled".to_owned(), true.into());
        members.insert("label".to_owned(), "desk".into());
        // Another state of the key has another revision.
        let revision = members.insert("revision".to_owned(), changed["revision"].clone());
        assert_ne!(revision.as_ref(), Some(&changed["revision"]));
        assert_eq!(changed, seen);
        let cursor = feed["cursor"].as_str().unwrap();
        let feed = api.get(&admin, &format!("/api/v1/feed/keys?cursor={cursor}")).await.expect(200);
        assert_eq!(feed["changes"][0]["disabled"], true);

        // With a document in force its groups and prices count.
        for (case, body, path) in [
            ("id", json!({"id": "a b", "group": "g"}), "id"),
            ("group", json!({"group": "a/b"}), "group"),
            ("owner", json!({"group": "g", "owner": ""}), "owner"),
            ("label", json!({"group": "g", "label": "a\nb"}), "label"),
            ("expiry", json!({"group": "g", "expires_at": "2099-01-01"}), "expires_at"),
            ("another form of time", json!({"group": "g", "expires_at": "2099-01-01T00:00:00.5Z"}), "expires_at"),
            ("limits", json!({"group": "g", "limits": {"requests_per_minute": 0}}), "limits.requests_per_minute"),
        ] {
            let problem = api.post(&admin, "/api/v1/keys", &body).await.problem(422);
            assert_eq!(problem["problems"][0]["path"], path, "{case}: {problem}");
        }
        api.post(&admin, "/api/v1/keys", &json!({"id": id, "group": "g"})).await.problem(409);
        publish(&api, &admin, &document("priced", PRICES)).await;
        api.post(&admin, "/api/v1/keys", &json!({"group": "priced", "limits": {"budget": {"per_day": "5"}}})).await.expect(201);
        let problem = api.post(&admin, "/api/v1/keys", &json!({"group": "g"})).await.problem(422);
        assert_eq!(problem["problems"][0]["path"], "group", "{problem}");
        publish(&api, &admin, &document("priced", "")).await;
        let problem = api.post(&admin, "/api/v1/keys", &json!({"group": "priced", "limits": {"budget": {"per_day": "5"}}})).await.problem(422);
        assert!(problem.to_string().contains('m'), "{problem}");

        let path = format!("/api/v1/keys/{id}");
        api.call(&admin, Method::DELETE, &path, &[], &Value::Null).await.expect(204);
        api.call(&admin, Method::DELETE, &path, &[], &Value::Null).await.problem(404);
        change(id, json!({})).await.problem(404);

        let audit = api.get(&admin, "/api/v1/audit").await.expect(200).to_string();
        for action in ["key.create", "key.change", "key.remove", "document.publish"] {
            assert!(audit.contains(action), "{action}");
        }
        assert!(!audit.contains(value) && !audit.contains(&trilane_console::secret::digest(value)));
        api.was_well();
    }
}

on_both! {
    /// Performs repeated requests with one idempotency key once, and keeps no secret for that.
    async fn of_a_request_that_comes_again(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (admin, other) = (api.person("root", Role::Admin).await, api.person("other", Role::Admin).await);
        let body = json!({"group": "g", "label": "once"});
        let again = [("idempotency-key", "order 66")];
        let create = async |token: &str, body: &Value| api.call(token, Method::POST, "/api/v1/keys", &again, body).await;
        let first = create(&admin, &body).await.expect(201);
        let second = create(&admin, &body).await;
        assert_eq!(second.headers["idempotent-replayed"], "true");
        let second = second.expect(201);
        assert_eq!(second["key"], first["key"]);
        assert_eq!(second.get("value"), None);
        create(&admin, &json!({"group": "g", "label": "twice"})).await.problem(409);
        // Another's key is another key.
        let third = create(&other, &body).await.expect(201);
        assert_ne!(third["key"]["id"], first["key"]["id"]);
        let keys = api.get(&admin, "/api/v1/keys").await.expect(200);
        assert_eq!(keys["items"].as_array().unwrap().len(), 2);
        // At once.
        let at_once = [("idempotency-key", "storm")];
        let calls = (0..6).map(|_| api.call(&admin, Method::POST, "/api/v1/keys", &at_once, &body));
        let mut ids = Vec::new();
        for reply in futures_of(calls).await {
            ids.push(reply.expect(201)["key"]["id"].clone());
        }
        ids.dedup();
        assert_eq!(ids.len(), 1, "{ids:?}");
        for key in ["", &"x".repeat(201)] {
            api.call(&admin, Method::POST, "/api/v1/keys", &[("idempotency-key", key)], &body).await.problem(400);
        }
        api.was_well();
    }
}

/// All of them, at once.
pub async fn futures_of<F: Future>(all: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = all.map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(move |context| {
        for (one, done) in &mut all {
            if done.is_none()
                && let std::task::Poll::Ready(output) = one.as_mut().poll(context)
            {
                *done = Some(output);
            }
        }
        if all.iter().all(|(_, done)| done.is_some()) {
            std::task::Poll::Ready(all.iter_mut().filter_map(|(_, done)| done.take()).collect())
        } else {
            std::task::Poll::Pending
        }
    })
    .await
}

on_both! {
    async fn of_a_document(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        api.get(&admin, "/api/v1/documents/current").await.problem(404);
        api.get(&admin, "/api/v1/feed/document").await.problem(404);

        let bad = document("not an id!", PRICES);
        let draft = api.post(&admin, "/api/v1/drafts", &json!({"body": bad, "note": "try"})).await.expect(201);
        let path = format!("/api/v1/drafts/{}", draft["id"].as_str().unwrap());
        let check = api.get(&admin, &format!("{path}/check")).await.expect(200);
        assert_eq!((&check["valid"], &check["problems"][0]["path"]), (&json!(false), &json!("groups[0].id")));
        let publish_draft = async |revision: &str| {
            let headers = [("if-match", revision)];
            api.call(&admin, Method::POST, &format!("{path}/publish"), &headers[..usize::from(!revision.is_empty())], &Value::Null).await
        };
        publish_draft("").await.problem(428);
        publish_draft("\"9\"").await.problem(412);
        publish_draft("1").await.problem(412);
        let problem = publish_draft("\"1\"").await.problem(422);
        assert_eq!(problem["problems"][0]["path"], "groups[0].id");

        let good = json!({"body": document("one", PRICES), "note": "better"});
        let put = async |revision: &str| api.call(&admin, Method::PUT, &path, &[("if-match", revision)], &good).await;
        api.call(&admin, Method::PUT, &path, &[], &good).await.problem(428);
        let changed = put("\"1\"").await;
        assert_eq!(changed.headers[ETAG], "\"2\"");
        put("\"1\"").await.problem(412);
        assert_eq!(api.get(&admin, &path).await.headers[ETAG], "\"2\"");
        assert_eq!(api.get(&admin, &format!("{path}/check")).await.expect(200)["valid"], true);
        let published = publish_draft("\"2\"").await;
        assert_eq!(published.headers[ETAG], "\"1\"");
        assert_eq!(published.expect(201)["version"], 1);
        api.get(&admin, &path).await.problem(404);

        // What gateways get.
        let served = api.get(&admin, "/api/v1/feed/document").await;
        let etag = served.headers[ETAG].to_str().unwrap().to_owned();
        assert_eq!(served.text, document("one", PRICES));
        let same = api.call(&admin, Method::GET, "/api/v1/feed/document", &[("if-none-match", &etag)], &Value::Null).await;
        assert_eq!((same.status.as_u16(), same.text.as_str()), (304, ""));

        // Another is published; a draft from before is not published over it, unless its author has seen it.
        let late = api.post(&admin, "/api/v1/drafts", &json!({})).await.expect(201);
        assert_eq!(late["body"], document("one", PRICES));
        publish(&api, &admin, &document("two", PRICES)).await;
        let late_path = format!("/api/v1/drafts/{}", late["id"].as_str().unwrap());
        let diff = api.get(&admin, &format!("{late_path}/diff")).await.expect(200);
        assert_eq!(diff, json!({"from": 2, "patch": [{"op": "replace", "path": "/groups/0/id", "value": "one"}]}));
        let seen = [("if-match", "\"1\"")];
        api.call(&admin, Method::POST, &format!("{late_path}/publish"), &seen, &Value::Null).await.problem(409);
        api.call(&admin, Method::PUT, &late_path, &seen, &json!({"note": "on top", "rebase": true})).await.expect(200);
        let seen = [("if-match", "\"2\"")];
        api.call(&admin, Method::POST, &format!("{late_path}/publish"), &seen, &Value::Null).await.expect(201);

        // Back to the second.
        let again = async |version: &str, seen: &str| {
            let path = format!("/api/v1/documents/{version}/publish");
            api.call(&admin, Method::POST, &path, &[("if-match", seen)], &json!({"note": "back"})).await
        };
        again("2", "\"2\"").await.problem(412);
        again("9", "\"3\"").await.problem(404);
        again("x", "\"3\"").await.problem(400);
        let back = again("2", "\"3\"").await.expect(201);
        assert_eq!((&back["version"], &back["again"]), (&json!(4), &json!(2)));
        assert_eq!(api.get(&admin, "/api/v1/documents/current").await.expect(200)["body"], document("two", PRICES));
        let history = api.get(&admin, "/api/v1/documents?limit=3").await.expect(200);
        let versions: Vec<_> = history["items"].as_array().unwrap().iter().map(|item| item["version"].as_i64().unwrap()).collect();
        assert_eq!(versions, [4, 3, 2]);
        let next = format!("/api/v1/documents?limit=3&cursor={}", history["next"].as_str().unwrap());
        let history = api.get(&admin, &next).await.expect(200);
        assert_eq!((&history["items"][0]["version"], history.get("next")), (&json!(1), None));

        let mine = api.post(&admin, "/api/v1/drafts", &json!({})).await.expect(201);
        let path = format!("/api/v1/drafts/{}", mine["id"].as_str().unwrap());
        let remove = async |seen: &str| api.call(&admin, Method::DELETE, &path, &[("if-match", seen)], &Value::Null).await;
        remove("\"2\"").await.problem(412);
        remove("\"1\"").await.expect(204);
        remove("\"1\"").await.problem(404);
        api.was_well();
    }
}

on_both! {
    async fn of_ledger_lines(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let lines: Vec<_> = (0..6).map(|n| line(&format!("2026-11-{:02}T{:02}:00:00Z", 20 + n % 2, n), &format!("k{}", n % 3), "m", "0.1")).collect();
        let text = format!("foreign\n{}", lines.concat());
        let path = "/api/v1/ledger/envoy-1/2049:7";
        let taken = api.ledger(&admin, &format!("{path}?from=0"), &text).await.expect(200);
        assert_eq!(taken, json!({"position": text.len(), "lines": 6, "aside": 1}));
        let again = api.ledger(&admin, &format!("{path}?from=0"), &text).await.expect(200);
        assert_eq!(again, json!({"position": text.len(), "lines": 0, "aside": 0}));
        let gap = api.ledger(&admin, &format!("{path}?from=1"), &format!("{text}x\n")).await.problem(409);
        assert_eq!(gap["position"], text.len());
        let ended = format!("{path}?from={}&ends=true", text.len());
        let taken = api.ledger(&admin, &ended, "{\"cut").await.expect(200);
        assert_eq!((&taken["lines"], &taken["aside"]), (&json!(0), &json!(1)));
        let aside = api.get(&admin, &format!("{path}/aside")).await.expect(200);
        let reasons: Vec<_> = aside["items"].as_array().unwrap().iter().map(|line| line["reason"].as_str().unwrap()).collect();
        assert_eq!(reasons, ["foreign", "cut"]);
        for bad in ["/api/v1/ledger/a%20b/f?from=0", "/api/v1/ledger/e/f", "/api/v1/ledger/e/f?from=-1", "/api/v1/ledger/e/f?from=9223372036854775807"] {
            api.ledger(&admin, bad, "x\n").await.problem(400);
        }

        // In pages of one, by several properties.
        let mut rows = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = api.get(&admin, &format!("/api/v1/usage?by=day,key&limit=1{cursor}")).await.expect(200);
            for item in page["items"].as_array().unwrap() {
                rows.push(format!("{} {} {} {}", item["values"]["day"].as_str().unwrap(), item["values"]["key"].as_str().unwrap(),
                    item["counts"]["requests"], item["charge"].as_str().unwrap()));
            }
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let want: Vec<_> = ["20 k0", "20 k1", "20 k2", "21 k0", "21 k1", "21 k2"].iter().map(|row| format!("2026-11-{row} 1 0.1")).collect();
        assert_eq!(rows, want);
        let part = api.get(&admin, "/api/v1/usage?since=2026-11-20T04&until=2026-11-21&key=k1").await.expect(200);
        assert_eq!((&part["items"][0]["charge"], &part["items"][0]["counts"]["input"]), (&json!("0.1"), &json!(7)));
        let spent = api.get(&admin, "/api/v1/spend?kind=group&subject=g&period=2026-11").await.expect(200);
        assert_eq!(spent, json!({"spent": [{"currency": "USD", "amount": "0.6"}]}));
        for bad in ["by=money", "since=today", "limit=0", "limit=501", "limit=x", "cursor=zz", "by=key&cursor=5b5d"] {
            api.get(&admin, &format!("/api/v1/usage?{bad}")).await.problem(400);
        }
        let mut seen = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = api.get(&admin, &format!("/api/v1/requests?limit=4{cursor}")).await.expect(200);
            seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["line"]["timestamp"].as_str().unwrap().to_owned()));
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.is_sorted_by(|one, next| one >= next), "{seen:?}");
        api.was_well();
    }
}

on_both! {
    /// Answers every bad request with a problem in one form.
    async fn of_bad_requests(database: &TestDatabase) {
        use axum::body::Body;
        use http::Request;
        use http::header::{AUTHORIZATION, CONTENT_TYPE};
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let raw = async |content_type: &str, body: Vec<u8>| {
            let request = Request::builder().method(Method::POST).uri("/api/v1/keys").header(AUTHORIZATION, format!("bearer {admin}"));
            api.send(request.header(CONTENT_TYPE, content_type).body(Body::from(body)).unwrap()).await
        };
        raw("application/json", b"{".to_vec()).await.problem(400);
        raw("application/json", b"{}".to_vec()).await.problem(422);
        raw("application/json", b"{\"group\": \"g\", \"colour\": 1}".to_vec()).await.problem(422);
        raw("text/plain", b"{\"group\": \"g\"}".to_vec()).await.problem(415);
        raw("application/json", vec![b' '; 3 << 20]).await.problem(413);
        api.get(&admin, "/api/v1/nothing").await.problem(404);
        api.get("", "/api/nothing").await.problem(404);
        api.call(&admin, Method::PUT, "/api/v1/keys", &[], &Value::Null).await.problem(405);
        for header in ["", "Basic x", "Bearer", "Bearer ", "tlc-x"] {
            let request = Request::builder().uri("/api/v1/me").header(AUTHORIZATION, header);
            let reply = api.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(reply.headers["www-authenticate"], "Bearer");
            reply.problem(401);
        }
        assert_eq!(api.get("", "/healthz").await.expect(200)["ok"], true);
        let document = api.get("", "/api/openapi.json").await.expect(200);
        assert_eq!(document["openapi"], "3.1.0");
        api.was_well();
    }
}

/// No secret is in the database, whatever was done.
#[tokio::test]
async fn no_secret_is_stored() {
    let database = TestDatabase::sqlite();
    let api = Api::new(&database).await;
    let admin = api.person("root", Role::Admin).await;
    let again = [("idempotency-key", "one")];
    let key = api
        .call(
            &admin,
            Method::POST,
            "/api/v1/keys",
            &again,
            &json!({"group": "g"}),
        )
        .await
        .expect(201);
    let token = api
        .call(
            &admin,
            Method::POST,
            "/api/v1/tokens",
            &again[..0],
            &json!({"name": "n"}),
        )
        .await
        .expect(201);
    api.store.close().await;
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&database.text).unwrap() {
        files.extend(std::fs::read(entry.unwrap().path()).unwrap());
    }
    let has = |text: &str| {
        files
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    let (key, token) = (
        key["value"].as_str().unwrap(),
        token["value"].as_str().unwrap(),
    );
    for secret in [key, token, &admin] {
        assert!(
            has(&trilane_console::secret::digest(secret)),
            "its digest is"
        );
        assert!(!has(&secret[4..]), "a secret is stored");
    }
}
