//! Clients that a person lets in: they ask, wait, get a key for a while, another value of it, and an end.

use std::sync::atomic::{AtomicI64, Ordering};

use http::header::CONTENT_TYPE;
use http::{Method, Request, StatusCode};
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use trilane_console::cases::Role;
use trilane_console::maintenance::{self, Retention};

use crate::api::{Api, ApiReply};
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};
use crate::page_security::{PASSWORD, csrf, get, post, session, with_password};

/// The time by which the console is ahead, in seconds.
static AHEAD: AtomicI64 = AtomicI64::new(0);

fn clock() -> OffsetDateTime {
    OffsetDateTime::now_utc() + Duration::seconds(AHEAD.load(Ordering::Relaxed))
}

fn pass(seconds: i64) {
    AHEAD.fetch_add(seconds, Ordering::Relaxed);
}

const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// A console with a document, a team whose members make keys, and a member of it who is signed in.
struct SignInConsole {
    api: Api,
    admin: String,
    agent: String,
    cookie: String,
}

impl SignInConsole {
    async fn new(database: &crate::database::TestDatabase) -> Self {
        let api = Api::with_clock(database, clock).await;
        let admin = api.person("root", Role::Admin).await;
        publish(&api, &admin, &document("g", PRICES)).await;
        let limits = json!({"requests_per_minute": 60});
        let allowance = json!({"keys": 1, "groups": ["g"], "limits": limits});
        let team = json!({"id": "blue", "name": "Blue", "allowance": allowance});
        api.post(&admin, "/api/v1/teams", &team).await.expect(201);
        with_password(&api, "ann", Role::Member).await;
        let member = json!({"manager": false});
        let path = "/api/v1/teams/blue/members/ann";
        api.call(&admin, Method::PUT, path, &[], &member)
            .await
            .expect(200);
        let signed_in = [("person", "ann"), ("password", PASSWORD)];
        let cookie = session(&post(&api, "/sign-in", "", &signed_in).await);
        let agent = api.person("edge", Role::Agent).await;
        Self {
            api,
            admin,
            agent,
            cookie,
        }
    }

    async fn form(&self, path: &str, fields: &[(&str, &str)]) -> ApiReply {
        post(&self.api, path, "", fields).await
    }

    /// The codes of a client that asks.
    async fn ask(&self) -> (String, String) {
        let request = Request::post("/oauth/device_authorization")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header("host", "console.example");
        let codes = self
            .api
            .send(request.body(String::new().into()).unwrap())
            .await;
        assert_eq!(codes.headers["cache-control"], "no-store");
        let codes = codes.expect(200);
        assert_eq!(
            (&codes["interval"], &codes["expires_in"]),
            (&json!(5), &json!(600))
        );
        assert_eq!(codes["verification_uri"], "http://console.example/device");
        let text = |name: &str| codes[name].as_str().unwrap().to_owned();
        (text("device_code"), text("user_code"))
    }

    /// Asks for a token of the API.
    async fn ask_for(&self, scope: &str) -> ApiReply {
        let asking = [
            ("client_id", "trilane"),
            ("device_name", "desk"),
            ("scope", scope),
        ];
        self.form("/oauth/device_authorization", &asking).await
    }

    async fn poll(&self, code: &str) -> ApiReply {
        let fields = [("grant_type", DEVICE), ("device_code", code)];
        self.form("/oauth/token", &fields).await
    }

    async fn refresh(&self, token: &str) -> ApiReply {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", token)];
        self.form("/oauth/token", &fields).await
    }

    /// Decides on the page of a code.
    async fn decide(&self, user_code: &str, choice: &str, decision: &str) -> ApiReply {
        let asked = get(
            &self.api,
            &format!("/device?user_code={user_code}"),
            &self.cookie,
        )
        .await;
        let csrf = csrf(&asked.text);
        let fields = [
            ("csrf", csrf.as_str()),
            ("user_code", user_code),
            ("choice", choice),
            ("decision", decision),
        ];
        post(&self.api, "/device", &self.cookie, &fields).await
    }

    /// The tokens of a client that was let in.
    async fn signed_in(&self) -> (String, String) {
        let (device_code, user_code) = self.ask().await;
        assert_eq!(
            self.decide(&user_code, "blue/g", "approve").await.status,
            StatusCode::SEE_OTHER
        );
        let tokens = self.poll(&device_code).await.expect(200);
        let text = |name: &str| tokens[name].as_str().unwrap().to_owned();
        (text("access_token"), text("refresh_token"))
    }

    /// The keys that gateways take: id, digest and end of each.
    async fn taken(&self) -> Vec<(String, String, String)> {
        let feed = self
            .api
            .get(&self.agent, "/api/v1/feed/keys")
            .await
            .expect(200);
        let good = |change: &&Value| change["disabled"] != true && change["id"].is_string();
        let text =
            |change: &Value, name: &str| change[name].as_str().unwrap_or_default().to_owned();
        let changes = feed["changes"].as_array().unwrap().iter().filter(good);
        changes
            .map(|change| {
                (
                    text(change, "id"),
                    text(change, "sha256"),
                    text(change, "expires_at"),
                )
            })
            .collect()
    }

    async fn takes(&self, value: &str) -> bool {
        let digest = trilane_console::secret::digest(value);
        self.taken()
            .await
            .iter()
            .any(|(_, sha256, _)| *sha256 == digest)
    }
}

trait ReplyStatus {
    fn is(self, status: u16);
}

impl ReplyStatus for ApiReply {
    fn is(self, status: u16) {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
    }
}

fn error(reply: &ApiReply) -> (u16, String) {
    let body: Value = serde_json::from_str(&reply.text).unwrap();
    assert_eq!(reply.headers["cache-control"], "no-store");
    (
        reply.status.as_u16(),
        body["error"].as_str().unwrap_or_default().to_owned(),
    )
}

on_both! {
    /// From the question to the key, its next value, and the end.
    async fn from_question_to_end(database: &TestDatabase) {
        let console = SignInConsole::new(database).await;
        let (device_code, user_code) = console.ask().await;
        assert_eq!(error(&console.poll(&device_code).await), (400, "authorization_pending".into()));
        assert_eq!(error(&console.poll(&device_code).await), (400, "slow_down".into()));
        pass(6);
        assert_eq!(error(&console.poll(&device_code).await), (400, "slow_down".into()), "five seconds more");
        pass(16);
        assert_eq!(error(&console.poll(&device_code).await), (400, "authorization_pending".into()));

        let typed = user_code.to_lowercase().replace('-', " ");
        let page = get(&console.api, &format!("/device?user_code={}", typed.replace(' ', "+")), &console.cookie).await.text;
        assert!(page.contains(&user_code) && page.contains("Claude Code") && page.contains("Blue, group G"), "{page}");
        assert_eq!(error(&console.poll(&device_code).await).1, "slow_down", "to look approves nothing");
        assert_eq!(console.decide(&user_code, "blue/g", "approve").await.status, StatusCode::SEE_OTHER);
        let tokens = console.poll(&device_code).await.expect(200);
        assert_eq!((&tokens["token_type"], &tokens["expires_in"]), (&json!("Bearer"), &json!(3600)));
        let (access, refresh) = (tokens["access_token"].as_str().unwrap(), tokens["refresh_token"].as_str().unwrap());
        assert!(console.takes(access).await);
        assert_eq!(error(&console.poll(&device_code).await), (400, "expired_token".into()), "a code is good once");

        let own = console.api.get(&console.admin, "/api/v1/people/ann/sign-ins").await.expect(200)["items"].clone();
        let id = own[0]["id"].as_str().unwrap();
        assert!(id.starts_with("claude-code-"), "{id}");
        let key = console.api.get(&console.admin, &format!("/api/v1/keys/{id}")).await.expect(200);
        assert_eq!((&key["owner"], &key["team"], &key["group"]), (&json!("ann"), &json!("blue"), &json!("g")));
        assert_eq!(key["limits"]["requests_per_minute"], 60);

        // Another value, once the first is about to end; both are good until then, and whoever asks twice gets one.
        assert_eq!(console.refresh(refresh).await.expect(200)["access_token"], access, "it is good for long enough");
        pass(3100);
        let (one, two) = tokio::join!(console.refresh(refresh), console.refresh(refresh));
        let (one, two) = (one.expect(200), two.expect(200));
        assert_eq!(one["access_token"], two["access_token"]);
        assert_eq!((&one["refresh_token"], &two["refresh_token"]), (&json!(refresh), &json!(refresh)));
        assert!(one["expires_in"].as_i64() >= Some(3590), "{one}");
        let next = one["access_token"].as_str().unwrap();
        assert!(next != access && console.takes(next).await && console.takes(access).await);
        let taken = console.taken().await;
        assert_eq!(taken.len(), 2, "{taken:?}");
        assert!(taken.iter().all(|(of, ..)| of.starts_with(id)), "{taken:?}");
        pass(3500);
        console.refresh(refresh).await.expect(200);
        assert!(!console.takes(access).await && console.takes(next).await, "what has expired is gone");
        assert_eq!(console.taken().await.len(), 2);

        // The terms are those that the team has by then.
        let change = json!({"allowance": {"keys": 1, "groups": ["g"], "limits": {"requests_per_minute": 5}}});
        console.api.call(&console.admin, Method::PATCH, "/api/v1/teams/blue", &[], &change).await.expect(200);
        pass(3500);
        let last = console.refresh(refresh).await.expect(200)["access_token"].clone();
        let key = console.api.get(&console.admin, &format!("/api/v1/keys/{id}")).await.expect(200);
        assert_eq!(key["limits"]["requests_per_minute"], 5);

        assert_eq!(console.form("/oauth/revoke", &[("token", refresh)]).await.status, StatusCode::OK);
        assert!(!console.takes(last.as_str().unwrap()).await);
        assert_eq!(error(&console.refresh(refresh).await), (401, "invalid_grant".into()));
        assert_eq!(console.form("/oauth/revoke", &[("token", refresh)]).await.status, StatusCode::OK, "again");
        let audit = console.api.get(&console.admin, "/api/v1/audit?limit=500").await.expect(200);
        let said: Vec<&str> = audit["items"].as_array().unwrap().iter().map(|of| of["action"].as_str().unwrap()).collect();
        for action in ["client.approve", "client.sign-in", "client.sign-out", "key.create"] {
            assert!(said.contains(&action), "{action}: {said:?}");
        }
        assert!(!said.contains(&"key.rotate"), "a refresh is nobody's act: {said:?}");
        console.api.was_well();
    }
}

on_both! {
    async fn questions_that_are_none(database: &TestDatabase) {
        let console = SignInConsole::new(database).await;
        let (refused, user_code) = console.ask().await;
        assert_eq!(console.decide(&user_code, "", "deny").await.status, StatusCode::SEE_OTHER);
        assert_eq!(error(&console.poll(&refused).await), (400, "access_denied".into()));
        let (late, late_code) = console.ask().await;
        pass(601);
        assert_eq!(error(&console.poll(&late).await), (400, "expired_token".into()));
        assert_eq!(get(&console.api, &format!("/device?user_code={late_code}"), &console.cookie).await.status, StatusCode::UNPROCESSABLE_ENTITY);
        for (case, fields, want) in [
            ("no grant", vec![], (400, "invalid_request")),
            ("another grant", vec![("grant_type", "password")], (400, "unsupported_grant_type")),
            ("no code", vec![("grant_type", DEVICE)], (400, "invalid_request")),
            ("a code of nobody", vec![("grant_type", DEVICE), ("device_code", "tlg-x")], (400, "expired_token")),
            ("no token", vec![("grant_type", "refresh_token")], (400, "invalid_request")),
            ("a token of nobody", vec![("grant_type", "refresh_token"), ("refresh_token", "tlf-\0")], (401, "invalid_grant")),
        ] {
            let got = error(&console.form("/oauth/token", &fields).await);
            assert_eq!((got.0, got.1.as_str()), want, "{case}");
        }
        let json = Request::post("/oauth/token").header(CONTENT_TYPE, "application/json");
        let json = console.api.send(json.body("{}".to_owned().into()).unwrap()).await;
        assert_eq!(error(&json), (400, "invalid_request".into()));
        let named = console.form("/oauth/device_authorization", &[("client_id", "<b>")]).await;
        assert_eq!(error(&named), (400, "invalid_client".into()));

        // Somebody who is not signed in, or has sent what no page has, decides nothing.
        let (device_code, user_code) = console.ask().await;
        let path = format!("/device?user_code={user_code}");
        let reply = get(&console.api, &path, "").await;
        assert_eq!(reply.status, StatusCode::SEE_OTHER);
        assert!(reply.headers["location"].to_str().unwrap().contains("user_code"), "it comes back after the sign-in");
        let fields = [("user_code", user_code.as_str()), ("choice", "blue/g"), ("decision", "approve")];
        assert_eq!(post(&console.api, "/device", &console.cookie, &fields).await.status, StatusCode::FORBIDDEN);
        for choice in ["red/g", "blue/h", "blue", ""] {
            let reply = console.decide(&user_code, choice, "approve").await;
            assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{choice}");
        }
        pass(6);
        assert_eq!(error(&console.poll(&device_code).await).1, "authorization_pending");

        // Nobody finds a code by trying.
        let mut seen = Vec::new();
        for _ in 0..40 {
            let reply = get(&console.api, "/device?user_code=BBBB-BBBB", &console.cookie).await;
            seen.push(reply.status.as_u16());
        }
        assert_eq!((seen[0], seen[39]), (422, 429), "{seen:?}");
        console.api.was_well();
    }
}

on_both! {
    /// A client that asks for scopes gets a token of the API: the person's own, for a working day, with these and no others.
    async fn a_token_of_the_api(database: &TestDatabase) {
        let mut console = SignInConsole::new(database).await;
        for scope in ["", "people:write", "tokens:write", "accounts:write", "all:read", "keys:read envoys:read", "nonsense"] {
            assert_eq!(error(&console.ask_for(scope).await), (400, "invalid_scope".into()), "{scope}");
        }
        for (person, role, changes) in [("ann", Role::Member, false), ("vera", Role::Viewer, false), ("zoe", Role::Admin, true)] {
            if person != "ann" {
                with_password(&console.api, person, role).await;
            }
            console.cookie = session(&post(&console.api, "/sign-in", "", &[("person", person), ("password", PASSWORD)]).await);
            let codes = console.ask_for("keys:write usage:read documents:read").await.expect(200);
            let (device_code, user_code) = (codes["device_code"].as_str().unwrap(), codes["user_code"].as_str().unwrap());
            let page = get(&console.api, &format!("/device?user_code={user_code}"), &console.cookie).await.text;
            for said in ["trilane command", "make, change and remove keys", "<code>keys:write</code>", "<code>usage:read</code>", "for twelve hours"] {
                assert!(page.contains(said), "{said}: {page}");
            }
            assert!(!page.contains("Team and group of its key"), "{page}");
            // It is no key that is let in by mistake, nor the other way round.
            assert_eq!(console.decide(user_code, "blue/g", "approve").await.status, StatusCode::UNPROCESSABLE_ENTITY);
            assert_eq!(console.decide(user_code, "", "approve_token").await.status, StatusCode::SEE_OTHER);
            let tokens = console.poll(device_code).await.expect(200);
            assert_eq!((&tokens["expires_in"], tokens.get("refresh_token")), (&json!(12 * 3600), None), "{tokens}");
            let token = tokens["access_token"].as_str().unwrap();
            let me = console.api.get(token, "/api/v1/me").await.expect(200);
            assert_eq!((&me["id"], &me["scopes"]), (&json!(person), &json!(["keys:write", "usage:read", "documents:read"])));
            console.api.get(token, "/api/v1/keys").await.expect(200);
            let key = json!({"id": format!("of-{person}"), "group": "g"});
            assert_eq!(console.api.post(token, "/api/v1/keys", &key).await.status == 201, changes, "{person}");
            console.api.get(token, "/api/v1/people").await.problem(403);
            let listed = console.api.get(&console.admin, &format!("/api/v1/tokens?person={person}")).await.expect(200)["items"].clone();
            let of = listed.as_array().unwrap().iter().find(|of| of["name"] == "trilane command on desk").unwrap();
            // By its holder, on the page Tokens, or at its end.
            match person {
                "ann" => assert_eq!(console.form("/oauth/revoke", &[("token", token)]).await.status, StatusCode::OK),
                "vera" => console.api.call(&console.admin, Method::DELETE, &format!("/api/v1/tokens/{}", of["id"].as_str().unwrap()), &[], &Value::Null).await.is(204),
                _ => pass(12 * 3600 + 1),
            }
            console.api.get(token, "/api/v1/me").await.problem(401);
        }
        // A client that asks for a key is given no token.
        let (_, user_code) = console.ask().await;
        console.cookie = session(&post(&console.api, "/sign-in", "", &[("person", "ann"), ("password", PASSWORD)]).await);
        assert_eq!(console.decide(&user_code, "", "approve_token").await.status, StatusCode::UNPROCESSABLE_ENTITY);
        let audit = console.api.get(&console.admin, "/api/v1/audit?limit=500").await.expect(200);
        let of = |action: &str| audit["items"].as_array().unwrap().iter().filter(|of| of["action"] == action).cloned().collect::<Vec<_>>();
        let approved = of("client.approve");
        assert!(approved.iter().all(|of| of["after"].to_string().contains("keys:write usage:read documents:read")), "{approved:?}");
        assert_eq!((approved.len(), of("client.sign-in").len()), (3, 0));
        assert!(of("token.remove").iter().any(|entry| entry["actor"] == "ann"), "signed out");
        console.api.was_well();
    }
}

on_both! {
    /// Ends a sign-in in every way: its key ends at once.
    async fn ends(database: &TestDatabase) {
        let mut console = SignInConsole::new(database).await;
        for case in ["by page", "by an admin", "its key is removed", "its key is disabled", "out of the team", "another role", "disabled"] {
            console.cookie = session(&post(&console.api, "/sign-in", "", &[("person", "ann"), ("password", PASSWORD)]).await);
            let call = async |method: Method, path: String, body: Value| console.api.call(&console.admin, method, &path, &[], &body).await;
            let (access, refresh) = console.signed_in().await;
            assert!(console.takes(&access).await, "{case}");
            let open = console.api.get(&console.admin, "/api/v1/people/ann/sign-ins").await.expect(200);
            let id = open["items"][0]["id"].as_str().unwrap().to_owned();
            match case {
                "by page" => {
                    let csrf = csrf(&get(&console.api, "/me", &console.cookie).await.text);
                    let path = format!("/me/sign-ins/{id}/end");
                    assert_eq!(post(&console.api, &path, &console.cookie, &[("csrf", &csrf)]).await.status, StatusCode::SEE_OTHER);
                }
                "by an admin" => call(Method::DELETE, format!("/api/v1/people/ann/sign-ins/{id}"), Value::Null).await.is(204),
                "its key is removed" => call(Method::DELETE, format!("/api/v1/keys/{id}"), Value::Null).await.is(204),
                "its key is disabled" => call(Method::PATCH, format!("/api/v1/keys/{id}"), json!({"disabled": true})).await.is(200),
                "out of the team" => call(Method::DELETE, "/api/v1/teams/blue/members/ann".to_owned(), Value::Null).await.is(204),
                "another role" => call(Method::PATCH, "/api/v1/people/ann".to_owned(), json!({"role": "viewer"})).await.is(200),
                _ => {
                    let ended = call(Method::PATCH, "/api/v1/people/ann".to_owned(), json!({"disabled": true})).await.expect(200);
                    assert_eq!(ended["ended"]["sign_ins"], 1, "{ended}");
                }
            }
            assert_eq!(error(&console.refresh(&refresh).await), (401, "invalid_grant".into()), "{case}");
            assert!(!console.takes(&access).await, "{case}");
            let open = console.api.get(&console.admin, "/api/v1/people/ann/sign-ins").await.expect(200);
            assert_eq!(open["items"], json!([]), "{case}");
            // For the next one.
            call(Method::PATCH, "/api/v1/people/ann".to_owned(), json!({"role": "member", "disabled": false})).await.is(200);
            call(Method::PUT, "/api/v1/teams/blue/members/ann".to_owned(), json!({"manager": false})).await.is(200);
            assert!(!console.takes(&access).await, "{case}: it does not come back");
        }
        console.api.was_well();
    }
}

on_both! {
    /// A sign-in is over after 90 days, and nothing of it stays; 20 are open at most; and a team's number of keys is not theirs.
    async fn many_and_old(database: &TestDatabase) {
        let console = SignInConsole::new(database).await;
        let (_, first) = console.signed_in().await;
        for _ in 0..20 {
            pass(1);
            console.signed_in().await;
        }
        assert_eq!(error(&console.refresh(&first).await), (401, "invalid_grant".into()), "the one that was not used for longest");
        assert_eq!(console.taken().await.len(), 20);
        let csrf = csrf(&get(&console.api, "/me/new-key", &console.cookie).await.text);
        let fields = [("csrf", csrf.as_str()), ("team", "blue"), ("group", "g"), ("once", "1")];
        let made = post(&console.api, "/me/keys", &console.cookie, &fields).await;
        assert_eq!(made.status, StatusCode::OK, "{}", made.text);
        let (_, last) = console.signed_in().await;
        let is_over = "UPDATE client_sign_ins SET expires_at = 1";
        database.execute(is_over).await.unwrap();
        assert_eq!(error(&console.refresh(&last).await), (401, "invalid_grant".into()));
        maintenance::run(&console.api.store, Retention { removals: 30, requests: 30 }).await.unwrap();
        assert_eq!(console.taken().await.len(), 1, "the key that was made");
        console.api.was_well();
    }
}

on_both! {
    /// The discovery names addresses where it was asked, whatever its port and scheme; and the gateway.
    async fn discovery(database: &TestDatabase) {
        let console = SignInConsole::new(database).await;
        for (case, host, scheme, want) in [
            ("plain", "127.0.0.1:10092", None, "http://127.0.0.1:10092"),
            ("behind a proxy", "gw.example", Some("https"), "https://gw.example"),
            ("a scheme of nobody", "gw.example", Some("gopher"), "http://gw.example"),
        ] {
            let mut request = Request::get("/.well-known/oauth-authorization-server").header("host", host);
            if let Some(scheme) = scheme {
                request = request.header("x-forwarded-proto", scheme);
            }
            let found = console.api.send(request.body(String::new().into()).unwrap()).await.expect(200);
            assert_eq!(found["device_authorization_endpoint"], format!("{want}/oauth/device_authorization"), "{case}");
            assert_eq!(found["token_endpoint"], format!("{want}/oauth/token"), "{case}");
        }
    }
}

on_both! {
    /// Refreshes, polls and disables at the same moment: once somebody is out, no key of theirs is taken.
    async fn two_at_once(database: &TestDatabase) {
        let console = SignInConsole::new(database).await;
        let call = async |method: Method, path: &str, body: Value| console.api.call(&console.admin, method, path, &[], &body).await;
        for round in 0..30 {
            let cookie = session(&post(&console.api, "/sign-in", "", &[("person", "ann"), ("password", PASSWORD)]).await);
            let csrf = csrf(&get(&console.api, "/me", &cookie).await.text);
            let let_in = async || {
                let (device_code, user_code) = console.ask().await;
                let fields = [("csrf", csrf.as_str()), ("user_code", &user_code), ("choice", "blue/g"), ("decision", "approve")];
                assert_eq!(post(&console.api, "/device", &cookie, &fields).await.status, StatusCode::SEE_OTHER);
                device_code
            };
            let tokens = console.poll(&let_in().await).await.expect(200);
            let refresh = tokens["refresh_token"].as_str().unwrap();
            let waiting = let_in().await;
            pass(3300);
            let waiting = if round % 2 == 0 { waiting } else { let_in().await };
            let disabled = json!({"disabled": true});
            let (refreshed, polled, stopped) = tokio::join!(
                console.refresh(refresh),
                console.poll(&waiting),
                call(Method::PATCH, "/api/v1/people/ann", disabled),
            );
            stopped.is(200);
            for (what, reply) in [("refresh", refreshed), ("poll", polled)] {
                assert!([200, 400, 401].contains(&reply.status.as_u16()), "{round}, {what}: {reply:?}");
            }
            assert_eq!(console.taken().await, [], "{round}");
            assert_eq!(error(&console.refresh(refresh).await), (401, "invalid_grant".into()), "{round}");
            assert_ne!(console.poll(&waiting).await.status, StatusCode::OK, "{round}: not after they are out");
            call(Method::PATCH, "/api/v1/people/ann", json!({"disabled": false})).await.is(200);
            assert_eq!(console.taken().await, [], "{round}: it does not come back");
        }
        console.api.was_well();
    }
}

on_both! {
    /// A person of no team has keys of the group that an admin, or the identity provider, has chosen.
    async fn of_no_team(database: &TestDatabase) {
        let mut console = SignInConsole::new(database).await;
        with_password(&console.api, "bob", Role::Member).await;
        console.cookie = session(&post(&console.api, "/sign-in", "", &[("person", "bob"), ("password", PASSWORD)]).await);
        let (_, user_code) = console.ask().await;
        let page = get(&console.api, &format!("/device?user_code={user_code}"), &console.cookie).await.text;
        assert!(page.contains("No team of yours lets its members make keys") && !page.contains("approve"), "{page}");
        let set = async |group: Value| console.api.call(&console.admin, Method::PATCH, "/api/v1/people/bob", &[], &json!({"key_group": group})).await;
        assert_eq!(console.decide(&user_code, "/g", "approve").await.status, StatusCode::UNPROCESSABLE_ENTITY);
        set(json!("g")).await.is(200);
        let (device_code, user_code) = console.ask().await;
        assert_eq!(console.decide(&user_code, "/g", "approve").await.status, StatusCode::SEE_OTHER);
        let tokens = console.poll(&device_code).await.expect(200);
        let (access, refresh) = (tokens["access_token"].as_str().unwrap(), tokens["refresh_token"].as_str().unwrap());
        assert!(console.takes(access).await);
        let open = console.api.get(&console.admin, "/api/v1/people/bob/sign-ins").await.expect(200);
        let key = console.api.get(&console.admin, &format!("/api/v1/keys/{}", open["items"][0]["id"].as_str().unwrap())).await.expect(200);
        assert_eq!((&key["owner"], &key["group"], &key["team"]), (&json!("bob"), &json!("g"), &Value::Null));
        set(Value::Null).await.is(200);
        assert_eq!(error(&console.refresh(refresh).await), (401, "invalid_grant".into()));
        assert!(!console.takes(access).await);
        console.api.was_well();
    }
}
