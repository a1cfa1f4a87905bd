//! Credentials of accounts: sealed, shown to nobody, and sent nowhere else than where they were given for.

use http::Method;
use http::header::ETAG;
use serde_json::{Value, json};
use trilane_console::account_credentials;
use trilane_console::cases::Role;
use trilane_console::credentials::CredentialDestination;

use crate::api::{Api, ApiReply};
use crate::database::on_both;

const VALUE: &str = "sk-ant-REALLY-SECRET-0123456789";

/// A document whose accounts have these members beside their ids.
fn document(accounts: &[Value]) -> String {
    let accounts: Vec<Value> = accounts
        .iter()
        .enumerate()
        .map(|(i, account)| {
            let mut account = account.clone();
            account["id"] = json!(format!("a{i}"));
            account
        })
        .collect();
    json!({"currency": "USD", "keys": [], "groups": [{"id": "g", "name": "G", "protocol": "B", "multiplier": "1.0000",
        "accounts": accounts, "models": [{"id": "m", "prices": {"input": "1", "output": "2"}}]}]})
    .to_string()
}

fn account(url: &str) -> Value {
    json!({"url": url, "credential": "main"})
}

pub async fn publish(api: &Api, admin: &str, body: &str) {
    let draft = api
        .post(admin, "/api/v1/drafts", &json!({"body": body}))
        .await
        .expect(201);
    let path = format!("/api/v1/drafts/{}/publish", draft["id"].as_str().unwrap());
    let seen = [("if-match", "\"1\"")];
    let reply = api
        .call(admin, Method::POST, &path, &seen, &Value::Null)
        .await;
    reply.expect(201);
}

async fn put(api: &Api, admin: &str, name: &str, body: Value) -> ApiReply {
    let path = format!("/api/v1/credentials/{name}");
    api.call(admin, Method::PUT, &path, &[], &body).await
}

/// Lists the credentials of an agent: names, destinations, values.
async fn given(api: &Api, agent: &str) -> Vec<(String, String, Option<String>)> {
    let reply = api.get(agent, "/api/v1/feed/credentials").await.expect(200);
    let items = reply["items"].as_array().unwrap().iter();
    let of = |item: &Value, member: &str| item[member].as_str().map(str::to_owned);
    items
        .map(|item| {
            let (name, place) = (of(item, "name").unwrap(), of(item, "destination").unwrap());
            (name, place, of(item, "value"))
        })
        .collect()
}

fn label(url: &str) -> String {
    let place = CredentialDestination {
        url: url.to_owned(),
        proxy: None,
        ca: None,
    };
    place.label()
}

on_both! {
    async fn are_sealed_and_never_shown(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (admin, agent) = (api.person("root", Role::Admin).await, api.approved_agent("edge").await);
        let body = json!({"value": VALUE});
        let problem = put(&api, &admin, "main", body.clone()).await.problem(422);
        assert_eq!(problem["problems"][0]["path"], "destinations", "no account has it");
        publish(&api, &admin, &document(&[account("https://a.example/v1")])).await;
        for (case, name, body, path) in [
            ("a path", "..%2Fa", body.clone(), "name"),
            ("hidden", ".a", body.clone(), "name"),
            ("nothing", "main", json!({"value": "\n"}), "value"),
            ("lines", "main", json!({"value": "a\nb"}), "value"),
            ("no address", "main", json!({"value": VALUE, "destinations": [{"url": "a.example"}]}), "destinations[0].url"),
        ] {
            let problem = put(&api, &admin, name, body).await.problem(422);
            assert_eq!(problem["problems"][0]["path"], path, "{case}: {problem}");
            assert!(!problem.to_string().contains(VALUE), "{case}");
        }
        let kept = put(&api, &admin, "main", json!({"value": format!("{VALUE}\n")})).await;
        assert!(!kept.text.contains(VALUE));
        let kept = kept.expect(200);
        assert_eq!(kept["items"][0]["destination"], json!({"url": "https://a.example"}));
        let list = api.get(&admin, "/api/v1/credentials").await;
        assert!(!list.text.contains(VALUE));
        let list = list.expect(200);
        assert_eq!((&list["items"][0]["state"], &list["items"][0]["set_by"]), (&json!("in_use"), &json!("root")));

        let want = vec![("main".to_owned(), label("https://a.example"), Some(VALUE.to_owned()))];
        assert_eq!(given(&api, &agent).await, want);
        api.get(&admin, "/api/v1/feed/credentials").await.problem(403);
        let etag = api.get(&agent, "/api/v1/feed/credentials").await.headers[ETAG].to_str().unwrap().to_owned();
        let known = [("if-none-match", etag.as_str())];
        let same = api.call(&agent, Method::GET, "/api/v1/feed/credentials", &known, &Value::Null).await;
        assert_eq!((same.status.as_u16(), same.text.as_str()), (304, ""));

        let dump = database.dump().await;
        assert!(dump.contains("credential.put") && dump.contains("a.example"));
        assert!(!dump.contains(VALUE) && !dump.contains(&hex(VALUE)), "it is in the database");
        let key = std::fs::read_to_string(api.sealing_keys.path()).unwrap();
        assert!(!dump.contains(key.trim()), "the key is in the database");

        api.call(&admin, Method::DELETE, "/api/v1/credentials/main", &[], &Value::Null).await.expect(204);
        api.call(&admin, Method::DELETE, "/api/v1/credentials/main", &[], &Value::Null).await.problem(404);
        let gone = api.call(&agent, Method::GET, "/api/v1/feed/credentials", &known, &Value::Null).await;
        assert_eq!(gone.expect(200)["items"], json!([]));
        api.was_well();
    }
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

on_both! {
    /// Withholds a credential from a place that it was not given for, whoever publishes.
    async fn go_when_their_account_goes_elsewhere(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (admin, agent) = (api.person("root", Role::Admin).await, api.approved_agent("edge").await);
        let with = |member: &str, value: Value| {
            let mut account = account("https://a.example");
            account[member] = value;
            account
        };
        let before = account("https://a.example");
        let beside = |other: Value| vec![before.clone(), other];
        for (case, accounts, stays) in [
            ("the same", vec![before.clone()], true),
            ("its path", vec![with("url", json!("https://a.example/base"))], true),
            ("its port, which is the scheme's own", vec![with("url", json!("https://a.example:443"))], true),
            ("its weight", vec![with("weight", json!(7))], true),
            ("its host", vec![with("url", json!("https://b.example"))], false),
            ("its port", vec![with("url", json!("https://a.example:8443"))], false),
            ("its scheme", vec![with("url", json!("http://a.example"))], false),
            ("its proxy", vec![with("proxy", json!("http://p.example:3128"))], false),
            ("its authorities", vec![with("ca", json!("own.crt"))], false),
            ("another account elsewhere", beside(with("url", json!("https://b.example"))), true),
            ("its name", vec![with("credential", json!("other"))], true),
        ] {
            publish(&api, &admin, &document(std::slice::from_ref(&before))).await;
            put(&api, &admin, "main", json!({"value": VALUE})).await.expect(200);
            publish(&api, &admin, &document(&accounts)).await;
            let list = api.get(&admin, "/api/v1/credentials").await.expect(200);
            assert_eq!(!list["items"].as_array().unwrap().is_empty(), stays, "{case}: {list}");
            let sent = given(&api, &agent).await;
            let elsewhere = sent.iter().any(|(_, place, _)| *place != label("https://a.example"));
            assert!(!elsewhere, "{case}: {sent:?}");
            assert_eq!(sent.len(), usize::from(stays && case != "its name"), "{case}");
        }
        let audit = api.get(&admin, "/api/v1/audit?limit=500").await.expect(200).to_string();
        assert!(audit.contains("credential.discard") && !audit.contains(VALUE));

        // Back to the version before, which had the address: what is discarded stays away.
        publish(&api, &admin, &document(&[account("https://a.example")])).await;
        put(&api, &admin, "main", json!({"value": VALUE})).await.expect(200);
        let first = api.get(&admin, "/api/v1/documents/current").await.expect(200)["version"].as_i64().unwrap();
        publish(&api, &admin, &document(&[account("https://b.example")])).await;
        let path = format!("/api/v1/documents/{first}/publish");
        let seen = format!("\"{}\"", first + 1);
        let again = api.call(&admin, Method::POST, &path, &[("if-match", &seen)], &json!({"note": ""})).await;
        again.expect(201);
        assert_eq!(given(&api, &agent).await, []);

        // A publication of a version again discards too.
        put(&api, &admin, "main", json!({"value": VALUE})).await.expect(200);
        let seen = format!("\"{}\"", first + 2);
        let path = format!("/api/v1/documents/{}/publish", first + 1);
        api.call(&admin, Method::POST, &path, &[("if-match", &seen)], &json!({"note": ""})).await.expect(201);
        assert_eq!(api.get(&admin, "/api/v1/credentials").await.expect(200)["items"], json!([]));

        // Given before its account is there, it waits, also while other documents are published.
        let destinations = json!([{"url": "https://c.example/v1"}]);
        put(&api, &admin, "early", json!({"value": VALUE, "destinations": destinations})).await.expect(200);
        publish(&api, &admin, &document(&[account("https://a.example")])).await;
        assert_eq!(given(&api, &agent).await, []);
        let early = json!({"url": "https://c.example", "credential": "early"});
        publish(&api, &admin, &document(&[early])).await;
        let want = vec![("early".to_owned(), label("https://c.example"), Some(VALUE.to_owned()))];
        assert_eq!(given(&api, &agent).await, want);
        api.was_well();
    }
}

on_both! {
    /// A row that somebody puts back or moves in the database is handed out and opened for no other place: this does not rest on
    /// what a publication discards.
    async fn are_of_no_use_elsewhere(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (admin, agent) = (api.person("root", Role::Admin).await, api.approved_agent("edge").await);
        let tested = async || api.post(&admin, "/api/v1/accounts/g/a0/test", &json!({})).await.expect(200)["outcome"].clone();
        publish(&api, &admin, &document(&[account("https://a.example")])).await;
        put(&api, &admin, "main", json!({"value": VALUE})).await.expect(200);
        database.execute("CREATE TABLE kept AS SELECT * FROM credentials").await.unwrap();
        publish(&api, &admin, &document(&[account("https://b.example")])).await;
        database.execute("DELETE FROM credentials").await.unwrap();
        database.execute("INSERT INTO credentials SELECT * FROM kept").await.unwrap();
        let list = api.get(&admin, "/api/v1/credentials").await.expect(200);
        assert_eq!((&list["items"][0]["state"], &list["items"][0]["destination"]["url"]), (&json!("in_use"), &json!("https://a.example")));
        assert_eq!(given(&api, &agent).await, vec![], "it goes nowhere now");
        assert_eq!(tested().await, "no_credential");

        database.execute(r#"UPDATE credentials SET destination = '{"url":"https://b.example"}'"#).await.unwrap();
        assert_eq!(given(&api, &agent).await, vec![("main".to_owned(), label("https://b.example"), None)]);
        assert_eq!(api.get(&admin, "/api/v1/credentials").await.expect(200)["items"][0]["state"], "unreadable");
        assert_eq!(tested().await, "unreadable");
        api.was_well();
    }
}

on_both! {
    async fn are_sealed_anew(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (admin, agent) = (api.person("root", Role::Admin).await, api.approved_agent("edge").await);
        let other = json!({"url": "https://b.example", "credential": "second"});
        publish(&api, &admin, &document(&[account("https://a.example"), other])).await;
        for name in ["main", "second"] {
            put(&api, &admin, name, json!({"value": VALUE})).await.expect(200);
        }
        let all = given(&api, &agent).await;
        let before = api.sealing_keys.read().unwrap();
        api.sealing_keys.add().unwrap();
        let both = api.sealing_keys.read().unwrap();
        assert_eq!(given(&api, &agent).await, all, "a key was added, and nothing is sealed anew yet");

        // Half of them are sealed with the new key, as after an interruption.
        put(&api, &admin, "main", json!({"value": VALUE})).await.expect(200);
        assert_eq!(account_credentials::reseal(&api.store, &both).await.unwrap(), (1, 0));
        assert_eq!(account_credentials::reseal(&api.store, &both).await.unwrap(), (0, 0));
        assert_eq!(given(&api, &agent).await, all);
        api.sealing_keys.forget_others().unwrap();
        assert_eq!(given(&api, &agent).await, all, "the old key is not needed any more");
        assert_eq!(account_credentials::unreadable(&api.store, Some(&before)).await.unwrap(), (2, 2));

        // The file is lost: another console has another key.
        std::fs::remove_file(api.sealing_keys.path()).unwrap();
        api.sealing_keys.create().unwrap();
        let lost = api.sealing_keys.read().unwrap();
        assert_eq!(account_credentials::unreadable(&api.store, Some(&lost)).await.unwrap(), (2, 2));
        assert_eq!(account_credentials::reseal(&api.store, &lost).await.unwrap(), (0, 2));
        let list = api.get(&admin, "/api/v1/credentials").await.expect(200);
        assert_eq!(list["items"][0]["state"], "unreadable");
        assert!(given(&api, &agent).await.iter().all(|(_, _, value)| value.is_none()));
        // They can be given anew.
        put(&api, &admin, "main", json!({"value": VALUE})).await.expect(200);
        let values: Vec<bool> = given(&api, &agent).await.iter().map(|(_, _, value)| value.is_some()).collect();
        assert_eq!(values, [true, false]);
        api.was_well();
    }
}
