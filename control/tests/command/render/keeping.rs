//! `--keep`: what the document no longer has stays, and goes without it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use serde_json::{Value, json};

use super::site::{Site, group};

/// The names of the rendered clusters, in the file's order. The command may be writing other files meanwhile.
pub fn names(site: &Site) -> Vec<String> {
    let text = fs::read(site.path("out/clusters/clusters.json")).unwrap();
    let file: Value = serde_json::from_slice(&text).unwrap();
    let clusters = file["resources"].as_array().unwrap().iter();
    clusters
        .map(|cluster| cluster["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Gives a group a cluster by hand in the place of its accounts.
pub fn by_hand(document: &mut Value, id: &str) {
    let group = group(document, id).as_object_mut().unwrap();
    group.remove("accounts");
    group.remove("failover");
    group.insert("cluster".to_owned(), json!("hand_written"));
}

/// The clusters of the group of several accounts, by name.
pub fn many() -> Vec<String> {
    let site = Site::new();
    site.render(&[]);
    let names = site.clusters().into_keys();
    names.filter(|name| name.contains("/many:4.5")).collect()
}

#[test]
fn what_the_document_no_longer_has_stays_until_a_run_without() {
    let site = Site::new();
    site.render(&[]);
    let (clusters, files) = (site.clusters(), site.texts());
    site.change(|document| {
        by_hand(document, "many:4.5");
        group(document, "alone")["accounts"][0]["url"] = json!("http://127.0.0.1:9");
    });
    let checked = site.render(&["--keep", "--check"]);
    let ran = site.render(&["--keep"]);
    let many = many();
    let kept: String = many
        .iter()
        .map(|name| format!("kept the cluster {name} for now\n"))
        .collect();
    let file = "/site/out/clusters/clusters.json";
    let account = "account alone/one: POST http://127.0.0.1:9/v1/messages\n";
    let rest = format!("{file}\n{kept}{account}accounts: 1, in sources: 1\n");
    assert_eq!(ran.out, format!("wrote {rest}"));
    assert_eq!(checked.out, format!("would write {rest}"));

    assert_eq!(
        names(&site),
        [&["source/alone".to_owned()], &many[..]].concat()
    );
    let now = site.clusters();
    for (name, cluster) in &clusters {
        let same = now[name] == *cluster;
        assert_eq!(same, name != "source/alone", "{name}");
    }
    let secrets: Vec<_> = files.keys().filter(|n| n.starts_with("secrets")).collect();
    let texts = site.texts();
    let there: Vec<_> = texts.keys().filter(|n| n.starts_with("secrets")).collect();
    assert_eq!(there, secrets);

    let number = |site: &Site| {
        fs::metadata(site.path("out/clusters/clusters.json"))
            .unwrap()
            .ino()
    };
    let (before, texts) = (number(&site), site.texts());
    let again = site.render(&["--keep"]);
    let want = format!("{kept}nothing to change\naccounts: 1, in sources: 1\n");
    assert_eq!(again.out, want, "once more");
    assert_eq!((number(&site), site.texts()), (before, texts), "once more");

    let ran = site.render(&[]);
    assert!(!ran.out.contains("kept"), "{ran:?}");
    let fresh = Site::new();
    fs::copy(site.path("document.json"), fresh.path("document.json")).unwrap();
    fresh.render(&[]);
    assert_eq!(site.rendered(), fresh.rendered());
}

#[test]
fn what_comes_back_is_as_the_document_says() {
    let site = Site::new();
    site.render(&[]);
    site.change(|document| by_hand(document, "many:4.5"));
    site.render(&["--keep"]);
    site.change(|document| {
        by_hand(document, "alone");
        group(document, "many:4.5")["accounts"][2]["url"] = json!("http://127.0.0.1:9");
    });
    let ran = site.render(&["--keep"]);
    assert!(
        ran.out
            .contains("kept the cluster source/alone for now\naccount many:4.5/a1: POST"),
        "{ran:?}"
    );
    let port =
        "/load_assignment/endpoints/0/lb_endpoints/0/endpoint/address/socket_address/port_value";
    assert_eq!(
        site.clusters()["account/many:4.5/a.3"].pointer(port),
        Some(&json!(9))
    );
    assert_eq!(names(&site).len(), many().len() + 1);
}

#[test]
fn what_stays_needs_room_as_well() {
    let site = Site::new();
    let accounts = |id: &str| {
        let account =
            |i| json!({"id": format!("{id}{i}"), "url": "http://h", "credential": "a1.key"});
        let accounts: Vec<Value> = (0..4).map(account).collect();
        site.change(|document| {
            group(document, "alone")["accounts"] = json!(accounts);
            by_hand(document, "many:4.5");
        });
        // For 8 of them.
        site.render(&["--keep", "--inotify-instances", "32"])
    };
    assert_eq!(accounts("a").code, 0);
    assert_eq!(accounts("b").code, 0);
    let (ran, before) = (accounts("c"), site.texts());
    let want =
        "It needs 40 for 4 credentials and files of authorities together with 8 that are going";
    assert!(ran.code == 1 && ran.err.contains(want), "{ran:?}");
    assert_eq!(site.texts(), before);
}

#[test]
fn a_file_of_clusters_that_is_none_is_replaced() {
    for content in ["", "{", "{\"resources\": 1}"] {
        let site = Site::new();
        fs::create_dir_all(site.path("out/clusters")).unwrap();
        site.write("out/clusters/clusters.json", content);
        assert_eq!(site.render(&["--keep"]).code, 0, "{content}");
        assert_eq!(names(&site).len(), many().len() + 1, "{content}");
    }
}
