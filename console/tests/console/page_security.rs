//! Attacks on pages: a session that somebody else has chosen, a guess that tells something, a way to another site.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use http::{Request, StatusCode};
use trilane_console::cases::Role;
use trilane_console::in_transaction;
use trilane_console::passwords::{self, Password};
use trilane_console::sessions;
use trilane_console::store::audit::Actor;
use trilane_console::store::passwords as hashes;
use trilane_console::store::people::{self, Person};

use crate::api::{Api, ApiReply};
use crate::database::on_both;

pub const PASSWORD: &str = "correct horse battery";

fn now() -> i64 {
    time::OffsetDateTime::now_utc().unix_timestamp() * 1_000_000
}

fn form(fields: &[(&str, &str)]) -> String {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields);
    form.finish()
}

pub async fn post(api: &Api, path: &str, cookie: &str, fields: &[(&str, &str)]) -> ApiReply {
    let request = Request::post(path)
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(COOKIE, cookie);
    api.send(request.body(form(fields).into()).unwrap()).await
}

pub async fn get(api: &Api, path: &str, cookie: &str) -> ApiReply {
    let request = Request::get(path).header(COOKIE, cookie);
    api.send(request.body(String::new().into()).unwrap()).await
}

/// The token of the forms on a page.
pub fn csrf(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").expect(page);
    rest.split('"').next().unwrap().to_owned()
}

/// The session that a response sets.
pub fn session(reply: &ApiReply) -> String {
    let cookie = reply.headers[SET_COOKIE].to_str().unwrap();
    let (value, attributes) = cookie.split_once(';').unwrap();
    for wanted in ["HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(attributes.contains(wanted), "{wanted}: {attributes}");
    }
    value.to_owned()
}

pub async fn with_password(api: &Api, person: &str, role: Role) {
    api.person(person, role).await;
    let hash = passwords::hash(Password::new(PASSWORD)).await.unwrap();
    in_transaction!(api.store, transaction => hashes::set(transaction, person, &hash, now()).await)
        .unwrap();
}

async fn link(api: &Api, person: &str) -> String {
    let actor = Actor {
        id: "root".to_owned(),
        address: String::new(),
    };
    let made = in_transaction!(api.store, transaction => {
        sessions::make_link(transaction, person, 60_000_000, &actor, now()).await
    });
    made.unwrap().unwrap().reveal().to_owned()
}

on_both! {
    /// A session is always drawn here, and signing in begins another one: what was planted in a browser is worth nothing.
    async fn nobody_chooses_a_session(database: &TestDatabase) {
        let api = Api::new(database).await;
        with_password(&api, "ann", Role::Member).await;
        let planted = "trilane-session=tls-planted-by-somebody-else";
        assert_eq!(get(&api, "/keys", planted).await.status, StatusCode::SEE_OTHER);
        let right = [("person", "ann"), ("password", PASSWORD)];
        let first = session(&post(&api, "/sign-in", planted, &right).await);
        assert_ne!(first, planted);
        assert_eq!(get(&api, "/keys", planted).await.status, StatusCode::SEE_OTHER, "the planted one is none");
        assert_eq!(get(&api, "/keys", &first).await.status, StatusCode::OK);
        let second = session(&post(&api, "/sign-in", &first, &right).await);
        assert_ne!(second, first);
        assert_eq!(get(&api, "/keys", &first).await.status, StatusCode::SEE_OTHER, "the one of before has ended");
        let by_link = session(&post(&api, "/sign-in/link", &second, &[("token", &link(&api, "ann").await)]).await);
        assert_ne!(by_link, second);
        assert_eq!(get(&api, "/keys", &second).await.status, StatusCode::SEE_OTHER, "a link begins another one too");
    }
}

on_both! {
    /// Whether there is somebody is not to be found out, neither by what is said nor by when one is slowed.
    async fn a_guess_tells_nothing(database: &TestDatabase) {
        let api = Api::new(database).await;
        for person in ["ann", "gone"] {
            with_password(&api, person, Role::Member).await;
        }
        api.person("new", Role::Member).await;
        api.person("edge", Role::Agent).await;
        in_transaction!(api.store, transaction => {
            let before = people::find_locked(transaction, "gone").await?.unwrap();
            let gone = Person { disabled: true, ..before.clone() };
            people::update(transaction, &before, &gone).await
        }).unwrap();
        let mut said: Vec<(u16, String)> = Vec::new();
        for (case, person, password) in [
            ("a wrong password", "ann", "not this one at all"),
            ("nobody like that", "nobody", PASSWORD),
            ("somebody disabled", "gone", PASSWORD),
            ("somebody without a password", "new", PASSWORD),
            ("an agent", "edge", PASSWORD),
            ("an id that cannot be", "a\0b", PASSWORD),
        ] {
            let reply = post(&api, "/sign-in", "", &[("person", person), ("password", password)]).await;
            assert!(!reply.headers.contains_key(SET_COOKIE), "{case}");
            let text = reply.text.replace(&format!("value=\"{person}\""), "value=\"\"");
            said.push((reply.status.as_u16(), text));
        }
        assert_eq!(said[0].0, 422);
        assert!(said[..5].iter().all(|of| *of == said[0]), "all are told the same");

        // After five failures both wait, whoever they are; what is right is not looked at then.
        for person in ["ann", "nobody"] {
            let mut statuses = Vec::new();
            for _ in 0..6 {
                let reply = post(&api, "/sign-in", "", &[("person", person), ("password", "wrong")]).await;
                statuses.push(reply.status.as_u16());
                // The first wait is a second. A slow machine takes longer for a password.
                database.execute("UPDATE sign_in_failures SET until = until + 600000000 WHERE until > 0").await.unwrap();
            }
            assert_eq!(statuses[3..], [422, 429, 429], "{person}");
        }
        let reply = post(&api, "/sign-in", "", &[("person", "ann"), ("password", PASSWORD)]).await;
        assert_eq!((reply.status.as_u16(), reply.headers.contains_key("retry-after")), (429, true));
        // An admin's link goes round it: nobody is locked out by others.
        let reply = post(&api, "/sign-in/link", "", &[("token", &link(&api, "ann").await)]).await;
        assert_eq!(reply.status, StatusCode::SEE_OTHER);
        api.was_well();
    }
}

on_both! {
    async fn nobody_is_sent_elsewhere(database: &TestDatabase) {
        let api = Api::new(database).await;
        with_password(&api, "ann", Role::Member).await;
        for (to, want) in [
            ("/usage?by=key", "/usage?by=key"),
            ("https://evil.example/", "/"),
            ("//evil.example/", "/"),
            ("/\\evil.example", "/"),
            ("\\/evil.example", "/"),
            ("javascript:alert(1)", "/"),
            ("/keys\r\nset-cookie: trilane-session=planted", "/"),
            ("/keys\nx: y", "/"),
            ("", "/"),
        ] {
            let fields = [("person", "ann"), ("password", PASSWORD), ("to", to)];
            let reply = post(&api, "/sign-in", "", &fields).await;
            assert_eq!(reply.headers[LOCATION], want, "{to:?}");
            assert_eq!(reply.headers.get_all(SET_COOKIE).iter().count(), 2, "{to:?}: the session's, and the device's");
            assert!(!reply.headers.contains_key("x"), "{to:?}");
            let query = form(&[("to", to)]);
            let page = get(&api, &format!("/sign-in?{query}"), "").await;
            assert!(!page.text.contains("evil.example") && !page.text.contains("javascript:"), "{to:?}");
        }
        let cookie = session(&post(&api, "/sign-in", "", &[("person", "ann"), ("password", PASSWORD)]).await);
        for back in ["https://evil.example/", "//evil.example", "/a\r\nb: c"] {
            let reply = post(&api, "/appearance", &cookie, &[("appearance", "dark"), ("back", back)]).await;
            assert_eq!(reply.headers[LOCATION], "/", "{back:?}");
        }
        // Ids come into paths of redirects and names of files.
        for path in ["/keys/a%0d%0ab", "/requests/a%0d%0ab", "/usage.csv?key=a%0d%0ab"] {
            let reply = get(&api, path, &cookie).await;
            assert!(!reply.headers.contains_key("b"), "{path}");
        }
        api.was_well();
    }
}

on_both! {
    /// Pages are in nobody's frame and in no cache, whoever looks and whatever comes of it.
    async fn pages_are_kept_nowhere(database: &TestDatabase) {
        let api = Api::new(database).await;
        with_password(&api, "root", Role::Admin).await;
        let cookie = session(&post(&api, "/sign-in", "", &[("person", "root"), ("password", PASSWORD)]).await);
        for path in [
            "/", "/start", "/keys", "/new-key", "/keys/none", "/usage", "/usage.csv", "/requests", "/groups", "/documents", "/accounts", "/people",
            "/budgets", "/tokens", "/audit", "/settings", "/me/password", "/sign-in", "/sign-in/link", "/nothing-here",
        ] {
            for cookie in [cookie.as_str(), ""] {
                let reply = get(&api, path, cookie).await;
                assert_eq!(reply.headers[CACHE_CONTROL], "no-store", "{path}");
                assert_eq!(reply.headers["x-frame-options"], "DENY", "{path}");
                let policy = reply.headers["content-security-policy"].to_str().unwrap();
                assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
            }
        }
        api.was_well();
    }
}
