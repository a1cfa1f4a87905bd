//! Labels and names stand on pages where there is an id, for those who see what it is of.

use http::Method;
use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::Api;
use crate::database::on_both;
use crate::lives::{PRICES, document, publish};
use crate::page_security::{PASSWORD, get, post, session, with_password};
use crate::requests::line;

/// Whether a page shows a name where it would have shown this id.
fn shows(page: &str, name: &str, id: &str) -> bool {
    page.contains(&format!("<bdi title=\"{id}\">{name}</bdi>"))
}

async fn cookie(api: &Api, admin: &str, person: &str, role: Role, name: &str) -> String {
    with_password(api, person, role).await;
    let path = format!("/api/v1/people/{person}");
    api.call(admin, Method::PATCH, &path, &[], &json!({"name": name}))
        .await
        .expect(200);
    session(
        &post(
            api,
            "/sign-in",
            "",
            &[("person", person), ("password", PASSWORD)],
        )
        .await,
    )
}

on_both! {
    async fn stand_in_place_of_ids(database: &TestDatabase) {
        let api = Api::new(database).await;
        let admin = api.person("clerk", Role::Admin).await;
        let root = cookie(&api, &admin, "root", Role::Admin, "Ruth Root").await;
        let ann = cookie(&api, &admin, "ann", Role::Member, "Ann Archer").await;
        let bob = cookie(&api, &admin, "bob", Role::Member, "Bob Baker").await;
        let mut document: Value = serde_json::from_str(&document("g", PRICES)).unwrap();
        document["groups"][0]["name"] = json!("Everything");
        publish(&api, &admin, &document.to_string()).await;
        for (team, name, manager) in [("blue", "Blue sky", "ann"), ("red", "Red sky", "bob")] {
            api.post(&admin, "/api/v1/teams", &json!({"id": team, "name": name})).await.expect(201);
            let path = format!("/api/v1/teams/{team}/members/{manager}");
            api.call(&admin, Method::PUT, &path, &[], &json!({"manager": true})).await.expect(200);
        }
        for (id, owner, team, label) in [("k1", "ann", "blue", "CI <b>"), ("k2", "bob", "red", "Notebook"), ("k3", "ann", "blue", "Gone soon")] {
            let key = json!({"id": id, "group": "g", "owner": owner, "team": team, "label": label});
            api.post(&admin, "/api/v1/keys", &key).await.expect(201);
        }
        let now = time::OffsetDateTime::now_utc();
        let at = trilane_console::timestamp::text(now);
        let of = |key: &str, owner: &str, team: &str| {
            line(&at, json!({"trilane.key.id": key, "trilane.key.owner": owner, "trilane.key.team": team}))
        };
        // The last was ann's when it was used.
        let lines = [of("k1", "ann", "blue"), of("k3", "ann", "blue"), of("k2", "ann", "blue")].concat();
        api.ledger(&admin, "/api/v1/ledger/e/f?from=0", &lines).await.expect(200);
        let budget = json!({"limits": {"budget": {"per_day": "0.001"}}});
        api.call(&admin, Method::PATCH, "/api/v1/keys/k1", &[], &budget).await.expect(200);
        api.call(&admin, Method::DELETE, "/api/v1/keys/k3", &[], &Value::Null).await.expect(204);

        for (page, named) in [
            ("/usage?by=key&then=team", &[("CI &#60;b&#62;", "k1"), ("Notebook", "k2"), ("Blue sky", "blue")][..]),
            ("/usage?by=owner&then=group&key=k1", &[("Ann Archer", "ann"), ("Everything", "g"), ("CI &#60;b&#62;", "k1")]),
            ("/requests", &[("CI &#60;b&#62;", "k1"), ("Ann Archer", "ann")]),
            ("/", &[("CI &#60;b&#62;", "k1")]),
            ("/keys", &[("Ann Archer", "ann"), ("Everything", "g")]),
            ("/keys/k1", &[("Ann Archer", "ann"), ("Everything", "g"), ("Blue sky", "blue")]),
            ("/change-keys?owner=ann&team=blue&group=g&search=CI", &[("Ann Archer", "ann"), ("Everything", "g"), ("Blue sky", "blue")]),
            ("/teams/blue", &[("Ann Archer", "ann")]),
            ("/people/ann", &[("Everything", "g"), ("Blue sky", "blue")]),
            ("/nearly-spent", &[("CI &#60;b&#62;", "k1")]),
            ("/audit", &[("CI &#60;b&#62;", "k1"), ("Ann Archer", "ann"), ("Blue sky", "blue")]),
        ] {
            let text = get(&api, page, &root).await.text;
            for (name, id) in named {
                assert!(shows(&text, name, id), "{page}: {name} for {id}\n{text}");
            }
        }
        for page in ["/usage?by=key", "/requests", "/", "/audit"] {
            let text = get(&api, page, &root).await.text;
            assert!(text.contains("<bdi>k3</bdi> <span class=\"quiet\">removed</span>"), "{page}: a key that was removed\n{text}");
            assert!(!text.contains("href=\"/keys/k3\""), "{page}: it has no page");
        }
        // The file has ids, which programs compare.
        let file = get(&api, "/usage.csv?by=key", &root).await.text;
        assert!(file.contains("k1") && !file.contains("CI "), "{file}");

        // Whoever sees a key by its past alone learns nothing of what it is now.
        let page = get(&api, "/usage?by=key", &ann).await.text;
        assert!(shows(&page, "CI &#60;b&#62;", "k1") && page.contains("<bdi>k2</bdi>") && !page.contains("Notebook"), "{page}");
        let page = get(&api, "/usage?by=key&team=blue", &bob).await.text;
        assert!(!page.contains("CI "), "{page}");
        for (page, name) in [("/usage?by=owner&team=blue", "Ann Archer"), ("/me", "Everything"), ("/me", "Blue sky")] {
            assert!(get(&api, page, &ann).await.text.contains(&format!(">{name}</bdi>")), "{page}: {name}");
        }
        api.was_well();
    }
}
