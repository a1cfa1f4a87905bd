//! People who have left the provider are gone here, too; and a provider that is away ends nothing.

use core::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};

use super::browser::{BACK, Browser, with_provider};
use super::provider::{Fault, Provider};
use crate::api::Api;
use crate::database::on_both;

fn account(groups: Value) -> Value {
    json!({"email": "ann@a.example", "email_verified": true, "groups": groups})
}

const PERSON: &str = "/api/v1/people/ann@a.example";

/// A clock that a test moves.
macro_rules! moving_clock {
    ($shift:ident, $clock:ident) => {
        static $shift: AtomicI64 = AtomicI64::new(0);

        fn $clock() -> OffsetDateTime {
            OffsetDateTime::now_utc() + Duration::seconds($shift.load(Ordering::Relaxed))
        }
    };
}

on_both! {
    async fn the_provider_is_asked_again(database: &TestDatabase) {
        moving_clock!(SHIFT, clock);
        let api = Api::with_clock(database, clock).await;
        let provider = Provider::start(BACK, clock).await;
        let admin = with_provider(&api, &provider, json!({"allowed_domains": ["a.example"], "rules": [{"claim": "groups", "equals": "ops", "key_group": "g"}]})).await;
        provider.account("s", account(json!(["ops"])));
        let mut browser = Browser::default();
        browser.sign_in(&api, &provider, "s").await;
        let (mut other, before) = (Browser::default(), provider.asked("/token"));
        other.sign_in(&api, &provider, "s").await;
        let later = |minutes: i64| SHIFT.fetch_add(60 * minutes, Ordering::Relaxed);
        assert!(browser.is_in(&api).await);
        assert_eq!(provider.asked("/token"), before + 1, "it was asked a moment ago");
        later(16);
        provider.account("s", account(json!([])));
        // At once: a refresh token that is good once is used once.
        let (one, two) = tokio::join!(browser.is_in(&api), other.is_in(&api));
        assert!(one && two && browser.is_in(&api).await);
        assert_eq!(provider.asked("/token"), before + 2, "asked once for both");
        assert_eq!(api.get(&admin, PERSON).await.expect(200)["key_group"], Value::Null, "the claims are followed");
        // Without an ID token the user info says it.
        provider.refreshes_id_token(false);
        provider.info("s", account(json!(["ops"])));
        later(16);
        assert!(browser.is_in(&api).await);
        assert_eq!(api.get(&admin, PERSON).await.expect(200)["key_group"], "g");
        // Away, or with faults: who is signed in stays. It is asked again a minute later.
        provider.refreshes_id_token(true);
        for fault in [Fault::ServerError, Fault::NotJson, Fault::Redirects, Fault::Refuses("invalid_client"), Fault::Refuses("server_error")] {
            later(16);
            provider.fault(fault);
            let asked = provider.asked("/token");
            assert!(browser.is_in(&api).await && browser.is_in(&api).await, "{fault:?}");
            assert_eq!(provider.asked("/token"), asked + 1, "{fault:?}");
        }
        provider.fault(Fault::Nothing);
        later(2);
        let asked = provider.asked("/token");
        assert!(browser.is_in(&api).await);
        assert_eq!(provider.asked("/token"), asked + 1, "after a minute");
        // The account is ended: so is every session by it, and nothing else.
        provider.end("s");
        assert!(browser.is_in(&api).await, "nobody has asked yet");
        later(16);
        assert!(!browser.is_in(&api).await && !other.is_in(&api).await);
        let audit = api.get(&admin, "/api/v1/audit?action=session.end").await.expect(200);
        assert_eq!(audit["items"][0]["after"], json!({"by": "idp"}));
        assert_eq!(api.get(&admin, PERSON).await.expect(200)["disabled"], false);
        let identities = api.get(&admin, &format!("{PERSON}/identities")).await.expect(200);
        assert_eq!(identities["items"][0]["ended"], true);
        // A new sign-in begins anew.
        browser.sign_in(&api, &provider, "s").await;
        assert!(browser.is_in(&api).await);
    }
}

on_both! {
    /// Ends those who are not admitted any more, by domain or verification.
    async fn whoever_is_not_admitted_any_more(database: &TestDatabase) {
        moving_clock!(SHIFT, clock);
        let api = Api::with_clock(database, clock).await;
        let provider = Provider::start(BACK, clock).await;
        with_provider(&api, &provider, json!({"allowed_domains": ["a.example"]})).await;
        for (case, claims) in [
            ("another domain", json!({"email": "ann@b.example", "email_verified": true})),
            ("not verified", json!({"email": "ann@a.example", "email_verified": false})),
        ] {
            provider.account("s", account(json!([])));
            let mut browser = Browser::default();
            browser.sign_in(&api, &provider, "s").await;
            provider.account("s", claims);
            SHIFT.fetch_add(16 * 60, Ordering::Relaxed);
            assert!(!browser.is_in(&api).await, "{case}");
        }
        // No refresh token, so nobody can be asked: the session is bounded by its own length.
        provider.account("t", json!({"email": "tim@a.example", "email_verified": true}));
        provider.gives_refresh(false);
        let mut browser = Browser::default();
        browser.sign_in(&api, &provider, "t").await;
        SHIFT.fetch_add(16 * 60, Ordering::Relaxed);
        let asked = provider.asked("/token");
        assert!(browser.is_in(&api).await);
        assert_eq!(provider.asked("/token"), asked);
        SHIFT.fetch_add(13 * 3600, Ordering::Relaxed);
        assert!(!browser.is_in(&api).await);
        // One that does not answer at all holds a page up for three seconds, and ends nothing.
        provider.gives_refresh(true);
        browser.sign_in(&api, &provider, "t").await;
        provider.fault(Fault::Silent);
        SHIFT.fetch_add(16 * 60, Ordering::Relaxed);
        assert!(browser.is_in(&api).await);
    }
}
