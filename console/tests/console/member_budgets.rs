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
            assert!(left["requests"]["text"].as_str().unwrap().starts_with(&format!("This day's budget of {ANN} in the team blue is spent: ")), "{left}");
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
