//! Refusals: all of it is named, and nothing is written.

use std::fs;

use serde_json::{Value, json};

use super::site::{Site, SiteChange, group};

#[test]
fn every_problem_is_named_and_nothing_written() {
    let cases: [(&str, SiteChange, &[&str]); 9] = [
        (
            "two mistakes in the document",
            |site| {
                site.change(|document| {
                    group(document, "alone")["accounts"][0]["url"] = json!("ftp://x");
                    group(document, "many:4.5")["failover"]["tries"] = json!(0);
                });
            },
            &[
                "error: groups[0].accounts[0].url: must begin with https:// or http://",
                "error: groups[2].failover.tries: must be between 1 and 10",
            ],
        ),
        (
            "no JSON",
            |site| site.write("document.json", "{"),
            &["error: the document document.json is not valid JSON (line 1, "],
        ),
        (
            "no document",
            |site| fs::remove_file(site.path("document.json")).unwrap(),
            &["error: cannot read the document document.json: "],
        ),
        (
            "credentials of two lines and of blanks",
            |site| {
                site.write("keys/a1.key", "sk-dont-tell-1\nsk-dont-tell-2\n");
                site.write("keys/a4.key", "sk-dont-tell-1 sk-dont-tell-2");
            },
            &[
                "error: groups[2].accounts[0].credential: /site/keys/a1.key has more than one line",
                "error: groups[2].accounts[3].credential: /site/keys/a4.key has blanks",
            ],
        ),
        (
            "no directory of credentials",
            |site| fs::rename(site.path("keys"), site.path("gone")).unwrap(),
            &[
                "error: groups[0].accounts[0].credential: /site/keys/alone.key has no directory",
                "error: groups[2].accounts[0].ca: /site/keys/own.pem cannot be read",
            ],
        ),
        (
            "no authorities",
            |site| site.write("system.pem", "nothing"),
            &["error: --system-ca: /site/system.pem has no certificate in PEM form"],
        ),
        (
            "no authorities of its own",
            |site| fs::remove_file(site.path("keys/own.pem")).unwrap(),
            &["error: groups[2].accounts[0].ca: /site/keys/own.pem cannot be read"],
        ),
        (
            "more accounts than Envoy can watch",
            |site| {
                site.change(|document| {
                    let account = |i| json!({"id": format!("a{i}"), "url": "http://h", "credential": "a1.key"});
                    let accounts: Vec<Value> = (0..64).map(account).collect();
                    group(document, "alone")["accounts"] = json!(accounts);
                    for i in 0..7 {
                        let mut more = group(document, "alone").clone();
                        more["id"] = json!(format!("more{i}"));
                        document["groups"].as_array_mut().unwrap().push(more);
                    }
                });
            },
            &[
                "error: Envoy's user may have 1024 inotify instances, and without enough of them Envoy aborts. It needs 1052",
            ],
        ),
        (
            "a file in the place of a directory",
            |site| site.write("out", ""),
            &["error: cannot read /site/out/secrets: Not a directory"],
        ),
    ];
    for (case, break_it, want) in cases {
        let site = Site::new();
        break_it(&site);
        let ran = site.render(&[]);
        assert_eq!(ran.code, 1, "{case}: {ran:?}");
        for want in want {
            assert!(
                ran.err.lines().any(|line| line.starts_with(want)),
                "{case}: {want}: {ran:?}"
            );
        }
        assert!(site.texts().is_empty(), "{case}");
        let check = site.render(&["--check"]);
        assert_eq!(check.code, 1, "{case}: {check:?}");
        for want in want {
            assert!(
                check.err.lines().any(|line| line.starts_with(want)),
                "{case}, checked: {want}: {check:?}"
            );
        }
    }
}

#[test]
fn an_exchange_needs_room_for_both() {
    let site = Site::new();
    let small = |site: &Site| site.render(&["--inotify-instances", "40"]);
    site.change(|document| many(document, "a", 10));
    assert_eq!(small(&site).code, 0);
    let before = site.texts();
    site.change(|document| many(document, "b", 10));
    let ran = small(&site);
    let want = "It needs 56 for 10 credentials and files of authorities together with 10 that are going: take those";
    assert!(ran.code == 1 && ran.err.contains(want), "{ran:?}");
    assert_eq!(site.texts(), before);
    for (step, id, number) in [("fewer", "a", 1), ("none of the old", "b", 9)] {
        site.change(|document| many(document, id, number));
        assert_eq!(small(&site).code, 0, "{step}");
    }
}

/// Leaves one group, with so many accounts.
fn many(document: &mut Value, id: &str, number: usize) {
    let account = |i| json!({"id": format!("{id}{i}"), "url": "http://h", "credential": "a1.key"});
    group(document, "alone")["accounts"] = (0..number).map(account).collect();
    let groups = document["groups"].as_array_mut().unwrap();
    groups.retain(|group| group["id"] == "alone");
}

#[test]
fn wrong_command_lines() {
    let site = Site::new();
    for (case, args) in [
        ("no document", &["--out", "out"][..]),
        ("nowhere to write", &["--document", "document.json"]),
        (
            "no number",
            &[
                "--document",
                "document.json",
                "--out",
                "out",
                "--inotify-instances",
                "x",
            ],
        ),
        (
            "to stay and to write nothing",
            &[
                "--document",
                "document.json",
                "--out",
                "out",
                "--watch",
                "--check",
            ],
        ),
        (
            "to keep for good and to clean up",
            &[
                "--document",
                "document.json",
                "--out",
                "out",
                "--keep",
                "--publish",
                "there.json",
            ],
        ),
        (
            "to wait for nothing",
            &[
                "--document",
                "document.json",
                "--out",
                "out",
                "--settle",
                "1",
            ],
        ),
        (
            "a document to its own place",
            &[
                "--document",
                "document.json",
                "--out",
                "out",
                "--publish",
                "keys/../document.json",
            ],
        ),
        (
            "a path that is none",
            &["--document", "document.json", "--out", ""],
        ),
    ] {
        let ran = site.run(args);
        assert_eq!(ran.code, 2, "{case}: {ran:?}");
    }
    let ran = site.run(&[
        "--document",
        "document.json",
        "--out",
        "out",
        "--system-ca",
        "system.pem",
    ]);
    let want = "groups[0].accounts[0].credential: begins without a slash: say with --credentials";
    assert!(ran.code == 1 && ran.err.contains(want), "{ran:?}");
}
