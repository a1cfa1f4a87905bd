//! The output for programs.

use std::fs;

use serde_json::{Value, json};

use super::site::{Site, group};

fn report(site: &Site, more: &[&str], code: i32) -> Value {
    let ran = site.render(&[&["--json"], more].concat());
    assert_eq!((ran.code, ran.err.as_str()), (code, ""), "{ran:?}");
    assert_eq!(ran.out.lines().count(), 1, "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

fn sizes(report: &Value) -> [usize; 3] {
    ["written", "unchanged", "removed"].map(|list| report[list].as_array().unwrap().len())
}

#[test]
fn as_json() {
    let site = Site::new();
    let checked = report(&site, &["--check"], 0);
    assert_eq!(
        (&checked["check"], &checked["done"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(sizes(&checked), [8, 0, 0], "{checked}");
    let first = report(&site, &[], 0);
    assert_eq!(
        first["written"], checked["written"],
        "the same, and now it is so"
    );
    assert_eq!(first["written"][7], "/site/out/clusters/clusters.json");
    assert_eq!(
        (&first["accounts"], &first["sources"]),
        (&json!(5), &json!(2))
    );
    assert_eq!(
        first["destinations"][0],
        json!({"group": "alone", "account": "one", "urls": ["https://API.example.com/base/v2/messages"]})
    );
    assert_eq!(first.get("time"), None);
    assert_eq!(sizes(&report(&site, &[], 0)), [0, 8, 0]);

    fs::remove_file(site.path("keys/a2.key")).unwrap();
    site.change(|document| {
        let accounts = group(document, "many:4.5")["accounts"]
            .as_array_mut()
            .unwrap();
        accounts.pop();
    });
    let fewer = report(&site, &["--check"], 1);
    assert_eq!(sizes(&fewer), [1, 6, 1], "{fewer}");
    assert_eq!(
        fewer["removed"],
        json!(["/site/out/secrets/many%4=5.a4.json"])
    );
    let warning = "groups[2].accounts[1].credential: /site/keys/a2.key is missing: ";
    assert!(
        fewer["warnings"][0].as_str().unwrap().starts_with(warning),
        "{fewer}"
    );
    assert_eq!(fewer["done"], true, "it could be written");
    assert_eq!(report(&site, &[], 0)["warnings"], fewer["warnings"]);

    site.change(|document| group(document, "alone")["accounts"][0]["url"] = json!("ftp://x"));
    for more in [&[][..], &["--check"]] {
        let bad = report(&site, more, 1);
        let problem = "groups[0].accounts[0].url: must begin with https:// or http://";
        assert_eq!(
            (&bad["problems"], &bad["done"]),
            (&json!([problem]), &json!(false))
        );
        assert_eq!(sizes(&bad), [0, 0, 0], "{bad}");
    }
}

#[test]
fn help_tells_what_scripts_need() {
    let site = Site::new();
    let ran = site.run(&["--help"]);
    assert_eq!(ran.code, 0);
    for words in [
        "Exit codes:",
        "--watch",
        "--json",
        "--check",
        "--keep",
        "--publish",
        "--settle",
        "max_user_instances",
    ] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
}
