//! `trilane key` at a console: the same options and the same output as in a document.

use serde_json::{Value, json};

use super::Office;

/// The output of either place, without the value, which differs.
fn comparable(key: &Value) -> Value {
    let mut key = key.clone();
    if let Some(members) = key.as_object_mut() {
        members.remove("key");
    }
    key
}

#[test]
fn as_in_a_document() {
    let office = Office::published();
    let create = [
        &[
            "key",
            "create",
            "--id",
            "k",
            "--group",
            "a",
            "--owner",
            "sales",
            "--new-owner",
            "--team",
            "east",
            "--new-team",
        ][..],
        &[
            "--models",
            "gpt-5.1",
            "--rpm",
            "60",
            "--budget-month",
            "20",
            "--expires-at",
            "2099-12-31",
        ],
        &["--format", "json"],
    ]
    .concat();
    let one = |what: &'static str| vec!["key", what, "--id", "k", "--format", "json"];
    let steps: Vec<Vec<&str>> = vec![
        create,
        one("disable"),
        one("disable"),
        one("enable"),
        [one("limit"), vec!["--rpm", "none", "--concurrent", "4"]].concat(),
        [one("limit"), vec!["--concurrent", "4"]].concat(),
        [one("limit"), vec!["--only"]].concat(),
        [
            one("access"),
            vec!["--models", "all", "--multiplier", "0.15"],
        ]
        .concat(),
        [one("access"), vec!["--team", "none"]].concat(),
        [one("access"), vec!["--multiplier", "0.15"]].concat(),
        [one("expire"), vec!["--at", "2098-01-01"]].concat(),
        [one("expire"), vec!["--at", "2098-01-01"]].concat(),
        [one("expire"), vec!["--never"]].concat(),
        one("rotate"),
        one("remove"),
    ];
    for step in steps {
        let there = office.run(&step);
        let here = office
            .desk
            .run(&[&step[..], &["--document", "gateway.json"]].concat());
        assert_eq!(
            (there.code, here.code),
            (0, 0),
            "{step:?}: {there:?} {here:?}"
        );
        let (there, here) = (there.json(), here.json());
        assert_eq!(comparable(&there), comparable(&here), "{step:?}");
        assert_eq!(
            there["key"].is_string(),
            here["key"].is_string(),
            "{step:?}"
        );
    }
    assert!(office.items("/api/v1/keys").is_empty());
}

#[test]
fn the_output_for_people() {
    let office = Office::published();
    let made = office.run(&[
        "key",
        "create",
        "--id",
        "k",
        "--group",
        "a",
        "--key-out",
        "k.txt",
    ]);
    assert_eq!((made.code, made.out.as_str()), (0, ""), "{made:?}");
    assert_eq!(made.err, "created k: good, group a, never ends\n");
    let value = office.desk.read("k.txt");
    assert!(value.starts_with("tl-") && value.ends_with('\n'));
    // It exists: nothing is made.
    let again = office.run(&[
        "key",
        "create",
        "--id",
        "k2",
        "--group",
        "a",
        "--key-out",
        "k.txt",
    ]);
    assert!(
        again.code == 1 && again.err.contains("name one that is not there yet"),
        "{again:?}"
    );
    let found = office.console.post_json(
        "/api/v1/keys/find",
        &json!({"value": value.trim()}).to_string(),
    );
    assert_eq!(found.1["id"], "k");

    let rotated = office.run(&["key", "rotate", "--id", "k", "--overlap", "7d"]);
    assert_eq!(rotated.code, 0, "{rotated:?}");
    assert!(rotated.out.starts_with("tl-") && rotated.out.lines().count() == 1);
    assert!(
        rotated.err.contains("the old value is k-old-"),
        "{rotated:?}"
    );
    let disabled = office.run(&["key", "disable", "--id", "k"]);
    assert!(
        disabled
            .err
            .contains("an old value of this key is still good, by itself: k-old-"),
        "{disabled:?}"
    );
    let same = office.run(&["key", "disable", "--id", "k"]);
    assert!(same.err.ends_with("k: nothing to change\n"), "{same:?}");

    let list = office.run(&["key", "list"]);
    let rows: Vec<&str> = list.out.lines().collect();
    assert_eq!(rows.len(), 3, "{list:?}");
    assert!(
        rows[0].starts_with("id") && rows[0].contains("state"),
        "{list:?}"
    );
    assert!(
        rows[1].starts_with("k ") && rows[1].contains("disabled"),
        "{list:?}"
    );
    let shown = office.run(&["key", "show", "--id", "k"]);
    for said in [
        "state",
        "disabled",
        "created_by",
        "admin",
        "old_values",
        "k-old-",
        "hint",
    ] {
        assert!(shown.out.contains(said), "{said}: {shown:?}");
    }
    let csv = |args: &[&str]| {
        office
            .run(&[&["key", "list", "--format", "csv"], args].concat())
            .out
    };
    let header = |text: &str| text.lines().next().unwrap().to_owned();
    let here = office
        .desk
        .run(&["key", "list", "--format", "csv", "gateway.json"])
        .out;
    assert_eq!(header(&csv(&[])), header(&here));
}

#[test]
fn what_is_not_done() {
    let office = Office::published();
    assert_eq!(
        office
            .run(&["key", "create", "--id", "k", "--group", "a"])
            .code,
        0
    );
    let url = office.url();
    for (case, args, code, said) in [
        (
            "no such key",
            &["key", "show", "--id", "x"][..],
            1,
            format!(
                "has no key with the id x, or it is not yours: trilane key list --server {url}"
            ),
        ),
        (
            "nor to be changed",
            &["key", "disable", "--id", "x"],
            1,
            "has no key with the id x".to_owned(),
        ),
        (
            "nor rotated",
            &["key", "rotate", "--id", "x"],
            1,
            "has no key with the id x".to_owned(),
        ),
        (
            "nor removed",
            &["key", "remove", "--id", "x"],
            1,
            "has no key with the id x".to_owned(),
        ),
        (
            "an id that is there",
            &["key", "create", "--id", "k", "--group", "a"],
            1,
            "has not done it".to_owned(),
        ),
        (
            "no such group",
            &["key", "create", "--id", "l", "--group", "y"],
            1,
            "group: names no group".to_owned(),
        ),
        (
            "no prices",
            &["key", "limit", "--id", "k", "--budget-day", "0.0"],
            2,
            "must be more than 0".to_owned(),
        ),
        (
            "for a file",
            &[
                "key",
                "create",
                "--server",
                &url,
                "--elsewhere",
                "--id",
                "l",
                "--group",
                "a",
            ],
            2,
            "cannot be used with".to_owned(),
        ),
    ] {
        let ran = office.run(args);
        assert_eq!(ran.code, code, "{case}: {ran:?}");
        assert!(ran.err.contains(&said), "{case}: {said}: {ran:?}");
        assert_eq!(ran.out, "", "{case}");
    }
    assert_eq!(office.items("/api/v1/keys").len(), 1);
}

/// More keys than a page has.
#[test]
fn all_pages_of_a_list() {
    let office = Office::published();
    for number in 0..501 {
        let key = json!({"id": format!("k{number:04}"), "group": "a"}).to_string();
        office.post("/api/v1/keys", &key);
    }
    let list = office.run(&["key", "list", "--format", "json"]).json();
    let ids: Vec<&str> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key["id"].as_str().unwrap())
        .collect();
    assert_eq!((ids.len(), ids[0], ids[500]), (501, "k0000", "k0500"));
}
