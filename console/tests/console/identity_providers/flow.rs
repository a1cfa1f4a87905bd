//! The way of a person through the provider, and what becomes of it here.

use http::Method;
use http::header::LOCATION;
use serde_json::{Value, json};
use time::OffsetDateTime;
use trilane_console::cases::Role;

use super::browser::{BACK, Browser, SITE, put_provider, with_provider};
use super::provider::{CLIENT, Fault, Provider};
use crate::api::Api;
use crate::database::on_both;
use crate::page_security::csrf;

fn verified(email: &str) -> Value {
    json!({"email": email, "email_verified": true, "name": "Ann A."})
}

on_both! {
    /// The first sign-in adds the person; what the browser then has is a session like any other, and the audit has no secret.
    async fn the_first_sign_in(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let provider = Provider::start(BACK, OffsetDateTime::now_utc).await;
        let admin = with_provider(&api, &provider, json!({"allowed_domains": ["example.com"]})).await;
        provider.account("s-1", verified("Ann@Example.com"));
        let mut browser = Browser::default();
        let page = browser.get(&api, "/sign-in?to=/keys").await;
        assert!(page.text.contains("/sign-in/with/idp?to=%2Fkeys") && page.text.contains("Example"), "{}", page.text);
        let reply = browser.sign_in(&api, &provider, "s-1").await;
        assert_eq!((reply.status.as_u16(), reply.headers[LOCATION].to_str().unwrap()), (303, "/keys"));
        assert_eq!(reply.headers["cache-control"], "no-store", "the code is in nobody's cache");
        assert!(browser.is_in(&api).await);
        assert!(!browser.cookies.contains_key("trilane-authorization"), "the cookie of the request is gone");
        let person = api.get(&admin, "/api/v1/people/ann@example.com").await.expect(200);
        assert_eq!((&person["role"], &person["name"]), (&json!("member"), &json!("Ann A.")));
        let notices = "/api/v1/people/ann@example.com/notices";
        assert_eq!(api.get(&admin, notices).await.expect(200)["email"], "ann@example.com", "the verified address");
        api.call(&admin, Method::PATCH, notices, &[], &json!({"email": null})).await.expect(200);
        let identities = api.get(&admin, "/api/v1/people/ann@example.com/identities").await.expect(200);
        assert_eq!(identities["items"][0]["subject"], "s-1");
        assert_eq!(identities["items"][0]["is_asked"], true);
        // Again, with another address at the provider: the subject says who it is.
        provider.account("s-1", verified("ann.new@example.com"));
        let mut other = Browser::default();
        other.sign_in(&api, &provider, "s-1").await;
        assert!(other.is_in(&api).await && browser.is_in(&api).await);
        assert_eq!(api.get(&admin, notices).await.expect(200).get("email"), None, "what was taken away stays away");
        api.get(&admin, "/api/v1/people/ann.new@example.com").await.problem(404);
        let audit = api.get(&admin, "/api/v1/audit?limit=500").await.expect(200).to_string();
        assert!(audit.contains(r#""by":"idp""#) && audit.contains("person.create"), "{audit}");
        let dump = database.dump().await;
        for secret in [CLIENT.1, "rt-", "code-", "at-s-1"] {
            assert!(!audit.contains(secret), "{secret} is in the audit");
            assert!(!dump.contains(secret), "{secret} is in the database");
        }
        api.was_well();
    }
}

on_both! {
    /// Admits a person who is known, one of an allowed domain, one whom a rule names; and nobody else.
    async fn who_is_admitted(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let provider = Provider::start(BACK, OffsetDateTime::now_utc).await;
        let admin = with_provider(&api, &provider, json!({})).await;
        for id in ["known@b.example", "gone@b.example"] {
            api.person(id, Role::Viewer).await;
        }
        api.call(&admin, Method::PATCH, "/api/v1/people/gone@b.example", &[], &json!({"disabled": true})).await.expect(200);
        api.person("edge@b.example", Role::Agent).await;
        let domains = json!({"allowed_domains": ["A.example"]});
        let rule = json!({"rules": [{"claim": "groups", "equals": "eng"}]});
        let both = json!({"allowed_domains": ["a.example"], "rules": [{"claim": "groups", "equals": "eng"}]});
        let with = |email: &str, groups: Value| json!({"email": email, "email_verified": true, "groups": groups});
        let cases: Vec<(&str, &Value, Value, u16)> = vec![
            ("nobody knows the person", &Value::Null, verified("x@a.example"), 403),
            ("a known person", &Value::Null, verified("known@b.example"), 303),
            ("a domain", &domains, verified("y@a.example"), 303),
            ("a domain below", &domains, verified("y@b.a.example"), 403),
            ("a domain that ends like it", &domains, verified("y@aa.example"), 403),
            ("another domain", &domains, verified("y@c.example"), 403),
            ("a known person of another domain", &domains, verified("known@b.example"), 403),
            ("a rule", &rule, with("z@c.example", json!(["eng"])), 303),
            ("no rule", &rule, with("w@c.example", json!(["sales"])), 403),
            ("a rule, and another domain", &both, with("v@c.example", json!(["eng"])), 403),
            ("a disabled person", &rule, with("gone@b.example", json!(["eng"])), 403),
            ("an agent", &rule, with("edge@b.example", json!(["eng"])), 403),
            ("not verified", &domains, json!({"email": "u@a.example", "email_verified": false}), 403),
            ("verified is absent", &domains, json!({"email": "u@a.example"}), 403),
            ("no address", &domains, json!({"email_verified": true}), 403),
            ("no whole address", &domains, verified("a.example"), 403),
            ("two signs", &domains, verified("x@b.example@a.example"), 403),
            ("a letter that looks like another", &domains, verified("\u{212a}nown@a.example"), 403),
            ("a blank", &domains, verified("x y@a.example"), 403),
            ("a line break", &domains, verified("x@a.example\n"), 403),
        ];
        for (number, (case, settings, claims, want)) in cases.into_iter().enumerate() {
            let more = if settings.is_null() { json!({}) } else { settings.clone() };
            put_provider(&api, &admin, &provider, more).await;
            let subject = format!("s{number}");
            provider.account(&subject, claims);
            let mut browser = Browser::default();
            let reply = browser.sign_in(&api, &provider, &subject).await;
            assert_eq!(reply.status.as_u16(), want, "{case}: {}", reply.text);
            assert_eq!(browser.is_in(&api).await, want == 303, "{case}");
        }
        let people = api.get(&admin, "/api/v1/people?limit=500").await.expect(200).to_string();
        for never in ["x@a.example", "w@c.example", "v@c.example", "u@a.example"] {
            assert!(!people.contains(never), "{never} was added");
        }
        api.was_well();
    }
}

on_both! {
    /// Another account of the provider with the same address is somebody else, until an admin says otherwise.
    async fn another_account_is_somebody_else(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let provider = Provider::start(BACK, OffsetDateTime::now_utc).await;
        let admin = with_provider(&api, &provider, json!({"allowed_domains": ["a.example"]})).await;
        for subject in ["first", "second"] {
            provider.account(subject, verified("ann@a.example"));
        }
        let (mut first, mut second) = (Browser::default(), Browser::default());
        first.sign_in(&api, &provider, "first").await;
        let reply = second.sign_in(&api, &provider, "second").await;
        assert_eq!(reply.status.as_u16(), 403);
        assert!(reply.text.contains("Another account") && !second.is_in(&api).await && first.is_in(&api).await);
        let audit = api.get(&admin, "/api/v1/audit?action=session.refuse").await.expect(200);
        assert_eq!(audit["items"][0]["object"], "ann@a.example");
        assert_eq!(audit["items"][0]["after"], json!({"by": "idp", "reason": "other_account"}));
        let unlink = "/api/v1/people/ann@a.example/identities/idp";
        api.call(&admin, Method::DELETE, unlink, &[], &Value::Null).await.expect(204);
        api.call(&admin, Method::DELETE, unlink, &[], &Value::Null).await.problem(404);
        let audit = api.get(&admin, "/api/v1/audit?action=person.unlink").await.expect(200);
        assert_eq!((&audit["items"][0]["actor"], &audit["items"][0]["object"]), (&json!("root"), &json!("ann@a.example")));
        assert!(!first.is_in(&api).await, "its sessions have ended");
        assert_eq!(second.sign_in(&api, &provider, "second").await.status.as_u16(), 303);
        // Whose data was erased does not come back by signing in.
        api.call(&admin, Method::DELETE, "/api/v1/people/ann@a.example/data", &[], &Value::Null).await.expect(202);
        assert!(!second.is_in(&api).await);
        api.until_ended(&admin, "/api/v1/erasures").await;
        let dump = database.dump().await;
        assert!(!dump.contains("ann@a.example") && !dump.contains("second"), "{dump}");
        let reply = second.sign_in(&api, &provider, "second").await;
        assert_eq!(reply.status.as_u16(), 403);
        assert!(reply.text.contains("erased"), "{}", reply.text);
        api.was_well();
    }
}

on_both! {
    /// The first sign-in in two browsers at once adds one person; of two accounts with one address one is linked.
    async fn the_first_sign_in_twice_at_once(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let provider = Provider::start(BACK, OffsetDateTime::now_utc).await;
        let admin = with_provider(&api, &provider, json!({"allowed_domains": ["a.example"]})).await;
        for round in 0..10 {
            for (case, subjects, want) in [("one account", ["same", "same"], [303, 303]), ("two accounts", ["one", "two"], [303, 403])] {
                let email = format!("{}{round}@a.example", subjects[0]);
                let subjects = subjects.map(|subject| format!("{subject}{round}"));
                for subject in &subjects {
                    provider.account(subject, verified(&email));
                }
                let (mut one, mut two) = (Browser::default(), Browser::default());
                let (first, second) = tokio::join!(one.sign_in(&api, &provider, &subjects[0]), two.sign_in(&api, &provider, &subjects[1]));
                let mut said = [first.status.as_u16(), second.status.as_u16()];
                said.sort_unstable();
                assert_eq!(said, want, "{case}: {} {}", first.text, second.text);
                let identities = api.get(&admin, &format!("/api/v1/people/{email}/identities")).await.expect(200);
                assert_eq!(identities["items"].as_array().unwrap().len(), 1, "{case}");
            }
        }
        api.was_well();
    }
}

on_both! {
    /// A request is one browser's, one provider's, and good once.
    async fn a_request_is_of_one_browser(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let provider = Provider::start(BACK, OffsetDateTime::now_utc).await;
        let admin = with_provider(&api, &provider, json!({"allowed_domains": ["a.example"]})).await;
        provider.account("s", verified("ann@a.example"));
        let mut browser = Browser::default();
        let brought = provider.authorize(&browser.begin(&api).await, "s");
        let mut other = Browser::default();
        assert_eq!(other.finish(&api, &brought).await.status.as_u16(), 410, "another browser without a cookie");
        other.begin(&api).await;
        assert_eq!(other.finish(&api, &brought).await.status.as_u16(), 410, "another browser that signs in, too");
        let mut wrong = brought.clone();
        wrong.insert("state".to_owned(), format!("tlo-{}", "0".repeat(43)));
        assert_eq!(browser.clone().finish(&api, &wrong).await.status.as_u16(), 410, "another state");
        wrong.remove("state");
        assert_eq!(browser.clone().finish(&api, &wrong).await.status.as_u16(), 410, "no state");
        assert_eq!(provider.asked("/token"), 0, "no code was tried");
        let before = browser.clone();
        assert_eq!(browser.finish(&api, &brought).await.status.as_u16(), 303);
        assert_eq!(before.clone().finish(&api, &brought).await.status.as_u16(), 410, "the state is used up");
        // In two windows of one browser.
        let mut browser = Browser::default();
        let (one, two) = (browser.begin(&api).await, browser.begin(&api).await);
        let mut again = browser.clone();
        assert_eq!(browser.finish(&api, &provider.authorize(&two, "s")).await.status.as_u16(), 303);
        assert_eq!(again.finish(&api, &provider.authorize(&one, "s")).await.status.as_u16(), 303);
        // A code of another request: the verifier does not fit.
        let mut browser = Browser::default();
        let (one, two) = (browser.begin(&api).await, browser.begin(&api).await);
        let mut mixed = provider.authorize(&one, "s");
        mixed.insert("code".to_owned(), provider.authorize(&two, "s")["code"].clone());
        let reply = browser.finish(&api, &mixed).await;
        assert_eq!(reply.status.as_u16(), 502);
        assert!(reply.text.contains("invalid_grant") && !browser.is_in(&api).await);
        // A code that was used.
        let brought = provider.authorize(&browser.begin(&api).await, "s");
        browser.clone().finish(&api, &brought).await;
        let mut used = provider.authorize(&browser.begin(&api).await, "s");
        used.insert("code".to_owned(), brought["code"].clone());
        assert_eq!(browser.finish(&api, &used).await.status.as_u16(), 502);
        assert!(!browser.is_in(&api).await);
        // Mix-up: it is begun at one provider and comes back as if from another.
        let evil = Provider::start(&BACK.replace("idp", "evil"), OffsetDateTime::now_utc).await;
        let body = json!({"issuer": evil.issuer(), "client_id": CLIENT.0, "client_secret": "of-evil"});
        api.call(&admin, Method::PUT, "/api/v1/identity-providers/evil", &[], &body).await.expect(200);
        let brought = provider.authorize(&browser.begin(&api).await, "s");
        let query = format!("code={}&state={}", brought["code"], brought["state"]);
        assert_eq!(browser.get(&api, &format!("/sign-in/with/evil/callback?{query}")).await.status.as_u16(), 410);
        assert_eq!(evil.asked("/token"), 0, "the code goes to nobody else");
        let mut brought = provider.authorize(&browser.begin(&api).await, "s");
        brought.insert("iss".to_owned(), evil.issuer());
        assert_eq!(browser.finish(&api, &brought).await.status.as_u16(), 502);
        assert!(!browser.is_in(&api).await);
        // Nothing of another site is shown afterwards.
        let reply = browser.get(&api, "/sign-in/with/idp?to=https://evil.example/").await;
        let brought = provider.authorize(reply.headers[LOCATION].to_str().unwrap(), "s");
        assert_eq!(browser.finish(&api, &brought).await.headers[LOCATION], "/");
    }
}

on_both! {
    /// Tells those who cancel, or are refused there. Nothing that the provider writes is shown.
    async fn what_people_are_told(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let provider = Provider::start(BACK, OffsetDateTime::now_utc).await;
        let admin = with_provider(&api, &provider, json!({"allowed_domains": ["a.example"]})).await;
        provider.account("s", verified("ann@a.example"));
        for (error, status, want) in [
            ("access_denied", 403, "did not let you in"),
            ("temporarily_unavailable", 502, "refuses: temporarily_unavailable"),
            ("<script>alert(1)</script>", 502, "refuses: scriptalert1script"),
        ] {
            let mut browser = Browser::default();
            let url = browser.begin(&api).await;
            let mut brought = provider.authorize(&url, "s");
            brought.remove("code");
            brought.insert("error".to_owned(), error.to_owned());
            brought.insert("error_description".to_owned(), "visit evil.example".to_owned());
            let reply = browser.finish(&api, &brought).await;
            assert_eq!(reply.status.as_u16(), status, "{error}");
            assert!(reply.text.contains(want) && !reply.text.contains("evil.example"), "{error}: {}", reply.text);
        }
        let mut browser = Browser::default();
        let reply = browser.get(&api, "/sign-in/with/none").await;
        assert_eq!(reply.status.as_u16(), 404);
        let path = "/api/v1/identity-providers/idp";
        let disabled = json!({"issuer": provider.issuer(), "client_id": CLIENT.0, "enabled": false});
        browser.sign_in(&api, &provider, "s").await;
        assert!(browser.is_in(&api).await);
        api.call(&admin, Method::PUT, path, &[], &disabled).await.expect(200);
        assert!(!browser.is_in(&api).await, "sessions by a provider that is disabled end");
        assert_eq!(browser.get(&api, "/sign-in/with/idp").await.status.as_u16(), 404);
        assert!(!browser.get(&api, "/sign-in").await.text.contains("Example"));
    }
}

on_both! {
    /// The provider is left, too, if people want that. Ours has ended before.
    async fn signing_out(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let provider = Provider::start(BACK, OffsetDateTime::now_utc).await;
        with_provider(&api, &provider, json!({"allowed_domains": ["a.example"]})).await;
        provider.account("s", verified("ann@a.example"));
        let mut browser = Browser::default();
        browser.sign_in(&api, &provider, "s").await;
        let page = browser.get(&api, "/tokens").await.text;
        let csrf = csrf(&page);
        provider.fault(Fault::ServerError);
        let reply = browser.post(&api, "/sign-out", &[("csrf", &csrf)]).await;
        assert_eq!(reply.headers[LOCATION], "/sign-in?left=idp");
        assert!(!browser.is_in(&api).await, "ours ends, whatever the provider does");
        let page = browser.get(&api, "/sign-in?left=idp").await.text;
        assert!(page.contains("href=\"/sign-in/with/idp/end\""), "{page}");
        let reply = browser.get(&api, "/sign-in/with/idp/end").await;
        let to = reply.headers[LOCATION].to_str().unwrap().to_owned();
        assert!(to.starts_with(&format!("{}/end?", provider.issuer())), "{to}");
        let query: Vec<_> = form_urlencoded::parse(to.split_once('?').unwrap().1.as_bytes()).into_owned().collect();
        assert!(query.contains(&("post_logout_redirect_uri".to_owned(), format!("{SITE}/sign-in"))), "{query:?}");
        assert_eq!(browser.get(&api, "/sign-in/with/none/end").await.headers[LOCATION], "/sign-in");
    }
}
