//! A person's data is erased: nothing of the person is left in any table, and no sum is another one.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::datetime;
use trilane_console::cases::Role;
use trilane_console::passwords::Password;
use trilane_console::secret::NewSecret;
use trilane_console::sessions::{self, SignInSource};
use trilane_console::store::audit::{self, Actor};
use trilane_console::store::people::{self, Person};
use trilane_console::store::{StoreError, key_grams, usage_days};
use trilane_console::webhooks::watch::BudgetWatch;
use trilane_console::{first_admin, in_transaction};

use crate::api::{Api, ApiReply};
use crate::database::{TestDatabase, on_both};
use crate::ledger::stored;
use crate::lives::{PRICES, document, publish};
use crate::{ledger, spend_feed};

/// An id that JSON and paths write otherwise.
pub const ID: &str = "ann\"@example.org";
const IN_PATH: &str = "ann%22@example.org";
/// The texts that a person is known by, in any spelling.
pub const TRACES: [&str; 4] = ["@example.org", "Ann Example", "of Ann", "192.0.2.77"];

/// Lists the tables that have something of the person.
pub async fn traces(database: &TestDatabase) -> BTreeSet<String> {
    let dump = database.dump().await;
    dump.lines()
        .filter(|line| TRACES.iter().any(|trace| line.contains(trace)))
        .map(|line| line.split(' ').next().unwrap())
        // A partition has its day in its name.
        .map(|table| match table.strip_prefix("requests_") {
            Some(_) => "requests".to_owned(),
            None => table.to_owned(),
        })
        .collect()
}

/// A line of the person's key.
pub fn line(at: &str, key: &str, charge: &str) -> String {
    let owner = serde_json::to_string(ID).unwrap();
    let said = format!("{owner},\"trilane.client\":\"c/1\"");
    ledger::line(at, key, "m", charge).replace(&format!("\"owner of {key}\""), &said)
}

async fn call(api: &Api, token: &str, method: Method, path: &str, body: Value) -> ApiReply {
    let once = [("idempotency-key", path), ("if-match", "\"1\"")];
    api.call(token, method, &format!("/api/v1/{path}"), &once, &body)
        .await
}

async fn erase(api: &Api, token: &str, id: &str) -> ApiReply {
    let path = format!("people/{id}/data");
    call(api, token, Method::DELETE, &path, Value::Null).await
}

/// Waits until nothing is being erased any more.
async fn until_ended(api: &Api, token: &str) -> Value {
    api.until_ended(token, "/api/v1/erasures").await
}

/// Usage of whatever is in the database, by key, day and owner, and what was spent.
async fn sums(api: &Api, token: &str, owner: &str) -> Value {
    let get = async |path: &str| api.get(token, &format!("/api/v1/{path}")).await.expect(200);
    let spent = async |kind: &str, subject: &str, period: &str| {
        get(&format!(
            "spend?kind={kind}&subject={subject}&period={period}"
        ))
        .await["spent"]
            .clone()
    };
    let month = OffsetDateTime::now_utc().date().to_string()[..7].to_owned();
    json!([
        get("usage?by=key,day,model&limit=500").await,
        get("usage?by=hour,outcome&limit=500").await,
        get(&format!("usage?by=day,client&owner={owner}&limit=500")).await,
        get(&format!("usage?by=key,day&owner={owner}&limit=500")).await,
        spent("key", "ka", "2026-10-24").await,
        spent("owner", owner, "2026-10-24").await,
        spent("owner", owner, "2026-10").await,
        spent("owner", owner, &month).await,
        spent("member", &format!("{owner}@red"), &month).await,
        spent("group", "g", "2026-10").await,
    ])
}

/// Whether the search knows of the person's key.
async fn is_searched(database: &TestDatabase) -> bool {
    let dump = database.dump().await;
    dump.lines().any(|row| {
        row.starts_with("key_search ") && ["'ka'", "\"ka\""].iter().any(|id| row.contains(id))
    })
}

/// Does all that leaves something of a person. Their token, and that of a session.
async fn fill(api: &Api, root: &str) -> (String, NewSecret) {
    let (post, put, patch) = (Method::POST, Method::PUT, Method::PATCH);
    let new = json!({"id": ID, "name": "Ann Example", "role": "member"});
    call(api, root, post.clone(), "people", new)
        .await
        .expect(201);
    let path = format!("people/{IN_PATH}");
    call(api, root, patch, &path, json!({"role": "admin"}))
        .await
        .expect(200);
    let new = json!({"name": "phone of Ann", "person": ID});
    let made = call(api, root, post.clone(), "tokens", new)
        .await
        .expect(201);
    let token = made["value"].as_str().unwrap().to_owned();
    let link = format!("people/{IN_PATH}/sign-in-link");
    let made = call(api, root, post.clone(), &link, json!({}))
        .await
        .expect(201);
    let link_token = made["path"].as_str().unwrap().split_once('=').unwrap().1;
    let now = OffsetDateTime::now_utc().unix_timestamp() * 1_000_000;
    let address = "192.0.2.77";
    let session = sessions::by_link(
        &api.store,
        link_token,
        &SignInSource {
            address,
            ..SignInSource::default()
        },
        now,
    )
    .await
    .unwrap();
    let session = session.token;
    let actor = Actor {
        id: ID.to_owned(),
        address: address.to_owned(),
    };
    let password = Password::new("a long enough password");
    sessions::set_password(&api.store, session.reveal(), password, &actor, now)
        .await
        .unwrap();
    let again = api.post(root, &format!("/api/v1/{link}"), &json!({})).await;
    again.expect(201);

    call(
        api,
        root,
        post.clone(),
        "teams",
        json!({"id": "red", "allowance": {"keys": 2, "groups": ["g"],
            "limits": {"budget": {"per_month": "0.01"}}}}),
    )
    .await
    .expect(201);
    let member = format!("teams/red/members/{IN_PATH}");
    call(api, root, put.clone(), &member, json!({}))
        .await
        .expect(200);
    // A row of the dump is a line.
    let document = document("g", PRICES).replace('\n', " ");
    publish(api, root, &document).await;
    publish(api, &token, &document).await;
    call(
        api,
        &token,
        post.clone(),
        "drafts",
        json!({"note": "a change"}),
    )
    .await
    .expect(201);
    let credential =
        json!({"value": "sk-secret", "destinations": [{"url": "https://example.com"}]});
    call(api, &token, put.clone(), "credentials/main", credential).await;
    let key = json!({"id": "ka", "group": "g", "owner": ID, "label": "laptop of Ann"});
    call(api, root, post.clone(), "keys", key).await.expect(201);
    api.post(
        &token,
        "/api/v1/keys",
        &json!({"id": "kb", "group": "g", "owner": "bob"}),
    )
    .await
    .expect(201);
    let hook = json!({"url": "https://example.com/hook"});
    call(api, root, post, "webhooks", hook).await.expect(201);
    let notices = format!("people/{IN_PATH}/notices");
    let email = json!({"email": "ann@example.com"});
    call(api, root, Method::PATCH, &notices, email)
        .await
        .expect(200);
    let budget = format!("budgets/owner/{IN_PATH}");
    call(api, root, put, &budget, json!({"per_month": "0.001"}))
        .await
        .expect(200);

    let lines = (0..30).map(|n| {
        line(
            &format!("2026-10-24T{:02}:30:00Z", n % 24),
            "ka",
            "0.0000000123",
        )
    });
    let lines: String = lines
        .chain([ledger::line("2026-10-24T11:00:00Z", "kb", "m", "7")])
        .collect();
    api.ledger(root, "/api/v1/ledger/e/old?from=0", &lines)
        .await
        .expect(200);
    let owner = serde_json::to_string(ID).unwrap();
    let recent = spend_feed::line("ka", "red", "0.1", &["key", "member", "owner"], "i")
        .replace("\"ann\"", &owner);
    let aside = format!("{{\"timestamp\":\"never\",\"trilane.key.owner\":{owner}}}\n");
    api.ledger(root, "/api/v1/ledger/e/new?from=0", &(recent + &aside))
        .await
        .expect(200);
    while BudgetWatch::default()
        .look(&api.store, OffsetDateTime::now_utc())
        .await
        .unwrap()
    {}
    usage_days::roll_up(&api.store, datetime!(2026-12-02 12:00 UTC))
        .await
        .unwrap();
    (token, session)
}

on_both! {
    async fn nothing_is_left_and_no_sum_is_another_one(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let (token, session) = fill(&api, &root).await;
        // All that may have something of a person has it, so that the end shows something.
        let filled = [
            "api_tokens", "audit", "credentials", "documents", "drafts", "idempotency", "key_changes", "keys", "lines_aside", "memberships",
            "nearly_spent", "notice_choices", "passwords", "people", "requests", "sessions", "sign_in_devices", "sign_in_links", "spend", "spend_shares",
            "spend_subjects", "usage_by_day", "usage_by_dimension", "usage_by_hour", "webhook_events",
        ];
        assert_eq!(traces(database).await, filled.map(str::to_owned).into());
        key_grams::index_all(&api.store).await.unwrap();
        assert!(is_searched(database).await);
        let (before, by_hour) = (sums(&api, &root, IN_PATH).await, stored(&api.store).await);

        let begun = erase(&api, &root, IN_PATH).await.expect(202);
        let pseudonym = begun["pseudonym"].as_str().unwrap().to_owned();
        // With the response the person is gone, and gateways learn that the keys are.
        api.get(&token, "/api/v1/me").await.problem(401);
        assert!(!sessions::is_open(&api.store, session.reveal(), 0).await.unwrap());
        api.get(&root, "/api/v1/keys/ka").await.problem(404);
        let feed = api.get(&root, "/api/v1/feed/keys").await.expect(200).to_string();
        assert!(!feed.contains("\"ka\"") && feed.contains("\"kb\""), "{feed}");
        let all = until_ended(&api, &root).await;
        assert_eq!((all["items"].as_array().unwrap().len(), &all["items"][0]["pseudonym"]), (1, &json!(pseudonym)));

        assert_eq!(traces(database).await, BTreeSet::new());
        // As a console does every second.
        key_grams::index_all(&api.store).await.unwrap();
        assert!(!is_searched(database).await);
        assert_eq!(sums(&api, &root, &pseudonym).await, before);
        assert_eq!(stored(&api.store).await, by_hour);
        let requests = api.get(&root, &format!("/api/v1/requests?owner={pseudonym}&limit=500")).await.expect(200);
        assert_eq!(requests["items"].as_array().unwrap().len(), 31);
        assert_eq!(requests["items"][0]["line"]["trilane.key.owner"], json!(pseudonym));

        // Gateways may still send lines of before.
        let late = [line("2026-10-24T11:00:00Z", "ka", "1000"), "{\"trilane.key.owner\":".to_owned() + &json!(ID).to_string() + "}\n"].concat();
        api.ledger(&root, "/api/v1/ledger/e/late?from=0", &late).await.expect(200);
        assert_eq!(traces(database).await, BTreeSet::new());
        let spent = async |kind: &str, subject: &str| {
            let path = format!("/api/v1/spend?kind={kind}&subject={subject}&period=2026-10-24");
            api.get(&root, &path).await.expect(200)["spent"][0]["amount"].clone()
        };
        assert_eq!((spent("key", "ka").await, spent("owner", &pseudonym).await), (json!("1000.000000369"), json!("1000.000000369")));

        // What was done is in the audit, and stays there as it was.
        let audit = api.get(&root, "/api/v1/audit?limit=500").await.expect(200);
        let of = |action: &str, member: &str| audit["items"].as_array().unwrap().iter().find(|of| of["action"] == action).unwrap()[member].clone();
        assert_eq!((of("person.erase", "actor"), of("person.erase", "object")), (json!("root"), json!(pseudonym)));
        assert_eq!((of("person.create", "object"), of("person.create", "after")["role"].clone()), (json!(pseudonym), json!("member")));
        assert_eq!(of("session.begin", "actor"), json!(pseudonym));
        api.was_well();
    }
}

on_both! {
    /// Nothing brings an erased id back: what is counted under it would be somebody else's.
    async fn an_id_is_not_given_again(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let ann = api.person(ID, Role::Admin).await;
        erase(&api, &ann, IN_PATH).await.expect(202);
        until_ended(&api, &root).await;
        let audit = api.get(&root, "/api/v1/audit").await.expect(200);
        assert_eq!(audit["items"][0]["actor"], audit["items"][0]["object"], "one may erase oneself");

        let (post, put) = (Method::POST, Method::PUT);
        let new = json!({"id": ID, "name": "", "role": "member"});
        call(&api, &root, post.clone(), "people", new).await.problem(409);
        let key = json!({"id": "k", "group": "g", "owner": ID});
        assert_eq!(call(&api, &root, post, "keys", key).await.problem(422)["problems"][0]["path"], "owner");
        let budget = format!("budgets/owner/{IN_PATH}");
        call(&api, &root, put, &budget, json!({"per_month": "1"})).await.problem(422);
        let refused = first_admin::recover(&api.store, ID, &NewSecret::token().unwrap(), 0).await;
        assert!(matches!(refused, Err(StoreError::Rule(_))), "{refused:?}");
        // A request of theirs that was under way.
        let actor = Actor { id: ID.to_owned(), address: String::new() };
        let late: Result<(), StoreError> = in_transaction!(api.store, transaction => audit::insert(transaction, &actor.entry(0, "key.create", "k")).await);
        assert!(matches!(late, Err(StoreError::Rule(_))), "{late:?}");
        assert_eq!(traces(database).await, BTreeSet::new());
        api.was_well();
    }
}

on_both! {
    async fn who_is_not_erased(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        api.person("edge-1", Role::Agent).await;
        // An Envoy's, though its role is another one by now.
        call(&api, &root, Method::POST, "envoys", json!({"id": "edge-2"})).await.expect(201);
        database.execute("UPDATE people SET role = 'member' WHERE id = 'edge-2'").await.unwrap();
        let command = Person { id: audit::COMMAND.to_owned(), name: String::new(), role: "member".to_owned(), disabled: false, created_at: 0, key_group: None };
        let added: Result<(), StoreError> = in_transaction!(api.store, transaction => people::insert(transaction, &command).await);
        added.unwrap();
        let before = database.dump().await;
        for (id, status) in [("nobody", 404), ("%00", 404), ("edge-1", 409), ("edge-2", 409), ("root", 409), (audit::COMMAND, 409)] {
            erase(&api, &root, id).await.problem(status);
        }
        assert_eq!(database.dump().await, before);
        assert_eq!(api.get(&root, "/api/v1/erasures").await.expect(200)["items"], json!([]));

        for id in ["ann", "bob", "cem"] {
            api.person(id, Role::Member).await;
            erase(&api, &root, id).await.expect(202);
            erase(&api, &root, id).await.problem(404);
        }
        until_ended(&api, &root).await;
        let (mut path, mut seen) = ("/api/v1/erasures?limit=1".to_owned(), BTreeSet::new());
        loop {
            let page = api.get(&root, &path).await.expect(200);
            seen.insert(page["items"][0]["pseudonym"].as_str().unwrap().to_owned());
            let Some(next) = page["next"].as_str() else {
                break;
            };
            path = format!("/api/v1/erasures?limit=1&cursor={next}");
        }
        assert_eq!(seen.len(), 3);
        api.was_well();
    }
}
