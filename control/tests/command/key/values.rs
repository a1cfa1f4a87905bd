//! New values: shown once, good at the gateway, known by their digests alone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{digest, is_taken, key, says};
use crate::desk::{DOCUMENT, Desk};

#[test]
fn a_new_key_is_shown_once_and_works() {
    let desk = Desk::new();
    let ran = key(
        &desk,
        &[
            "create",
            "--id",
            "new",
            "--group",
            "a",
            "--expires-at",
            "2099-01-01",
        ],
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let value = ran.out.trim_end();
    assert!(
        value.starts_with("tl-") && value.len() == 46 && ran.out.lines().count() == 1,
        "{ran:?}"
    );
    assert!(
        !ran.err.contains(value)
            && ran
                .err
                .contains("created new: good, group a, ends at 2099-01-01T00:00:00Z")
    );
    let end = "2099-01-01T00:00:00Z";
    let want = json!({"id": "new", "sha256": digest(value), "group": "a", "expires_at": end});
    assert_eq!(says(&desk, "new"), want);
    assert!(is_taken(&desk, value));
    let document = desk.read("gateway.json");
    assert!(!document.contains(value), "the digest alone is kept");
    let tail = document
        .rfind(",\n    {\n      \"id\": \"new\"")
        .expect("written as its neighbour");
    let end = document.rfind("\n  ]\n}").unwrap();
    assert_eq!(
        [&document[..tail], &document[end..]].concat(),
        DOCUMENT,
        "all else stays"
    );
    let other = key(
        &desk,
        &[
            "create",
            "--id",
            "other",
            "--group",
            "a",
            "--expires-in",
            "1h",
            "--format",
            "json",
        ],
    )
    .json();
    let value = other["key"].as_str().unwrap();
    assert!(is_taken(&desk, value));
    assert_eq!(
        (&other["done"], &other["now"]["state"]),
        (&json!("created"), &json!("good"))
    );
    for args in [
        &["list"][..],
        &["list", "--format", "json"],
        &["disable", "--id", "other", "--format", "json"],
    ] {
        let ran = key(&desk, args);
        assert!(
            !ran.out.contains("tl-") && !ran.err.contains("tl-"),
            "{ran:?}"
        );
        assert!(!ran.out.contains(&digest(value)), "{ran:?}");
    }
}

#[test]
fn a_new_key_in_a_file_of_its_own() {
    let desk = Desk::new();
    let ran = key(
        &desk,
        &[
            "create",
            "--id",
            "new",
            "--group",
            "a",
            "--key-out",
            "secret",
        ],
    );
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    let value = desk.read("secret");
    assert_eq!(says(&desk, "new")["sha256"], digest(value.trim_end()));
    assert!(!ran.err.contains(value.trim_end()), "{ran:?}");
    let mode = fs::metadata(desk.path("secret"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = desk.read("gateway.json");
    let ran = key(
        &desk,
        &[
            "rotate",
            "--id",
            "new",
            "--key-out",
            "secret",
            "--format",
            "json",
        ],
    );
    assert!(
        ran.code == 1 && ran.err.contains("name one that is not there yet"),
        "{ran:?}"
    );
    assert_eq!(
        (desk.read("gateway.json"), desk.read("secret")),
        (before, value),
        "nothing was touched"
    );
    let ran = key(
        &desk,
        &[
            "create",
            "--id",
            "more",
            "--group",
            "nope",
            "--key-out",
            "more",
        ],
    );
    assert!(
        ran.code == 1 && !desk.names().contains(&"more".to_owned()),
        "{ran:?}"
    );
    let json = key(
        &desk,
        &[
            "rotate",
            "--id",
            "new",
            "--key-out",
            "third",
            "--format",
            "json",
        ],
    )
    .json();
    assert_eq!(json["key"], Value::Null);
}

#[test]
fn rotation() {
    let desk = Desk::new();
    let first = key(&desk, &["create", "--id", "k", "--group", "a"]).out;
    let (first, ran) = (first.trim_end(), key(&desk, &["rotate", "--id", "k"]));
    let second = ran.out.trim_end();
    assert!(
        !is_taken(&desk, first) && is_taken(&desk, second),
        "without an overlap: {ran:?}"
    );
    let told = key(
        &desk,
        &["rotate", "--id", "k", "--overlap", "7d", "--format", "json"],
    )
    .json();
    let third = told["key"].as_str().unwrap();
    assert!(
        is_taken(&desk, second) && is_taken(&desk, third),
        "with an overlap"
    );
    let old = told["old"]["id"].as_str().unwrap();
    assert!(old.starts_with("k-old-2"), "{told}");
    let says = says(&desk, old);
    assert_eq!(
        (&says["sha256"], &says["group"]),
        (&json!(digest(second)), &json!("a"))
    );
    assert_eq!(says["expires_at"], told["old"]["expires_at"]);
    let ran = key(&desk, &["disable", "--id", "k"]);
    assert!(
        ran.err.contains(&format!(
            "an old value of this key is still good, by itself: {old}"
        )),
        "{ran:?}"
    );
    assert!(
        is_taken(&desk, second) && !is_taken(&desk, third),
        "each for itself"
    );
    assert_eq!(key(&desk, &["expire", "--id", old, "--now"]).code, 0);
    assert!(!is_taken(&desk, second));
}

#[test]
fn an_old_value_keeps_its_limits_and_does_not_outlive_its_end() {
    let desk = Desk::new();
    key(&desk, &["expire", "--id", "key_spent", "--in", "1d"]);
    let told = key(
        &desk,
        &[
            "rotate",
            "--id",
            "key_spent",
            "--overlap",
            "30d",
            "--format",
            "json",
        ],
    )
    .json();
    let (new, old) = (
        says(&desk, "key_spent"),
        says(&desk, told["old"]["id"].as_str().unwrap()),
    );
    assert_eq!(
        old["expires_at"], new["expires_at"],
        "the earlier of both ends"
    );
    assert_eq!(old["limits"], new["limits"]);
    let long = "k".repeat(64);
    key(&desk, &["create", "--id", &long, "--group", "a"]);
    for _ in 0..3 {
        let told = key(
            &desk,
            &[
                "rotate",
                "--id",
                &long,
                "--overlap",
                "1d",
                "--format",
                "json",
            ],
        )
        .json();
        assert_eq!(
            told["old"]["id"].as_str().unwrap().len(),
            64,
            "ids have 64 bytes at most, and differ"
        );
    }
}
