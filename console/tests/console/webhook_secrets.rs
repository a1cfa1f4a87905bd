//! The secrets that sign webhooks' messages: sealed, shown once, and of no use in another row.

use http::Method;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use trilane_console::cases::Role;
use trilane_console::in_transaction;
use trilane_console::store::webhooks as stored;
use trilane_console::store::{Store, StoreError};
use trilane_console::webhooks::delivery::{self, DueMessage};
use trilane_console::webhooks::secrets;
use trilane_console::webhooks::watch::BudgetWatch;

use crate::api::Api;
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};
use crate::page_security::{PASSWORD, get, post, session, with_password};
use crate::spend_feed::line;

const URL: &str = "https://example.com/hook";

/// Adds a webhook: its id and its secret.
async fn add(api: &Api, admin: &str, url: &str) -> (String, String) {
    let once = [("idempotency-key", url)];
    let body = json!({"url": url, "thresholds": [50]});
    let path = "/api/v1/webhooks";
    let made = api.call(admin, Method::POST, path, &once, &body).await;
    let made = made.expect(201);
    let again = api.call(admin, Method::POST, path, &once, &body).await;
    assert_eq!(again.expect(201), json!({"webhook": made["webhook"]}));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&made["webhook"]["id"]), text(&made["secret"]))
}

/// Has a message put into the database for every webhook.
async fn spend(api: &Api, admin: &str, team: &str) -> OffsetDateTime {
    let budget = format!("/api/v1/budgets/team/{team}");
    let body = json!({"per_month": "1"});
    let set = api.call(admin, Method::PUT, &budget, &[], &body).await;
    set.expect(200);
    let path = format!("/api/v1/ledger/e/{team}?from=0");
    let spent = line("k", team, "1", &["team"], "i");
    api.ledger(admin, &path, &spent).await.expect(200);
    let now = OffsetDateTime::now_utc();
    while BudgetWatch::default().look(&api.store, now).await.unwrap() {}
    now
}

/// All messages that are due, with the keys of the file as it is, in the order of their addresses.
async fn due(api: &Api, store: &Store, now: OffsetDateTime) -> Vec<DueMessage> {
    let mut all = Vec::new();
    while let Some(message) = delivery::take(store, || api.sealing_keys.read().ok(), now)
        .await
        .unwrap()
    {
        all.push(message);
    }
    all.sort_by_key(|message| message.url.clone());
    all
}

async fn begin(api: &Api) -> String {
    let admin = api.person("root", Role::Admin).await;
    publish(api, &admin, &document("g", PRICES)).await;
    admin
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

on_both! {
    async fn are_sealed_and_sign(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = begin(&api).await;
        let (id, secret) = add(&api, &admin, URL).await;
        let now = spend(&api, &admin, "red").await;
        let messages = due(&api, &api.store, now).await;
        let [message] = messages.as_slice() else {
            panic!("{messages:?}");
        };
        let want = delivery::signature(&secret, 5, &message.body);
        assert_eq!(message.signature(5), Ok(want));
        assert!(!format!("{message:?}").contains(&secret));
        delivery::close(&api.store, message, Err("it answers 500"), now).await.unwrap();

        let dump = database.dump().await;
        assert!(dump.contains("webhook.create") && dump.contains(&id) && dump.contains("sealed-1:"));
        assert!(!dump.contains(&secret) && !dump.contains(&hex(&secret)), "it is in the database");
        api.was_well();
    }
}

on_both! {
    /// A secret that somebody copies to another row, or whose row somebody leads elsewhere, signs nothing.
    async fn are_of_no_use_elsewhere(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = begin(&api).await;
        let (first, _) = add(&api, &admin, "https://a.example/").await;
        let (second, _) = add(&api, &admin, "https://b.example/").await;
        let opened = async |team: &str| {
            let now = spend(&api, &admin, team).await;
            let all = due(&api, &api.store, now).await;
            all.iter().map(|message| message.signature(5).is_ok()).collect::<Vec<bool>>()
        };
        assert_eq!(opened("red").await, [true, true]);
        let copy = format!("UPDATE webhooks SET secret = (SELECT secret FROM webhooks WHERE id = '{first}') WHERE id = '{second}'");
        database.execute(&copy).await.unwrap();
        assert_eq!(opened("blue").await, [true, false], "of another address");
        // The address as well, so that the id alone is another one.
        let lead = "UPDATE webhooks SET url = 'https://a.example/'";
        database.execute(lead).await.unwrap();
        let mut both = opened("green").await;
        both.sort_unstable();
        assert_eq!(both, [false, true], "of another id");
        database.execute("UPDATE webhooks SET url = 'https://thief.example/'").await.unwrap();
        assert_eq!(opened("grey").await, [false, false], "led elsewhere");
        let keys = api.sealing_keys.read().unwrap();
        assert_eq!(secrets::unreadable(&api.store, Some(&keys)).await.unwrap(), (2, 2));
        api.was_well();
    }
}

on_both! {
    /// Without the file of keys nothing is signed and nobody added; once it is back, what was waiting is sent.
    async fn wait_for_their_key(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = begin(&api).await;
        let (_, secret) = add(&api, &admin, URL).await;
        let aside = api.sealing_keys.path().with_extension("aside");
        std::fs::rename(api.sealing_keys.path(), &aside).unwrap();
        let body = json!({"url": "https://b.example/"});
        let problem = api.post(&admin, "/api/v1/webhooks", &body).await.problem(409);
        assert_eq!(problem["type"], "/problems/no-sealing-key");
        let listed = api.get(&admin, "/api/v1/webhooks").await.expect(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), 1);
        assert_eq!(secrets::unreadable(&api.store, None).await.unwrap(), (1, 1));

        let now = spend(&api, &admin, "red").await;
        let messages = due(&api, &api.store, now).await;
        assert_eq!((messages.len(), &messages[0].secret), (1, &None));
        let why = messages[0].signature(5).unwrap_err();
        assert!(why.contains("cannot be opened"), "{why}");
        delivery::close(&api.store, &messages[0], Err(why), now).await.unwrap();
        assert!(database.dump().await.contains(why), "whoever looks for the reason finds it");
        // Another key is none of its own.
        assert!(api.sealing_keys.create().unwrap());
        let now = now + Duration::seconds(11);
        let messages = due(&api, &api.store, now).await;
        assert_eq!((messages.len(), &messages[0].secret), (1, &None));
        delivery::close(&api.store, &messages[0], Err(why), now).await.unwrap();

        std::fs::rename(&aside, api.sealing_keys.path()).unwrap();
        let messages = due(&api, &api.store, now + Duration::seconds(21)).await;
        let want = delivery::signature(&secret, 5, &messages[0].body);
        assert_eq!(messages[0].signature(5), Ok(want));
    }
}

on_both! {
    /// A console that seals nothing adds none but e-mail, and its page says so.
    async fn none_without_a_key(database: &TestDatabase) {
        let texts = ["so only e-mail can be added", "Add a receiver"];
        let shown = async |api: &Api| {
            let fields = [("person", "ann"), ("password", PASSWORD)];
            let cookie = session(&post(api, "/sign-in", "", &fields).await);
            let page = get(api, "/settings", &cookie).await;
            assert_eq!(page.status.as_u16(), 200);
            texts.map(|text| page.text.contains(text))
        };
        let api = Api::without_sealing_keys(database).await;
        with_password(&api, "ann", Role::Admin).await;
        let admin = api.person("root", Role::Admin).await;
        let problem = api.post(&admin, "/api/v1/webhooks", &json!({"url": URL})).await.problem(409);
        assert_eq!(problem["type"], "/problems/no-sealing-key");
        assert_eq!(api.get(&admin, "/api/v1/webhooks").await.expect(200)["items"], json!([]));
        assert_eq!(shown(&api).await, [true, true]);
        api.was_well();
        assert_eq!(shown(&Api::new(database).await).await, [false, true]);
    }
}

on_both! {
    /// Signs as before with the secrets that an earlier console has left, sealed or not.
    async fn of_before_are_sealed(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = begin(&api).await;
        let plain = "tlw-of-a-console-of-before";
        let insert = format!("INSERT INTO webhooks (id, kind, url, secret, thresholds, language, created_at) VALUES ('webhook_0', 'webhook', '{URL}', '{plain}', '[50]', 'en', 0)");
        database.execute(&insert).await.unwrap();
        add(&api, &admin, "https://z.example/").await;
        let signed = async |store: &Store, team: &str| {
            let now = spend(&api, &admin, team).await;
            let all = due(&api, store, now).await;
            let [first, second] = all.as_slice() else {
                panic!("{all:?}");
            };
            assert_eq!(first.signature(5), Ok(delivery::signature(plain, 5, &first.body)), "{team}");
            assert!(second.signature(5).is_ok(), "{team}");
        };
        assert_eq!(secrets::unreadable(&api.store, None).await.unwrap(), (1, 2), "what is not sealed needs no key");
        signed(&api.store, "red").await;
        let keys = api.sealing_keys.read().unwrap();
        // Two consoles start at once.
        let other = database.open().await;
        let (one, two) = tokio::join!(secrets::seal_plain(&api.store, &keys), secrets::seal_plain(&other, &keys));
        assert_eq!(one.unwrap() + two.unwrap(), 1);
        assert!(!database.dump().await.contains(plain));
        assert_eq!(secrets::seal_plain(&api.store, &keys).await.unwrap(), 0);
        assert_eq!(secrets::unreadable(&api.store, Some(&keys)).await.unwrap(), (0, 2));
        signed(&other, "blue").await;

        // More than one list has.
        let many = (0..230).map(|n| insert.replace("webhook_0", &format!("webhook_more_{n}")));
        database.execute(&many.collect::<Vec<String>>().join(";")).await.unwrap();
        assert_eq!(secrets::seal_plain(&api.store, &keys).await.unwrap(), 230);
        assert!(!database.dump().await.contains(plain));
        api.was_well();
    }
}

on_both! {
    async fn are_sealed_anew(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = begin(&api).await;
        let (_, secret) = add(&api, &admin, URL).await;
        let plain = format!("INSERT INTO webhooks (id, kind, url, secret, thresholds, language, created_at) VALUES ('webhook_0', 'webhook', '{URL}', '{secret}', '[50]', 'en', 0)");
        let before = api.sealing_keys.read().unwrap();
        api.sealing_keys.add().unwrap();
        let both = api.sealing_keys.read().unwrap();
        let signs = async |team: &str| {
            let now = spend(&api, &admin, team).await;
            let all = due(&api, &api.store, now).await;
            assert!(!all.is_empty());
            all.iter().all(|message| message.signature(5) == Ok(delivery::signature(&secret, 5, &message.body)))
        };
        assert!(signs("red").await, "a key was added, and nothing is sealed anew yet");
        // Another console removes or seals one meanwhile.
        let mut transaction = api.store.read().await.unwrap();
        let stale = stored::list(&mut transaction, "", 10).await.unwrap().remove(0);
        transaction.rollback().await;
        assert_eq!(secrets::reseal(&api.store, &both).await.unwrap(), (1, 0));
        let late: Result<bool, StoreError> = in_transaction!(api.store, transaction => stored::reseal(transaction, &stale, "late").await);
        assert!(!late.unwrap());

        database.execute(&plain).await.unwrap();
        assert_eq!(secrets::reseal(&api.store, &both).await.unwrap(), (1, 0), "what is not sealed");
        assert_eq!(secrets::reseal(&api.store, &both).await.unwrap(), (0, 0));
        assert!(!database.dump().await.contains(&secret));
        api.sealing_keys.forget_others().unwrap();
        assert!(signs("blue").await, "the old key is not needed any more");
        assert_eq!(secrets::unreadable(&api.store, Some(&before)).await.unwrap(), (2, 2));

        // The file is lost: another console has another key.
        std::fs::remove_file(api.sealing_keys.path()).unwrap();
        api.sealing_keys.create().unwrap();
        let lost = api.sealing_keys.read().unwrap();
        assert_eq!(secrets::unreadable(&api.store, Some(&lost)).await.unwrap(), (2, 2));
        assert_eq!(secrets::reseal(&api.store, &lost).await.unwrap(), (0, 2));
        assert!(!signs("green").await);
        api.was_well();
    }
}
