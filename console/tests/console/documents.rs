//! The life of the document.

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;
use trilane_console::documents::{DocumentError, NewDraft, begin, change, publish, publish_again};
use trilane_console::in_transaction;
use trilane_console::prices::CatalogueFile;
use trilane_console::store::audit::{self, Actor, AuditFilter};
use trilane_console::store::drafts::{self, Draft};
use trilane_console::store::{Store, documents};

use crate::api::Api;
use crate::database::on_both;
use crate::lives::publish as publish_one;

/// Prices of the model `m`.
fn prices() -> CatalogueFile {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/console/own_prices.json");
    CatalogueFile::new(file.into())
}

fn actor() -> Actor {
    Actor {
        id: "ann".to_owned(),
        address: "192.0.2.1".to_owned(),
    }
}

fn document(group: &str) -> String {
    format!(
        r#"{{"currency": "USD", "groups": [{{"id": "{group}", "name": "G", "protocol": "A", "multiplier": "1.0000", "cluster": "c",
            "models": [{{"id": "m", "prices": "catalogue"}}]}}], "keys": []}}"#
    )
}

async fn draft(store: &Store, id: &str, body: Option<String>) -> Draft {
    let new = NewDraft {
        id: id.to_owned(),
        body,
        note: "why".to_owned(),
    };
    in_transaction!(store, transaction => begin(transaction, &new, &actor(), 1).await).unwrap()
}

on_both! {
    async fn draft_publish_again(database: &TestDatabase) {
        let store = database.open().await;
        let first = draft(&store, "d1", Some(document("one"))).await;
        assert_eq!((first.based_on, first.revision), (0, 1));
        let one = publish(&store, "d1", 1, &prices(), &actor(), 10).await.unwrap();
        assert_eq!((one.version, one.again), (1, None));
        assert!(one.body.contains("catalogue") && !one.served.contains("catalogue"));
        assert!(matches!(publish(&store, "d1", 1, &prices(), &actor(), 11).await, Err(DocumentError::NotFound)), "it is gone");

        // A draft begins with what is in force.
        let second = draft(&store, "d2", None).await;
        assert_eq!((second.body.as_str(), second.based_on), (one.body.as_str(), 1));
        let changed = Draft { body: document("two"), changed_at: 20, ..second };
        let changed = change(&store, &changed, 1, false, &actor()).await.unwrap();
        assert_eq!(changed.revision, 2);
        let late = publish(&store, "d2", 1, &prices(), &actor(), 21).await;
        assert!(matches!(late, Err(DocumentError::Changed { revision: 2 })), "{late:?}");
        let late = change(&store, &changed, 1, false, &actor()).await;
        assert!(matches!(late, Err(DocumentError::Changed { revision: 2 })), "{late:?}");
        publish(&store, "d2", 2, &prices(), &actor(), 22).await.unwrap();

        let stale = publish_again(&store, 1, 1, "back", &actor(), 30).await;
        assert!(matches!(stale, Err(DocumentError::Outdated { version: 2 })), "{stale:?}");
        let missing = publish_again(&store, 9, 2, "back", &actor(), 30).await;
        assert!(matches!(missing, Err(DocumentError::NotFound)), "{missing:?}");
        let again = publish_again(&store, 1, 2, "back", &actor(), 31).await.unwrap();
        assert_eq!((again.version, again.again, &again.etag), (3, Some(1), &one.etag));

        let mut transaction = store.read().await.unwrap();
        assert_eq!(documents::current(&mut transaction).await.unwrap(), Some(again));
        let history = documents::history(&mut transaction, 3, 10).await.unwrap();
        assert_eq!(history.iter().map(|document| document.version).collect::<Vec<_>>(), [2, 1]);
        let audit = audit::list(&mut transaction, &AuditFilter::default(), i64::MAX, 20).await.unwrap();
        let actions: Vec<_> = audit.iter().rev().map(|(_, entry)| format!("{} {}", entry.action, entry.object)).collect();
        assert_eq!(actions, ["draft.create d1", "document.publish 1", "draft.create d2", "draft.change d2", "document.publish 2", "document.publish 3"]);
    }
}

on_both! {
    async fn an_invalid_draft_stays_one(database: &TestDatabase) {
        let store = database.open().await;
        draft(&store, "d", Some(document("not an id!"))).await;
        let Err(DocumentError::Invalid(problems)) = publish(&store, "d", 1, &prices(), &actor(), 2).await else {
            panic!("it is published");
        };
        assert_eq!(problems.0[0].path, "groups[0].id");
        let mut transaction = store.read().await.unwrap();
        assert!(drafts::find(&mut transaction, "d").await.unwrap().is_some());
        assert_eq!(documents::current(&mut transaction).await.unwrap(), None);
    }
}

on_both! {
    /// Of two that were begun from one version, the second is not published over the first.
    async fn no_publication_is_lost(database: &TestDatabase) {
        let consoles = [database.open().await, database.open().await];
        let ids: Vec<_> = (0..6).map(|number| format!("d{number}")).collect();
        for id in &ids {
            draft(&consoles[0], id, Some(document(id))).await;
        }
        let tasks: Vec<_> = ids.iter().cloned().enumerate().map(|(number, id)| {
            let store = consoles[number % 2].clone();
            tokio::spawn(async move { publish(&store, &id, 1, &prices(), &actor(), 5).await })
        }).collect();
        let mut published = 0;
        for task in tasks {
            match task.await.unwrap() {
                Ok(document) => {
                    assert_eq!(document.version, 1);
                    published += 1;
                }
                Err(error) => assert!(matches!(error, DocumentError::Outdated { version: 1 }), "{error:?}"),
            }
        }
        assert_eq!(published, 1);
        // One who has seen the new version may go on from it.
        let mut transaction = consoles[0].read().await.unwrap();
        let drafts = drafts::list(&mut transaction, "", 10).await.unwrap();
        assert_eq!(drafts.len(), 5, "the others are still there");
        let mine = drafts::find(&mut transaction, &drafts[0].id).await.unwrap().unwrap();
        transaction.rollback().await;
        let mine = change(&consoles[1], &mine, 1, true, &actor()).await.unwrap();
        assert_eq!(publish(&consoles[1], &mine.id, 2, &prices(), &actor(), 6).await.unwrap().version, 2);
    }
}

/// A document with an account that names these files.
fn naming(credential: &str, ca: &str) -> String {
    format!(
        r#"{{"currency": "USD", "keys": [], "groups": [{{"id": "s", "protocol": "A", "clients": "current", "multiplier": "1",
            "accounts": [{{"id": "one", "url": "https://mallory.example", "credential": "{credential}"{ca}}}],
            "models": [{{"id": "m", "free": true}}]}}]}}"#
    )
}

on_both! {
    /// Lets a document name no file of the gateways' machines: its editor is not their operator.
    async fn files_of_the_gateways_machines(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        for (case, credential, ca, member) in [
            ("a plain name", "openai", "", None),
            ("a path", "/var/lib/trilane/console/sealing.keys", "", Some("credential")),
            ("upwards", "../agent/agent.json", "", Some("credential")),
            ("authorities by a path", "openai", r#", "ca": "/etc/shadow""#, Some("ca")),
        ] {
            let body = naming(credential, ca);
            let draft = api.post(&admin, "/api/v1/drafts", &json!({"body": body})).await.expect(201);
            let path = format!("/api/v1/drafts/{}", draft["id"].as_str().unwrap());
            let check = api.get(&admin, &format!("{path}/check")).await.expect(200);
            let places: Vec<_> = check["problems"].as_array().into_iter().flatten().map(|problem| problem["path"].clone()).collect();
            let want: Vec<_> = member.iter().map(|member| json!(format!("groups[0].accounts[0].{member}"))).collect();
            assert_eq!(places, want, "{case}: {check}");
            let published = api.call(&admin, Method::POST, &format!("{path}/publish"), &[("if-match", "\"1\"")], &Value::Null).await;
            assert_eq!(published.status.as_u16(), if member.is_some() { 422 } else { 201 }, "{case}: {}", published.text);
        }
        // One that a console of before has published is not published again.
        let old = naming("/etc/shadow", "").replace('\'', "''");
        database.execute(&format!("UPDATE documents SET body = '{old}', served = '{old}' WHERE version = 1")).await.unwrap();
        let again = api.call(&admin, Method::POST, "/api/v1/documents/1/publish", &[("if-match", "*")], &json!({})).await;
        assert_ne!(again.status.as_u16(), 201, "{}", again.text);
        let store = database.open().await;
        let again = publish_again(&store, 1, 1, "", &actor(), 40).await;
        assert!(matches!(again, Err(DocumentError::Invalid(_))), "{again:?}");
    }
}

on_both! {
    /// Tells which keys gain or lose models before a draft is published: the document's, and the console's.
    async fn who_gains_or_loses_models(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let document = |models: &[&str]| {
            let models: Vec<Value> = models.iter().map(|id| json!({"id": id, "free": true})).collect();
            json!({"groups": [{"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c", "models": models}],
                "keys": [{"id": "written", "sha256": "0".repeat(64), "group": "g"}]}).to_string()
        };
        publish_one(&api, &admin, &document(&["x", "y"])).await;
        for (id, models) in [("k1", Value::Null), ("k2", Value::Null), ("own", json!(["x"])), ("other", json!(["y"]))] {
            api.post(&admin, "/api/v1/keys", &json!({"id": id, "group": "g", "models": models})).await.expect(201);
        }
        for (case, models, want) in [
            ("the same", &["x", "y"][..], json!([])),
            ("one more", &["x", "y", "z"], json!([["3 keys (written, k1, k2) gain z", 3, ["z"], []]])),
            ("one for another", &["y", "z"], json!([
                ["1 key (own) loses x", 1, [], ["x"]],
                ["3 keys (written, k1, k2) gain z, and lose x", 3, ["z"], ["x"]],
            ])),
        ] {
            let body = json!({"body": document(models)});
            let draft = api.post(&admin, "/api/v1/drafts", &body).await.expect(201);
            let id = draft["id"].as_str().unwrap();
            let check = api.get(&admin, &format!("/api/v1/drafts/{id}/check")).await.expect(200);
            let changes = check["model_changes"].as_array().unwrap().iter();
            let told: Vec<Value> = changes.map(|one| json!([one["sentence"], one["keys"], one["gained"], one["lost"]])).collect();
            assert_eq!(json!(told), want, "{case}");
        }
    }
}

on_both! {
    /// A draft says in words what it does: prices and limits, and accounts whose credential is not here.
    async fn what_a_draft_does(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let document = |input: &str, multiplier: &str, second: bool| {
            let mut accounts = vec![json!({"id": "one", "url": "https://one.example", "credential": "one"})];
            if second {
                accounts.push(json!({"id": "two", "url": "https://two.example", "credential": "two"}));
            }
            json!({"groups": [{"id": "g", "name": "Group", "protocol": "A", "multiplier": multiplier, "accounts": accounts,
                "models": [{"id": "x", "prices": {"input": input, "output": "8"}}]}], "keys": []}).to_string()
        };
        publish_one(&api, &admin, &document("1", "1", false)).await;
        for (id, multiplier) in [("k1", Value::Null), ("k2", Value::Null), ("own", json!("2"))] {
            api.post(&admin, "/api/v1/keys", &json!({"id": id, "group": "g", "multiplier": multiplier})).await.expect(201);
        }
        for (case, text, prices, nobody, settings, missing) in [
            ("the same", document("1", "1", false), json!([]), true, json!([]), json!([["one", false]])),
            ("a price", document("1.5", "1", false), json!([
                ["The price of x rises for 1 key (own): input from 2.00 to 3.00", "rises"],
                ["The price of x rises for 2 keys (k1, k2): input from 1.00 to 1.50", "rises"],
            ]), false, json!([]), json!([["one", false]])),
            ("a multiplier, and an account", document("1", "0.5", true), json!([
                ["The price of x falls for 2 keys (k1, k2): input from 1.00 to 0.50; output from 8.00 to 4.00", "falls"],
            ]), true, json!([
                "Requests of Group are charged at 0.5 times the list price instead of 1.",
                "The account two of Group is new. It shares the requests with the others.",
            ]), json!([["one", false], ["two", true]])),
        ] {
            let draft = api.post(&admin, "/api/v1/drafts", &json!({"body": text})).await.expect(201);
            let path = format!("/api/v1/drafts/{}/check", draft["id"].as_str().unwrap());
            let check = api.get(&admin, &path).await.expect(200);
            let mut told: Vec<Value> = check["price_changes"].as_array().unwrap().iter()
                .map(|one| json!([one["sentence"], one["direction"]])).collect();
            told.sort_by_key(|one| !one[0].to_string().contains("own"));
            assert_eq!(json!(told), prices, "{case}");
            assert_eq!(check["nobody_pays_more"], nobody, "{case}");
            assert_eq!(check["setting_changes"], settings, "{case}");
            let lacking: Vec<Value> = check["missing_credentials"].as_array().unwrap().iter()
                .map(|one| json!([one["account"], one["is_new"]])).collect();
            assert_eq!(json!(lacking), missing, "{case}");
        }
    }
}
