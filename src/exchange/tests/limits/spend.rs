//! Budgets of owners and teams, which a spend feed tells, beside those of keys and groups.

use super::*;
use crate::limits::budget::Budget;
use crate::limits::elsewhere::COMPLETE;
use crate::limits::{Period, SpentElsewhere, ToldSpend, told_name};
use crate::shared_data::SharedData as _;

/// The policy of all tests with a spend feed, in which every key is ann's and of the team blue.
fn fed(priced: bool) -> (InForce, Limited) {
    let (in_force, mut limited) = limited(&Value::Null, &Value::Null);
    drop(in_force);
    let mut document = document();
    document["spend_feed"] = json!({"cluster": "agent"});
    for key in document["keys"].as_array_mut().unwrap() {
        key["owner"] = json!("ann");
        key["team"] = json!("blue");
    }
    for group in document["groups"].as_array_mut().unwrap() {
        let sources = group["protocol"] != "Mixed";
        for model in group["models"].as_array_mut().unwrap() {
            if priced && sources && model["prices"].is_null() {
                model["free"] = json!(true);
            }
        }
    }
    let (in_force, world) = setting_of(&document);
    limited.world = world;
    (in_force, limited)
}

fn tell(world: &Limited, scope: Scope, id: &str, per_day: Option<&str>, elsewhere: &str) {
    let amount = |text| Amount::parse(text).unwrap();
    let told = ToldSpend {
        budget: per_day.map(|per_day| Budget {
            per_day: Some(amount(per_day)),
            ..Budget::default()
        }),
        elsewhere: SpentElsewhere(vec![(
            Period::parse("2026-11-22").unwrap(),
            amount(elsewhere),
        )]),
    };
    let name = told_name(scope, id);
    world.shared.set(&name, &told.encode(), None).unwrap();
}

#[test]
fn an_owner_or_a_team_whose_budget_is_spent_elsewhere() {
    for (scope, id) in [(Scope::Owner, "ann"), (Scope::Team, "blue")] {
        let (in_force, world) = fed(true);
        let status = |outcome: &Outcome| reply_of(outcome).map(|(status, ..)| status);
        let (_, outcome) = B.send(&in_force, &world);
        assert_eq!(status(&outcome), Some(503), "{scope:?}: not told yet");
        assert_eq!(header(&reply(outcome, "early"), "retry-after"), Some("1"));

        world.shared.set(COMPLETE, &[1], None).unwrap();
        let (_, outcome) = B.send(&in_force, &world);
        assert_eq!(status(&outcome), None, "{scope:?}: no budget");
        tell(&world, scope, id, Some("5"), "4.990916");
        // 1234 tokens at 3 and 56 at 15 a million, twice: 0.009084. Now it is spent to the last digit.
        let (mut exchange, outcome) = B.send(&in_force, &world);
        assert_eq!(status(&outcome), None, "{scope:?}: something is left");
        exchange.on_response_head(&OfUpstream(200), false, &world);
        for text in [MESSAGE, MESSAGE_END] {
            exchange.on_response_body(text.as_bytes(), text.len(), false, &world);
        }
        exchange.on_response_body(&[], 0, true, &world);
        let record = exchange.on_done(&FakeEnd(FINISHED), &world).unwrap();
        let [spent] = record.settled.spent.as_slice() else {
            panic!("{:?}", record.settled);
        };
        assert_eq!(spent.scope, scope);
        assert_eq!(
            spent.in_day.to_string(),
            "5",
            "{scope:?}: here and elsewhere"
        );

        let (mut exchange, outcome) = B.send(&in_force, &world);
        let reply = reply(outcome, "spent");
        assert_eq!(reply.status, 429, "{scope:?}");
        let code = header(&reply, "x-trilane-error");
        assert_eq!(code, Some("insufficient_quota"), "{scope:?}");
        let left = (scope == Scope::Owner).then_some("0");
        let told = header(&reply, "x-trilane-budget-remaining-day");
        assert_eq!(told, left, "{scope:?}: a team's is not told of");
        let said = String::from_utf8(reply.body).unwrap();
        let whose = format!("the budget of this key's {} for this day", scope.name());
        assert!(said.contains(&whose), "{said}");
        let record = exchange.on_done(&FakeEnd(FINISHED), &world).unwrap();
        assert_eq!(record.limit, Some((scope, Limit::Budget(Window::Day))));
    }
}

#[test]
fn a_budget_of_an_owner_needs_prices() {
    for (priced, want) in [(true, None), (false, Some(503))] {
        let (in_force, world) = fed(priced);
        world.shared.set(COMPLETE, &[1], None).unwrap();
        let (_, outcome) = A.send(&in_force, &world);
        assert_eq!(reply_of(&outcome).map(|(status, ..)| status), None);
        tell(&world, Scope::Owner, "ann", Some("5"), "0");
        let (_, outcome) = A.send(&in_force, &world);
        let got = reply_of(&outcome).map(|(status, ..)| status);
        assert_eq!(got, want, "priced: {priced}");
    }
}
