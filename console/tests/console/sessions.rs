//! Sessions of the pages: how they begin and end.

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;
use trilane_console::in_transaction;
use trilane_console::passwords::Password;
use trilane_console::sessions::{
    self, DEVICE, IDLE, LONGEST, NewSession, SignInError, SignInSource,
};
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
        key_group: None,
    }
}

fn actor() -> Actor {
    Actor {
        id: "ann".to_owned(),
        address: "192.0.2.1".to_owned(),
    }
}

fn from<'a>(address: &'a str, device: Option<&'a str>) -> SignInSource<'a> {
    SignInSource {
        address,
        is_shared: false,
        device,
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
    let done: Result<Vec<String>, StoreError> = in_transaction!(store, transaction => {
        let before = people::find_locked(transaction, &to.id).await?.unwrap();
        people::update(transaction, &before, to).await
    });
    done.unwrap();
}

async fn link(store: &Store, lasts: i64) -> String {
    let made: Result<_, StoreError> = in_transaction!(store, transaction => {
        sessions::make_link(transaction, "ann", lasts, &actor(), START).await
    });
    made.unwrap().unwrap().reveal().to_owned()
}

async fn signed_in(store: &Store) -> NewSession {
    let link = link(store, 60 * SECOND).await;
    sessions::by_link(store, &link, &from("192.0.2.1", None), START)
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
        let use_at = async |link: &str, at: i64| sessions::by_link(&store, link, &from("", None), at).await;
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

        let attempt = async |person: &str, password: &str, address: &str, at: i64| {
            match sessions::by_password(&store, person, Password::new(password), &from(address, None), at).await {
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
        let begun = sessions::by_link(&api.store, link, &from("", None), now).await;
        assert!(matches!(begun, Err(SignInError::Link)), "{begun:?}");
        revoke().await.problem(404);
        let audit = api.get(&admin, "/api/v1/audit?action=person.link").await.expect(200);
        assert_eq!(audit["items"][0]["action"], "person.link.revoke");
        api.was_well();
    }
}

/// Names the outcome of an attempt.
fn said(done: Result<NewSession, SignInError>) -> &'static str {
    match done {
        Ok(_) => "in",
        Err(SignInError::Wrong) => "wrong",
        Err(SignInError::TooMany) => "too many",
        Err(error) => panic!("{error:?}"),
    }
}

on_both! {
    /// Slows guesses at a person without a lock-out on devices that have signed in before; and a device helps nobody else.
    async fn strangers_keep_nobody_out(database: &TestDatabase) {
        let store = with_ann(database).await;
        let bob = Person { id: "bob".to_owned(), ..person("member") };
        in_transaction!(store, transaction => people::insert(transaction, &bob).await).unwrap();
        let right = "correct horse battery";
        let session = signed_in(&store).await;
        let device = session.device.reveal();
        sessions::set_password(&store, session.token.reveal(), Password::new(right), &actor(), START).await.unwrap();
        let attempt = async |who: &str, password: &str, source: SignInSource<'_>, at: i64| {
            said(sessions::by_password(&store, who, Password::new(password), &source, at).await)
        };
        // A stranger, from many addresses and from the address of the person.
        for number in 0..40 {
            let address = format!("192.0.2.{}", number % 20);
            attempt("ann", "wrong", from(&address, None), START).await;
        }
        assert_eq!(attempt("ann", right, from("203.0.113.1", None), START).await, "too many", "a device that is new waits");
        for address in ["203.0.113.1", "192.0.2.1"] {
            assert_eq!(attempt("ann", right, from(address, Some(device)), START).await, "in", "{address}");
        }
        assert_eq!(attempt(" ANN ", right, from("", Some(device)), START).await, "in", "what is typed is folded");
        assert_eq!(attempt("ann", right, from("203.0.113.1", None), START).await, "too many", "that frees nobody else");
        assert_eq!(attempt("ann", right, from("203.0.113.1", Some("tld-made-up")), START).await, "too many", "a device that nobody knows");
        // At a device that is known the guesses are counted too, by themselves.
        for _ in 0..5 {
            assert_eq!(attempt("ann", "wrong", from("", Some(device)), START).await, "wrong");
        }
        assert_eq!(attempt("ann", right, from("", Some(device)), START).await, "too many");
        // It is ann's device: bob's attempts with it are those of anybody.
        for _ in 0..5 {
            assert_eq!(attempt("bob", "wrong", from("198.51.100.1", Some(device)), START).await, "wrong");
        }
        assert_eq!(attempt("bob", "wrong", from("198.51.100.2", Some(device)), START).await, "too many");

        // It is forgotten when it was not used for long, and with a disabling.
        let late = START + DEVICE + 2 * SECOND;
        let other = signed_in(&store).await;
        sessions::forget(&store, time::OffsetDateTime::from_unix_timestamp(late / SECOND).unwrap()).await.unwrap();
        let again = other.device.reveal();
        for _ in 0..6 {
            attempt("ann", "wrong", from("a", None), late).await;
        }
        assert_eq!(attempt("ann", right, from("a", Some(again)), late).await, "too many");
        store.close().await;
    }
}

on_both! {
    /// Behind a proxy that nobody has named all have one address, which keeps nobody out then; persons are slowed all the same.
    async fn one_address_for_all(database: &TestDatabase) {
        let store = with_ann(database).await;
        let source = SignInSource { address: "10.0.0.9", is_shared: true, device: None };
        let attempt = async |who: &str| said(sessions::by_password(&store, who, Password::new("wrong"), &source, START).await);
        for number in 0..40 {
            assert_eq!(attempt(&format!("p{number}")).await, "wrong");
        }
        for _ in 0..5 {
            assert_eq!(attempt("ann").await, "wrong");
        }
        assert_eq!(attempt("ann").await, "too many");
        // Addresses of one network of IPv6 are one.
        for number in 0..40 {
            let address = format!("2001:db8::{number:x}");
            let source = from(&address, None);
            let _ = sessions::by_password(&store, &format!("q{number}"), Password::new("wrong"), &source, START).await;
        }
        let tried = sessions::by_password(&store, "q", Password::new("wrong"), &from("2001:db8::ffff", None), START).await;
        assert_eq!(said(tried), "too many");
        store.close().await;
    }
}

on_both! {
    /// Refused attempts are in the audit: not each, and without what was typed for a person whom nobody knows.
    async fn refused_attempts_are_audited(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        api.person("ann", Role::Member).await;
        let now = time::OffsetDateTime::now_utc().unix_timestamp() * SECOND;
        let attempt = async |who: &str, address: &str, at: i64| {
            let _ = sessions::by_password(&api.store, who, Password::new("wrong"), &from(address, None), at).await;
        };
        for number in 0..9 {
            // Beyond any wait, within an hour.
            attempt("ann", "192.0.2.1", now + number * 390 * SECOND).await;
        }
        let told = async || {
            let audit = api.get(&admin, "/api/v1/audit?action=session.refuse&limit=500").await.expect(200);
            audit["items"].as_array().unwrap().clone()
        };
        let entries = told().await;
        let times: Vec<&Value> = entries.iter().map(|entry| &entry["after"]["times"]).collect();
        assert_eq!(times, [8, 4, 2, 1].map(|times| json!(times)).iter().collect::<Vec<_>>());
        assert!(entries.iter().all(|entry| entry["object"] == "ann" && entry["actor"] == "stranger" && entry["address"] == "192.0.2.1"), "{entries:?}");
        for number in 0..130 {
            attempt(&format!("my-password-{number}"), &format!("198.51.100.{number}"), now).await;
        }
        let entries = told().await;
        assert_eq!(entries.len(), 4 + 100, "of nobody only so many");
        assert!(entries.iter().all(|entry| !entry.to_string().contains("my-password")));
        api.was_well();
    }
}

on_both! {
    /// There is one way of writing an id.
    async fn ids_of_people(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        for (id, good) in [
            ("ann", true),
            ("ann@example.com", true),
            ("ann.b_c-d+e", true),
            ("Ann", false),
            ("ANN", false),
            ("ann b", false),
            (" ann", false),
            ("änn", false),
            ("аnn", false),
            ("ａnn", false),
            ("ann\u{200b}", false),
            ("ann\n", false),
            ("", false),
            ("command", false),
            ("stranger", false),
            (&"a".repeat(128), true),
            (&"a".repeat(129), false),
        ] {
            let reply = api.post(&admin, "/api/v1/people", &json!({"id": id, "name": "", "role": "member"})).await;
            assert_eq!(reply.status.as_u16(), if good { 201 } else { 422 }, "{id:?}");
        }
        api.was_well();
    }
}

on_both! {
    /// Once an admin has a password no start prints a way in; whoever runs the console makes one.
    async fn the_first_admins_link(database: &TestDatabase) {
        let store = database.open().await;
        let token = trilane_console::secret::NewSecret::token().unwrap();
        assert!(trilane_console::first_admin::add(&store, &token, START).await.unwrap());
        let printed = async || trilane_console::first_admin::make_link(&store, START).await.unwrap();
        assert!(printed().await.is_some() && printed().await.is_some(), "each start prints another one");
        let bob = Person { id: "bob".to_owned(), ..person("member") };
        in_transaction!(store, transaction => people::insert(transaction, &bob).await).unwrap();
        let set = async |who: &str| {
            let actor = Actor { id: who.to_owned(), address: String::new() };
            sessions::set_password(&store, "tls-x", Password::new("correct horse battery"), &actor, START).await.unwrap();
        };
        set("bob").await;
        assert!(printed().await.is_some(), "a member's password opens nothing of an admin's");
        set("admin").await;
        assert!(printed().await.is_none());
        let made = async |who: &str| trilane_console::first_admin::link_for(&store, who, START).await.unwrap();
        let link = made("admin").await.unwrap();
        let begun = sessions::by_link(&store, link.reveal(), &from("", None), START).await.unwrap();
        assert_eq!(begun.person.id, "admin");
        assert!(made("nobody").await.is_none());
        store.close().await;
    }
}
