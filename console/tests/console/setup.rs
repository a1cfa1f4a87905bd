//! The first run by the API: vendors are tested, come into the draft one by one, and nobody's step is lost.

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::{Api, ApiReply};
use crate::credentials::publish;
use crate::database::on_both;
use crate::vendors::{self, CREDENTIAL, VendorServer};

const WRONG: &str = "sk-dont-tell-wrong";

async fn models(api: &Api, token: &str, body: Value) -> Value {
    let reply = api.post(token, "/api/v1/vendors/models", &body).await;
    assert!(!reply.text.contains("dont-tell"), "{reply:?}");
    reply.expect(200)
}

async fn put(api: &Api, token: &str, group: &str, body: Value) -> ApiReply {
    let path = format!("/api/v1/setup/vendors/{group}");
    let reply = api.call(token, Method::PUT, &path, &[], &body).await;
    assert!(!reply.text.contains("dont-tell"), "{reply:?}");
    reply
}

/// The models that are taken unless somebody says otherwise.
fn usual(listed: &Value) -> Vec<Value> {
    let models = listed["models"].as_array().unwrap().iter();
    models
        .filter(|model| model["usual"] == true)
        .map(|model| model["model"].clone())
        .collect()
}

async fn publish_run(api: &Api, token: &str) -> ApiReply {
    let setup = api.get(token, "/api/v1/setup").await.expect(200);
    let seen = format!("\"{}\"", setup["draft"]["revision"]);
    let path = "/api/v1/drafts/first-run/publish";
    let seen = [("if-match", seen.as_str())];
    api.call(token, Method::POST, path, &seen, &Value::Null)
        .await
}

on_both! {
    async fn from_nothing_to_a_document_in_force(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let admin = api.person("root", Role::Admin).await;
        let agent = api.approved_agent("edge").await;
        let none = api.get(&admin, "/api/v1/setup").await.expect(200);
        assert_eq!(none, json!({"version": 0, "groups_in_force": 0, "vendors": []}));
        let (a, b, r) = (vendors::openai(), vendors::anthropic(), vendors::openrouter());
        for (name, url, taken, from) in [
            ("openai", a.url("/v1"), json!(["gpt-6-luna", "gpt-6.2-sol"]), "catalogue"),
            ("anthropic", b.url(""), json!(["claude-opus-4-8", "claude-haiku-4-5"]), "catalogue"),
            ("openrouter", r.url("/api/v1"), json!(["anthropic/claude-opus-4.8", "meta-llama/llama-4:free"]), "vendor"),
        ] {
            let ask = |value: &str| json!({"vendor": name, "url": url, "value": value});
            let refused = models(&api, &admin, ask(WRONG)).await;
            assert_eq!((&refused["test"]["outcome"], &refused["models"]), (&json!("credential_refused"), &json!([])), "{name}");
            let listed = models(&api, &admin, ask(CREDENTIAL)).await;
            assert_eq!(listed["test"]["works"], true, "{name}: {listed}");
            let usual = usual(&listed);
            let ids: Vec<&Value> = usual.iter().map(|model| &model["id"]).collect();
            assert_eq!(json!(ids), taken, "{name}");
            assert!(usual.iter().all(|model| model["prices"]["input"].is_string()), "{name}: {usual:?}");
            assert_eq!(listed["models"][0]["prices_from"], from, "{name}");
            let unknown = listed["models"].as_array().unwrap().iter().find(|model| model["prices_from"] == "nobody").unwrap();
            assert!(unknown["model"].get("prices").is_none() && unknown["usual"] == false, "no price is invented: {unknown}");
            let body = json!({"vendor": name, "url": url, "value": CREDENTIAL, "models": usual});
            let made = put(&api, &admin, name, body.clone()).await.expect(200);
            assert_eq!((&made["has_credential"], &made["models"]), (&json!(true), &json!(usual)), "{name}");
            // The kept one is used from now on, and goes nowhere else.
            let ask = |url: &str| json!({"vendor": name, "url": url, "group": name});
            assert_eq!(models(&api, &admin, ask(&url)).await["test"]["works"], true, "{name}: kept");
            let elsewhere = models(&api, &admin, ask("http://127.0.0.1:9/v1")).await;
            assert_eq!(elsewhere["test"]["outcome"], "no_credential", "{name}");
        }
        let setup = api.get(&admin, "/api/v1/setup").await.expect(200);
        let groups: Vec<&Value> = setup["vendors"].as_array().unwrap().iter().map(|vendor| &vendor["group"]).collect();
        assert_eq!(json!(groups), json!(["openai", "anthropic", "openrouter"]));
        assert_eq!(setup["vendors"][2]["vendor"], "openrouter");
        publish_run(&api, &admin).await.expect(201);
        let current = api.get(&admin, "/api/v1/documents/current").await.expect(200);
        let document: Value = serde_json::from_str(current["body"].as_str().unwrap()).unwrap();
        let ids: Vec<&Value> = document["groups"].as_array().unwrap().iter().map(|group| &group["id"]).collect();
        assert_eq!((json!(ids), &document["currency"]), (json!(["openai", "anthropic", "all", "openrouter"]), &json!("USD")));
        let given = api.get(&agent, "/api/v1/feed/credentials").await.expect(200);
        let given: Vec<(&Value, &Value)> = given["items"].as_array().unwrap().iter().map(|one| (&one["name"], &one["value"])).collect();
        let credential = json!(CREDENTIAL);
        assert_eq!(given, [(&json!("anthropic-1"), &credential), (&json!("openai-1"), &credential), (&json!("openrouter-1"), &credential)]);
        assert_eq!(api.get(&admin, "/api/v1/setup").await.expect(200), json!({"version": 1, "groups_in_force": 4, "vendors": []}));
        assert!(!database.dump().await.contains("dont-tell"));

        // Later another vendor: those in force are no business of it.
        put(&api, &admin, "openai", json!({"vendor": "openai", "models": []})).await.problem(409);
        let local = vendors::local();
        let ask = json!({"vendor": "compatible", "url": local.url("/v1"), "no_credential": true});
        let listed = models(&api, &admin, ask).await;
        assert_eq!(usual(&listed).len(), 2, "none has a price: {listed}");
        let free: Vec<Value> = usual(&listed).iter().map(|model| json!({"id": model["id"], "free": true})).collect();
        let body = json!({"vendor": "compatible", "url": local.url("/v1"), "no_credential": true, "models": free});
        put(&api, &admin, "local", body).await.expect(200);
        let setup = api.get(&admin, "/api/v1/setup").await.expect(200);
        assert_eq!((&setup["draft"]["based_on"], setup["vendors"].as_array().unwrap().len()), (&json!(1), 1));
        publish_run(&api, &admin).await.expect(201);
        api.was_well();
    }
}

on_both! {
    async fn two_admins_lose_nothing(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (ann, bob) = (api.person("ann", Role::Admin).await, api.person("bob", Role::Admin).await);
        let model = |id: &str| json!([{"id": id, "free": true}]);
        let with = |name: &str, id: &str, revision: Option<&Value>| {
            let mut body = json!({"vendor": name, "models": model(id)});
            if let Some(revision) = revision {
                body["revision"] = revision.clone();
            }
            body
        };
        let first = put(&api, &ann, "openai", with("openai", "a", None)).await.expect(200);
        put(&api, &bob, "anthropic", with("anthropic", "b", None)).await.expect(200);
        let told = put(&api, &bob, "openai", with("openai", "mine", None)).await.problem(412);
        assert_eq!(told["detail"], "bob has added openai meanwhile", "who changed the draft last");
        let revision = &first["revision"];
        let changed = put(&api, &bob, "openai", with("openai", "c", Some(revision))).await.expect(200);
        let told = put(&api, &ann, "openai", with("openai", "d", Some(revision))).await.problem(412);
        assert!(told["detail"].as_str().unwrap().contains("bob has changed openai meanwhile"), "{told}");
        let setup = api.get(&ann, "/api/v1/setup").await.expect(200);
        let seen = setup["vendors"].as_array().unwrap().iter().map(|vendor| (&vendor["group"], &vendor["models"][0]["id"]));
        let want = [(&json!("openai"), &json!("c")), (&json!("anthropic"), &json!("b"))];
        assert_eq!(seen.collect::<Vec<_>>(), want);
        // A credential alone leaves the models as they are.
        let body = json!({"vendor": "openai", "value": CREDENTIAL, "revision": changed["revision"]});
        let kept = put(&api, &ann, "openai", body).await.expect(200);
        assert_eq!((&kept["models"][0]["id"], &kept["has_credential"]), (&json!("c"), &json!(true)));

        // What somebody has written into the draft by hand is not lost either.
        let draft = api.get(&ann, "/api/v1/drafts/first-run").await.expect(200);
        let mut document: Value = serde_json::from_str(draft["body"].as_str().unwrap()).unwrap();
        document["groups"][1]["multiplier"] = json!("2.0000");
        let seen = format!("\"{}\"", draft["revision"]);
        let body = json!({"body": document.to_string()});
        let path = "/api/v1/drafts/first-run";
        api.call(&ann, Method::PUT, path, &[("if-match", &seen)], &body).await.expect(200);
        put(&api, &bob, "anthropic", with("anthropic", "x", None)).await.problem(409);
        let setup = api.get(&ann, "/api/v1/setup").await.expect(200);
        assert_eq!(setup["vendors"].as_array().unwrap().len(), 1, "it is not shown as one of these any more");

        // Taken out, its credential is forgotten.
        let remove = async |group: &str| api.call(&bob, Method::DELETE, &format!("/api/v1/setup/vendors/{group}"), &[], &Value::Null).await;
        remove("anthropic").await.problem(404);
        remove("openai").await.expect(204);
        remove("openai").await.problem(404);
        assert_eq!(api.get(&ann, "/api/v1/credentials").await.expect(200)["items"], json!([]));
        let gone = put(&api, &ann, "openai", with("openai", "d", Some(&changed["revision"]))).await;
        assert!(gone.problem(412)["detail"].as_str().unwrap().contains("bob has removed openai"));
        api.was_well();
    }
}

on_both! {
    async fn what_is_wrong_is_told_at_its_field(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let (admin, viewer) = (api.person("root", Role::Admin).await, api.person("vic", Role::Viewer).await);
        for (case, group, body, path) in [
            ("vendor", "x", json!({"vendor": "opnai"}), "vendor"),
            ("no address", "x", json!({"vendor": "compatible"}), "url"),
            ("an endpoint", "x", json!({"vendor": "openai", "url": "https://x.example/v1/responses"}), "url"),
            ("protocol", "x", json!({"vendor": "openai", "protocol": "D"}), "protocol"),
            ("the group of all", "all", json!({"vendor": "openai"}), "group"),
            ("a path", "..%2Fx", json!({"vendor": "openai"}), "group"),
            ("credential", "x", json!({"vendor": "openai", "value": "two words"}), "value"),
            ("twice", "x", json!({"vendor": "openai", "models": [{"id": "m"}, {"id": "m"}]}), "models[1].id"),
            ("free for money", "x", json!({"vendor": "openai", "models": [{"id": "m", "free": true, "prices": {"input": "1"}}]}), "models[0].free"),
        ] {
            let problem = put(&api, &admin, group, body).await.problem(422);
            assert_eq!(problem["problems"][0]["path"], path, "{case}: {problem}");
        }
        assert!(api.get(&viewer, "/api/v1/setup").await.expect(200).get("draft").is_none(), "nothing was begun");
        let empty = VendorServer::new(|_| (200, r#"{"data":[]}"#.to_owned()));
        let ask = json!({"vendor": "openai", "url": empty.url("/v1"), "value": CREDENTIAL});
        let listed = models(&api, &admin, ask).await;
        assert_eq!((&listed["test"]["outcome"], &listed["lists_nothing"]), (&json!("no_models"), &json!(true)));

        // Prices of the catalogue are in dollars; in another currency it knows none.
        let group = json!({"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c", "models": [{"id": "m"}]});
        publish(&api, &admin, &json!({"currency": "EUR", "groups": [group], "keys": []}).to_string()).await;
        let openai = vendors::openai();
        let ask = json!({"vendor": "openai", "url": openai.url("/v1"), "value": CREDENTIAL});
        let listed = models(&api, &admin, ask).await;
        assert!(listed["models"].as_array().unwrap().iter().all(|model| model["prices_from"] == "nobody"), "{listed}");
        api.was_well();
    }
}
