//! Changes without a new value: in their place alone.

use serde_json::{Value, json};

use super::key;
use crate::desk::{DOCUMENT, Desk};

/// The lines of the document that are not as they were: those that went, those that came.
fn differences(desk: &Desk) -> (Vec<String>, Vec<String>) {
    let new = desk.read("gateway.json");
    let (old, new): (Vec<&str>, Vec<&str>) =
        (DOCUMENT.split('\n').collect(), new.split('\n').collect());
    let only = |a: &[&str], b: &[&str]| {
        let only = a.iter().filter(|line| !b.contains(line));
        only.map(|line| line.trim().to_owned()).collect()
    };
    (only(&old, &new), only(&new, &old))
}

#[test]
fn changes_touch_their_place_alone() {
    let of = |id: &str| {
        DOCUMENT
            .lines()
            .find(|line| line.contains(&format!("\"{id}\"")))
            .unwrap()
            .trim()
            .to_owned()
    };
    let (a, off, over) = (of("key_a"), of("key_off"), of("key_over"));
    let with = |line: &str, more: &str| line.replace("},", &format!("{more}}},"));
    let a_day = r#", "expires_at": "2030-01-01T00:00:00Z""#;
    for (case, args, gone, come) in [
        (
            "disable",
            &["disable", "--id", "key_a"][..],
            &a,
            Some(with(&a, r#", "disabled": true"#)),
        ),
        (
            "enable",
            &["enable", "--id", "key_off"],
            &off,
            Some(off.replace(r#", "disabled": true"#, "")),
        ),
        (
            "expire",
            &["expire", "--id", "key_a", "--at", "2030-01-01"],
            &a,
            Some(with(&a, a_day)),
        ),
        (
            "another end",
            &[
                "expire",
                "--id",
                "key_over",
                "--at",
                "2030-01-01T02:00:00+02:00",
            ],
            &over,
            Some(over.replace("2025", "2030")),
        ),
        (
            "no end",
            &["expire", "--id", "key_over", "--never"],
            &over,
            Some(with(
                &of("key_over").replace(r#", "expires_at": "2025-01-01T00:00:00Z""#, ""),
                "",
            )),
        ),
        ("remove", &["remove", "--id", "key_a"], &a, None),
    ] {
        let desk = Desk::new();
        let ran = key(&desk, &[args, &["--format", "json"]].concat());
        assert_eq!(
            (ran.code, &ran.json()["changed"]),
            (0, &json!(true)),
            "{case}: {ran:?}"
        );
        assert_eq!(
            differences(&desk),
            (vec![gone.clone()], come.into_iter().collect()),
            "{case}"
        );
        let again = key(&desk, args);
        if args[0] == "remove" {
            assert!(
                again.code == 1 && again.err.contains("has no key with the id key_a"),
                "{case}: {again:?}"
            );
        } else {
            assert!(
                again.code == 0 && again.err.contains("nothing to change"),
                "{case}: {again:?}"
            );
        }
    }
}

#[test]
fn there_and_back() {
    for (case, there, back) in [
        (
            "disabled",
            &["disable", "--id", "key_spent"][..],
            &["enable", "--id", "key_spent"][..],
        ),
        (
            "ended",
            &["expire", "--id", "key_b", "--now"],
            &["expire", "--id", "key_b", "--never"],
        ),
        (
            "created",
            &["create", "--id", "x", "--group", "c"],
            &["remove", "--id", "x"],
        ),
    ] {
        let desk = Desk::new();
        let ran = key(&desk, there);
        assert_eq!(ran.code, 0, "{case}: {ran:?}");
        assert_ne!(desk.read("gateway.json"), DOCUMENT, "{case}");
        assert_eq!(key(&desk, back).code, 0, "{case}");
        assert_eq!(desk.read("gateway.json"), DOCUMENT, "{case}");
    }
}

#[test]
fn the_list() {
    let desk = Desk::new();
    let ran = key(&desk, &["list"]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(
        lines[0],
        "id         group  state     limits        budget     expires_at"
    );
    assert_eq!(lines[1], "key_a      a      good");
    assert_eq!(lines[5], "key_off    a      disabled");
    assert_eq!(
        lines[6],
        "key_over   a      expired                            2025-01-01T00:00:00Z"
    );
    let list = key(&desk, &["list", "--format", "json"]).json();
    assert_eq!(list.as_array().unwrap().len(), 7);
    assert_eq!(
        list[5],
        json!({
            "id": "key_over", "owner": null, "team": null, "group": "a", "models": null, "multiplier": null,
            "state": "expired", "limits": null, "expires_at": "2025-01-01T00:00:00Z",
        })
    );
    assert_eq!(list[0]["expires_at"], Value::Null);
}
