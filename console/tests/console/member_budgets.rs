//! Budgets of members: what the allowance of a team comes to, whatever keys there were.

use http::Method;
use serde_json::{Value, json};
use time::OffsetDateTime;
use trilane_console::cases::Role;

use crate::api::{Api, ApiReply};
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};
use crate::spend_feed::line;

/// A person whose id has an `@` itself.
const ANN: &str = "ann@example.org";
const MEMBER: &str = "ann@example.org@blue";

async fn call(api: &Api, token: &str, method: Method, path: &str, body: Value) -> ApiReply {
    api.call(token, method, &format!("/api/v1/{path}"), &[], &body)
        .await
}

/// Lists the members as gateways are told of them: id, budgets, and this month's spend.
async fn told(api: &Api, admin: &str) -> Vec<String> {
    let feed = api.get(admin, "/api/v1/feed/spend").await.expect(200);
    let month = OffsetDateTime::now_utc().date().to_string()[..7].to_owned();
    let members = feed["subjects"].as_array().unwrap().iter();
    let members = members.filter(|of| of["kind"] == "member");
    let shown = members.map(|of| {
        let spent = of["spent"].as_array().unwrap();
        let spent = spent.iter().find(|of| of["period"] == month);
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let [per_day, per_month, id] = ["per_day", "per_month", "id"].map(|name| text(&of[name]));
        let spent = spent.map_or("0".to_owned(), |of| text(&of["total"]));
        format!("{id} {per_day} {per_month} {spent}")
    });
    let mut shown: Vec<String> = shown.collect();
    shown.sort();
    shown
}

fn allowance(keys: u32, budget: Value) -> Value {
    json!({"keys": keys, "groups": ["g"], "limits": {"budget": budget}})
}

/// A charge of a key of Ann's, in the team blue.
fn charged(key: &str, charge: &str) -> String {
    line(key, "blue", charge, &["key", "member"], "i1").replace("\"ann\"", &format!("\"{ANN}\""))
}

on_both! {
    /// A member makes a key, spends, and has it removed or lets it expire: what was spent counts for every other key.
    async fn whatever_keys_there_were(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let (ann, bob) = (api.person(ANN, Role::Member).await, api.person("bob", Role::Member).await);
        publish(&api, &admin, &document("g", PRICES)).await;
        let team = json!({"id": "blue", "allowance": allowance(1, json!({"per_day": "1.5", "per_month": "20"}))});
        api.post(&admin, "/api/v1/teams", &team).await.expect(201);
        let member = format!("teams/blue/members/{ANN}");
        call(&api, &admin, Method::PUT, &member, json!({})).await.expect(200);
        assert_eq!(told(&api, &admin).await, [format!("{MEMBER} 1.5 20 0")]);

        let mut all = Vec::new();
        for (n, charge) in ["1", "0.25", "0.5"].into_iter().enumerate() {
            let made = api.post(&ann, "/api/v1/me/keys", &json!({"team": "blue", "group": "g"})).await.expect(201);
            let id = made["key"]["id"].as_str().unwrap().to_owned();
            api.ledger(&admin, &format!("/api/v1/ledger/e/{n}?from=0"), &charged(&id, charge)).await.expect(200);
            // One is removed by an admin, one expires, one stays.
            match n {
                0 => call(&api, &admin, Method::DELETE, &format!("keys/{id}"), Value::Null).await.expect(204),
                1 => call(&api, &admin, Method::PATCH, &format!("keys/{id}"), json!({"expires_at": "2020-01-01T00:00:00Z"})).await.expect(200),
                _ => Value::Null,
            };
            all.push(id);
        }
        assert_eq!(told(&api, &admin).await, [format!("{MEMBER} 1.5 20 1.75")]);
        // An admin's key for the member counts as well.
        let given = json!({"id": "given", "group": "g", "owner": ANN, "team": "blue", "limits": {"budget": {"per_day": "100"}}});
        api.post(&admin, "/api/v1/keys", &given).await.expect(201);
        for (token, id) in [(&ann, all[2].as_str()), (&admin, "given")] {
            let left = api.get(token, &format!("/api/v1/keys/{id}/remaining")).await.expect(200);
            let subjects = left["subjects"].as_array().unwrap();
            let of_member = subjects.iter().find(|of| of["kind"] == "member").unwrap();
            assert_eq!((&of_member["id"], &of_member["budgets"][0]["used"], &of_member["budgets"][0]["exhausted"]), (&json!(MEMBER), &json!("1.75"), &json!(true)));
            assert_eq!(left["requests"]["reason"], "budget_spent", "{left}");
            assert!(left["requests"]["text"].as_str().unwrap().starts_with("Today's budget of the key's owner in the team is spent: "), "{left}");
        }
        // Of another team nothing is counted, and of another member neither.
        let other = line(&all[2], "red", "7", &[], "").replace("\"ann\"", &format!("\"{ANN}\"")) + &line("k", "blue", "9", &[], "");
        api.ledger(&admin, "/api/v1/ledger/e/others?from=0", &other).await.expect(200);
        assert_eq!(told(&api, &admin).await, [format!("{MEMBER} 1.5 20 1.75")]);

        // Whose it is sees it; by itself nobody changes it.
        let path = format!("budgets/member/{MEMBER}");
        let seen = api.get(&ann, &format!("/api/v1/{path}")).await.expect(200);
        assert_eq!((&seen["budget"], &seen["today"][0]["amount"]), (&json!({"per_day": "1.5", "per_month": "20"}), &json!("1.75")));
        api.get(&bob, &format!("/api/v1/{path}")).await.problem(404);
        let month = OffsetDateTime::now_utc().date().to_string()[..7].to_owned();
        let spend = format!("/api/v1/spend?kind=member&subject={MEMBER}&period={month}");
        assert_eq!(api.get(&ann, &spend).await.expect(200)["spent"][0]["amount"], "1.75");
        api.get(&bob, &spend).await.problem(404);
        call(&api, &admin, Method::PUT, &path, json!({"per_day": "100"})).await.problem(409);
        call(&api, &admin, Method::DELETE, &path, Value::Null).await.problem(409);
        let listed = api.get(&admin, "/api/v1/budgets").await.expect(200);
        assert_eq!((&listed["items"][0]["kind"], &listed["items"][0]["id"]), (&json!("member"), &json!(MEMBER)));
        let near = api.get(&admin, "/api/v1/budgets/nearly-spent").await.expect(200);
        assert_eq!(near["items"], json!([]), "no budget was looked at yet");
        api.was_well();
    }
}

on_both! {
    /// The budget follows the allowance, also of those who have left, whose keys are still theirs; without one it stays.
    async fn the_allowance_changes(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        for person in [ANN, "bob"] {
            api.person(person, Role::Member).await;
        }
        publish(&api, &admin, &document("g", PRICES)).await;
        let team = async |method: Method, path: &str, body: Value| call(&api, &admin, method, &format!("teams{path}"), body).await;
        let ann = format!("/blue/members/{ANN}");
        // A name that is a pattern of others.
        for id in ["blue", "b_ue", "red"] {
            team(Method::POST, "", json!({"id": id, "allowance": allowance(2, json!({"per_month": "20"}))})).await.expect(201);
        }
        team(Method::PUT, &ann, json!({})).await.expect(200);
        team(Method::PUT, "/blue/members/bob", json!({})).await.expect(200);
        team(Method::PUT, "/b_ue/members/bob", json!({})).await.expect(200);
        let of = async || told(&api, &admin).await;
        let bob = "bob@b_ue - 40 0";
        assert_eq!(of().await, [&format!("{MEMBER} - 40 0"), bob, "bob@blue - 40 0"]);
        api.ledger(&admin, "/api/v1/ledger/e/a?from=0", &charged("k", "9")).await.expect(200);

        // Leaving, and joining again, is no new budget.
        team(Method::DELETE, &ann, Value::Null).await.expect(204);
        assert_eq!(of().await, [&format!("{MEMBER} - 40 9"), bob, "bob@blue - 40 0"]);
        for (case, change, ann_has, bob_has) in [
            ("narrower, while it is spent", json!({"allowance": allowance(1, json!({"per_month": "9", "per_day": "1"}))}), "1 9 9", "1 9 0"),
            ("none: nothing was taken from keys that were made", json!({"allowance": null}), "1 9 9", "1 9 0"),
            ("wider", json!({"allowance": allowance(1000, json!({"per_month": "1000000000"}))}), "- 1000000000 9", "- 1000000000 0"),
            ("without a budget", json!({"allowance": {"keys": 1, "groups": ["g"]}}), "- - 9", "- - 0"),
            ("with one again", json!({"allowance": allowance(3, json!({"per_month": "0.1"}))}), "- 0.3 9", "- 0.3 0"),
        ] {
            team(Method::PATCH, "/blue", change).await.expect(200);
            if case == "with one again" {
                // Who has no budget any more is a member no more.
                assert_eq!(of().await[0], format!("{MEMBER} - - 9"), "{case}");
                team(Method::PUT, &ann, json!({})).await.expect(200);
            }
            assert_eq!(of().await, [format!("{MEMBER} {ann_has}"), bob.to_owned(), format!("bob@blue {bob_has}")], "{case}");
        }
        // A team that is gone leaves its keys, and what binds them; one that is made anew finds them.
        team(Method::DELETE, "/blue", Value::Null).await.expect(204);
        assert_eq!(of().await, [&format!("{MEMBER} - 0.3 9"), bob, "bob@blue - 0.3 0"]);
        team(Method::POST, "", json!({"id": "blue", "allowance": allowance(1, json!({"per_day": "5"}))})).await.expect(201);
        assert_eq!(of().await, [&format!("{MEMBER} 5 - 9"), bob, "bob@blue 5 - 0"]);
        api.was_well();
    }
}

on_both! {
    /// A budget counts no model without a price: a key that would be left with none is named.
    async fn without_prices(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        api.person(ANN, Role::Member).await;
        publish(&api, &admin, &document("g", "")).await;
        let key = json!({"group": "g", "owner": ANN, "team": "blue"});
        api.post(&admin, "/api/v1/keys", &key).await.expect(201);
        api.post(&admin, "/api/v1/teams", &json!({"id": "blue", "allowance": allowance(1, json!({"per_month": "20"}))})).await.expect(201);
        let join = async || call(&api, &admin, Method::PUT, &format!("teams/blue/members/{ANN}"), json!({})).await;
        let problem = join().await.problem(422);
        assert!(problem.to_string().contains("to m"), "{problem}");
        call(&api, &admin, Method::PATCH, "teams/blue", json!({"allowance": null})).await.expect(200);
        join().await.expect(200);
        let change = json!({"allowance": allowance(1, json!({"per_month": "20"}))});
        call(&api, &admin, Method::PATCH, "teams/blue", change.clone()).await.problem(422);
        assert_eq!(told(&api, &admin).await, [""; 0], "nothing was changed");
        publish(&api, &admin, &document("g", PRICES)).await;
        call(&api, &admin, Method::PATCH, "teams/blue", change).await.expect(200);
        // From then on a model without a price is lost for the member, and the draft says so.
        let mut body: Value = serde_json::from_str(&document("g", PRICES)).unwrap();
        body["groups"][0]["models"].as_array_mut().unwrap().push(json!({"id": "new"}));
        let draft = api.post(&admin, "/api/v1/drafts", &json!({"body": body.to_string()})).await.expect(201);
        let check = format!("/api/v1/drafts/{}/check", draft["id"].as_str().unwrap());
        let warnings = api.get(&admin, &check).await.expect(200)["warnings"].to_string();
        assert!(warnings.contains(&format!("so these may not use new: member {MEMBER}")), "{warnings}");
        api.was_well();
    }
}

on_both! {
    /// A manager says what a member may spend, within the team's own budget; the allowance changes it no more, until it is given back.
    async fn a_manager_sets_one(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let mia = api.person("mia", Role::Member).await;
        let (ann, bob) = (api.person(ANN, Role::Member).await, api.person("bob", Role::Member).await);
        publish(&api, &admin, &document("g", PRICES)).await;
        for id in ["blue", "red"] {
            let team = json!({"id": id, "allowance": allowance(2, json!({"per_month": "20"}))});
            api.post(&admin, "/api/v1/teams", &team).await.expect(201);
        }
        for (member, manager) in [("blue/members/mia", true), ("blue/members/bob", false), ("red/members/bob", true)] {
            call(&api, &admin, Method::PUT, &format!("teams/{member}"), json!({"manager": manager})).await.expect(200);
        }
        call(&api, &admin, Method::PUT, &format!("teams/blue/members/{ANN}"), json!({})).await.expect(200);
        let path = format!("teams/blue/members/{ANN}/budget");
        let set = async |token: &str, body: Value| call(&api, token, Method::PUT, &path, body).await;
        let of_ann = async || told(&api, &admin).await.into_iter().find(|of| of.starts_with(MEMBER)).unwrap();

        // Whoever does not manage the team learns nothing of it.
        for (token, status) in [(&ann, 404), (&bob, 404)] {
            set(token, json!({"per_month": "1"})).await.problem(status);
            call(&api, token, Method::DELETE, &path, Value::Null).await.problem(status);
        }
        for (case, body) in [("nothing", json!({})), ("no amount", json!({"per_day": "x"})), ("none at all", json!({"per_day": "0"}))] {
            set(&mia, body).await.problem(422);
            assert_eq!(of_ann().await, format!("{MEMBER} - 40 0"), "{case}");
        }
        call(&api, &mia, Method::PUT, "teams/blue/members/nobody/budget", json!({"per_day": "1"})).await.problem(404);
        call(&api, &mia, Method::DELETE, &path, Value::Null).await.problem(404);

        // Without a budget of the team a manager gives less than the allowance, and an admin any.
        let problem = set(&mia, json!({"per_month": "40.01"})).await.problem(422);
        assert_eq!(problem["problems"][0]["path"], "per_month", "{problem}");
        assert!(problem.to_string().contains("is more than 40 a month"), "{problem}");
        let less = set(&mia, json!({"per_day": "$2", "per_month": "30"})).await.expect(200);
        assert_eq!(less, json!({"kind": "member", "id": MEMBER, "budget": {"per_day": "2", "per_month": "30"}, "own": true}));
        assert_eq!(of_ann().await, format!("{MEMBER} 2 30 0"));
        set(&admin, json!({"per_month": "500"})).await.expect(200);
        assert_eq!(of_ann().await, format!("{MEMBER} - 500 0"));

        call(&api, &admin, Method::PUT, "budgets/team/blue", json!({"per_month": "100"})).await.expect(200);
        for token in [&mia, &admin] {
            let problem = set(token, json!({"per_month": "100.01"})).await.problem(422);
            assert!(problem.to_string().contains("is more than 100 a month: the team's own budget"), "{problem}");
        }
        set(&mia, json!({"per_month": "100"})).await.expect(200);
        // What is not given is what the allowance comes to.
        set(&mia, json!({"per_day": "3"})).await.expect(200);
        assert_eq!(of_ann().await, format!("{MEMBER} 3 40 0"));
        set(&mia, json!({"per_month": "90"})).await.expect(200);

        // It stays, whatever the allowance comes to, and with the person who leaves and comes back.
        let change = json!({"allowance": allowance(1, json!({"per_month": "5"}))});
        call(&api, &admin, Method::PATCH, "teams/blue", change).await.expect(200);
        let listed = api.get(&mia, "/api/v1/teams/blue/members").await.expect(200);
        let shown: Vec<Value> = listed["items"].as_array().unwrap().iter().map(|of| json!([of["person"], of["budget"], of["own_budget"]])).collect();
        assert_eq!(shown, [json!([ANN, {"per_month": "90"}, true]), json!(["bob", {"per_month": "5"}, null]), json!(["mia", {"per_month": "5"}, null])]);
        call(&api, &mia, Method::DELETE, &format!("teams/blue/members/{ANN}"), Value::Null).await.expect(204);
        call(&api, &mia, Method::PUT, &format!("teams/blue/members/{ANN}"), json!({})).await.expect(200);
        assert_eq!(of_ann().await, format!("{MEMBER} - 90 0"));
        call(&api, &mia, Method::DELETE, &path, Value::Null).await.expect(204);
        assert_eq!(of_ann().await, format!("{MEMBER} - 5 0"), "what the allowance comes to by now");
        call(&api, &mia, Method::DELETE, &path, Value::Null).await.problem(404);

        let audit = api.get(&admin, "/api/v1/audit?action=budget.change&actor=mia").await.expect(200);
        let entries = audit["items"].as_array().unwrap();
        assert_eq!(entries.len(), 5, "{audit}");
        assert_eq!((&entries[1]["object"], &entries[1]["after"]), (&json!(format!("member/{MEMBER}")), &json!({"per_month": "90"})));
        api.was_well();
    }
}

on_both! {
    /// A manager sets the budget of a key of the team, and nothing else of its limits.
    async fn a_manager_sets_a_keys(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("root", Role::Admin).await;
        let mia = api.person("mia", Role::Member).await;
        publish(&api, &admin, &document("g", PRICES)).await;
        api.post(&admin, "/api/v1/teams", &json!({"id": "blue"})).await.expect(201);
        call(&api, &admin, Method::PUT, "teams/blue/members/mia", json!({"manager": true})).await.expect(200);
        let limits = |budget: Value| json!({"requests_per_minute": 9, "budget": budget});
        for (id, team, limits) in [("bound", "blue", limits(json!({"per_day": "5"}))), ("free", "blue", Value::Null), ("other", "red", Value::Null)] {
            let mut key = json!({"id": id, "group": "g", "team": team});
            if !limits.is_null() {
                key["limits"] = limits;
            }
            api.post(&admin, "/api/v1/keys", &key).await.expect(201);
        }
        let change = async |id: &str, limits: Value| call(&api, &mia, Method::PATCH, &format!("keys/{id}"), json!({"limits": limits})).await;
        for (case, id, wanted, status) in [
            ("another team's", "other", json!({"budget": {"per_day": "1"}}), 404),
            ("more than it has", "bound", limits(json!({"per_day": "6"})), 422),
            ("none at all", "bound", json!({"requests_per_minute": 9}), 422),
            ("another limit", "bound", json!({"requests_per_minute": 10, "budget": {"per_day": "5"}}), 403),
            ("no limit", "bound", Value::Null, 403),
            ("less", "bound", limits(json!({"per_day": "4", "per_month": "50"})), 200),
            ("some where there was none", "free", json!({"budget": {"per_month": "7"}}), 200),
        ] {
            let reply = change(id, wanted).await;
            assert_eq!(reply.status.as_u16(), status, "{case}: {reply:?}");
        }
        call(&api, &admin, Method::PUT, "budgets/team/blue", json!({"per_day": "10"})).await.expect(200);
        for (case, wanted, status) in [
            ("up to the team's", limits(json!({"per_day": "10", "per_month": "50"})), 200),
            ("above it", limits(json!({"per_day": "10.5", "per_month": "50"})), 422),
            ("a month that the team does not bound", limits(json!({"per_day": "10", "per_month": "51"})), 422),
            ("the team's binds in its place", limits(json!({"per_month": "50"})), 200),
        ] {
            let reply = change("bound", wanted).await;
            assert_eq!(reply.status.as_u16(), status, "{case}: {reply:?}");
        }
        let problem = change("bound", limits(json!({"per_day": "11", "per_month": "50"}))).await.problem(422);
        assert_eq!(problem["problems"][0]["path"], "limits.budget.per_day");
        assert!(problem.to_string().contains("is more than 10 a day: the team's own budget"), "{problem}");
        let key = api.get(&mia, "/api/v1/keys/bound").await.expect(200);
        assert_eq!(key["limits"], limits(json!({"per_month": "50"})));
        api.was_well();
    }
}
