//! Statements: whose they are, and that they say what the usage says.

use http::header::CONTENT_DISPOSITION;
use serde_json::{Value, json};
use trilane_console::cases::Role;
use trilane_console::ledger::Sum;

use crate::api::{Api, ApiReply};
use crate::database::on_both;
use crate::requests::line;

/// A line of a key, and what it charges.
fn charged(at: &str, key: &str, owner: &str, team: &str, charge: Option<(&str, &str)>) -> String {
    let mut of = json!({"trilane.key.id": key, "trilane.key.owner": owner, "trilane.key.team": team, "trilane.model": format!("m-{key}"),
        "trilane.source": "s", "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 5});
    let (charge, currency) = charge.unzip();
    of["trilane.charge"] = charge.into();
    of["trilane.currency"] = currency.into();
    line(at, of)
}

/// The sum of a column of a file, in a currency.
fn sum(file: &str, currency: (&str, &str), column: &str) -> String {
    let mut reader = csv::Reader::from_reader(file.as_bytes());
    let heads = reader.headers().unwrap().clone();
    let place = |name: &str| heads.iter().position(|head| head == name).unwrap();
    let mut sum = Sum::default();
    for record in reader.records() {
        let record = record.unwrap();
        if &record[place(currency.0)] == currency.1 {
            sum.add_sum(&Sum::parse(&record[place(column)]).unwrap());
        }
    }
    sum.text()
}

/// The sum of a list of sums, in a currency.
fn added(list: &Value, currency: &str) -> String {
    let mut sum = Sum::default();
    for item in list.as_array().unwrap() {
        if item["currency"] == currency {
            sum.add_sum(&Sum::parse(item["charge"].as_str().unwrap()).unwrap());
        }
    }
    sum.text()
}

fn file_name(reply: &ApiReply) -> &str {
    reply.headers[CONTENT_DISPOSITION].to_str().unwrap()
}

on_both! {
    async fn a_statement_says_what_the_usage_says(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let lines = [
            charged("2026-10-31T23:59:59Z", "k1", "ann", "blue", Some(("100", "USD"))),
            charged("2026-11-01T00:00:00Z", "k1", "ann", "blue", Some(("0.00000000000000000001", "USD"))),
            charged("2026-11-07T03:00:00Z", "k1", "ann", "blue", Some(("123456789.1", "USD"))),
            charged("2026-11-30T23:59:59Z", "k2", "bob", "blue", Some(("0.3", "USD"))),
            charged("2026-11-30T23:59:59Z", "k2", "bob", "blue", Some(("7.77", "EUR"))),
            charged("2026-11-30T23:59:59Z", "k2", "bob", "blue", None),
            charged("2026-11-30T23:59:59Z", "k3", "ann", "red", Some(("5", "USD"))),
            charged("2026-12-01T00:00:00Z", "k1", "ann", "blue", Some(("100", "USD"))),
        ];
        api.ledger(&root, "/api/v1/ledger/e/f?from=0", &lines.concat()).await.expect(200);
        for (whose, name) in [("team=blue", "team-blue"), ("owner=ann", "owner-ann"), ("owner=ann&team=blue", "team-blue-owner-ann"), ("team=none", "team-none")] {
            let path = format!("?month=2026-11&{whose}");
            let usage = api.get(&root, &format!("/api/v1/usage?since=2026-11-01&until=2026-12-01&{whose}")).await.expect(200);
            let statement = api.get(&root, &format!("/api/v1/statement{path}")).await.expect(200);
            let csv = api.get(&root, &format!("/api/v1/statement.csv{path}")).await;
            let focus = api.get(&root, &format!("/api/v1/statement.focus.csv{path}")).await;
            assert_eq!(file_name(&csv), format!("attachment; filename=\"statement-{name}-2026-11.csv\""));
            assert_eq!(file_name(&focus), format!("attachment; filename=\"statement-{name}-2026-11-focus.csv\""));
            assert!(!csv.text.contains("margin") && !statement.to_string().contains("margin"), "{whose}");
            for currency in ["USD", "EUR"] {
                let want = added(&usage["items"], currency);
                for part in ["totals", "owners", "keys", "models", "days"] {
                    assert_eq!(added(&statement[part], currency), want, "{whose}: {part} in {currency}");
                }
                assert_eq!(sum(&csv.text, ("currency", currency), "charge"), want, "{whose}: CSV");
                for cost in ["BilledCost", "EffectiveCost", "ListCost"] {
                    assert_eq!(sum(&focus.text, ("BillingCurrency", currency), cost), want, "{whose}: {cost}");
                }
            }
        }
        let blue = api.get(&root, "/api/v1/usage?since=2026-11-01&until=2026-12-01&team=blue").await.expect(200);
        assert_eq!(added(&blue["items"], "USD"), "123456789.40000000000000000001");
        let focus = api.get(&root, "/api/v1/statement.focus.csv?month=2026-11&team=blue").await.text;
        // What was not charged is used all the same.
        assert_eq!(sum(&focus, ("ChargeCategory", "Usage"), "x_Requests"), "5");
        assert_eq!(sum(&focus, ("ConsumedUnit", "Tokens"), "ConsumedQuantity"), "60");
        for wrong in ["month=2026-11", "month=2026-13&team=blue", "month=2026&team=blue", "team=blue", "month=2026-11&team=%00"] {
            for form in ["", ".csv", ".focus.csv"] {
                api.get(&root, &format!("/api/v1/statement{form}?{wrong}")).await.problem(400);
            }
        }
        api.was_well();
    }
}

on_both! {
    async fn whose_statement_a_person_gets(database: &TestDatabase) {
        let api = Api::new(database).await;
        let root = api.person("root", Role::Admin).await;
        let (ann, bob) = (api.person("ann", Role::Member).await, api.person("bob", Role::Member).await);
        let victor = api.person("victor", Role::Viewer).await;
        for team in ["blue", "red"] {
            api.post(&root, "/api/v1/teams", &json!({"id": team})).await.expect(201);
        }
        api.call(&root, http::Method::PUT, "/api/v1/teams/blue/members/ann", &[], &json!({"manager": true})).await.expect(200);
        for (whose, of_ann, of_bob) in [
            ("owner=ann", 200, 403),
            ("owner=bob", 403, 200),
            ("team=blue", 200, 403),
            ("team=red", 403, 403),
            ("team=blue&owner=bob", 200, 200),
            ("team=red&owner=bob", 403, 200),
            ("team=red&owner=ann", 200, 403),
        ] {
            for form in ["", ".csv", ".focus.csv"] {
                let path = format!("/api/v1/statement{form}?month=2026-11&{whose}");
                for (who, token, want) in [("root", &root, 200), ("victor", &victor, 200), ("ann", &ann, of_ann), ("bob", &bob, of_bob)] {
                    let reply = api.get(token, &path).await;
                    assert_eq!(reply.status.as_u16(), want, "{who}: {path}");
                }
            }
        }
        api.was_well();
    }
}
