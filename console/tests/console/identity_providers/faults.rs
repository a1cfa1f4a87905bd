//! Each fault of a provider, and that nobody is signed in by it.

use core::sync::atomic::{AtomicI64, Ordering};

use serde_json::json;
use time::{Duration, OffsetDateTime};

use super::browser::{BACK, Browser, with_provider};
use super::provider::{Fault, Provider};
use crate::api::Api;
use crate::database::{TestDatabase, on_both};

on_both! {
    async fn nobody_is_signed_in_by_a_fault(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let provider = Provider::start(BACK, OffsetDateTime::now_utc).await;
        let admin = with_provider(&api, &provider, json!({"allowed_domains": ["a.example"]})).await;
        provider.account("s", json!({"email": "ann@a.example", "email_verified": true}));
        let mut stays = Browser::default();
        stays.sign_in(&api, &provider, "s").await;
        for (fault, want) in [
            (Fault::Nothing, 303),
            (Fault::Expired(30), 303),
            (Fault::InFuture(30), 303),
            (Fault::Expired(90), 502),
            (Fault::InFuture(90), 502),
            (Fault::OtherNonce, 502),
            (Fault::NoNonce, 502),
            (Fault::OtherAudience, 502),
            (Fault::TwoAudiences, 502),
            (Fault::OtherParty, 502),
            (Fault::OtherIssuer, 502),
            (Fault::AlgNone, 502),
            (Fault::Hs256ByPublicKey, 502),
            (Fault::Hs256BySecret, 502),
            (Fault::OtherKey, 502),
            (Fault::UnknownKid, 502),
            (Fault::BrokenSignature, 502),
            (Fault::NoIdToken, 502),
            (Fault::NotJson, 502),
            (Fault::Redirects, 502),
            (Fault::Refuses("invalid_client"), 502),
            (Fault::Huge, 503),
            (Fault::ServerError, 503),
        ] {
            let mut browser = Browser::default();
            let brought = provider.authorize(&browser.begin(&api).await, "s");
            provider.fault(fault);
            let reply = browser.finish(&api, &brought).await;
            assert_eq!(reply.status.as_u16(), want, "{fault:?}: {}", reply.text);
            assert_eq!(browser.is_in(&api).await, want == 303, "{fault:?}");
            assert!(stays.is_in(&api).await, "{fault:?}: who is signed in stays");
            provider.fault(Fault::Nothing);
        }
        // The user info is asked where the ID token lacks the address, and must be about the same person.
        for (fault, want) in [(Fault::OtherUserInfo, 502), (Fault::Nothing, 303)] {
            provider.account("t", json!({}));
            provider.info("t", json!({"email": "tim@a.example", "email_verified": true}));
            provider.fault(fault);
            let mut browser = Browser::default();
            assert_eq!(browser.sign_in(&api, &provider, "t").await.status.as_u16(), want, "{fault:?}");
        }
        // What verifies an address in the user info verifies no other in the ID token.
        provider.fault(Fault::Nothing);
        provider.account("v", json!({"email": "root@a.example"}));
        provider.info("v", json!({"email": "vic@a.example", "email_verified": true}));
        let mut browser = Browser::default();
        browser.sign_in(&api, &provider, "v").await;
        api.get(&admin, "/api/v1/people/root@a.example").await.problem(404);
        api.get(&admin, "/api/v1/people/vic@a.example").await.expect(200);
        // Of a subject that is none nothing is made.
        for (case, subject) in [("too long", "s".repeat(256)), ("a zero byte", "s\0".to_owned()), ("a line break", "s\n".to_owned())] {
            provider.account(&subject, json!({"email": "sub@a.example", "email_verified": true}));
            let reply = Browser::default().sign_in(&api, &provider, &subject).await;
            assert_eq!(reply.status.as_u16(), 403, "{case}");
        }
        let odd = Browser::default().get(&api, "/sign-in/with/a%00b/callback?state=x&code=y").await;
        assert_eq!(odd.status.as_u16(), 404);
        // A text is no truth, in either place.
        provider.fault(Fault::Nothing);
        for (case, claims, info) in [
            ("in the ID token", json!({"email": "u@a.example", "email_verified": "true"}), json!({})),
            ("in the user info", json!({}), json!({"email": "u@a.example", "email_verified": "true"})),
        ] {
            provider.account("u", claims);
            provider.info("u", info);
            let mut browser = Browser::default();
            let status = browser.sign_in(&api, &provider, "u").await.status.as_u16();
            assert!(status >= 400 && !browser.is_in(&api).await, "{case}: {status}");
        }
    }
}

static SHIFT: AtomicI64 = AtomicI64::new(0);

fn clock() -> OffsetDateTime {
    OffsetDateTime::now_utc() + Duration::seconds(SHIFT.load(Ordering::Relaxed))
}

/// Keys that the provider changes are read again; but not by whoever sends tokens of unknown keys, one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rotated_keys() {
    let database = TestDatabase::sqlite();
    let api = Api::with_clock(&database, clock).await;
    let provider = Provider::start(BACK, clock).await;
    with_provider(&api, &provider, json!({"allowed_domains": ["a.example"]})).await;
    provider.account(
        "s",
        json!({"email": "ann@a.example", "email_verified": true}),
    );
    let sign_in = async || {
        Browser::default()
            .sign_in(&api, &provider, "s")
            .await
            .status
            .as_u16()
    };
    assert_eq!(sign_in().await, 303);
    SHIFT.fetch_add(60, Ordering::Relaxed);
    provider.rotate();
    assert_eq!(
        (sign_in().await, provider.asked("/jwks")),
        (303, 2),
        "they are read again"
    );
    for _ in 0..5 {
        provider.fault(Fault::UnknownKid);
        let mut browser = Browser::default();
        let brought = provider.authorize(&browser.begin(&api).await, "s");
        assert_eq!(browser.finish(&api, &brought).await.status.as_u16(), 502);
    }
    assert_eq!(provider.asked("/jwks"), 2, "a moment ago they were read");
    provider.fault(Fault::Nothing);
    SHIFT.fetch_add(3700, Ordering::Relaxed);
    assert_eq!(
        (sign_in().await, provider.asked("/discovery")),
        (303, 3),
        "after an hour anyway"
    );
    // Discovery that is another's, or that is not there, is none.
    for fault in [Fault::OtherDiscovery] {
        SHIFT.fetch_add(3700, Ordering::Relaxed);
        provider.fault(fault);
        let reply = Browser::default().get(&api, "/sign-in/with/idp").await;
        assert_eq!(reply.status.as_u16(), 502, "{fault:?}");
    }
    database.drop().await;
}
