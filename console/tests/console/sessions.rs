//! Sessions of the pages: how they begin and end.

use http::Method;
use serde_json::{Value, json};
use trilane_console::api::Role;
use trilane_console::in_transaction;
use trilane_console::passwords::Password;
use trilane_console::sessions::{self, IDLE, LONGEST, NewSession, SignInError};
use trilane_console::store::audit::Actor;
use trilane_console::store::people::{self, Person};
use trilane_console::store::{Store, StoreError};

use crate::api::Api;
use crate::database::on_both;

const SECOND: i64 = 1_000_000;
const START: i64 = 1_764_000_000 * SECOND;

fn person(role: &str) -> Person {
    Person {
        id: "ann".to_owned(),
        name: "Ann".to_owned(),
        role: role.to_owned(),
        disabled: false,
        created_at: START,
    }
}

fn actor() -> Actor {
    Actor {
        id: "ann".to_owned(),
        address: "192.0.2.1".to_owned(),
    }
}

async fn with_ann(database: &crate::database::TestDatabase) -> Store {
    let store = database.open().await;
    let ann = person("member");
    let done: Result<(), StoreError> =
        in_transaction!(store, transaction => people::insert(transaction, &ann).await);
    done.unwrap();
    store
}

async fn change(store: &Store, to: &Person) {
    let done: Result<bool, StoreError> =
        in_transaction!(store, transaction => people::update(transaction, to).await);
    assert!(done.unwrap());
}

async fn link(store: &Store, lasts: i64) -> String {
    let made: Result<_, StoreError> = in_transaction!(store, transaction => {
        sessions::make_link(transaction, "ann", lasts, &actor(), START).await
    });
    made.unwrap().unwrap().reveal().to_owned()
}

async fn signed_in(store: &Store) -> NewSession {
    let link = link(store, 60 * SECOND).await;
    sessions::by_link(store, &link, "192.0.2.1", START)
        .await
        .unwrap()
}

async fn is_in(store: &Store, session: &NewSession, at: i64) -> bool {
    let holder = sessions::holder(store, session.token.reveal(), at).await;
    holder.unwrap().is_some()
}

on_both! {
    async fn a_link_is_good_once(database: &TestDatabase) {
        let store = with_ann(database).await;
        let use_at = async |link: &str, at: i64| sessions::by_link(&store, link, "", at).await;
        let first = link(&store, 60 * SECOND).await;
        assert!(matches!(use_at("tll-wrong", START).await, Err(SignInError::Link)));
        assert!(matches!(use_at(&first, START + 60 * SECOND).await, Err(SignInError::Link)), "it has expired");
        let second = link(&store, 60 * SECOND).await;
        assert!(matches!(use_at(&first, START).await, Err(SignInError::Link)), "another one was made");
        assert_eq!(use_at(&second, START).await.unwrap().person.id, "ann");
        assert!(matches!(use_at(&second, START).await, Err(SignInError::Link)), "it was used");
        let third = link(&store, 60 * SECOND).await;
        change(&store, &Person { disabled: true, ..person("member") }).await;
        assert!(use_at(&third, START).await.is_err(), "the person is disabled");
        store.close().await;
    }
}

on_both! {
    async fn how_a_session_ends(database: &TestDatabase) {
        let store = with_ann(database).await;
        let idle = signed_in(&store).await;
        assert!(is_in(&store, &idle, START + IDLE - 1).await);
        // That was a use, so it goes on from there.
        assert!(is_in(&store, &idle, START + IDLE + SECOND).await);
        assert!(!is_in(&store, &idle, START + 3 * IDLE).await, "not used for long");

        let long = signed_in(&store).await;
        let mut at = START;
        while at < START + LONGEST - IDLE {
            at += IDLE / 2;
            assert!(is_in(&store, &long, at).await);
        }
        assert!(!is_in(&store, &long, START + LONGEST).await, "as long as can be");

        let out = signed_in(&store).await;
        sessions::end(&store, out.token.reveal()).await.unwrap();
        assert!(!is_in(&store, &out, START).await, "signed out");

        // Another role ends it, and the role of before does not bring it back.
        let role = signed_in(&store).await;
        change(&store, &person("viewer")).await;
        assert!(!is_in(&store, &role, START).await, "another role");
        change(&store, &person("member")).await;
        assert!(!is_in(&store, &role, START).await, "the role of before");
        let name = signed_in(&store).await;
        change(&store, &Person { name: "Anne".to_owned(), ..person("member") }).await;
        assert!(is_in(&store, &name, START).await, "another name");
        change(&store, &Person { disabled: true, ..person("member") }).await;
        assert!(!is_in(&store, &name, START).await, "disabled");
        store.close().await;
    }
}

on_both! {
    async fn passwords_and_who_is_slowed(database: &TestDatabase) {
        let store = with_ann(database).await;
        let right = "correct horse battery";
        let session = signed_in(&store).await;
        let other = signed_in(&store).await;
        sessions::set_password(&store, session.token.reveal(), Password::new(right), &actor(), START).await.unwrap();
        assert!(is_in(&store, &session, START).await && !is_in(&store, &other, START).await, "other sessions end");

        let attempt = async |person: &str, password: &str, from: &str, at: i64| {
            match sessions::by_password(&store, person, Password::new(password), from, at).await {
                Ok(session) => format!("in as {}", session.person.id),
                Err(SignInError::Wrong) => "wrong".to_owned(),
                Err(SignInError::TooMany) => "too many".to_owned(),
                Err(error) => panic!("{error:?}"),
            }
        };
        assert_eq!(attempt("ann", right, "a", START).await, "in as ann");
        for person in ["ann", "nobody"] {
            for _ in 0..5 {
                assert_eq!(attempt(person, "wrong", "a", START).await, "wrong", "{person}");
            }
            assert_eq!(attempt(person, right, "b", START).await, "too many", "{person}, from anywhere");
        }
        // A second later one attempt is looked at; another failure doubles the wait.
        let later = START + 2 * SECOND;
        assert_eq!(attempt("ann", "wrong", "a", later).await, "wrong");
        assert_eq!(attempt("ann", right, "a", later + SECOND).await, "too many");
        assert_eq!(attempt("ann", right, "a", later + 3 * SECOND).await, "in as ann");
        assert_eq!(attempt("ann", "wrong", "a", later + 3 * SECOND).await, "wrong", "failures are forgotten then");
        // One address with many names is slowed too.
        for number in 0..40 {
            attempt(&format!("p{number}"), "wrong", "c", START).await;
        }
        assert_eq!(attempt("p41", "wrong", "c", START).await, "too many");
        assert_eq!(attempt("p41", "wrong", "d", START).await, "wrong");
        store.close().await;
    }
}

on_both! {
    /// An invitation that went astray is taken back.
    async fn a_link_is_revoked(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        api.person("ann", Role::Member).await;
        let path = "/api/v1/people/ann/sign-in-link";
        let revoke = async || api.call(&admin, Method::DELETE, path, &[], &Value::Null).await;
        let until = async || {
            let people = api.get(&admin, "/api/v1/people").await.expect(200);
            let people = people["items"].as_array().unwrap().clone();
            people.into_iter().find(|person| person["id"] == "ann").unwrap()["link_until"].clone()
        };
        revoke().await.problem(404);
        assert_eq!(until().await, Value::Null);
        let made = api.post(&admin, path, &json!({})).await.expect(201);
        assert_eq!(until().await, made["expires_at"]);
        let link = made["path"].as_str().unwrap().split_once("token=").unwrap().1;
        revoke().await.expect(204);
        assert_eq!(until().await, Value::Null);
        let now = time::OffsetDateTime::now_utc().unix_timestamp() * 1_000_000;
        let begun = sessions::by_link(&api.store, link, "", now).await;
        assert!(matches!(begun, Err(SignInError::Link)), "{begun:?}");
        revoke().await.problem(404);
        let audit = api.get(&admin, "/api/v1/audit?action=person.link").await.expect(200);
        assert_eq!(audit["items"][0]["action"], "person.link.revoke");
        api.was_well();
    }
}
