//! The settings of providers, the switch of passwords, and the way back in.

use http::Method;
use serde_json::{Value, json};
use time::OffsetDateTime;
use trilane_console::cases::Role;
use trilane_console::first_admin;
use trilane_console::identity_providers::secrets;
use trilane_console::sessions::{self, SignInSource};

use super::browser::{BACK, Browser, put_provider, with_provider};
use super::provider::{CLIENT, Provider};
use crate::api::Api;
use crate::database::on_both;
use crate::page_security::{PASSWORD, csrf, with_password};

const PATH: &str = "/api/v1/identity-providers/idp";

on_both! {
    async fn what_is_kept_and_what_is_refused(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let put = async |id: &str, body: Value| api.call(&admin, Method::PUT, &format!("/api/v1/identity-providers/{id}"), &[], &body).await;
        let good = json!({"issuer": "https://idp.example", "client_id": "c", "client_secret": "very-secret"});
        let with = |name: &str, value: Value| {
            let mut body = good.clone();
            body[name] = value;
            body
        };
        let made = put("idp", good.clone()).await;
        assert!(!made.text.contains("very-secret"));
        let made = made.expect(200);
        assert_eq!((&made["revision"], &made["has_client_secret"], &made["enabled"]), (&json!(1), &json!(true), &json!(true)));
        assert_eq!((&made["label"], &made["verified_claim"]), (&json!("idp"), &json!("email_verified")));
        for (case, id, body, at) in [
            ("an id with a slash", "a%2Fb", good.clone(), "id"),
            ("a capital letter", "A", good.clone(), "id"),
            ("no address", "idp", with("issuer", json!("idp.example")), "issuer"),
            ("without TLS", "idp", with("issuer", json!("http://idp.example")), "issuer"),
            ("an empty client", "idp", with("client_id", json!("")), "client_id"),
            ("a blank in the secret", "idp", with("client_secret", json!("a b")), "client_secret"),
            ("an address as a domain", "idp", with("allowed_domains", json!(["a@b.example"])), "allowed_domains"),
            ("a team that is not there", "idp", with("rules", json!([{"claim": "g", "equals": "x", "teams": ["none"]}])), "rules[0].teams"),
            ("a rule for agents", "idp", with("rules", json!([{"claim": "g", "equals": "x", "role": "agent"}])), "rules[0].role"),
            ("a rule without a value", "idp", with("rules", json!([{"claim": "g", "equals": ""}])), "rules[0].equals"),
        ] {
            assert_eq!(put(id, body).await.problem(422)["problems"][0]["path"], at, "{case}");
        }
        put("idp", with("revision", json!(7))).await.problem(409);
        // The secret stays where it is not named, and goes with the issuer: who may change the address must not receive it.
        let without = json!({"issuer": "https://idp.example", "client_id": "d", "revision": 1});
        assert_eq!(put("idp", without).await.expect(200)["has_client_secret"], true);
        let moved = json!({"issuer": "https://evil.example", "client_id": "d"});
        assert_eq!(put("idp", moved).await.expect(200)["has_client_secret"], false);
        put("idp", good.clone()).await.expect(200);
        assert_eq!(put("idp", with("client_secret", Value::Null)).await.expect(200)["has_client_secret"], false);
        let list = api.get(&admin, "/api/v1/identity-providers").await.expect(200);
        assert_eq!(list["items"].as_array().unwrap().len(), 1);
        // Addresses that are not of the internet are not called.
        put("local", json!({"issuer": "https://127.0.0.1:1", "client_id": "c"})).await.expect(200);
        let test = api.post(&admin, "/api/v1/identity-providers/local/test", &Value::Null).await.problem(409);
        assert!(test["detail"].as_str().unwrap().contains("127.0.0.1"), "{test}");
        let audit = api.get(&admin, "/api/v1/audit?limit=500").await.expect(200).to_string();
        assert!(audit.contains("identity_provider.create") && !audit.contains("very-secret"), "{audit}");
        api.call(&admin, Method::DELETE, PATH, &[], &Value::Null).await.expect(204);
        api.get(&admin, PATH).await.problem(404);
        api.was_well();
    }
}

on_both! {
    /// Passwords are turned off by an admin who has another way in; a link made on the console's machine goes on working.
    async fn passwords_off_and_the_way_back(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let provider = Provider::start(BACK, OffsetDateTime::now_utc).await;
        let admin = with_provider(&api, &provider, json!({"allowed_domains": ["a.example"], "rules": [{"claim": "email", "equals": "ann@a.example", "role": "admin"}]})).await;
        with_password(&api, "bob", Role::Member).await;
        let turn = async |token: &str, on: bool| api.call(token, Method::PUT, "/api/v1/sign-in", &[], &json!({"passwords": on})).await;
        turn(&admin, false).await.problem(409);
        provider.account("s", json!({"email": "ann@a.example", "email_verified": true}));
        let mut ann = Browser::default();
        ann.sign_in(&api, &provider, "s").await;
        let made = api.post(&admin, "/api/v1/tokens", &json!({"name": "t", "person": "ann@a.example"})).await.expect(201);
        let token = made["value"].as_str().unwrap();
        turn(token, false).await.expect(200);
        let mut bob = Browser::default();
        let password = [("person", "bob"), ("password", PASSWORD)];
        let reply = bob.post(&api, "/sign-in", &password).await;
        assert_eq!(reply.status.as_u16(), 403);
        assert!(reply.text.contains("turned off") && !reply.text.contains("name=\"password\""), "{}", reply.text);
        let disabled = json!({"issuer": provider.issuer(), "client_id": CLIENT.0, "enabled": false});
        api.call(token, Method::PUT, PATH, &[], &disabled).await.problem(409);
        api.call(token, Method::DELETE, PATH, &[], &Value::Null).await.problem(409);
        // The way back in, by the command: also where the provider is gone.
        assert!(first_admin::make_link(&api.store, 0).await.unwrap().is_none(), "no start prints a link while an admin can sign in");
        let now = OffsetDateTime::now_utc().unix_timestamp() * 1_000_000;
        let link = first_admin::link_for(&api.store, "root", now).await.unwrap().unwrap();
        let mut root = Browser::default();
        let reply = root.post(&api, "/sign-in/link", &[("token", link.reveal())]).await;
        assert_eq!(reply.headers["location"], "/start", "not to a new password");
        let page = root.get(&api, "/settings").await.text;
        let csrf = csrf(&page);
        let new = [("csrf", csrf.as_str()), ("password", PASSWORD), ("again", PASSWORD)];
        assert_eq!(root.post(&api, "/me/password", &new).await.status.as_u16(), 409);
        turn(&admin, true).await.expect(200);
        assert_eq!(bob.post(&api, "/sign-in", &password).await.status.as_u16(), 303);
        let begun = sessions::by_password(&api.store, "bob", trilane_console::passwords::Password::new(PASSWORD), &SignInSource::default(), now).await;
        assert!(begun.is_ok());
        api.was_well();
    }
}

on_both! {
    /// Secrets of providers are sealed anew with the others, and open with the new key.
    async fn a_new_key_seals_them(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let provider = Provider::start(BACK, OffsetDateTime::now_utc).await;
        let admin = with_provider(&api, &provider, json!({"allowed_domains": ["a.example"]})).await;
        provider.account("s", json!({"email": "ann@a.example", "email_verified": true}));
        let sign_in = async || Browser::default().sign_in(&api, &provider, "s").await.status.as_u16();
        assert_eq!(sign_in().await, 303);
        api.sealing_keys.add().unwrap();
        let keys = api.sealing_keys.read().unwrap();
        assert_eq!(secrets::reseal(&api.store, &keys).await.unwrap(), (2, 0));
        assert_eq!(secrets::reseal(&api.store, &keys).await.unwrap(), (0, 0));
        api.sealing_keys.forget_others().unwrap();
        assert_eq!(sign_in().await, 303);
        // A key that is lost: who signs in is told nothing of it, the log is.
        api.sealing_keys.add().unwrap();
        api.sealing_keys.forget_others().unwrap();
        assert_eq!(secrets::reseal(&api.store, &api.sealing_keys.read().unwrap()).await.unwrap(), (0, 2));
        assert_eq!(Browser::default().get(&api, "/sign-in/with/idp").await.status.as_u16(), 502);
        put_provider(&api, &admin, &provider, json!({"allowed_domains": ["a.example"]})).await;
        assert_eq!(sign_in().await, 303);
    }
}
