//! Owner, limits and budgets of a key: where each is kept, changed and shown.

use serde_json::{Value, json};

use super::{key, says};
use crate::desk::Desk;

const CREATE: [&str; 21] = [
    "create",
    "--id",
    "x",
    "--group",
    "b",
    "--owner",
    "Zoë, \"sales\"",
    "--rpm",
    "60",
    "--input-tpm",
    "200000",
    "--output-tpm",
    "20000",
    "--concurrent",
    "8",
    "--budget-day",
    "20",
    "--budget-month",
    "200.00",
    "--key-out",
    "x.txt",
];

fn limits() -> Value {
    json!({
        "requests_per_minute": 60, "input_tokens_per_minute": 200_000, "output_tokens_per_minute": 20_000,
        "concurrent_requests": 8, "budget": {"per_day": "20", "per_month": "200.00"},
    })
}

/// The keys as a list for programs tells them.
fn listed(desk: &Desk, id: &str) -> Value {
    let list = key(desk, &["list", "--format", "json"]).json();
    let keys = list.as_array().unwrap();
    keys.iter().find(|key| key["id"] == id).cloned().unwrap()
}

#[test]
fn what_is_given_is_kept_and_shown() {
    let desk = Desk::new();
    let ran = key(&desk, &CREATE);
    assert_eq!(ran.code, 0, "{ran:?}");
    let said = says(&desk, "x");
    assert_eq!(said["owner"], "Zoë, \"sales\"");
    assert_eq!(said["limits"], limits());
    let text = desk.read("gateway.json");
    let style =
        r#"      "limits": {"requests_per_minute": 60, "input_tokens_per_minute": 200000, "#;
    assert!(text.contains(style), "in the document's style: {text}");
    let state = listed(&desk, "x");
    assert_eq!(state["owner"], "Zoë, \"sales\"");
    assert_eq!(state["limits"], limits());
    let other = listed(&desk, "key_a");
    let absent = ["owner", "limits"].map(|name| other[name].clone());
    assert_eq!(absent, [Value::Null, Value::Null]);
    let table = key(&desk, &["list"]).out;
    for part in [
        "60 rpm, 200000 input tpm, 20000 output tpm, 8 concurrent",
        "20 a day, 200.00 a month",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let csv = key(&desk, &["list", "--format", "csv"]).out;
    let head = "id,owner,group,state,limits,budget,expires_at,team,models,multiplier\r\n";
    assert!(csv.starts_with(head), "{csv}");
    assert!(
        csv.contains("\r\nx,\"Zoë, \"\"sales\"\"\",b,good,"),
        "{csv}"
    );
}

#[test]
fn an_owner_is_one_line_of_text() {
    let desk = Desk::new();
    for (case, owner) in [
        ("empty", ""),
        ("a control character", "a\nb"),
        ("long", &"x".repeat(129)),
    ] {
        let args = ["create", "--id", "y", "--group", "b", "--owner", owner];
        assert_eq!(key(&desk, &args).code, 2, "{case}");
    }
}

#[test]
fn limits_change() {
    let desk = Desk::new();
    assert_eq!(key(&desk, &CREATE).code, 0);
    let with = |pointer: &str, value: Value| {
        let mut limits = limits();
        *limits.pointer_mut(pointer).unwrap() = value;
        limits
    };
    let without = |name: &str| {
        let mut limits = limits();
        limits.as_object_mut().unwrap().remove(name);
        limits
    };
    // (case, options, the limits then)
    let cases: [(&str, &[&str], Value); 9] = [
        (
            "one",
            &["--rpm", "120"],
            with("/requests_per_minute", 120.into()),
        ),
        (
            "a budget",
            &["--budget-day", "30.5"],
            with("/budget/per_day", "30.5".into()),
        ),
        (
            "by the document's name",
            &["--concurrent-requests", "9"],
            with("/concurrent_requests", 9.into()),
        ),
        (
            "none",
            &["--input-tpm", "none"],
            without("input_tokens_per_minute"),
        ),
        (
            "no budget",
            &["--budget-day", "none", "--budget-month", "none"],
            without("budget"),
        ),
        (
            "all but one",
            &["--only", "--rpm", "7"],
            json!({"requests_per_minute": 7}),
        ),
        ("all", &["--only"], Value::Null),
        (
            "all, one by one",
            &[
                "--rpm",
                "none",
                "--input-tpm",
                "none",
                "--output-tpm",
                "none",
                "--concurrent",
                "none",
                "--budget-day",
                "none",
                "--budget-month",
                "none",
            ],
            Value::Null,
        ),
        ("what is so", &["--rpm", "60"], limits()),
    ];
    let before = desk.read("gateway.json");
    for (case, options, want) in cases {
        desk.write("gateway.json", &before);
        let args = [&["limit", "--id", "x", "--format", "json"], options].concat();
        let ran = key(&desk, &args);
        assert_eq!(ran.code, 0, "{case}: {ran:?}");
        assert_eq!(says(&desk, "x")["limits"], want, "{case}");
        assert_eq!(ran.json()["changed"], json!(want != limits()), "{case}");
        assert_eq!(ran.json()["now"]["limits"], want, "{case}");
        // All else stays, but for the comma before what went.
        let apart = |text: &str| -> Vec<String> {
            let lines = text.lines().map(|line| line.trim_end_matches(','));
            let lines = lines.filter(|line| !line.starts_with(r#"      "limits""#));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(apart(&desk.read("gateway.json")), apart(&before), "{case}");
    }
}

#[test]
fn limits_that_cannot_be() {
    let desk = Desk::new();
    desk.change(|document| {
        for model in document["groups"][0]["models"].as_array_mut().unwrap() {
            let model = model.as_object_mut().unwrap();
            model.remove("prices");
            model.remove("free");
        }
    });
    let before = desk.read("gateway.json");
    // (case, arguments, exit code, what is said)
    let cases: [(&str, &[&str], i32, &str); 8] = [
        (
            "a budget without prices",
            &["limit", "--id", "key_a", "--budget-month", "200"],
            1,
            "limits.budget",
        ),
        (
            "a new key with one",
            &["create", "--id", "x", "--group", "a", "--budget-day", "2"],
            1,
            "limits.budget",
        ),
        (
            "nothing",
            &["limit", "--id", "key_a"],
            2,
            "nothing to change",
        ),
        (
            "no such key",
            &["limit", "--id", "x", "--rpm", "1"],
            1,
            "has no key with the id x",
        ),
        (
            "zero",
            &["limit", "--id", "key_a", "--rpm", "0"],
            2,
            "from 1 to 1000000000, or none",
        ),
        (
            "no number",
            &["limit", "--id", "key_a", "--rpm", "+5"],
            2,
            "or none",
        ),
        (
            "no money",
            &["limit", "--id", "key_a", "--budget-day", "0.00"],
            2,
            "more than 0",
        ),
        (
            "no amount",
            &["limit", "--id", "key_a", "--budget-day", "1e3"],
            2,
            "plain decimal",
        ),
    ];
    for (case, args, code, said) in cases {
        let ran = key(&desk, args);
        assert!(
            ran.code == code && ran.err.contains(said),
            "{case}: {ran:?}"
        );
        assert_eq!(desk.read("gateway.json"), before, "{case}");
    }
}
