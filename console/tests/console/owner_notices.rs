//! Mails to people about their own keys and budgets.

use http::Method;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use trilane_console::cases::Role;
use trilane_console::maintenance::{self, Retention};
use trilane_console::store::Store;
use trilane_console::timestamp;
use trilane_console::webhooks::delivery;
use trilane_console::webhooks::owner_mail::OwnerMails;
use trilane_console::webhooks::owner_watch::OwnerWatch;
use trilane_console::webhooks::watch::BudgetWatch;

use crate::api::Api;
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};
use crate::spend_feed::line;

fn mails() -> OwnerMails {
    OwnerMails {
        console: Some("https://c.example".to_owned()),
    }
}

/// The mails that are due, each sent once here: address and sentence.
async fn sent(store: &Store, now: OffsetDateTime) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(message) = delivery::take(store, || None, now).await.unwrap() {
        let body: Value = serde_json::from_str(&message.body).unwrap();
        let mail = body["mail"].as_str().unwrap();
        assert!(mail.contains("https://c.example/"), "{mail}");
        let text = body["text"].as_str().unwrap();
        assert!(mail.starts_with(text), "{mail}");
        all.push(format!(
            "{} {text}",
            message.url.trim_start_matches("mailto:")
        ));
        delivery::close(store, &message, Ok(()), now).await.unwrap();
    }
    all.sort();
    all
}

/// The mails of two consoles that look at budgets at once.
async fn of_budgets(stores: [&Store; 2], now: OffsetDateTime) -> Vec<String> {
    let look = async |store: &Store| {
        while BudgetWatch::new(Some(mails()))
            .look(store, now)
            .await
            .unwrap()
        {}
        sent(store, now).await
    };
    let (one, two) = tokio::join!(look(stores[0]), look(stores[1]));
    let mut all = [one, two].concat();
    all.sort();
    all
}

/// The mails of two consoles that look at keys at once.
async fn of_keys(stores: [&Store; 2], now: OffsetDateTime) -> Vec<String> {
    let look = async |store: &Store| {
        OwnerWatch::new(mails()).look(store, now).await.unwrap();
        sent(store, now).await
    };
    let (one, two) = tokio::join!(look(stores[0]), look(stores[1]));
    let mut all = [one, two].concat();
    all.sort();
    all
}

async fn choose(api: &Api, admin: &str, person: &str, choice: Value) {
    let path = format!("/api/v1/people/{person}/notices");
    api.call(admin, Method::PATCH, &path, &[], &choice)
        .await
        .expect(200);
}

on_both! {
    /// Owners, and managers of teams and of groups, once for each period and percent; of two percents at once the greater.
    async fn of_budgets_once(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let mut written: Value = serde_json::from_str(&document("g", PRICES)).unwrap();
        written["groups"][0]["limits"] = json!({"budget": {"per_month": "100"}});
        publish(&api, &admin, &written.to_string()).await;
        for person in ["ann", "bob", "mute", "gone"] {
            api.person(person, Role::Member).await;
            choose(&api, &admin, person, json!({"email": format!("{person}@example.com")})).await;
        }
        choose(&api, &admin, "bob", json!({"language": "zh-CN"})).await;
        choose(&api, &admin, "mute", json!({"budgets": false})).await;
        let (put, patch) = (Method::PUT, Method::PATCH);
        api.post(&admin, "/api/v1/teams", &json!({"id": "blue", "name": "Blue"})).await.expect(201);
        for (person, manages) in [("ann", false), ("bob", true), ("mute", true), ("gone", true)] {
            api.call(&admin, put.clone(), &format!("/api/v1/teams/blue/members/{person}"), &[], &json!({"manager": manages})).await.expect(200);
        }
        api.call(&admin, patch, "/api/v1/people/gone", &[], &json!({"disabled": true})).await.expect(200);
        api.call(&admin, put.clone(), "/api/v1/budgets/owner/ann", &[], &json!({"per_month": "10"})).await.expect(200);
        api.call(&admin, put, "/api/v1/budgets/team/blue", &[], &json!({"per_month": "20"})).await.expect(200);
        let limits = json!({"budget": {"per_month": "2"}});
        api.post(&admin, "/api/v1/keys", &json!({"id": "k", "group": "g", "owner": "ann", "team": "blue", "label": "laptop", "limits": limits})).await.expect(201);
        let (now, other) = (OffsetDateTime::now_utc(), database.open().await);
        let mut files = 0;
        let mut spend = async |charge: &str| {
            files += 1;
            let path = format!("/api/v1/ledger/e/f{files}?from=0");
            let kinds = ["key", "owner", "team", "group"];
            api.ledger(&admin, &path, &line("k", "blue", charge, &kinds, "i")).await.expect(200);
            of_budgets([&api.store, &other], now).await
        };
        for (charge, want) in [
            ("1.59", &[][..]),
            ("0.01", &["ann@example.com This month's budget of your key laptop is 80 % spent: $1.60 of $2.00."]),
            ("0.01", &[]),
            ("0.39", &["ann@example.com This month's budget of your key laptop is 100 % spent: $2.00 of $2.00."]),
            // The owner's budget passes both percents at once, and is told of the greater; the team's passes one.
            ("14", &[
                "ann@example.com This month's budget of all your keys is 100 % spent: $16.00 of $10.00.",
                "bob@example.com 你的团队 Blue 的本月预算已用 80 %：$16.00 / $20.00。",
            ]),
            // Managers do not see what others spend of a group.
            ("65", &[
                "bob@example.com 你的团队 Blue 的本月预算已用 100 %：$81.00 / $20.00。",
                "bob@example.com 分组 g 的本月预算已用 80 %。",
            ]),
            ("1", &[]),
        ] {
            assert_eq!(spend(charge).await, want, "{charge}");
        }
        // Without a mail server nobody is mailed.
        choose(&api, &admin, "mute", json!({"budgets": true})).await;
        while BudgetWatch::default().look(&api.store, now).await.unwrap() {}
        assert_eq!(sent(&api.store, now).await, [""; 0]);
        api.was_well();
    }
}

on_both! {
    /// A week and a day before the end, once each; and once when nobody uses a key, for as long as it is there.
    async fn of_keys_once(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let ann = api.person("ann", Role::Member).await;
        publish(&api, &admin, &document("g", PRICES)).await;
        let other = database.open().await;
        let stores = [&api.store, &other];
        let start = OffsetDateTime::now_utc();
        let in_days = |days: i64| start + Duration::days(days);
        let at = |days: i64| timestamp::text(in_days(days).replace_nanosecond(0).unwrap());
        let key = async |id: &str, expires_at: Option<String>| {
            let new = json!({"id": id, "group": "g", "owner": "ann", "label": format!("Key {id}"), "expires_at": expires_at});
            api.post(&admin, "/api/v1/keys", &new).await.expect(201);
        };
        key("ending", Some(at(30))).await;
        key("lasting", None).await;
        key("off", Some(at(30))).await;
        key("of-a-client", Some(at(30))).await;
        database.execute("INSERT INTO client_sign_ins VALUES ('of-a-client', 'ann', 'r1', 'c', '', '', 1, 1, 1, 1, 9000000000000000)").await.unwrap();
        let patch = async |path: &str, body: Value| api.call(&admin, Method::PATCH, path, &[], &body).await.expect(200);
        patch("/api/v1/keys/off", json!({"disabled": true})).await;
        assert_eq!(of_keys(stores, in_days(24)).await, [""; 0], "there is no address");

        let own = "/api/v1/me/notices";
        api.call(&ann, Method::PATCH, own, &[], &json!({"email": "ann@example.com"})).await.expect(200);
        let end = |days: i64| format!("ann@example.com Your key Key ending expires at {} UTC.", &at(days)[..16].replace('T', " "));
        assert_eq!(of_keys(stores, in_days(22)).await, [""; 0], "eight days before");
        for (days, want) in [(23, vec![end(30)]), (24, vec![]), (29, vec![end(30)])] {
            assert_eq!(of_keys(stores, in_days(days) + Duration::MINUTE).await, want, "on day {days}");
        }
        // Another end is another event; and what expires within a day is not told as of a week.
        patch("/api/v1/keys/ending", json!({"expires_at": at(31)})).await;
        assert_eq!(of_keys(stores, in_days(30) + Duration::MINUTE).await, [end(31)]);
        patch("/api/v1/keys/ending", json!({"expires_at": at(60)})).await;
        api.call(&ann, Method::PATCH, own, &[], &json!({"expiring": false})).await.expect(200);
        assert_eq!(of_keys(stores, in_days(59)).await, [""; 0], "it is not wanted");

        // The last use of the one key, and the making of the other.
        let used = json!({"timestamp": at(0), "duration_ms": 0, "http.response.status_code": 200, "trilane.usage.status": "complete",
            "trilane.key.id": "ending", "trilane.key.owner": "ann", "trilane.group": "g"});
        patch("/api/v1/keys/ending", json!({"expires_at": null})).await;
        database.execute("DELETE FROM key_use").await.unwrap();
        api.ledger(&admin, "/api/v1/ledger/e/f?from=0", &format!("{used}\n")).await.expect(200);
        let unused = of_keys(stores, in_days(61)).await;
        assert_eq!(unused.len(), 2, "{unused:?}");
        for (told, name) in unused.iter().zip(["ending", "lasting"]) {
            let want = format!("ann@example.com Your key Key {name} was not used since {}", &at(0)[..10]);
            assert!(told.starts_with(&want), "{told}");
        }
        // Told once, also when old messages were forgotten; of a key that is gone nothing is kept.
        let kept = async || database.dump().await.matches("own.key_unused").count();
        let days = Retention { removals: 30, requests: 30 };
        maintenance::run(&api.store, days).await.unwrap();
        assert_eq!(kept().await, 2);
        assert_eq!(of_keys(stores, in_days(400)).await, [""; 0]);
        api.call(&admin, Method::DELETE, "/api/v1/keys/lasting", &[], &Value::Null).await.expect(204);
        maintenance::run(&api.store, days).await.unwrap();
        assert_eq!(kept().await, 1);
        api.was_well();
    }
}

on_both! {
    /// Twenty within a day; what is left follows on the next.
    async fn a_day_is_bounded(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        api.person("ann", Role::Member).await;
        publish(&api, &admin, &document("g", PRICES)).await;
        choose(&api, &admin, "ann", json!({"email": "ann@example.com"})).await;
        let other = database.open().await;
        let start = OffsetDateTime::now_utc();
        let expires_at = timestamp::text((start + Duration::days(6)).replace_nanosecond(0).unwrap());
        for n in 0..25 {
            let new = json!({"id": format!("k{n:02}"), "group": "g", "owner": "ann", "expires_at": expires_at});
            api.post(&admin, "/api/v1/keys", &new).await.expect(201);
        }
        let mut told = Vec::new();
        for hours in [25, 26, 50, 51] {
            told.push(of_keys([&api.store, &other], start + Duration::hours(hours)).await.len());
        }
        assert_eq!(told, [20, 0, 5, 0]);
        api.was_well();
    }
}

on_both! {
    /// One's own, and those of others for admins; the audit has no address.
    async fn whose_choice_it_is(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let (ann, viewer) = (api.person("ann", Role::Member).await, api.person("vic", Role::Viewer).await);
        let (own, of_ann) = ("/api/v1/me/notices", "/api/v1/people/ann/notices");
        let patch = async |token: &str, path: &str, body: Value| api.call(token, Method::PATCH, path, &[], &body).await;
        let all = json!({"budgets": true, "expiring": true, "unused": true, "language": "en", "has_mail_server": false});
        assert_eq!(api.get(&ann, own).await.expect(200), all, "all are on");
        for wrong in ["ann", "a@example.com,b@example.com", "a@example.com\r\nBcc: b@example.com", "", "mailto:a@example.com", " a@example.com"] {
            let problem = patch(&ann, own, json!({"email": wrong})).await.problem(422);
            assert_eq!(problem["problems"][0]["path"], "email", "{wrong:?}: {problem}");
        }
        let problem = patch(&ann, own, json!({"language": "zh"})).await.problem(422);
        assert_eq!(problem["problems"][0], json!({"path": "language", "reason": "must be one of en, zh-CN"}));
        let mine = patch(&ann, own, json!({"email": "ann@example.com", "unused": false, "language": "zh-CN"})).await.expect(200);
        let want = json!({"email": "ann@example.com", "budgets": true, "expiring": true, "unused": false, "language": "zh-CN", "has_mail_server": false});
        assert_eq!(mine, want);
        assert_eq!(api.get(&admin, of_ann).await.expect(200), want);
        patch(&viewer, own, json!({"email": "vic@example.com"})).await.expect(200);
        for (token, status) in [(&viewer, 403), (&ann, 403)] {
            api.get(token, of_ann).await.problem(status);
            patch(token, of_ann, json!({"email": null})).await.problem(status);
        }
        api.get(&admin, "/api/v1/people/nobody/notices").await.problem(404);
        let audit = api.get(&admin, "/api/v1/audit").await.expect(200);
        assert_eq!(audit["items"].as_array().unwrap().iter().filter(|of| of["action"] == "person.notices").count(), 2);
        assert!(!audit.to_string().contains("@example.com"), "{audit}");
        let none = patch(&admin, of_ann, json!({"email": null})).await.expect(200);
        assert!(none.get("email").is_none() && none["unused"] == false, "{none}");
        api.was_well();
    }
}

on_both! {
    /// Mails that wait are not sent once there is no address.
    async fn an_address_that_is_taken_away(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        api.person("ann", Role::Member).await;
        publish(&api, &admin, &document("g", PRICES)).await;
        choose(&api, &admin, "ann", json!({"email": "ann@example.com"})).await;
        let start = OffsetDateTime::now_utc();
        let expires_at = timestamp::text((start + Duration::days(6)).replace_nanosecond(0).unwrap());
        api.post(&admin, "/api/v1/keys", &json!({"id": "k", "group": "g", "owner": "ann", "expires_at": expires_at})).await.expect(201);
        let later = start + Duration::days(2);
        OwnerWatch::new(mails()).look(&api.store, later).await.unwrap();
        choose(&api, &admin, "ann", json!({"email": null})).await;
        assert_eq!(delivery::take(&api.store, || None, later).await.unwrap(), None);
        // With the person all of it goes.
        api.call(&admin, Method::DELETE, "/api/v1/people/ann/data", &[], &Value::Null).await.expect(202);
        let dump = database.dump().await;
        assert!(!dump.contains("own.key_expiring"), "{dump}");
        api.was_well();
    }
}
