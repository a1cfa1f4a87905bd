//! The ranking of usage by charges.

use serde_json::{Value, json};
use trilane_console::cases::Role;

use crate::api::Api;
use crate::database::on_both;
use crate::requests::line;

const AT: &str = "2026-11-24T11:00:00Z";

fn charged(key: &str, owner: &str, model: &str, charge: &str, currency: &str) -> String {
    let team = if owner == "bob" {
        json!("red")
    } else {
        Value::Null
    };
    line(
        AT,
        json!({"trilane.key.id": key, "trilane.key.owner": owner, "trilane.key.team": team, "trilane.model": model,
            "trilane.charge": charge, "trilane.currency": currency}),
    )
}

fn shown(list: &Value, by: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| (text(&item["values"][by]), text(&item["charge"])))
        .collect()
}

on_both! {
    async fn the_greatest_first(database: &TestDatabase) {
        let api = Api::new(database).await;
        let (admin, ann) = (api.person("root", Role::Admin).await, api.person("ann", Role::Member).await);
        let lines = [
            charged("k1", "ann", "m", "9", "USD"),
            charged("k2", "bob", "m", "10", "USD"),
            charged("k3", "ann", "n", "0.1", "USD"),
            charged("k3", "ann", "n", "0.2", "USD"),
            charged("k4", "bob", "n", "100", "EUR"),
            charged("k4", "bob", "n", "0.5", "USD"),
        ];
        api.ledger(&admin, "/api/v1/ledger/e/f?from=0", &lines.concat()).await.expect(200);
        let owned = |of: &[(&str, &str)]| of.iter().map(|(name, charge)| ((*name).to_owned(), (*charge).to_owned())).collect::<Vec<_>>();
        for (who, query, by, want) in [
            // By value, not by text; sums are exact.
            (&admin, "currency=USD", "key", &[("k2", "10"), ("k1", "9"), ("k4", "0.5"), ("k3", "0.3")][..]),
            (&admin, "currency=USD&limit=2", "key", &[("k2", "10"), ("k1", "9")]),
            (&admin, "currency=EUR", "key", &[("k4", "100")]),
            (&admin, "currency=USD&by=owner", "owner", &[("bob", "10.5"), ("ann", "9.3")]),
            (&admin, "currency=USD&by=team", "team", &[("red", "10.5"), ("", "9.3")]),
            (&admin, "currency=USD&by=model", "model", &[("m", "19"), ("n", "0.8")]),
            (&admin, "currency=USD&since=2026-11-25", "key", &[]),
            (&admin, "currency=USD&until=2026-11-24T11", "key", &[]),
            (&ann, "currency=USD", "key", &[("k1", "9"), ("k3", "0.3")]),
            (&ann, "currency=USD&by=owner", "owner", &[("ann", "9.3")]),
        ] {
            let found = api.get(who, &format!("/api/v1/usage/top?{query}")).await.expect(200);
            assert_eq!(shown(&found, by), owned(want), "{query}");
        }
        for wrong in ["", "currency=usd", "currency=USD&by=hour", "currency=USD&limit=0", "currency=USD&limit=51", "currency=USD&since=x"] {
            api.get(&admin, &format!("/api/v1/usage/top?{wrong}")).await.problem(400);
        }
        api.was_well();
    }
}
