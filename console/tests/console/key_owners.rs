//! Keys go to owners and teams that there are; another one needs a word of its own.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::Api;
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};
use crate::page_security::{PASSWORD, csrf, get, post, session, with_password};
use crate::retention::many;

on_both! {
    async fn an_unknown_one_is_confirmed(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        api.person("ann", Role::Member).await;
        api.person("edge", Role::Agent).await;
        let mut text: Value = serde_json::from_str(&document("g", PRICES)).unwrap();
        text["keys"] = json!([{"id": "written", "sha256": "ab".repeat(32), "group": "g", "owner": "cron", "team": "ops"}]);
        publish(&api, &root, &text.to_string()).await;
        api.post(&root, "/api/v1/teams", &json!({"id": "blue"})).await.expect(201);
        let no = |more: Value| {
            let mut body = json!({"new_owner": false, "new_team": false});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        for (case, more, places) in [
            ("a person", json!({"owner": "ann"}), &[][..]),
            ("a team", json!({"team": "blue"}), &[]),
            ("an owner of a key of the document", json!({"owner": "cron", "team": "ops"}), &[]),
            ("a slip", json!({"owner": "anm"}), &["owner"]),
            ("an agent is no owner", json!({"owner": "edge"}), &["owner"]),
            ("a team is no owner", json!({"owner": "blue"}), &["owner"]),
            ("both", json!({"owner": "anm", "team": "bleu"}), &["owner", "team"]),
            ("one of both is new", json!({"owner": "data", "new_owner": true, "team": "bleu"}), &["team"]),
            ("a new one", json!({"owner": "data", "new_owner": true}), &[]),
            ("a key has it by now", json!({"owner": "data"}), &[]),
        ] {
            let mut key = no(more);
            key["group"] = "g".into();
            let reply = api.post(&root, "/api/v1/keys", &key).await;
            if places.is_empty() {
                reply.expect(201);
                continue;
            }
            let problem = reply.problem(422);
            let found: Vec<&str> = problem["problems"].as_array().unwrap().iter().map(|of| of["path"].as_str().unwrap()).collect();
            assert_eq!(found, places, "{case}: {problem}");
            for place in places {
                assert!(problem.to_string().contains(&format!("confirm that it is new: new_{place}")), "{case}: {problem}");
            }
        }
        api.post(&root, "/api/v1/keys", &json!({"id": "k", "group": "g", "owner": "ann"})).await.expect(201);
        let change = async |body: Value| api.call(&root, Method::PATCH, "/api/v1/keys/k", &[], &no(body)).await;
        change(json!({"owner": "anm"})).await.problem(422);
        change(json!({"team": "bleu"})).await.problem(422);
        assert_eq!(change(json!({"owner": "anm", "new_owner": true})).await.expect(200)["owner"], "anm");
        // What a key has stays without a word, and it can be taken.
        change(json!({"owner": "anm", "label": "x"})).await.expect(200);
        change(json!({"owner": null})).await.expect(200);
        let bulk = async |change: Value| {
            let body = json!({"filter": {"search": "k", "group": "g"}, "change": no(change)});
            let found = api.post(&root, "/api/v1/keys/bulk", &body).await.expect(200)["found"].clone();
            let mut body = body;
            body["expected"] = found;
            api.post(&root, "/api/v1/keys/bulk", &body).await
        };
        for (field, id) in [("owner", "anm"), ("team", "bleu")] {
            let problem = bulk(json!({field: id})).await.problem(422);
            assert_eq!(problem["problems"][0]["path"], field, "{problem}");
            let confirmed = format!("new_{field}");
            bulk(json!({field: id, confirmed: true})).await.expect(200);
            bulk(json!({field: id})).await.expect(200);
        }
        api.was_well();
    }
}

on_both! {
    /// The forms offer who there is; what is typed and unknown is confirmed with a box. Of many, a step looks for some.
    async fn by_page(database: &TestDatabase) {
        let api = Api::new(database).await;
        with_password(&api, "root", Role::Admin).await;
        let token = api.person("clerk", Role::Admin).await;
        publish(&api, &token, &document("g", PRICES)).await;
        api.post(&token, "/api/v1/people", &json!({"id": "ann", "name": "Ann Archer", "role": "member"})).await.expect(201);
        api.post(&token, "/api/v1/teams", &json!({"id": "blue", "name": "Blue sky"})).await.expect(201);
        let root = session(&post(&api, "/sign-in", "", &[("person", "root"), ("password", PASSWORD)]).await);
        let offered = "<option value=\"ann\">Ann Archer</option>";
        let box_ = "name=\"new_owner\"";
        let page = get(&api, "/new-key", &root).await.text;
        assert!(page.contains(offered) && page.contains("<option value=\"blue\">Blue sky</option>"), "{page}");
        assert!(!page.contains(box_) && !page.contains("name=\"find\""), "{page}");
        let csrf = csrf(&page);
        let sent = async |more: &[(&str, &str)]| {
            let fields = [&[("csrf", csrf.as_str()), ("once", "1"), ("group", "g")], more].concat();
            post(&api, "/keys", &root, &fields).await
        };
        let refused = sent(&[("owner", "anm")]).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(refused.text.contains(box_) && refused.text.contains(offered), "{}", refused.text);
        assert_eq!(sent(&[("owner", "anm"), ("new_owner", "yes")]).await.status, StatusCode::OK);

        let insert = "INSERT INTO people (id, name, role, disabled, created_at) SELECT 'p' || CAST(100000 + n AS TEXT), 'Person ' || CAST(n AS TEXT), 'member', FALSE, 0 FROM ({numbers}) AS numbers";
        database.execute(&many(database, 10_000, insert)).await.unwrap();
        let page = get(&api, "/new-key", &root).await.text;
        assert!(page.contains("name=\"find\" value=\"owner\"") && page.matches("<option value=\"p1").count() <= 500, "some, and a way to the others");
        let found = sent(&[("owner", "PERSON 9876"), ("label", "kept"), ("find", "owner")]).await;
        assert_eq!(found.status, StatusCode::OK, "nothing is wrong, and nothing was made");
        assert!(found.text.contains("<option value=\"p109876\">Person 9876</option>") && found.text.contains("value=\"kept\""), "{}", found.text);
        assert!(!found.text.contains(offered), "only who is like that");
        let none = sent(&[("owner", "nobody like that"), ("find", "owner")]).await.text;
        assert!(none.contains(offered), "all, where there is none like that");
        for (path, more) in [("/change-keys", ("filter.group", "g")), ("/invite-people", ("table", "zoe"))] {
            let fields = [("csrf", csrf.as_str()), ("once", "2"), ("expected", "1"), ("act", "disable"), ("find", "team"), more];
            let reply = post(&api, path, &root, &fields).await;
            assert_eq!(reply.status, StatusCode::OK, "{path}");
            assert!(reply.text.contains("<option value=\"blue\">Blue sky</option>"), "{path}: {}", reply.text);
        }
        assert_eq!(api.call(&token, Method::GET, "/api/v1/people/zoe", &[], &Value::Null).await.status, 404, "nobody was invited");
        let fields = [("csrf", csrf.as_str()), ("filter.group", "g"), ("expected", "1"), ("act", "owner"), ("owner", "anna")];
        let refused = post(&api, "/change-keys", &root, &fields).await;
        assert!(refused.status == StatusCode::UNPROCESSABLE_ENTITY && refused.text.contains(box_), "{}", refused.text);
        api.was_well();
    }
}
