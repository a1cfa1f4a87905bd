//! The writing and removal of files.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use serde_json::{Value, json};

use super::site::{Site, group};

/// The rendered files, by the number of the file itself: another file of the same name has another number.
fn files(site: &Site) -> BTreeSet<(String, u64)> {
    let names = site.texts().into_keys();
    names
        .map(|name| {
            let number = fs::metadata(site.path("out").join(&name)).unwrap().ino();
            (name, number)
        })
        .collect()
}

#[test]
fn a_second_run_touches_nothing_and_says_so() {
    let site = Site::new();
    let first = site.render(&[]);
    let lines: Vec<&str> = first.out.lines().collect();
    let clusters = lines
        .iter()
        .position(|line| line.ends_with("clusters.json"));
    assert_eq!(
        clusters,
        Some(7),
        "the clusters after all secrets: {first:?}"
    );
    assert_eq!(lines.last(), Some(&"accounts: 5, in sources: 2"));
    let before = files(&site);
    let second = site.render(&[]);
    assert_eq!(
        second.out,
        "nothing to change\naccounts: 5, in sources: 2\n"
    );
    assert_eq!(files(&site), before);
}

#[test]
fn only_what_is_different_is_written() {
    let site = Site::new();
    site.render(&[]);
    let before = files(&site);
    site.change(|document| group(document, "many:4.5")["accounts"][0]["http"] = json!("1.1"));
    let ran = site.render(&[]);
    assert!(
        ran.out
            .starts_with("wrote /site/out/clusters/clusters.json\naccount alone/one: POST "),
        "{ran:?}"
    );
    let after = files(&site);
    let changed: Vec<_> = after
        .difference(&before)
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(changed, ["clusters/clusters.json"]);
    let mode = fs::metadata(site.path("out/clusters/clusters.json")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o644);
}

#[test]
fn secrets_of_accounts_that_are_gone_go_last() {
    let site = Site::new();
    site.render(&[]);
    // Neither of these is ours.
    site.write(
        "out/secrets/other.json",
        r#"{"resources": [{"name": "account~x~y"}]}"#,
    );
    site.write("out/secrets/notes.txt", "");
    site.change(|document| {
        let accounts = &mut group(document, "many:4.5")["accounts"];
        accounts.as_array_mut().unwrap().truncate(1);
    });
    let ran = site.render(&[]);
    let want = "wrote /site/out/clusters/clusters.json\n\
        removed /site/out/secrets/many%4=5.a2.json\n\
        removed /site/out/secrets/many%4=5.a4.json\n\
        removed /site/out/secrets/many%4=5.a=3.json\n\
        account alone/one: POST https://API.example.com/base/v2/messages\n\
        account many:4.5/a1: POST https://eu.example.com:8443/v1/chat/completions, https://eu.example.com:8443/v1/responses\n\
        accounts: 2, in sources: 2\n";
    assert_eq!(ran.out, want);
    let names: Vec<_> = site
        .texts()
        .into_keys()
        .filter(|n| !n.contains("ca~"))
        .collect();
    let want = [
        "clusters/clusters.json",
        "secrets/alone.one.json",
        "secrets/many%4=5.a1.json",
        "secrets/notes.txt",
        "secrets/other.json",
    ];
    assert_eq!(names, want);
}

#[test]
fn a_check_writes_nothing() {
    let site = Site::new();
    let fresh = site.render(&["--check"]);
    assert!(!site.path("out").exists(), "{fresh:?}");
    assert_eq!(fresh.code, 0, "{fresh:?}");
    assert!(
        fresh
            .out
            .contains("would write /site/out/clusters/clusters.json"),
        "{fresh:?}"
    );
    site.render(&[]);
    let before = files(&site);
    site.change(|document| {
        group(document, "alone")
            .as_object_mut()
            .unwrap()
            .remove("accounts");
        group(document, "alone")["cluster"] = json!("x");
    });
    let ran = site.render(&["--check"]);
    assert!(
        ran.out
            .contains("would remove /site/out/secrets/alone.one.json"),
        "{ran:?}"
    );
    assert_eq!(files(&site), before);
    let bare = site.run(&[
        "--document",
        "document.json",
        "--check",
        "--credentials",
        "keys",
        "--system-ca",
        "system.pem",
        "--filter",
        "filter.wasm",
    ]);
    let lines: Vec<&str> = bare.out.lines().collect();
    let first = "account many:4.5/a1: POST https://eu.example.com:8443/v1/chat/completions, \
        https://eu.example.com:8443/v1/responses";
    assert_eq!(
        (bare.code, lines.len(), lines[0]),
        (0, 5, first),
        "{bare:?}"
    );
    assert_eq!(lines[4], "accounts: 4, in sources: 1", "{bare:?}");
}

#[test]
fn a_document_without_accounts_leaves_an_empty_list() {
    let site = Site::new();
    site.change(|document| {
        document["groups"]
            .as_array_mut()
            .unwrap()
            .retain(|g| g["cluster"].is_string())
    });
    site.render(&[]);
    assert_eq!(
        site.rendered()["clusters/clusters.json"]["resources"],
        json!([])
    );
}

#[test]
fn a_credential_that_comes_makes_another_file() {
    let site = Site::new();
    fs::remove_file(site.path("keys/a2.key")).unwrap();
    let ran = site.render(&[]);
    let want = "warning: groups[2].accounts[1].credential: /site/keys/a2.key is missing: account many:4.5/a2 \
        serves nothing until a good one is renamed to that name\n";
    assert_eq!((ran.code, ran.err.as_str()), (0, want));
    let version = |site: &Site| site.rendered()["clusters/clusters.json"]["version_info"].clone();
    assert_eq!(version(&site), "without a credential: many:4.5/a2");
    let check = site.render(&["--check"]);
    assert_eq!(check.code, 1, "{check:?}");
    site.write("keys/a2.key", "x");
    let ran = site.render(&[]);
    assert!(
        ran.out
            .starts_with("wrote /site/out/clusters/clusters.json\naccount alone/one: POST "),
        "{ran:?}"
    );
    assert_eq!(version(&site), "every credential was there");
    assert_eq!(site.render(&["--check"]).code, 0);
}

#[test]
fn each_accounts_secret_is_named_once() {
    let site = Site::new();
    site.render(&[]);
    let mut owners: Vec<(String, String)> = Vec::new();
    for (cluster, content) in site.clusters() {
        secrets_of(&content, &mut |name, file| {
            assert!(
                !owners.iter().any(|(n, f)| n == name || f == file),
                "{cluster}: {name}"
            );
            owners.push((name.to_owned(), file.to_owned()));
        });
    }
    assert_eq!(owners.len(), 5);
    let files = site.rendered();
    for (name, file) in owners {
        let secret = &files[file.strip_prefix("/site/out/").unwrap()];
        assert_eq!(secret["resources"][0]["name"], json!(name), "{file}");
    }
}

/// The secrets of credentials in a configuration, by name and file.
fn secrets_of(value: &Value, found: &mut impl FnMut(&str, &str)) {
    match value {
        Value::Object(members) => {
            if let (Some(name), Some(source)) = (members.get("name"), members.get("sds_config"))
                && let Some(name) = name.as_str().filter(|name| name.starts_with("account~"))
            {
                found(name, source["path_config_source"]["path"].as_str().unwrap());
            }
            members
                .values()
                .for_each(|member| secrets_of(member, found));
        }
        Value::Array(members) => members.iter().for_each(|member| secrets_of(member, found)),
        _ => {}
    }
}
