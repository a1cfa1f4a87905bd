//! Live parts of pages: what is sent, and when it ends.

use core::time::Duration;

use axum::body::{Body, BodyDataStream};
use futures_util::StreamExt as _;
use http::header::{CONTENT_TYPE, COOKIE, LOCATION};
use http::{Request, Response};
use serde_json::json;
use tokio::time::timeout;
use tower::ServiceExt as _;
use trilane_console::cases::Role;
use trilane_console::in_transaction;
use trilane_console::sessions::{self, SignInSource};
use trilane_console::store::audit::Actor;
use trilane_console::store::people;

use crate::api::Api;
use crate::database::on_both;
use crate::requests::line;

const SOON: Duration = Duration::from_secs(20);

/// The cookie of a new session of a person.
async fn cookie(api: &Api, person: &str) -> String {
    let actor = Actor {
        id: "root".to_owned(),
        address: "192.0.2.1".to_owned(),
    };
    let now = time::OffsetDateTime::now_utc().unix_timestamp() * 1_000_000;
    let link = in_transaction!(api.store, transaction => {
        sessions::make_link(transaction, person, 60_000_000, &actor, now).await
    });
    let link = link.unwrap().unwrap();
    let begun = sessions::by_link(&api.store, link.reveal(), &SignInSource::default(), now).await;
    format!("trilane-session={}", begun.unwrap().token.reveal())
}

async fn get(api: &Api, path: &str, cookie: &str) -> Response<Body> {
    let request = Request::get(path).header(COOKIE, cookie);
    let request = request.body(Body::empty()).unwrap();
    api.router.clone().oneshot(request).await.unwrap()
}

/// Reads until an event says this. False: the stream ended before.
async fn says(stream: &mut BodyDataStream, text: &str) -> bool {
    let mut all = String::new();
    let reading = async {
        while let Some(chunk) = stream.next().await {
            all.push_str(core::str::from_utf8(&chunk.unwrap()).unwrap());
            if all.contains(text) {
                return true;
            }
        }
        false
    };
    timeout(SOON, reading).await.expect(text)
}

/// Whether a stream ends by itself.
async fn ends(stream: &mut BodyDataStream) -> bool {
    let reading = async { while stream.next().await.is_some() {} };
    timeout(SOON, reading).await.is_ok()
}

async fn change_role(api: &Api, id: &str, role: Role) {
    in_transaction!(api.store, transaction => {
        let before = people::find_locked(transaction, id).await?.unwrap();
        let mut person = before.clone();
        person.role = role.name().to_owned();
        people::update(transaction, &before, &person).await
    })
    .unwrap();
}

on_both! {
    async fn what_changes_is_sent_until_the_session_ends(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        api.person("vic", Role::Viewer).await;
        let cookie = cookie(&api, "vic").await;

        for (path, first) in [("/live/overview", "No requests"), ("/live/requests?", "No requests yet")] {
            let response = get(&api, path, &cookie).await;
            assert_eq!((response.status().as_u16(), &response.headers()[CONTENT_TYPE]), (200, &"text/event-stream".parse().unwrap()), "{path}");
            assert_eq!(response.headers()["cache-control"], "no-store", "{path}");
            let mut stream = response.into_body().into_data_stream();
            assert!(says(&mut stream, first).await, "{path}");
        }
        let mut stream = get(&api, "/live/overview", &cookie).await.into_body().into_data_stream();
        assert!(says(&mut stream, "No requests").await);
        assert_eq!(api.live.count(), 1, "a stream that nobody reads any more has no place");

        let at = time::OffsetDateTime::now_utc();
        let at = format!("{}T{:02}:{:02}:{:02}Z", at.date(), at.hour(), at.minute(), at.second());
        let one = line(&at, json!({"trilane.charge": "0.0123", "trilane.currency": "USD"}));
        api.ledger(&root, "/api/v1/ledger/e/f?from=0", &one).await.expect(200);
        assert!(says(&mut stream, "$0.0123").await, "what was charged is sent");

        change_role(&api, "vic", Role::Member).await;
        assert!(ends(&mut stream).await, "the session ended with the role");
        assert_eq!(api.live.count(), 0);
        let again = get(&api, "/live/overview", &cookie).await;
        assert!(again.headers()[LOCATION].to_str().unwrap().starts_with("/sign-in"));
    }
}

on_both! {
    async fn who_may_look(database: &TestDatabase) {
        let api = Api::new(database).await;
        api.person("root", Role::Admin).await;
        api.person("ann", Role::Member).await;
        for (person, overview, requests) in [("root", 200, 200), ("ann", 403, 200)] {
            let cookie = cookie(&api, person).await;
            assert_eq!(get(&api, "/live/overview", &cookie).await.status(), overview, "{person}");
            assert_eq!(get(&api, "/live/requests", &cookie).await.status(), requests, "{person}");
        }
        let root = cookie(&api, "root").await;
        let mut looked = Vec::new();
        while api.live.count() < 256 {
            looked.push(get(&api, "/live/requests", &root).await);
        }
        assert_eq!(get(&api, "/live/requests", &root).await.status(), 503, "one too many");
        looked.pop();
        assert_eq!(get(&api, "/live/requests", &root).await.status(), 200, "a place is free again");
        // A console that stops waits for none of them.
        api.live.end();
        for response in looked {
            assert!(ends(&mut response.into_body().into_data_stream()).await);
        }
    }
}
