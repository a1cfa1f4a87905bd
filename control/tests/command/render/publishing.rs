//! `--publish`: clusters, document, and then what is left over; whatever comes in between.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::keeping::{by_hand, many, names};
use super::running::Running;
use super::site::{Site, SiteChange, group};
use crate::command_output::CommandOutput;

const PLACE: &str = "there/gateway.json";
/// Longer than any test.
const LONG: [&str; 4] = ["--publish", PLACE, "--settle", "600"];
const CLUSTERS: &str = "wrote /site/out/clusters/clusters.json";
const PUBLISHED: &str = "published /site/there/gateway.json";

fn publish(site: &Site, settle: &str) -> CommandOutput {
    site.render(&["--publish", PLACE, "--settle", settle])
}

/// Publishes the document of every site, and then has another one without the group of several accounts.
fn changing() -> Site {
    let site = Site::new();
    assert_eq!(publish(&site, "600").code, 0);
    site.change(|document| by_hand(document, "many:4.5"));
    site
}

/// Whether the document is in force.
fn in_force(site: &Site) -> bool {
    fs::read(site.path(PLACE)).ok() == fs::read(site.path("document.json")).ok()
}

fn assert_clean(site: &Site, case: &str) {
    assert!(in_force(site), "{case}");
    assert_eq!(names(site), ["source/alone"], "{case}");
    let secrets = fs::read_dir(site.path("out/secrets")).unwrap().count();
    assert_eq!(secrets, 2, "{case}: of the account and of its authorities");
    let there = fs::read_dir(site.path("there")).unwrap().count();
    assert_eq!(there, 1, "{case}: nothing beside the document");
}

/// The clusters of both documents, those that only the one before has in the order of their names.
fn both() -> Vec<String> {
    [vec!["source/alone".to_owned()], many()].concat()
}

fn assert_both(site: &Site, case: &str) {
    assert_eq!(names(site), both(), "{case}");
    let secrets = fs::read_dir(site.path("out/secrets")).unwrap().count();
    assert_eq!(secrets, 7, "{case}");
}

#[test]
fn with_nothing_left_over_it_does_not_wait() {
    let site = Site::new();
    let began = Instant::now();
    let ran = publish(&site, "600");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[7..9], [CLUSTERS, PUBLISHED]);
    assert_eq!(lines.last(), Some(&"accounts: 5, in sources: 2"));
    assert!(in_force(&site));
    let found = fs::metadata(site.path(PLACE)).unwrap();
    assert_eq!(found.permissions().mode() & 0o777, 0o644);
    let again = publish(&site, "600");
    assert_eq!(again.out, "nothing to change\naccounts: 5, in sources: 2\n");
    assert_eq!(fs::metadata(site.path(PLACE)).unwrap().ino(), found.ino());
    // The same accounts, in another document.
    site.change(|document| document["keys"] = json!([]));
    let other = publish(&site, "600");
    assert_eq!(
        other.out,
        format!("{PUBLISHED}\naccounts: 5, in sources: 2\n")
    );
    assert!(in_force(&site) && began.elapsed() < Duration::from_secs(60));
}

#[test]
fn what_is_left_over_goes_after_the_document_has_come() {
    let site = changing();
    let mut run = Running::once(&site, &["--publish", PLACE, "--settle", "2"]);
    let first = run.until("accounts: 1");
    assert_eq!(first[..2], [CLUSTERS, PUBLISHED]);
    assert_eq!(first[2], format!("kept the cluster {} for now", many()[0]));
    assert!(in_force(&site));
    assert_both(&site, "until it is in force everywhere");
    let last = run.until("secrets/many%4=5.a=3.json");
    assert_eq!((last[0].as_str(), last.len()), (CLUSTERS, 6), "{last:?}");
    assert_clean(&site, "at the end");
    assert_eq!(run.ended(), (Some(0), String::new()));
    assert_eq!(
        publish(&site, "600").out,
        "nothing to change\naccounts: 1, in sources: 1\n"
    );
}

#[test]
fn a_secret_that_is_left_over_is_enough() {
    let site = Site::new();
    publish(&site, "600");
    site.change(|document| {
        let account = &mut group(document, "many:4.5")["accounts"][0];
        account.as_object_mut().unwrap().remove("ca");
    });
    let ran = publish(&site, "0");
    assert!(ran.out.contains("removed /site/out/secrets/ca~"), "{ran:?}");
    assert_eq!(fs::read_dir(site.path("out/secrets")).unwrap().count(), 6);
}

/// Each step fails when its place is taken, so what is there then is what the steps before have done.
#[test]
fn a_step_that_fails_is_the_last() {
    let site = changing();
    let document = fs::read(site.path(PLACE)).unwrap();
    fs::rename(site.path("out/clusters"), site.path("aside")).unwrap();
    site.write("out/clusters", "");
    let ran = publish(&site, "0");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(
        fs::read(site.path(PLACE)).unwrap(),
        document,
        "no document before its clusters"
    );

    fs::remove_file(site.path("out/clusters")).unwrap();
    fs::rename(site.path("aside"), site.path("out/clusters")).unwrap();
    fs::rename(site.path("there"), site.path("aside")).unwrap();
    site.write("there", "");
    let ran = publish(&site, "0");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.err
            .contains("error: cannot read /site/there/gateway.json: "),
        "{ran:?}"
    );
    assert_both(&site, "nothing goes before the document has come");

    fs::remove_file(site.path("there")).unwrap();
    fs::rename(site.path("aside"), site.path("there")).unwrap();
    assert_eq!(publish(&site, "0").code, 0);
    assert_clean(&site, "the next run");
}

#[test]
fn whenever_it_is_killed_the_next_run_completes_it() {
    // Reading a pipe lasts until somebody writes, so that it is killed between the clusters and the document.
    let site = changing();
    fs::rename(site.path(PLACE), site.path("before.json")).unwrap();
    let pipe = Command::new("mkfifo")
        .arg(site.path(PLACE))
        .status()
        .unwrap();
    assert!(pipe.success());
    let run = Running::once(&site, &LONG);
    let patience = Instant::now() + Duration::from_secs(20);
    while names(&site) != both() {
        assert!(Instant::now() < patience);
        sleep(Duration::from_millis(5));
    }
    sleep(Duration::from_millis(100));
    assert_eq!(
        run.end("-KILL"),
        (None, String::new()),
        "it was at the document"
    );
    fs::rename(site.path("before.json"), site.path(PLACE)).unwrap();
    assert_both(&site, "before the document");
    let ran = publish(&site, "0");
    assert!(ran.out.starts_with(PUBLISHED), "{ran:?}");
    assert_clean(&site, "killed before the document");

    let site = changing();
    let mut run = Running::once(&site, &LONG);
    run.until("accounts: 1");
    run.end("-KILL");
    assert_both(&site, "behind the document");
    let ran = publish(&site, "0");
    assert!(ran.code == 0 && !ran.out.contains("published"), "{ran:?}");
    assert_clean(&site, "killed behind the document");
}

#[test]
fn a_signal_ends_the_waiting_at_once() {
    for (signal, json) in [("-TERM", false), ("-INT", true)] {
        let site = changing();
        let more = [&LONG[..], &["--json"][..usize::from(json)]].concat();
        let mut run = Running::once(&site, &more);
        let patience = Instant::now() + Duration::from_secs(20);
        while !in_force(&site) {
            assert!(Instant::now() < patience, "{signal}");
            sleep(Duration::from_millis(5));
        }
        if !json {
            run.until("accounts: 1");
        }
        let began = Instant::now();
        let (code, said) = run.end(signal);
        assert_eq!(code, Some(0), "{signal}: {said}");
        assert!(began.elapsed() < Duration::from_millis(900), "{signal}");
        assert_both(&site, signal);
        if json {
            let report: Value = serde_json::from_str(&said).unwrap();
            assert_eq!(
                (&report["kept"], &report["done"]),
                (&json!(many()), &json!(true))
            );
        }
        assert_eq!(publish(&site, "0").code, 0, "{signal}");
        assert_clean(&site, signal);
    }
}

/// A document whose clusters Envoy does not have yet comes some time after them.
#[test]
fn new_clusters_lead() {
    let long = ["--publish", PLACE, "--lead", "600"];
    let site = Site::new();
    let mut several = Value::Null;
    site.change(|document| {
        several = group(document, "many:4.5").clone();
        by_hand(document, "many:4.5");
    });
    let ran = site.render(&long);
    assert_eq!(ran.code, 0, "the first document waits for nobody: {ran:?}");
    site.change(|document| *group(document, "many:4.5") = several.clone());
    for (case, stays) in [("once", false), ("staying", true)] {
        let run = if stays {
            Running::watch(&site, &long)
        } else {
            Running::once(&site, &long)
        };
        let patience = Instant::now() + Duration::from_secs(20);
        while names(&site).len() == 1 {
            assert!(Instant::now() < patience, "{case}");
            sleep(Duration::from_millis(5));
        }
        sleep(Duration::from_millis(200));
        assert!(!in_force(&site), "{case}: it came with its clusters");
        let (code, said) = run.end("-TERM");
        assert_eq!(code, Some(i32::from(!stays)), "{case}: {said}");
        assert!(said.contains("run it again"), "{case}: {said}");
        assert!(!in_force(&site), "{case}");
        // The next one has nothing to wait for any more, which is not what is looked at here.
        fs::remove_dir_all(site.path("out")).unwrap();
        site.change(|document| by_hand(document, "many:4.5"));
        assert_eq!(site.render(&[]).code, 0, "{case}");
        site.change(|document| *group(document, "many:4.5") = several.clone());
    }
    let began = Instant::now();
    let ran = site.render(&["--publish", PLACE, "--lead", "1", "--settle", "0"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(in_force(&site) && began.elapsed() >= Duration::from_secs(1));
    site.change(|document| document["keys"] = json!([]));
    let ran = site.render(&long);
    assert_eq!(ran.code, 0, "the same clusters: {ran:?}");
}

#[test]
fn what_is_refused_is_not_published() {
    let cases: [(&str, SiteChange); 3] = [
        ("no JSON", |site| site.write("document.json", "{")),
        ("a bad url", |site| {
            site.change(|document| {
                by_hand(document, "many:4.5");
                group(document, "alone")["accounts"][0]["url"] = json!("ftp://x");
            });
        }),
        ("a bad credential", |site| {
            site.change(|document| by_hand(document, "many:4.5"));
            site.write("keys/alone.key", "two words");
        }),
    ];
    for (case, change) in cases {
        let site = Site::new();
        publish(&site, "600");
        let before = (site.texts(), fs::read(site.path(PLACE)).unwrap());
        change(&site);
        let ran = publish(&site, "600");
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{case}: {ran:?}");
        assert!(
            ran.err.ends_with("error: nothing was written\n"),
            "{case}: {ran:?}"
        );
        let after = (site.texts(), fs::read(site.path(PLACE)).unwrap());
        assert_eq!(after, before, "{case}");
    }
}

#[test]
fn a_check_publishes_nothing() {
    let site = changing();
    let before = (site.texts(), fs::read(site.path(PLACE)).unwrap());
    let ran = site.render(&[&LONG[..], &["--check"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut lines = ran.out.lines();
    assert_eq!(
        lines.next(),
        Some("would write /site/out/clusters/clusters.json")
    );
    assert_eq!(lines.next(), Some("would publish /site/there/gateway.json"));
    assert!(
        lines.next().unwrap().starts_with("would remove "),
        "{ran:?}"
    );
    assert_eq!((site.texts(), fs::read(site.path(PLACE)).unwrap()), before);
    let ran = Site::new().render(&["--check", "--publish", PLACE]);
    assert!(
        ran.out.contains("would publish /site/there/gateway.json\n"),
        "{ran:?}"
    );
}

#[test]
fn as_json_it_is_one_object_when_all_is_over() {
    let site = changing();
    let ran = site.render(&["--publish", PLACE, "--settle", "0", "--json"]);
    assert_eq!(
        (ran.code, ran.err.as_str(), ran.out.lines().count()),
        (0, "", 1),
        "{ran:?}"
    );
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["published"], "/site/there/gateway.json");
    assert_eq!(
        report["written"],
        json!(["/site/out/clusters/clusters.json"])
    );
    assert_eq!(report["unchanged"].as_array().unwrap().len(), 2, "{report}");
    assert_eq!(report["removed"].as_array().unwrap().len(), 5, "{report}");
    assert_eq!(report["kept"], json!([]));
    let again = site.render(&["--publish", PLACE, "--settle", "0", "--json"]);
    let report: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(report["published"], Value::Null);
    assert_eq!(
        report["unchanged"][3], "/site/there/gateway.json",
        "{report}"
    );
}

#[test]
fn what_someone_else_has_published_meanwhile_is_left_to_him() {
    let site = changing();
    let mut run = Running::once(&site, &["--publish", PLACE, "--settle", "2"]);
    run.until("accounts: 1");
    // The group comes back, in other words.
    site.change(|document| group(document, "many:4.5")["accounts"][0]["weight"] = json!(9));
    publish(&site, "600");
    let all = site.texts();
    let said = run.until("note: ");
    assert!(said[0].contains("have come meanwhile"), "{said:?}");
    assert_eq!(run.ended(), (Some(0), String::new()));
    assert_eq!(site.texts(), all);
}

#[test]
fn whoever_stays_cleans_up_when_all_is_quiet() {
    let site = changing();
    let mut watch = Running::watch(&site, &["--publish", PLACE, "--settle", "4"]);
    let said = watch.until("accounts: 1");
    assert_eq!(said[..2], [CLUSTERS, PUBLISHED]);
    // Changes all the time, each before it has settled.
    for i in 1..=3 {
        sleep(Duration::from_millis(500));
        site.change(|document| {
            by_hand(document, "many:4.5");
            document["groups"][0]["accounts"][0]["weight"] = json!(i);
            document["keys"] = json!([]);
            document["groups"][0]["models"][0]["id"] = json!(format!("m{i}"));
        });
        let said = watch.until("accounts: 1");
        assert_eq!(said[0], PUBLISHED, "{i}: {said:?}");
        assert!(in_force(&site), "{i}");
        assert_both(&site, "not quiet yet");
    }
    // What is refused does not hold it up.
    let good = fs::read(site.path("document.json")).unwrap();
    site.write("document.json", "{");
    watch.until("stays in force");
    let said = watch.until("accounts: 1");
    assert_eq!((said[0].as_str(), said.len()), (CLUSTERS, 7), "{said:?}");
    assert_eq!(fs::read(site.path(PLACE)).unwrap(), good);
    fs::write(site.path("document.json"), good).unwrap();
    watch.until("accounts: 1");
    assert_clean(&site, "quiet");
    assert_eq!(watch.end("-TERM"), (Some(0), String::new()));
}

#[test]
fn whoever_stays_ends_at_once_and_the_next_one_cleans_up() {
    let site = changing();
    let mut watch = Running::watch(&site, &LONG);
    watch.until("accounts: 1");
    let began = Instant::now();
    assert_eq!(watch.end("-TERM"), (Some(0), String::new()));
    assert!(began.elapsed() < Duration::from_millis(900));
    assert_both(&site, "ended");
    let mut watch = Running::watch(&site, &["--publish", PLACE, "--settle", "0"]);
    watch.until("accounts: 1");
    watch.until("accounts: 1");
    assert_clean(&site, "the next one");
    watch.end("-TERM");
}
