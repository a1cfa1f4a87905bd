//! Rules give, and take again.

use http::Method;
use serde_json::{Value, json};
use time::OffsetDateTime;
use trilane_console::cases::Role;

use super::browser::{BACK, Browser, put_provider};
use super::provider::Provider;
use crate::api::Api;
use crate::database::on_both;

async fn teams(api: &Api, admin: &str, person: &str) -> Vec<String> {
    let mut found = Vec::new();
    for team in ["blue", "red"] {
        let members = api
            .get(admin, &format!("/api/v1/teams/{team}/members"))
            .await
            .expect(200);
        let members = members["items"].as_array().unwrap().clone();
        if let Some(member) = members.iter().find(|member| member["person"] == person) {
            found.push(format!(
                "{team} by {}",
                member["provider"].as_str().unwrap_or("hand")
            ));
        }
    }
    found
}

on_both! {
    async fn role_teams_and_group_follow_the_claims(database: &TestDatabase) {
        let api = Api::with_private_accounts(database).await;
        let provider = Provider::start(BACK, OffsetDateTime::now_utc).await;
        let admin = api.person("root", Role::Admin).await;
        for team in ["blue", "red"] {
            api.post(&admin, "/api/v1/teams", &json!({"id": team, "allowance": {"keys": 2, "groups": ["g"], "limits": {"budget": {"per_day": "5"}}}})).await.expect(201);
        }
        put_provider(&api, &admin, &provider, json!({"allowed_domains": ["a.example"], "rules": [
            {"claim": "groups", "equals": "ops", "role": "admin"},
            {"claim": "groups", "equals": "eng", "teams": ["blue"], "key_group": "mixed"},
            {"claim": "groups", "equals": "red", "teams": ["red", "blue"]},
            {"claim": "groups", "equals": "auditors", "role": "viewer"},
        ]})).await;
        let person = "ann@a.example";
        let sign_in = async |groups: Value| {
            provider.account("s", json!({"email": person, "email_verified": true, "groups": groups}));
            let mut browser = Browser::default();
            assert_eq!(browser.sign_in(&api, &provider, "s").await.status.as_u16(), 303);
            let found = api.get(&admin, &format!("/api/v1/people/{person}")).await.expect(200);
            (browser, found["role"].as_str().unwrap().to_owned(), found["key_group"].as_str().unwrap_or("").to_owned(), teams(&api, &admin, person).await)
        };
        let (mut first, role, group, is_in) = sign_in(json!(["eng"])).await;
        assert_eq!((role.as_str(), group.as_str(), is_in), ("member", "mixed", vec!["blue by idp".to_owned()]));
        let budget = api.get(&admin, "/api/v1/budgets/member/ann@a.example@blue").await.expect(200);
        assert_eq!(budget["budget"]["per_day"], "10", "the member has what the allowance comes to");
        let (_, role, group, is_in) = sign_in(json!(["ops", "red"])).await;
        assert_eq!((role.as_str(), group.as_str(), is_in.len()), ("admin", "", 2), "the group of before is taken again");
        assert!(!first.is_in(&api).await, "sessions of another role end");
        // By hand: it stays, whatever the rules say.
        api.call(&admin, Method::PUT, &format!("/api/v1/teams/red/members/{person}"), &[], &json!({"manager": true})).await.expect(200);
        let (_, role, _, is_in) = sign_in(json!([])).await;
        assert_eq!((role.as_str(), is_in), ("member", vec!["red by hand".to_owned()]), "what rules gave goes");
        let (_, role, ..) = sign_in(json!(["auditors"])).await;
        assert_eq!(role, "viewer");
        // A role that was given by hand stays where no rule gives one.
        let path = format!("/api/v1/people/{person}");
        let (_, role, ..) = sign_in(json!([])).await;
        assert_eq!(role, "member");
        api.call(&admin, Method::PATCH, &path, &[], &json!({"role": "admin"})).await.expect(200);
        let (_, role, ..) = sign_in(json!(["eng"])).await;
        assert_eq!(role, "admin");
        // The last admin stays one: nobody could change anything any more.
        sign_in(json!(["ops"])).await;
        api.call(&admin, Method::PATCH, "/api/v1/people/root", &[], &json!({"role": "member"})).await.expect(200);
        provider.account("s", json!({"email": person, "email_verified": true}));
        let mut last = Browser::default();
        last.sign_in(&api, &provider, "s").await;
        assert_eq!(last.get(&api, "/audit").await.status.as_u16(), 200, "an admin yet");
        api.was_well();
    }
}
