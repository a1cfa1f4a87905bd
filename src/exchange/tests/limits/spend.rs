//! Budgets of members, owners and teams, which a spend feed tells, beside those of keys and groups.

use super::*;
use crate::limits::budget::Budget;
use crate::limits::elsewhere::COMPLETE;
use crate::limits::{FleetSpend, Period, SpentElsewhere, told_name};
use crate::shared_data::SharedData as _;

/// The policy of all tests with a spend feed, in which every key is ann's and of the team blue.
fn fed(priced: bool) -> (InForce, Limited) {
    fed_as(priced, |_| ("ann", "blue"))
}

/// The same, in which each key has the owner and the team that `people` gives it.
fn fed_as(
    priced: bool,
    people: impl Fn(&str) -> (&'static str, &'static str),
) -> (InForce, Limited) {
    let (in_force, mut limited) = limited(&Value::Null, &Value::Null);
    drop(in_force);
    let mut document = document();
    document["spend_feed"] = json!({"cluster": "agent"});
    for key in document["keys"].as_array_mut().unwrap() {
        let (owner, team) = people(key["id"].as_str().unwrap_or_default());
        (key["owner"], key["team"]) = (json!(owner), json!(team));
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

fn tell(world: &Limited, scope: SubjectKind, id: &str, per_day: Option<&str>, elsewhere: &str) {
    let amount = |text| Amount::parse(text).unwrap();
    let told = FleetSpend {
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

/// Those whose budgets a feed alone tells, by how a refusal names them.
const PEOPLE: [(SubjectKind, &str, &str); 3] = [
    (SubjectKind::Member, "ann@blue", "owner in its team"),
    (SubjectKind::Owner, "ann", "owner"),
    (SubjectKind::Team, "blue", "team"),
];

#[test]
fn people_whose_budget_is_spent_elsewhere() {
    for (scope, id, whose) in PEOPLE {
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
        let left = (scope != SubjectKind::Team).then_some("0");
        let told = header(&reply, "x-trilane-budget-remaining-day");
        assert_eq!(told, left, "{scope:?}: a team's is not told of");
        let said = String::from_utf8(reply.body).unwrap();
        let whose = format!("the budget of this key's {whose} for this day");
        assert!(said.contains(&whose), "{said}");
        let record = exchange.on_done(&FakeEnd(FINISHED), &world).unwrap();
        assert_eq!(record.limit, Some((scope, Limit::Budget(Window::Day))));
    }
}

/// Counts the spend with one key of a member for every other key of the member in the team, and for no other member and team.
#[test]
fn keys_of_a_member_spend_one_budget() {
    let (in_force, limited) = fed_as(true, |id| match id {
        "c" => ("ann", "red"),
        _ => ("ann", "blue"),
    });
    limited.shared.set(COMPLETE, &[1], None).unwrap();
    for id in ["ann@blue", "ann@red"] {
        tell(&limited, SubjectKind::Member, id, Some("0.004"), "0");
    }
    let (mut exchange, outcome) = B.send(&in_force, &limited);
    assert!(reply_of(&outcome).is_none(), "nothing is spent yet");
    exchange.on_response_head(&OfUpstream(200), false, &limited);
    for text in [MESSAGE, MESSAGE_END] {
        exchange.on_response_body(text.as_bytes(), text.len(), false, &limited);
    }
    exchange.on_response_body(&[], 0, true, &limited);
    exchange.on_done(&FakeEnd(FINISHED), &limited).unwrap();
    for (case, request, want) in [
        ("the same key", B, Some(429)),
        ("another key", A, Some(429)),
        ("in another team", C, None),
    ] {
        let (_, outcome) = request.send(&in_force, &limited);
        let status = reply_of(&outcome).map(|(status, ..)| status);
        assert_eq!(status, want, "{case}");
    }
}

/// The old value of a key, which counts as the key, spends the same budget: together they have it once.
#[test]
fn keys_that_count_as_one_spend_one_budget() {
    let budget = json!({"budget": {"per_day": "0.004"}, "requests_per_minute": 3});
    let (_, mut world) = limited(&Value::Null, &Value::Null);
    let mut document = document();
    for key in document["keys"].as_array_mut().unwrap() {
        key["limits"] = budget.clone();
        if key["id"] == "a" {
            key["counts_as"] = json!("b");
        }
    }
    for group in document["groups"].as_array_mut().unwrap() {
        let sources = group["protocol"] != "Mixed";
        for model in group["models"].as_array_mut().unwrap() {
            if sources && model["prices"].is_null() {
                model["free"] = json!(true);
            }
        }
    }
    let (in_force, fake) = setting_of(&document);
    world.world = fake;
    let status = |request: &LimitedRequest| {
        let (exchange, outcome) = request.send(&in_force, &world);
        (exchange, reply_of(&outcome).map(|(status, ..)| status))
    };
    let (mut exchange, refused) = status(&B);
    assert_eq!(refused, None);
    exchange.on_response_head(&OfUpstream(200), false, &world);
    for text in [MESSAGE, MESSAGE_END] {
        exchange.on_response_body(text.as_bytes(), text.len(), false, &world);
    }
    exchange.on_response_body(&[], 0, true, &world);
    exchange.on_done(&FakeEnd(FINISHED), &world).unwrap();
    for (case, request, want) in [
        ("the key", &B, Some(429)),
        ("the one that counts as it", &A, Some(429)),
        ("another", &C, None),
    ] {
        let (mut exchange, refused) = status(request);
        assert_eq!(refused, want, "{case}");
        let record = exchange.on_done(&FakeEnd(FINISHED), &world).unwrap();
        let counts_as = (case == "the one that counts as it").then_some("b");
        assert_eq!(record.counts_as.as_deref(), counts_as, "{case}");
    }
}

/// No budget, and one of each subject.
const BUDGETS_OF: [Option<SubjectKind>; 6] = [
    None,
    Some(SubjectKind::Key),
    Some(SubjectKind::Member),
    Some(SubjectKind::Owner),
    Some(SubjectKind::Team),
    Some(SubjectKind::Group),
];

/// A policy in which of each source one model has a price, and the others have none; a key's or a group's budget, where
/// `of` says so, else one of its people, which was told.
fn partly_priced(of: Option<SubjectKind>) -> (InForce, Limited) {
    let (_, mut limited) = limited(&Value::Null, &Value::Null);
    let mut document = document();
    document["spend_feed"] = json!({"cluster": "agent"});
    document["contact"] = json!("ops");
    let budget = json!({"budget": {"per_day": "5"}});
    for key in document["keys"].as_array_mut().unwrap() {
        key["owner"] = json!("ann");
        key["team"] = json!("blue");
        if of == Some(SubjectKind::Key) {
            key["limits"] = budget.clone();
        }
    }
    let prices = json!({"input": "1", "output": "2"});
    for group in document["groups"].as_array_mut().unwrap() {
        if of == Some(SubjectKind::Group) {
            group["limits"] = budget.clone();
        }
        if group["protocol"] == "Mixed" {
            continue;
        }
        let makes_images = group["id"] == "a";
        let models = group["models"].as_array_mut().unwrap();
        if let Some(first) = models.first_mut() {
            first["prices"] = prices.clone();
        }
        if makes_images {
            models.push(json!({"id": "gpt-i", "kind": "image"}));
        }
    }
    document["groups"]
        .as_array_mut()
        .unwrap()
        .retain(|group| group["id"] != "mixed-no-b");
    document["keys"].as_array_mut().unwrap().retain(|key| {
        // Of these nothing would be left.
        key["group"] != "mixed-no-b" && key["id"] != "own-mixed"
    });
    let (in_force, world) = setting_of(&document);
    limited.world = world;
    limited.shared.set(COMPLETE, &[1], None).unwrap();
    for (scope, id, _) in PEOPLE {
        if of == Some(scope) {
            tell(&limited, scope, id, Some("5"), "0");
        }
    }
    (in_force, limited)
}

#[test]
fn a_model_without_a_price_takes_nothing_else_down() {
    let request = |base: &LimitedRequest, request, body| LimitedRequest {
        request,
        body,
        ..*base
    };
    let gem = "POST /v1beta/models/gem-2:generateContent";
    let long: &'static str = Box::leak("x".repeat(1200).into_boxed_str());
    let late = |rest: &str| {
        let body = format!(r#"{{"model":"gpt-x","input":"{long}",{rest}}}"#);
        request(&A, A.request, body.leak().as_bytes())
    };
    // (case, the request, the model that has no price)
    let cases = [
        ("priced, A", A, None),
        (
            "priced, B",
            request(&B, B.request, br#"{"model":"claude-x-4-5"}"#),
            None,
        ),
        ("priced, C", C, None),
        (
            "A",
            request(&A, A.request, br#"{"model":"gpt-r"}"#),
            Some("gpt-r"),
        ),
        (
            "B",
            request(&B, B.request, br#"{"model":"claude-z-2-thinking"}"#),
            None,
        ),
        ("C", request(&C, gem, C.body), Some("gem-2")),
        (
            "a tool's",
            request(
                &A,
                A.request,
                br#"{"model":"gpt-x","tools":[{"type":"image_generation","model":"gpt-i"}]}"#,
            ),
            Some("gpt-i"),
        ),
        (
            "a tool's that it does not name",
            request(
                &A,
                A.request,
                br#"{"model":"gpt-x","tools":[{"type":"image_generation"}]}"#,
            ),
            Some("gpt-i"),
        ),
        (
            "a late tool's",
            late(r#""tools":[{"type":"image_generation","model":"gpt-i"}]"#),
            Some("gpt-i"),
        ),
        ("late and priced", late(r#""n":1"#), None),
    ];
    for of in BUDGETS_OF {
        for (case, request, lacks) in &cases {
            let (in_force, world) = partly_priced(of);
            let (mut exchange, _) = request.begin(&in_force, &world);
            let (first, rest) = request.body.split_at(request.body.len() * 9 / 10);
            let early = exchange.on_request_body(first, false, &world);
            let outcome = match early {
                Outcome::Reply(_) => early,
                _ => exchange.on_request_body(rest, true, &world),
            };
            let Some((scope, model)) = of.zip(*lacks) else {
                assert!(
                    matches!(outcome, Outcome::Continue(_)),
                    "{case}, {of:?}: {outcome:?}"
                );
                continue;
            };
            let reply = reply(outcome, case);
            assert_eq!(reply.status, 403, "{case}, {of:?}");
            assert_eq!(header(&reply, "x-trilane-error"), Some("model_not_priced"));
            assert_eq!(header(&reply, "retry-after"), None, "{case}");
            let said = String::from_utf8(reply.body).unwrap();
            let whose = match scope {
                SubjectKind::Key => "this key",
                SubjectKind::Member => "this key's owner in its team",
                SubjectKind::Owner => "this key's owner",
                SubjectKind::Team => "this key's team",
                SubjectKind::Group => "this key's group",
            };
            let want = format!(
                "The model {model} has no price, so the budget of {whose} cannot count it."
            );
            assert!(
                said.contains(&want) && said.contains("ask for a price: ops"),
                "{case}: {said}"
            );
            let record = exchange.on_done(&FakeEnd(FINISHED), &world).unwrap();
            assert_eq!(record.ending, Ending::Refused, "{case}");
            let reserved = request.reserved(&world, SubjectKind::Key);
            assert_eq!(reserved, Amount::ZERO, "{case}: nothing is kept");
        }
    }
}

#[test]
fn lists_of_keys_under_a_budget_leave_models_without_prices_out() {
    // (the request, what a key under no budget is shown, what one under a budget is)
    let cases = [
        (
            "GET /v1/models",
            "authorization: Bearer k-a",
            "gpt-x gpt-r gpt-i",
            "gpt-x",
        ),
        (
            "GET /v1/models/gpt-r",
            "authorization: Bearer k-a",
            "gpt-r",
            "404",
        ),
        (
            "GET /v1/models",
            "x-api-key: k-b",
            "claude-x-4-5 claude-z-2",
            "claude-x-4-5 claude-z-2",
        ),
        (
            "GET /v1beta/models",
            "x-goog-api-key: k-c",
            "models/gem-1 models/gem-2",
            "models/gem-1",
        ),
        (
            "GET /v1beta/models/gem-2",
            "x-goog-api-key: k-c",
            "models/gem-2",
            "404",
        ),
    ];
    for of in BUDGETS_OF {
        let (in_force, world) = partly_priced(of);
        for (request, key, all, priced) in cases {
            let mut exchange = Exchange::default();
            let head = head(request, &[key]);
            let outcome = exchange.on_request_head(&head, true, Some(&in_force), &world);
            let (status, _, body) = reply_of(&outcome).unwrap();
            let list = body.get("data").or(body.get("models"));
            let list = list.and_then(Value::as_array).cloned();
            let list = list.unwrap_or_else(|| vec![body.clone()]);
            let id = |it: &Value| it["id"].as_str().or(it["name"].as_str()).map(str::to_owned);
            let shown: Vec<String> = list.iter().filter_map(id).collect();
            let shown = if status == 200 {
                shown.join(" ")
            } else {
                status.to_string()
            };
            let want = if of.is_none() { all } else { priced };
            assert_eq!(shown, want, "{request}, {key}, {of:?}");
        }
    }
    // As long as nobody knows whether there is a budget, nothing is shown that one could not count.
    let (_, world) = limited(&Value::Null, &Value::Null);
    let owner = [Subject::of_people(SubjectKind::Owner, "ann")];
    assert!(world.has_budget(&owner));
    world.shared.set(COMPLETE, &[1], None).unwrap();
    assert!(!world.has_budget(&owner));
}
