//! Staying: what is told and written after which change, and how it ends.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::running::Running;
use super::site::{Site, SiteChange, group};

const CLUSTERS: &str = "wrote /site/out/clusters/clusters.json";
const ALL: &str = "accounts: 5, in sources: 2";

#[test]
fn every_change_is_followed() {
    let site = Site::new();
    fs::rename(site.path("document.json"), site.path("later.json")).unwrap();
    fs::remove_file(site.path("keys/a2.key")).unwrap();
    let mut watch = Running::watch(&site, &[]);
    assert_eq!(
        watch.until("\n"),
        ["waiting for the document document.json"]
    );
    assert!(!site.path("out").exists());

    fs::rename(site.path("later.json"), site.path("document.json")).unwrap();
    let said = watch.until(ALL);
    assert!(said[0].starts_with("warning: groups[2].accounts[1].credential: "));
    assert_eq!(said[said.len() - 2..], [CLUSTERS, ALL]);

    // A credential that comes; the warning is gone.
    site.write("keys/a2.key", "x");
    assert_eq!(watch.until(ALL), [CLUSTERS, ALL]);

    let before = site.texts();
    site.write("document.json", "{");
    let said = watch.until("stays in force");
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("error: "), "{said:?}");
    assert_eq!(
        said[1],
        "error: nothing was written, what was there before stays in force"
    );
    fs::remove_file(site.path("document.json")).unwrap();
    let said = watch.until("stays in force");
    assert!(
        said[0].starts_with("error: cannot read the document document.json: "),
        "{said:?}"
    );
    assert_eq!(site.texts(), before);

    // Good again, and as it was.
    site.change(|_| {});
    assert_eq!(watch.until(ALL), [ALL]);
    // The same again, and a credential exchanged: nothing to tell.
    site.change(|_| {});
    site.write("keys/a1.key", "y");
    sleep(Duration::from_millis(2500));
    site.change(|document| group(document, "many:4.5")["accounts"][0]["http"] = json!("1.1"));
    assert_eq!(watch.until(ALL), [CLUSTERS, ALL]);
    assert_eq!(watch.end("-TERM"), (Some(0), String::new()));
}

#[test]
fn it_ends_at_once_and_well() {
    let missing = |site: &Site| fs::remove_file(site.path("document.json")).unwrap();
    let there = |_: &Site| {};
    let cases: [(&str, SiteChange, &str, &str); 3] = [
        ("while it waits", missing, "waiting", "-INT"),
        ("while it stays", there, ALL, "-INT"),
        (
            "while all is bad",
            |site| site.write("document.json", ""),
            "stays",
            "-TERM",
        ),
    ];
    for (case, change, said, signal) in cases {
        let site = Site::new();
        change(&site);
        let mut watch = Running::watch(&site, &[]);
        watch.until(said);
        let began = Instant::now();
        let (code, _) = watch.end(signal);
        assert_eq!(code, Some(0), "{case}");
        assert!(
            began.elapsed() < Duration::from_millis(900),
            "{case}: {:?}",
            began.elapsed()
        );
    }
}

#[test]
fn as_json_each_change_is_a_line() {
    let site = Site::new();
    let mut watch = Running::watch(&site, &["--json"]);
    let first: Value = serde_json::from_str(&watch.until("\n")[0]).unwrap();
    assert_eq!(first["done"], true);
    assert!(first["time"].as_str().unwrap().ends_with('Z'));
    site.write("document.json", "{");
    let second: Value = serde_json::from_str(&watch.until("\n")[0]).unwrap();
    assert_eq!(second["done"], false);
    assert_eq!(second["problems"].as_array().unwrap().len(), 1, "{second}");
    assert_eq!(watch.end("-TERM"), (Some(0), String::new()));
}
