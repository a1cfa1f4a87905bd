//! A key's own models, multiplier and team.

use serde_json::{Value, json};

use super::{key, says};
use crate::desk::{DOCUMENT, Desk};

const MODELS: &str = "gpt-5.1,claude-opus-4-5";

fn created() -> Desk {
    let desk = Desk::new();
    let what = [
        "create",
        "--id",
        "x",
        "--group",
        "mixed",
        "--key-out",
        "x.txt",
    ];
    let own = ["--models", MODELS, "--multiplier", "0.15", "--team", "east"];
    let ran = key(&desk, &[&what[..], &own].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    desk
}

/// Team, models and multiplier, as the document has them.
fn own(desk: &Desk) -> [Value; 3] {
    let said = says(desk, "x");
    ["team", "models", "multiplier"].map(|name| said[name].clone())
}

fn all() -> [Value; 3] {
    [
        json!("east"),
        json!(["gpt-5.1", "claude-opus-4-5"]),
        json!("0.15"),
    ]
}

#[test]
fn a_key_is_created_with_it_and_listed() {
    let desk = created();
    assert_eq!(own(&desk), all());
    let text = desk.read("gateway.json");
    let style = r#""team": "east", "models": ["gpt-5.1", "claude-opus-4-5"], "multiplier": "0.15""#;
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(style), "in the document's style: {text}");
    let table = key(&desk, &["list"]).out;
    let mut lines = table.lines();
    let head: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(head[head.len() - 3..], ["team", "models", "multiplier"]);
    let row = lines.find(|line| line.starts_with("x ")).unwrap();
    let row: Vec<&str> = row.split_whitespace().collect();
    let want = ["east", "gpt-5.1,", "claude-opus-4-5", "0.15"];
    assert_eq!(row[row.len() - 4..], want);
    let list = key(&desk, &["list", "--format", "json"]).json();
    let keys = list.as_array().unwrap();
    let listed = keys.iter().find(|key| key["id"] == "x").unwrap();
    let listed = ["team", "models", "multiplier"].map(|name| listed[name].clone());
    assert_eq!(listed, all());
    let csv = key(&desk, &["list", "--format", "csv"]).out;
    assert!(
        csv.contains("\r\nx,,mixed,good,")
            && csv.contains(",east,\"gpt-5.1, claude-opus-4-5\",0.15\r\n"),
        "{csv}"
    );
}

/// The old value of a rotation has no more than the new one.
#[test]
fn an_old_value_keeps_it() {
    let desk = created();
    let rotated = key(
        &desk,
        &["rotate", "--id", "x", "--overlap", "1h", "--format", "json"],
    )
    .json();
    let old = &rotated["old"];
    assert_eq!(
        ["team", "models", "multiplier"].map(|name| old[name].clone()),
        all()
    );
}

#[test]
fn it_changes() {
    let [team, models, multiplier] = all();
    let none = Value::Null;
    // (case, options, team, models and multiplier then)
    let cases: [(&str, &[&str], [&Value; 3]); 9] = [
        (
            "a multiplier",
            &["--multiplier", "2"],
            [&team, &models, &json!("2")],
        ),
        (
            "a model less",
            &["--models", "gpt-5.1"],
            [&team, &json!(["gpt-5.1"]), &multiplier],
        ),
        (
            "a team",
            &["--team", "west"],
            [&json!("west"), &models, &multiplier],
        ),
        (
            "no team",
            &["--team", "none"],
            [&none, &models, &multiplier],
        ),
        (
            "all models",
            &["--models", "all"],
            [&team, &none, &multiplier],
        ),
        (
            "the multiplier of the group",
            &["--multiplier", "group"],
            [&team, &models, &none],
        ),
        (
            "nothing of its own",
            &["--models", "all", "--multiplier", "group", "--team", "none"],
            [&none, &none, &none],
        ),
        (
            "one goes, one comes",
            &["--models", "all", "--multiplier", "0.2"],
            [&team, &none, &json!("0.2")],
        ),
        (
            "as it is",
            &["--models", MODELS, "--multiplier", "0.15", "--team", "east"],
            [&team, &models, &multiplier],
        ),
    ];
    let before = created().read("gateway.json");
    for compact in [false, true] {
        let before = if compact {
            let document: Value = serde_json::from_str(&before).unwrap();
            document.to_string()
        } else {
            before.clone()
        };
        for (case, options, want) in &cases {
            let desk = Desk::new();
            desk.write("gateway.json", &before);
            let ran = key(
                &desk,
                &[&["access", "--id", "x", "--format", "json"], *options].concat(),
            );
            assert_eq!(ran.code, 0, "{case}: {ran:?}");
            assert_eq!(own(&desk).each_ref(), *want, "{case}");
            let changed = desk.read("gateway.json") != before;
            assert_eq!(ran.json()["changed"], json!(changed), "{case}");
            assert_eq!(changed, *case != "as it is", "{case}");
        }
    }
}

/// Undoes a change: the document is the one of before, also where the members stand first in the key.
#[test]
fn there_and_back() {
    let desk = Desk::new();
    let set = [
        "access",
        "--id",
        "key_m",
        "--models",
        MODELS,
        "--multiplier",
        "3",
        "--team",
        "east",
    ];
    let unset = [
        "access",
        "--id",
        "key_m",
        "--models",
        "all",
        "--multiplier",
        "group",
        "--team",
        "none",
    ];
    assert_eq!(key(&desk, &set).code, 0);
    assert_ne!(desk.read("gateway.json"), DOCUMENT);
    assert_eq!(key(&desk, &unset).code, 0);
    assert_eq!(desk.read("gateway.json"), DOCUMENT);
    let first = r#"{"team": "east", "models": ["gpt-5.1"], "multiplier": "3", "id": "key_m""#;
    desk.write(
        "gateway.json",
        &DOCUMENT.replace(r#"{"id": "key_m""#, first),
    );
    assert_eq!(says(&desk, "key_m")["team"], "east", "they stand first");
    assert_eq!(key(&desk, &unset).code, 0);
    assert_eq!(desk.read("gateway.json"), DOCUMENT);
}

#[test]
fn what_cannot_be() {
    let desk = created();
    let before = desk.read("gateway.json");
    // (case, options, exit code, what is said)
    let cases: [(&str, &[&str], i32, &str); 8] = [
        ("nothing", &[], 2, "nothing to change"),
        (
            "a model that its group lacks",
            &["--models", "gpt-5.1,gpt-9"],
            1,
            "models[1]",
        ),
        (
            "a model twice",
            &["--models", "gpt-5.1,gpt-5.1"],
            1,
            "is listed twice",
        ),
        ("no model", &["--models", ""], 2, "or all"),
        ("an empty name", &["--models", "gpt-5.1,"], 2, "or all"),
        ("no number", &["--multiplier", "cheap"], 2, "or group"),
        (
            "too many digits",
            &["--multiplier", "0.12345"],
            2,
            "or group",
        ),
        ("no id", &["--team", "the east"], 1, "team"),
    ];
    for (case, options, code, said) in cases {
        let ran = key(&desk, &[&["access", "--id", "x"], options].concat());
        assert!(
            ran.code == code && ran.err.contains(said),
            "{case}: {ran:?}"
        );
        assert_eq!(desk.read("gateway.json"), before, "{case}");
    }
}
