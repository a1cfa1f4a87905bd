//! Keys that are ordered for people, who make them: with an invitation, or later.

use http::header::LOCATION;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::{Api, ApiReply};
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};
use crate::page_security::{PASSWORD, csrf, get, post, session, with_password};

async fn call(api: &Api, token: &str, method: Method, path: &str, body: Value) -> ApiReply {
    api.call(token, method, &format!("/api/v1/{path}"), &[], &body)
        .await
}

on_both! {
    async fn by_whom_they_are_made(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let (ann, bob) = (api.person("ann", Role::Member).await, api.person("bob", Role::Member).await);
        let victor = api.person("victor", Role::Viewer).await;
        publish(&api, &root, &document("g", PRICES)).await;
        api.post(&root, "/api/v1/teams", &json!({"id": "blue"})).await.expect(201);
        let order = async |person: &str, terms: Value| call(&api, &root, Method::POST, &format!("people/{person}/ordered-keys"), terms).await;
        for (case, person, terms, path) in [
            ("no such group", "ann", json!({"group": "none"}), "group"),
            ("no such team", "ann", json!({"group": "g", "team": "bleu"}), "team"),
            ("no time", "ann", json!({"group": "g", "expires_at": "soon"}), "expires_at"),
            ("no amount", "ann", json!({"group": "g", "limits": {"budget": {"per_day": "x"}}}), "limits.budget.per_day"),
            ("who has no keys of their own", "victor", json!({"group": "g"}), "role"),
        ] {
            let problem = order(person, terms).await.problem(422);
            assert_eq!(problem["problems"][0]["path"], path, "{case}: {problem}");
        }
        order("nobody", json!({"group": "g"})).await.problem(404);

        let terms = json!({"group": "g", "label": "Laptop", "team": "blue", "expires_at": "2099-01-01T00:00:00Z", "limits": {"budget": {"per_month": "20"}}});
        let ordered = order("ann", terms.clone()).await.expect(201);
        assert_eq!(ordered["key"], terms);
        let id = ordered["id"].as_str().unwrap();
        assert_eq!(api.get(&root, "/api/v1/keys").await.expect(200)["items"], json!([]), "there is none yet");
        let listed = api.get(&root, "/api/v1/people/ann/ordered-keys").await.expect(200);
        assert_eq!(listed["items"], json!([ordered]));
        assert_eq!(api.get(&ann, "/api/v1/me/ordered-keys").await.expect(200)["items"], json!([ordered]));
        assert_eq!(api.get(&bob, "/api/v1/me/ordered-keys").await.expect(200)["items"], json!([]));
        let take = async |token: &str, once: &str| {
            let path = format!("/api/v1/me/ordered-keys/{id}/take");
            api.call(token, Method::POST, &path, &[("idempotency-key", once)], &Value::Null).await
        };
        // It is nobody else's, not even of whoever has ordered it.
        take(&bob, "b").await.problem(404);
        take(&root, "r").await.problem(404);
        take(&victor, "v").await.problem(403);
        let made = take(&ann, "a").await.expect(201);
        assert!(made["value"].as_str().unwrap().starts_with("tl-"));
        let key = &made["key"];
        let got = ["id", "owner", "team", "label", "expires_at", "limits"].map(|name| key[name].clone());
        assert_eq!(got, [json!("laptop"), json!("ann"), json!("blue"), json!("Laptop"), terms["expires_at"].clone(), terms["limits"].clone()]);
        let again = take(&ann, "a").await;
        assert_eq!(again.headers["idempotent-replayed"], "true");
        assert!(again.json().get("value").is_none(), "it is shown once");
        take(&ann, "another").await.problem(404);
        let audit = api.get(&root, "/api/v1/audit").await.expect(200).to_string();
        assert!(audit.contains("person.key_order") && !audit.contains(made["value"].as_str().unwrap()));

        // One that was cancelled, and one whose time has passed, is made by nobody.
        let dropped = order("ann", json!({"group": "g"})).await.expect(201)["id"].as_str().unwrap().to_owned();
        let cancel = async |of: &str| call(&api, &root, Method::DELETE, &format!("people/{of}/ordered-keys/{dropped}"), Value::Null).await;
        cancel("bob").await.problem(404);
        cancel("ann").await.expect(204);
        call(&api, &ann, Method::POST, &format!("me/ordered-keys/{dropped}/take"), Value::Null).await.problem(404);
        let late = order("ann", json!({"group": "g", "expires_at": "2020-01-01T00:00:00Z"})).await.expect(201)["id"].as_str().unwrap().to_owned();
        let problem = call(&api, &ann, Method::POST, &format!("me/ordered-keys/{late}/take"), Value::Null).await.problem(409);
        assert!(problem.to_string().contains("would have expired"), "{problem}");
        // The group may be gone by then: the order waits for one that is.
        let moved = order("ann", json!({"group": "g"})).await.expect(201)["id"].as_str().unwrap().to_owned();
        publish(&api, &root, &document("h", PRICES)).await;
        let problem = call(&api, &ann, Method::POST, &format!("me/ordered-keys/{moved}/take"), Value::Null).await.problem(422);
        assert_eq!(problem["problems"][0]["path"], "group");
        publish(&api, &root, &document("g", PRICES)).await;
        call(&api, &ann, Method::POST, &format!("me/ordered-keys/{moved}/take"), Value::Null).await.expect(201);

        // They end with the person.
        call(&api, &root, Method::DELETE, "people/ann/data", Value::Null).await.expect(202);
        api.until_ended(&root, "/api/v1/erasures").await;
        assert!(!database.dump().await.lines().any(|line| line.starts_with("ordered_keys ")), "orders of whom there is not");
        api.was_well();
    }
}

on_both! {
    /// Many are invited with a key for each: the link leads to a password, and then to the key.
    async fn with_an_invitation(database: &TestDatabase) {
        let api = Api::new(database).await;
        let token = api.person("clerk", Role::Admin).await;
        with_password(&api, "root", Role::Admin).await;
        publish(&api, &token, &document("g", PRICES)).await;
        api.post(&token, "/api/v1/teams", &json!({"id": "blue", "name": "Blue sky"})).await.expect(201);
        let person = |id: &str| json!({"id": id, "name": "", "role": "member"});
        let mut own = person("carl");
        own["key"] = json!({"group": "none"});
        let many = json!({"people": [person("bea"), own], "key": {"group": "g"}});
        let problem = api.post(&token, "/api/v1/people/bulk", &many).await.problem(422);
        assert_eq!(problem["problems"][0]["path"], "people[1].key.group", "{problem}");
        api.get(&token, "/api/v1/people/bea").await.problem(404);
        let scoped = json!({"name": "people", "scopes": ["people:write"]});
        let made = api.post(&token, "/api/v1/tokens", &scoped).await.expect(201);
        let mut one = person("carl");
        one["key"] = json!({"group": "g", "label": "One"});
        for (path, body) in [("people", one.clone()), ("people/bulk", json!({"people": [one.clone()]}))] {
            api.post(made["value"].as_str().unwrap(), &format!("/api/v1/{path}"), &body).await.problem(403);
        }
        api.post(&token, "/api/v1/people", &one).await.expect(201);
        let ordered = api.get(&token, "/api/v1/people/carl/ordered-keys").await.expect(200);
        assert_eq!(ordered["items"][0]["key"]["label"], "One");

        let root = session(&post(&api, "/sign-in", "", &[("person", "root"), ("password", PASSWORD)]).await);
        let page = get(&api, "/invite-people", &root).await.text;
        let token_of_form = csrf(&page);
        let fields = [("csrf", token_of_form.as_str()), ("once", "1"), ("role", "member"), ("team", "blue"), ("key_group", "g"), ("key_label", "Laptop"),
            ("limits.budget.per_month", "20"), ("table", "dora@example.com\nemil,Emil,member,Notebook\n")];
        let invited = post(&api, "/invite-people", &root, &fields).await;
        assert_eq!(invited.status, StatusCode::OK, "{}", invited.text);
        let links: Vec<&str> = invited.text.split("data-address>").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
        assert_eq!(links.len(), 2);
        let (_, secret) = links[1].split_once("token=").unwrap();
        let begun = post(&api, "/sign-in/link", "", &[("token", secret)]).await;
        assert_eq!(begun.headers[LOCATION], "/me/password");
        let emil = session(&begun);
        let form = csrf(&get(&api, "/me/password", &emil).await.text);
        let set = post(&api, "/me/password", &emil, &[("csrf", &form), ("password", PASSWORD), ("again", PASSWORD)]).await;
        assert!(set.headers[LOCATION].to_str().unwrap().starts_with("/me/ordered-keys?"), "{:?}", set.headers);
        assert!(get(&api, "/me", &emil).await.text.contains("href=\"/me/ordered-keys\""));
        let page = get(&api, "/me/ordered-keys", &emil).await.text;
        assert!(page.contains("Notebook") && page.contains("Blue sky") && page.contains("20.00"), "{page}");
        let take = page.split("action=\"/me/ordered-keys/").nth(1).unwrap().split('"').next().unwrap();
        let take = format!("/me/ordered-keys/{take}");
        let form = csrf(&page);
        let shown = post(&api, &take, &emil, &[("csrf", &form), ("once", "k")]).await;
        assert!(shown.status == StatusCode::OK && shown.text.contains("tl-"), "{}", shown.text);
        let key = api.get(&token, "/api/v1/keys/notebook").await.expect(200);
        assert_eq!((&key["owner"], &key["team"], &key["limits"]["budget"]["per_month"]), (&json!("emil"), &json!("blue"), &json!("20")));
        let again = post(&api, &take, &emil, &[("csrf", &form), ("once", "k")]).await;
        assert!(!again.text.contains(&format!("tl-{}", "x")) && again.status == StatusCode::OK);
        assert!(get(&api, "/me/ordered-keys", &emil).await.text.contains("No key waits for you"));

        // A link of later leads there too; an admin sees what waits, and cancels it.
        let page = get(&api, "/people/dora%40example.com", &root).await.text;
        assert!(page.contains("Ordered keys") && page.contains("Laptop"), "{page}");
        let cancel = page.split("action=\"").find(|part| part.contains("/ordered-keys/")).unwrap().split('"').next().unwrap().to_owned();
        assert_eq!(post(&api, &cancel, &root, &[("csrf", &csrf(&page))]).await.status, StatusCode::SEE_OTHER);
        assert!(!get(&api, "/people/dora%40example.com", &root).await.text.contains("Ordered keys"));
        api.post(&token, "/api/v1/people/emil/ordered-keys", &json!({"group": "g"})).await.expect(201);
        let link = api.post(&token, "/api/v1/people/emil/sign-in-link", &Value::Null).await.expect(201);
        let (_, secret) = link["path"].as_str().unwrap().split_once("token=").unwrap();
        assert_eq!(post(&api, "/sign-in/link", "", &[("token", secret)]).await.headers[LOCATION], "/me/ordered-keys");
        api.was_well();
    }
}
