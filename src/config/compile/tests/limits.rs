use super::*;
use crate::limits::budget::{Budget, SpentBy};
use crate::limits::{Limits, Rate, Subject, SubjectKind};
use crate::money::Amount;

/// All limits that there are.
fn all_limits() -> Value {
    json!({
        "requests_per_minute": 1,
        "input_tokens_per_minute": 1_000_000_000,
        "output_tokens_per_minute": 3,
        "concurrent_requests": 4,
        "budget": {"per_day": "10.00", "per_month": "200",
                   "spent": {"at": "2026-11-22T12:00:00Z", "in_day": "0.5", "in_month": "7"}},
    })
}

#[test]
fn limits_are_those_of_the_document() {
    let amount = |text: &str| Amount::parse(text).unwrap();
    let rates = |rates: [Option<u32>; 3], slots: Option<u32>, budget: Budget| {
        let mut limits = Limits::default();
        for (rate, limit) in Rate::ALL.into_iter().zip(rates) {
            limits.set_per_minute(rate, limit);
        }
        limits.concurrent_requests = slots;
        limits.budget = budget;
        limits
    };
    let none = Budget::default();
    let day = |spent: Option<SpentBy>| Budget {
        per_day: Some(amount("10")),
        per_month: None,
        spent,
    };
    let spent = |in_day: &str, in_month: &str| {
        Some(SpentBy {
            at: 1_795_348_800,
            in_day: amount(in_day),
            in_month: amount(in_month),
        })
    };
    let month = Budget {
        per_day: None,
        per_month: Some(amount("0.00000000000000000001")),
        spent: None,
    };
    let told = |spent: Value| json!({"budget": {"per_day": "10", "spent": spent}});
    let at = "2026-11-22T12:00:00Z";
    let cases = [
        ("nothing", json!(null), None),
        (
            "all",
            all_limits(),
            Some(rates(
                [Some(1), Some(1_000_000_000), Some(3)],
                Some(4),
                Budget {
                    per_month: Some(amount("200")),
                    ..day(spent("0.5", "7"))
                },
            )),
        ),
        (
            "requests",
            json!({"requests_per_minute": 1_000_000_000}),
            Some(rates([Some(1_000_000_000), None, None], None, none)),
        ),
        (
            "input",
            json!({"input_tokens_per_minute": 2}),
            Some(rates([None, Some(2), None], None, none)),
        ),
        (
            "output",
            json!({"output_tokens_per_minute": 2}),
            Some(rates([None, None, Some(2)], None, none)),
        ),
        (
            "concurrency",
            json!({"concurrent_requests": 2}),
            Some(rates([None; 3], Some(2), none)),
        ),
        (
            "a day",
            json!({"budget": {"per_day": "10.000"}}),
            Some(rates([None; 3], None, day(None))),
        ),
        (
            "a month",
            json!({"budget": {"per_month": "0.00000000000000000001"}}),
            Some(rates([None; 3], None, month)),
        ),
        (
            "nothing spent",
            told(json!({"at": at})),
            Some(rates([None; 3], None, day(spent("0", "0")))),
        ),
        (
            "spent in the day, so in the month too",
            told(json!({"at": "2026-11-22T13:00:00+01:00", "in_day": "3"})),
            Some(rates([None; 3], None, day(spent("3", "3")))),
        ),
        (
            "spent in the month",
            told(json!({"at": at, "in_month": "3"})),
            Some(rates([None; 3], None, day(spent("0", "3")))),
        ),
    ];
    for (case, limits, want) in cases {
        let mut document = free_sample();
        put(&mut document, "/keys/0/limits", limits.clone());
        for group in 0..3 {
            put(
                &mut document,
                &format!("/groups/{group}/limits"),
                limits.clone(),
            );
        }
        let compiled = compile_value(&document).expect(case);
        assert_eq!(
            compiled.keys[0].1.limits.as_deref(),
            want.as_ref(),
            "{case}"
        );
        for group in compiled.policy.groups() {
            let subject = want.map(|want| Subject::new(SubjectKind::Group, &group.id, want));
            assert_eq!(group.limits, subject, "{case}, {}", group.id);
        }
    }
}

#[test]
fn every_problem_of_limits_is_named() {
    let count = "must be between 1 and 1000000000";
    let plain = "must be a plain decimal";
    // (field, what to put there, or null to take it out, where the problem is, the problem)
    let cases = [
        (
            "/requests_per_minute",
            json!(0),
            ".requests_per_minute",
            count,
        ),
        (
            "/requests_per_minute",
            json!(1_000_000_001),
            ".requests_per_minute",
            count,
        ),
        (
            "/input_tokens_per_minute",
            json!(0),
            ".input_tokens_per_minute",
            count,
        ),
        (
            "/output_tokens_per_minute",
            json!(0),
            ".output_tokens_per_minute",
            count,
        ),
        (
            "/concurrent_requests",
            json!(0),
            ".concurrent_requests",
            count,
        ),
        (
            "/concurrent_requests",
            json!(-1),
            ".concurrent_requests",
            "",
        ),
        (
            "/requests_per_minute",
            json!("10"),
            ".requests_per_minute",
            "",
        ),
        (
            "/requests_per_minute",
            json!(1.5),
            ".requests_per_minute",
            "",
        ),
        (
            "/requests_per_hour",
            json!(1),
            ".requests_per_hour",
            "unknown field",
        ),
        ("", json!({}), "", "limits nothing"),
        (
            "/budget",
            json!({}),
            ".budget",
            "needs per_day or per_month",
        ),
        (
            "",
            json!({"budget": {}}),
            ".budget",
            "needs per_day or per_month",
        ),
        (
            "/budget/per_week",
            json!("1"),
            ".budget.per_week",
            "unknown field",
        ),
        (
            "/budget/per_day",
            json!("0"),
            ".budget.per_day",
            "must be more than 0",
        ),
        (
            "/budget/per_day",
            json!("0.00"),
            ".budget.per_day",
            "must be more than 0",
        ),
        ("/budget/per_day", json!("-1"), ".budget.per_day", plain),
        ("/budget/per_day", json!("1e2"), ".budget.per_day", plain),
        (
            "/budget/per_day",
            json!("1000000000.1"),
            ".budget.per_day",
            "is out of range",
        ),
        ("/budget/per_day", json!(10), ".budget.per_day", ""),
        (
            "/budget/per_month",
            json!("0"),
            ".budget.per_month",
            "must be more than 0",
        ),
        (
            "/budget/per_month",
            json!("1.000000000000000000001"),
            ".budget.per_month",
            "has more than 20",
        ),
        (
            "/budget/spent/at",
            json!(null),
            ".budget.spent.at",
            "is missing",
        ),
        (
            "/budget/spent/at",
            json!("2026-11-22"),
            ".budget.spent.at",
            "must be a time",
        ),
        (
            "/budget/spent/in_day",
            json!("x"),
            ".budget.spent.in_day",
            plain,
        ),
        (
            "/budget/spent/in_month",
            json!(""),
            ".budget.spent.in_month",
            plain,
        ),
        (
            "/budget/spent/in_month",
            json!("0.4"),
            ".budget.spent.in_month",
            "is less than in_day",
        ),
        (
            "/budget/spent/in_year",
            json!("1"),
            ".budget.spent.in_year",
            "unknown field",
        ),
    ];
    for (field, value, place, reason) in cases {
        for (at, pointer) in [
            ("keys[0].limits", "/keys/0/limits"),
            ("groups[0].limits", "/groups/0/limits"),
            ("groups[1].limits", "/groups/1/limits"),
        ] {
            let mut document = free_sample();
            put(&mut document, pointer, all_limits());
            put(&mut document, &format!("{pointer}{field}"), value.clone());
            let problems = compile_value(&document).expect_err(&format!("{pointer}{field}"));
            let want = format!("{at}{place}: {reason}");
            let found = problems.0.iter().any(|p| p.to_string().starts_with(&want));
            assert!(found, "{want}: {problems}");
            assert_eq!(problems.0.len(), 1, "{want}: {problems}");
        }
    }
    let mut document = free_sample();
    let wrong = json!({"requests_per_minute": 0, "concurrent_requests": 0,
        "budget": {"per_day": "0", "per_month": "x", "spent": {"in_day": "y", "in_month": "z"}}});
    put(&mut document, "/keys/0/limits", wrong);
    let problems = compile_value(&document).unwrap_err();
    assert_eq!(problems.0.len(), 7, "all at once: {problems}");
}
