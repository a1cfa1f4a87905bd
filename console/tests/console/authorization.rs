//! Permissions: every route with every role, and the objects of others.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use trilane_console::api::{OPEN, ROUTES, openapi};
use trilane_console::cases::{Role, Scope, Scopes};

use crate::api::Api;
use crate::database::on_both;
use crate::ledger::line;

/// A path of a route with something in the place of its parameters.
fn some_path(path: &str) -> String {
    let path = path
        .replace("{envoy}", "agent")
        .replace("{file}", "f")
        .replace("{version}", "1")
        .replace("{order}", "some")
        .replace("{kind}", "owner")
        .replace("{person}", "ann")
        .replace("{provider}", "some")
        .replace("{name}", "some")
        .replace("{group}", "some")
        .replace("{account}", "some");
    path.replace("{id}", "some")
}

on_both! {
    async fn every_route_with_every_role(database: &TestDatabase) {
        let api = Api::new(database).await;
        let mut tokens = Vec::new();
        for role in Role::ALL {
            tokens.push((role, api.person(role.name(), role).await));
        }
        for route in ROUTES {
            let path = some_path(route.path);
            let name = format!("{} {path}", route.method);
            for token in ["", "tlc-wrong"] {
                let reply = api.call(token, route.method.clone(), &path, &[], &Value::Null).await;
                reply.problem(401);
            }
            for (role, token) in &tokens {
                let reply = api.call(token, route.method.clone(), &path, &[], &Value::Null).await;
                let refused = matches!(reply.status.as_u16(), 401 | 403);
                assert_eq!(refused, !route.roles.contains(role), "{name} as {}: {reply:?}", role.name());
            }
        }
        api.was_well();
    }
}

on_both! {
    /// A token with a scope may do what this needs, and nothing else, whatever its person may.
    async fn every_route_with_every_scope(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        for scope in Scope::all() {
            let new = json!({"name": "scoped", "scopes": [scope.to_string()]});
            let made = api.post(&admin, "/api/v1/tokens", &new).await.expect(201);
            assert_eq!(made["token"]["scopes"], json!([scope.to_string()]));
            let token = made["value"].as_str().unwrap();
            assert_eq!(api.get(token, "/api/v1/me").await.expect(200)["scopes"], json!([scope.to_string()]));
            let scopes = Scopes::stored(&scope.to_string());
            for route in ROUTES.iter().filter(|route| route.roles.contains(&Role::Admin)) {
                let path = some_path(route.path);
                let reply = api.call(token, route.method.clone(), &path, &[], &Value::Null).await;
                let may = route.scope.is_none_or(|needed| scopes.include(needed));
                assert_eq!(reply.status != 403, may, "{} {path} with {scope}: {reply:?}", route.method);
            }
        }
        api.was_well();
    }
}

on_both! {
    /// A token with scopes makes none that has more, and none without.
    async fn scopes_are_not_left(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let make = async |token: &str, scopes: Value| {
            let mut new = json!({"name": "n"});
            if !scopes.is_null() {
                new["scopes"] = scopes;
            }
            api.post(token, "/api/v1/tokens", &new).await
        };
        for (case, scopes) in [("none", json!([])), ("an unknown one", json!(["keys:read", "all:write"]))] {
            assert_eq!(make(&admin, scopes).await.problem(422)["problems"][0]["path"], "scopes", "{case}");
        }
        let own = json!(["tokens:write", "keys:read"]);
        let made = make(&admin, own.clone()).await.expect(201);
        let scoped = made["value"].as_str().unwrap();
        for more in [json!(["keys:write"]), json!(["people:read"]), json!(["all:read"]), json!(["keys:read", "usage:read"])] {
            make(scoped, more).await.problem(403);
        }
        let less = make(scoped, json!(["keys:read"])).await.expect(201);
        api.get(less["value"].as_str().unwrap(), "/api/v1/tokens").await.problem(403);
        assert_eq!(make(scoped, Value::Null).await.expect(201)["token"]["scopes"], own, "those of the token that makes it");
        // A scope gives nobody more than the role.
        let ann = api.person("ann", Role::Member).await;
        let made = make(&ann, json!(["people:write"])).await.expect(201);
        api.get(made["value"].as_str().unwrap(), "/api/v1/people").await.problem(403);
        api.was_well();
    }
}

/// A route that is not in the table is nobody's, and one that is in it is served and described.
#[test]
fn the_table_is_whole() {
    let document = serde_json::to_value(openapi()).unwrap();
    let described: BTreeSet<String> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys();
            methods.map(move |method| format!("{} {path}", method.to_uppercase()))
        })
        .collect();
    let open = OPEN.iter().map(|(method, path)| format!("{method} {path}"));
    let table = ROUTES
        .iter()
        .map(|route| format!("{} {}", route.method, route.path))
        .chain(open)
        .collect();
    assert_eq!(described, table);
    for route in ROUTES {
        let needs = route.scope.map(|scope| scope.to_string());
        // They change nothing, though they are sent by POST.
        let is_search = ["/api/v1/keys/find", "/api/v1/documents/check"];
        let is_of_a_program =
            route.path.starts_with("/api/v1/feed/") || route.path.starts_with("/api/v1/ledger/");
        let changes = route.method != Method::GET;
        assert!(
            is_search.contains(&route.path)
                || is_of_a_program
                || needs
                    .as_ref()
                    .is_none_or(|scope| scope.ends_with(":write") == changes),
            "{} {} needs {needs:?}",
            route.method,
            route.path
        );
        let own = [
            "/api/v1/tokens",
            "/api/v1/tokens/{id}",
            "/api/v1/me/notices",
        ]
        .contains(&route.path)
            || is_search.contains(&route.path);
        assert!(
            !changes || own || !route.roles.contains(&Role::Viewer),
            "{} {}",
            route.method,
            route.path
        );
        // Of a team that one manages: `managers.rs`.
        let managed = [
            "/api/v1/keys/{id}",
            "/api/v1/teams/{id}/members/{person}",
            "/api/v1/teams/{id}/members/{person}/budget",
        ];
        assert!(
            !changes
                || own
                || managed.contains(&route.path)
                || route.path.starts_with("/api/v1/me/")
                || !route.roles.contains(&Role::Member),
            "{} {}",
            route.method,
            route.path
        );
    }
}

on_both! {
    /// A member sees nothing of another one, by whatever id.
    async fn what_is_not_ones_own(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (admin, ann) = (api.person("root", Role::Admin).await, api.person("ann", Role::Member).await);
        api.person("bob", Role::Member).await;
        for (id, owner) in [("ka", "ann"), ("kb", "bob"), ("kc", "nobody")] {
            api.post(&admin, "/api/v1/keys", &json!({"id": id, "group": "g", "owner": owner})).await.expect(201);
        }
        let at = "2026-11-24T11:00:00Z";
        let lines = [line(at, "ka", "m", "1"), line(at, "kb", "m", "2")].concat();
        let lines = lines.replace("owner of ka", "ann").replace("owner of kb", "bob");
        api.ledger(&admin, "/api/v1/ledger/e/f?from=0", &lines).await.expect(200);

        let ids = |list: &Value| list["items"].as_array().unwrap().iter().map(|item| item["id"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(&api.get(&ann, "/api/v1/keys").await.expect(200)), ["ka"]);
        assert_eq!(ids(&api.get(&ann, "/api/v1/keys?owner=ann").await.expect(200)), ["ka"]);
        api.get(&ann, "/api/v1/keys?owner=bob").await.problem(403);
        api.get(&ann, "/api/v1/keys/ka").await.expect(200);
        for id in ["kb", "kc", "no", "%00"] {
            api.get(&ann, &format!("/api/v1/keys/{id}")).await.problem(404);
        }
        let usage = |list: Value| list["items"].as_array().unwrap().iter().map(|item| item["charge"].clone()).collect::<Vec<_>>();
        assert_eq!(usage(api.get(&ann, "/api/v1/usage?by=key").await.expect(200)), ["1"]);
        assert_eq!(usage(api.get(&ann, "/api/v1/usage?key=kb").await.expect(200)), Vec::<Value>::new());
        assert_eq!(usage(api.get(&admin, "/api/v1/usage?by=key").await.expect(200)), ["1", "2"]);
        api.get(&ann, "/api/v1/usage?owner=bob").await.problem(403);
        for (kind, subject, own) in [("owner", "ann", true), ("owner", "bob", false), ("key", "ka", true), ("key", "kb", false), ("group", "g", false)] {
            let reply = api.get(&ann, &format!("/api/v1/spend?kind={kind}&subject={subject}&period=2026-11")).await;
            assert_eq!(reply.status == 200, own, "{kind} {subject}: {reply:?}");
        }
        let requests = api.get(&ann, "/api/v1/requests").await.expect(200);
        assert_eq!(requests["items"].as_array().unwrap().len(), 1);
        assert_eq!(requests["items"][0]["line"]["trilane.key.id"], "ka");
        assert_eq!(api.get(&ann, "/api/v1/requests?key=kb").await.expect(200)["items"], json!([]));

        // Tokens: one's own only.
        api.post(&ann, "/api/v1/tokens", &json!({"name": "x", "person": "bob"})).await.problem(403);
        let mine = api.post(&ann, "/api/v1/tokens", &json!({"name": "laptop"})).await.expect(201);
        assert_eq!(api.get(&ann, "/api/v1/tokens").await.expect(200)["items"].as_array().unwrap().len(), 2);
        assert_eq!(api.get(&admin, "/api/v1/tokens").await.expect(200)["items"].as_array().unwrap().len(), 4);
        let remove = async |token: &str, id: &str| api.call(token, Method::DELETE, &format!("/api/v1/tokens/{id}"), &[], &Value::Null).await;
        remove(&ann, "token%20of%20bob").await.problem(404);
        let second = mine["value"].as_str().unwrap();
        assert_eq!(api.get(second, "/api/v1/me").await.expect(200)["id"], "ann");
        remove(&ann, mine["token"]["id"].as_str().unwrap()).await.expect(204);
        api.get(second, "/api/v1/me").await.problem(401);
        api.was_well();
    }
}

/// Every route by which a member or an agent names an object: that of somebody else, and one that is not there.
const OTHERS: [(&str, &str, &str); 22] = [
    ("PATCH /api/v1/keys/{id}", "kb", "none"),
    ("GET /api/v1/teams/{id}", "blue", "none"),
    (
        "GET /api/v1/teams/{id}/members",
        "blue/members",
        "none/members",
    ),
    (
        "PUT /api/v1/teams/{id}/members/{person}",
        "blue/members/bob",
        "none/members/bob",
    ),
    (
        "DELETE /api/v1/teams/{id}/members/{person}",
        "blue/members/bob",
        "none/members/bob",
    ),
    (
        "PUT /api/v1/teams/{id}/members/{person}/budget",
        "blue/members/bob/budget",
        "none/members/bob/budget",
    ),
    (
        "DELETE /api/v1/teams/{id}/members/{person}/budget",
        "blue/members/bob/budget",
        "none/members/bob/budget",
    ),
    (
        "POST /api/v1/me/ordered-keys/{id}/take",
        "order-of-bob/take",
        "none/take",
    ),
    ("DELETE /api/v1/me/sign-ins/{id}", "of-bob", "none"),
    ("PATCH /api/v1/me/keys/{id}", "kb", "none"),
    (
        "DELETE /api/v1/me/keys/{id}/old-values",
        "kb/old-values",
        "none/old-values",
    ),
    (
        "POST /api/v1/me/keys/{id}/rotate",
        "kb/rotate",
        "none/rotate",
    ),
    (
        "GET /api/v1/requests/{id}",
        "1795518000000000~0~edge-2~f",
        "1795518000000000~1~edge-2~f",
    ),
    ("GET /api/v1/budgets/{kind}/{id}", "owner/bob", "owner/none"),
    ("GET /api/v1/keys/{id}", "kb", "none"),
    ("GET /api/v1/keys/{id}/models", "kb/models", "none/models"),
    (
        "GET /api/v1/keys/{id}/remaining",
        "kb/remaining",
        "none/remaining",
    ),
    ("DELETE /api/v1/tokens/{id}", "token%20of%20bob", "none"),
    (
        "PUT /api/v1/envoys/{id}/report",
        "edge-2/report",
        "none/report",
    ),
    ("GET /api/v1/ledger/{envoy}/{file}", "edge-2/f", "none/f"),
    (
        "POST /api/v1/ledger/{envoy}/{file}",
        "edge-2/f?from=0",
        "none/f?from=0",
    ),
    (
        "POST /api/v1/ledger/{envoy}/{file} from its end",
        "edge-2/f?from=9",
        "none/f?from=9",
    ),
];

on_both! {
    /// Guesses the ids of other people's objects: a caller learns not even whether they exist, and changes nothing.
    async fn ids_that_are_guessed(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let bob = api.person("bob", Role::Member).await;
        let guessing = [(Role::Member, api.person("ann", Role::Member).await), (Role::Agent, api.person("edge-1", Role::Agent).await)];
        api.post(&admin, "/api/v1/envoys", &json!({"id": "edge-2"})).await.expect(201);
        api.post(&admin, "/api/v1/keys", &json!({"id": "kb", "group": "g", "owner": "bob"})).await.expect(201);
        api.post(&admin, "/api/v1/teams", &json!({"id": "blue"})).await.expect(201);
        api.call(&admin, Method::PUT, "/api/v1/teams/blue/members/bob", &[], &json!({})).await.expect(200);
        database.execute("INSERT INTO client_sign_ins VALUES ('of-bob', 'bob', 'r', 'c', '', '', 1, 1, 1, 1, 9000000000000000)").await.unwrap();
        database.execute("INSERT INTO ordered_keys VALUES ('order-of-bob', 'bob', '{\"group\":\"g\"}', 1)").await.unwrap();
        let text = line("2026-11-24T11:00:00Z", "kb", "m", "1");
        api.ledger(&admin, "/api/v1/ledger/edge-2/f?from=0", &text).await.expect(200);
        let seen = async || {
            let mut seen = vec![api.get(&bob, "/api/v1/me").await.expect(200)];
            for path in ["/api/v1/keys/kb", "/api/v1/envoys/edge-2", "/api/v1/ledger/edge-2/f", "/api/v1/usage?by=key", "/api/v1/tokens", "/api/v1/people/bob/sign-ins", "/api/v1/teams/blue/members"] {
                seen.push(api.get(&admin, path).await.expect(200));
            }
            seen
        };
        let before = seen().await;
        for (role, token) in &guessing {
            for route in ROUTES.iter().filter(|route| route.path.contains('{') && route.roles.contains(role)) {
                let name = format!("{} {}", route.method, route.path);
                let mut cases = OTHERS.iter().filter(|(of, ..)| of.starts_with(&name)).peekable();
                assert!(cases.peek().is_some(), "{name} as {}: say in OTHERS which objects are another one's", role.name());
                for (case, other, none) in cases {
                    let (base, _) = route.path.split_once('{').unwrap();
                    let body = match route.method {
                        Method::PUT if route.path.ends_with("/budget") => json!({"per_day": "1"}),
                        Method::PUT if route.path.contains("/members/") => json!({}),
                        Method::PUT => json!({"version": "1"}),
                        Method::PATCH if route.path == "/api/v1/keys/{id}" => json!({"disabled": true}),
                        _ if route.path.starts_with("/api/v1/me/") => json!({}),
                        _ => Value::Null,
                    };
                    let ask = async |id: &str| api.call(token, route.method.clone(), &format!("{base}{id}"), &[], &body).await;
                    let (theirs, nobodys) = (ask(other).await, ask(none).await);
                    assert!(matches!(theirs.status.as_u16(), 403 | 404), "{case} as {}: {theirs:?}", role.name());
                    assert_eq!((theirs.status, theirs.text), (nobodys.status, nobodys.text), "{case} as {}", role.name());
                }
            }
        }
        assert_eq!(seen().await, before);
        api.was_well();
    }
}

on_both! {
    /// An agent sends for its own Envoy.
    async fn an_agent_is_of_one_envoy(database: &TestDatabase) {
        let api = Api::new(database).await;
        let agent = api.person("envoy-1", Role::Agent).await;
        let text = line("2026-11-24T11:00:00Z", "k", "m", "1");
        api.ledger(&agent, "/api/v1/ledger/envoy-1/f?from=0", &text).await.expect(200);
        api.ledger(&agent, "/api/v1/ledger/envoy-2/f?from=0", &text).await.problem(403);
        api.get(&agent, "/api/v1/ledger/envoy-2/f").await.problem(403);
        let position = api.get(&agent, "/api/v1/ledger/envoy-1/f").await.expect(200);
        assert_eq!(position, json!({"position": text.len(), "lines": 1, "aside": 0}));
        api.was_well();
    }
}

on_both! {
    /// Takes effect from the next request on: a person is disabled or gets another role, a token expires.
    async fn what_is_taken_away(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (admin, other) = (api.person("root", Role::Admin).await, api.person("other", Role::Admin).await);
        let past = OffsetDateTime::now_utc() - Duration::MINUTE;
        let expired = api.person_until("late", Role::Admin, Some(past)).await;
        api.get(&expired, "/api/v1/me").await.problem(401);
        let future = OffsetDateTime::now_utc() + Duration::HOUR;
        let lasting = api.person_until("early", Role::Viewer, Some(future)).await;
        api.get(&lasting, "/api/v1/me").await.expect(200);

        let change = async |token: &str, id: &str, body: Value| api.call(token, Method::PATCH, &format!("/api/v1/people/{id}"), &[], &body).await;
        // Tokens end with another role and with a disabling, and nothing brings them back.
        let new_token = async || api.post(&admin, "/api/v1/tokens", &json!({"name": "n", "person": "other"})).await.expect(201)["value"].as_str().unwrap().to_owned();
        for (case, gone, back) in [
            ("another role", json!({"role": "viewer"}), json!({"role": "admin"})),
            ("disabled", json!({"disabled": true}), json!({"disabled": false})),
            ("both", json!({"role": "member", "disabled": true}), json!({"role": "admin", "disabled": false})),
        ] {
            let second = new_token().await;
            api.get(&second, "/api/v1/people").await.expect(200);
            change(&admin, "other", gone).await.expect(200);
            api.get(&second, "/api/v1/people").await.problem(401);
            change(&admin, "other", back).await.expect(200);
            for token in [&other, &second] {
                assert_eq!(api.get(token, "/api/v1/people").await.status, 401, "{case}: it does not come back");
            }
        }
        let kept = new_token().await;
        change(&admin, "other", json!({"name": "Other"})).await.expect(200);
        api.get(&kept, "/api/v1/people").await.expect(200);
        let audit = api.get(&admin, "/api/v1/audit?action=token.remove").await.expect(200);
        let objects: Vec<&Value> = audit["items"].as_array().unwrap().iter().map(|entry| &entry["object"]).collect();
        assert!(objects.len() == 4 && objects.contains(&&json!("token of other")), "{objects:?}");
        change(&admin, "other", json!({"disabled": true})).await.expect(200);
        api.post(&admin, "/api/v1/tokens", &json!({"name": "n", "person": "other"})).await.problem(422);
        // "late" is an admin too, though without a good token.
        change(&admin, "late", json!({"role": "member"})).await.expect(200);
        for last in [json!({"disabled": true}), json!({"role": "viewer"})] {
            change(&admin, "root", last).await.problem(409);
        }
        change(&admin, "nobody", json!({})).await.problem(404);
        api.get(&admin, "/api/v1/people").await.expect(200);
        api.was_well();
    }
}
