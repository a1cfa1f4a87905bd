//! A rejected change leaves the file as it was; a change that is made replaces it whole.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use super::{digest, key, says};
use crate::desk::{DOCUMENT, Desk};

#[test]
fn what_is_not_done() {
    let desk = Desk::new();
    desk.write(
        "bad.json",
        r#"{"groups": [], "keys": [{"id": "k", "disabled": false}]}"#,
    );
    desk.write("form.json", r#"{"groups": [], "keys": "sk-dont-tell"}"#);
    let create = ["--id", "x", "--group", "a"];
    for (case, args, code, want) in [
        (
            "an id that is there",
            &["create", "gateway.json", "--id", "key_a", "--group", "a"][..],
            1,
            "`trilane key rotate`",
        ),
        (
            "no such group",
            &["create", "gateway.json", "--id", "x", "--group", "y"],
            1,
            "keys[7].group: names no group",
        ),
        (
            "no id",
            &["create", "gateway.json", "--id", "x y", "--group", "a"],
            1,
            "keys[7].id: must be 1 to 64 letters",
        ),
        (
            "no such key",
            &["disable", "gateway.json", "--id", "x"],
            1,
            "no key with the id x",
        ),
        (
            "a bad document",
            &["disable", "bad.json", "--id", "k"],
            1,
            "as it would refuse the one that is there",
        ),
        (
            "a document of another form",
            &["disable", "form.json", "--id", "k"],
            1,
            "keys: must be a list",
        ),
        (
            "no document",
            &[&["create", "none.json"], &create[..]].concat(),
            2,
            "cannot read the document none.json",
        ),
        (
            "no time",
            &[
                &["create", "gateway.json", "--expires-at", "soon"],
                &create[..],
            ]
            .concat(),
            2,
            "expected a day",
        ),
        (
            "no span",
            &[
                &["create", "gateway.json", "--expires-in", "5y"],
                &create[..],
            ]
            .concat(),
            2,
            "expected a number",
        ),
        (
            "a span too long",
            &[
                &["create", "gateway.json", "--expires-in", "999999999d"],
                &create[..],
            ]
            .concat(),
            2,
            "year 9999",
        ),
        (
            "no end",
            &["expire", "gateway.json", "--id", "key_a"],
            2,
            "--never",
        ),
        (
            "two ends",
            &[
                "expire",
                "gateway.json",
                "--id",
                "key_a",
                "--now",
                "--never",
            ],
            2,
            "cannot be used with",
        ),
    ] {
        let before = ["gateway.json", "bad.json", "form.json"].map(|name| desk.read(name));
        let ran = desk.run(&[&["key"], args].concat());
        assert_eq!(ran.code, code, "{case}: {ran:?}");
        assert!(
            ran.err.contains(want) && ran.out.is_empty(),
            "{case}: {want}: {ran:?}"
        );
        let after = ["gateway.json", "bad.json", "form.json"].map(|name| desk.read(name));
        assert_eq!(after, before, "{case}");
        assert_eq!(
            desk.names(),
            ["bad.json", "form.json", "gateway.json", "key.txt"],
            "{case}: nothing is left behind"
        );
    }
}

#[test]
fn several_at_the_same_time() {
    let desk = Desk::new();
    let ids: Vec<String> = (0..12).map(|number| format!("new_{number}")).collect();
    let args = |id| ["key", "create", "gateway.json", "--group", "a", "--id", id];
    let children: Vec<_> = ids
        .iter()
        .map(|id| desk.command(&args(id)).spawn().unwrap())
        .collect();
    let ended: Vec<Output> = children
        .into_iter()
        .map(|child| child.wait_with_output().unwrap())
        .collect();
    assert!(
        ended.iter().all(|ended| ended.status.success()),
        "{ended:?}"
    );
    for (id, ended) in ids.iter().zip(&ended) {
        let value = str::from_utf8(&ended.stdout).unwrap().trim_end();
        assert_eq!(
            says(&desk, id)["sha256"],
            digest(value),
            "{id}: none is lost"
        );
    }
    assert_eq!(desk.names(), ["gateway.json", "key.txt"]);
}

#[test]
fn the_file_keeps_its_mode_and_is_replaced_whole() {
    let desk = Desk::new();
    let path = desk.path("gateway.json");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let mut reader = fs::File::open(&path).unwrap();
    assert_eq!(key(&desk, &["disable", "--id", "key_a"]).code, 0);
    let mut old = String::new();
    std::io::Read::read_to_string(&mut reader, &mut old).unwrap();
    assert_eq!(old, DOCUMENT, "who reads the old file has it whole");
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o640
    );
}
