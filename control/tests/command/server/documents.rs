//! `trilane check`, `diff` and `publish` at a console.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{Office, changed};
use crate::desk::DOCUMENT;

#[test]
fn a_document_is_published() {
    let office = Office::new();
    let published = |args: &[&str]| office.run(&[&["publish", "--yes"], args].concat());
    let first = published(&["--note", "the first", "gateway.json"]);
    assert_eq!((first.code, first.out.as_str()), (0, "1\n"), "{first:?}");
    assert!(first.err.contains("nothing is in force yet"), "{first:?}");
    assert!(
        first.err.contains("gateway.json: warning: account b/b1: the console keeps no credential b1.key for https://b.example"),
        "{first:?}"
    );
    let (_, current) = office.console.get("/api/v1/documents/current");
    assert_eq!(
        (&current["note"], &current["body"]),
        (&json!("the first"), &json!(DOCUMENT))
    );
    let same = published(&["gateway.json"]);
    assert_eq!((same.code, same.out.as_str()), (0, ""), "{same:?}");
    assert!(
        same.err.contains("is in force already, as version 1"),
        "{same:?}"
    );

    // A key of the console and one of the document lose a model.
    office.post("/api/v1/keys", r#"{"id": "k", "group": "mixed"}"#);
    let fewer = changed(r#"{"id": "gpt-5.1", "entry": "responses"}, "#, "");
    office.desk.write("fewer.json", &fewer);
    let check = office.run(&["check", "--server", &office.url(), "fewer.json"]);
    assert_eq!(check.code, 0, "{check:?}");
    assert!(
        check
            .out
            .contains("fewer.json: change: 2 keys (key_m, k) lose gpt-5.1"),
        "{check:?}"
    );
    let json = office
        .run(&[
            "check",
            "--format",
            "json",
            "--server",
            &office.url(),
            "fewer.json",
        ])
        .json();
    assert_eq!(
        json["documents"][0]["changes"],
        json!(["2 keys (key_m, k) lose gpt-5.1"])
    );
    let strict = office.run(&["check", "--strict", "--server", &office.url(), "fewer.json"]);
    assert_eq!(strict.code, 1, "{strict:?}");

    // Without a terminal it asks nobody.
    let unasked = office.run(&["publish", "fewer.json"]);
    assert_eq!((unasked.code, unasked.out.as_str()), (2, ""), "{unasked:?}");
    assert!(
        unasked.err.contains("--yes says that it is meant"),
        "{unasked:?}"
    );
    let stale = published(&["--if-version", "7", "fewer.json"]);
    assert_eq!(stale.code, 1, "{stale:?}");
    assert!(
        stale.err.contains("version 1 is in force, not 7")
            && stale.err.contains("trilane diff --server"),
        "{stale:?}"
    );
    let done = published(&["--if-version", "1", "fewer.json"]);
    assert_eq!((done.code, done.out.as_str()), (0, "2\n"), "{done:?}");
    assert!(
        done.err.contains("change: 2 keys (key_m, k) lose gpt-5.1"),
        "{done:?}"
    );
    assert!(
        done.err.contains("in force: version 1; it changes 1 places: groups › mixed › models › gpt-5.1 (responses)"),
        "{done:?}"
    );

    // What gateways would refuse leaves nothing behind.
    office.desk.write(
        "bad.json",
        &changed("\"multiplier\": \"2\"", "\"multiplier\": \"x\""),
    );
    for args in [
        &["check", "--server", &office.url(), "bad.json"][..],
        &["publish", "--yes", "bad.json"],
    ] {
        let bad = office.run(args);
        assert_eq!(bad.code, 1, "{bad:?}");
        let said = format!("{}{}", bad.out, bad.err);
        assert!(said.contains("groups[1].multiplier: must be"), "{bad:?}");
    }
    assert!(office.items("/api/v1/drafts").is_empty());
    assert_eq!(office.items("/api/v1/documents").len(), 2);
    let missing = published(&["none.json"]);
    assert_eq!(missing.code, 2, "{missing:?}");
}

/// Of those who publish at the same time what they made from one version, one is first.
#[test]
fn nobodys_change_is_lost() {
    let office = Office::published();
    let names: Vec<String> = (0..5).map(|number| format!("{number}.json")).collect();
    for name in &names {
        office.desk.write(name, &changed("GPT-5.1", name));
    }
    let children: Vec<_> = names
        .iter()
        .map(|name| {
            let args = ["publish", "--yes", "--if-version", "1", name];
            let mut command = office.command(&args);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    let ended: Vec<_> = children
        .into_iter()
        .map(|child| child.wait_with_output().unwrap())
        .collect();
    let done = ended.iter().filter(|ended| ended.status.success()).count();
    assert_eq!(done, 1, "{ended:?}");
    for ended in ended.iter().filter(|ended| !ended.status.success()) {
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(
            said.contains("meanwhile") || said.contains("is in force, not 1"),
            "{said}"
        );
    }
    assert_eq!(office.items("/api/v1/documents").len(), 2);
    assert!(
        office.items("/api/v1/drafts").is_empty(),
        "none is left behind"
    );
}

#[test]
fn differences() {
    let office = Office::published();
    office.desk.write(
        "other.json",
        &changed(r#""display_name": "GPT-5.1""#, r#""display_name": "Best""#),
    );
    let here = office.desk.run(&["diff", "gateway.json", "other.json"]);
    assert_eq!((here.code, here.err.as_str()), (1, ""), "{here:?}");
    assert_eq!(
        here.out,
        "~ groups › a › models › gpt-5.1 › display_name: GPT-5.1 -> Best\n"
    );
    let there = office.run(&["diff", "other.json"]);
    assert_eq!((there.code, &there.out), (1, &here.out), "{there:?}");
    assert!(there.err.contains("in force: version 1"), "{there:?}");
    let json = office
        .run(&["diff", "--format", "json", "other.json"])
        .json();
    assert_eq!(
        json,
        json!([{"place": "groups › a › models › gpt-5.1 › display_name", "before": "GPT-5.1", "after": "Best"}])
    );
    let same = office.run(&["diff", "gateway.json"]);
    assert_eq!((same.code, same.out.as_str()), (0, ""), "{same:?}");

    // Drafts: the only one need not be named.
    let none = office.run(&["diff"]);
    assert!(
        none.code == 2 && none.err.contains("has no draft: name a FILE"),
        "{none:?}"
    );
    let draft = |text: &str| {
        let made = office.post("/api/v1/drafts", &json!({"body": text}).to_string());
        made["id"].as_str().unwrap().to_owned()
    };
    let first = draft(&office.desk.read("other.json"));
    let only = office.run(&["diff"]);
    assert_eq!((only.code, &only.out), (1, &here.out), "{only:?}");
    let second = draft(DOCUMENT);
    let several = office.run(&["diff"]);
    assert_eq!(several.code, 2, "{several:?}");
    assert!(
        several.err.contains(&first) && several.err.contains(&second),
        "{several:?}"
    );
    assert_eq!(office.run(&["diff", "--draft", &second]).code, 0);
    let unknown = office.run(&["diff", "--draft", "x"]);
    assert!(
        unknown.code == 2 && unknown.err.contains("has no draft x"),
        "{unknown:?}"
    );

    for (args, said) in [
        (&["diff", "gateway.json"][..], "no console is named"),
        (
            &[
                "diff",
                "--server",
                "http://127.0.0.1:1",
                "gateway.json",
                "other.json",
            ],
            "with --server name one",
        ),
        (
            &["diff", "gateway.json", "none.json"],
            "cannot read the document none.json",
        ),
        (&["diff", "gateway.json", "key.txt"], "key.txt is not JSON"),
    ] {
        let ran = office.desk.run(args);
        assert!(ran.code == 2 && ran.err.contains(said), "{args:?}: {ran:?}");
    }
}

/// The API's own check of a document: rights, and what it says without them.
#[test]
fn a_check_keeps_nothing() {
    let office = Office::published();
    let body = json!({"body": DOCUMENT}).to_string();
    let (status, check) = office.console.post_json("/api/v1/documents/check", &body);
    assert_eq!(status, 200, "{check}");
    assert_eq!(
        (&check["in_force"], &check["valid"]),
        (&json!(1), &json!(true))
    );
    let missing: Vec<&Value> = check["missing_credentials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| &of["credential"])
        .collect();
    assert_eq!(missing, [&json!("b1.key"), &json!("b2.key")]);
    let url = json!({"value": "sk-1", "destinations": [{"url": "https://b.example"}]}).to_string();
    let (status, kept) = office.console.put_json("/api/v1/credentials/b1.key", &url);
    assert_eq!(status, 200, "{kept}");
    let (_, check) = office.console.post_json("/api/v1/documents/check", &body);
    assert_eq!(
        check["missing_credentials"].as_array().unwrap().len(),
        1,
        "{check}"
    );
    // It would go elsewhere, and is not kept for that.
    let elsewhere = changed(
        "https://b.example\", \"credential\": \"b1.key",
        "https://c.example\", \"credential\": \"b1.key",
    );
    let (_, check) = office.console.post_json(
        "/api/v1/documents/check",
        &json!({"body": elsewhere}).to_string(),
    );
    assert_eq!(
        check["missing_credentials"][0]["destination"]["url"], "https://c.example",
        "{check}"
    );
    assert!(office.items("/api/v1/drafts").is_empty());
}

/// The blocks of shell in the page docs/command.md that are about a console, as they stand there.
#[test]
fn the_page_on_the_command_is_right() {
    let page = include_str!("../../../../docs/command.md");
    let blocks = page
        .split("```sh\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap());
    let blocks: Vec<&str> = blocks
        .filter(|block| block.contains("TRILANE_SERVER"))
        .collect();
    assert_eq!(blocks.len(), 2, "{blocks:?}");
    let office = Office::published();
    let all = changed("\"id\": \"mixed\"", "\"id\": \"all\"")
        .replace("\"group\": \"mixed\"", "\"group\": \"all\"");
    office.desk.write("gateway.json", &all);
    assert_eq!(office.run(&["publish", "--yes", "gateway.json"]).code, 0);
    office.post(
        "/api/v1/people",
        r#"{"id": "ann", "name": "Ann", "role": "member"}"#,
    );
    office
        .desk
        .write("gateway.json", &all.replace("GPT-5.4", "GPT 5.4"));
    office.desk.write("ci.token", &office.console.token);
    office.desk.write("published.version", "3");
    for credential in ["b1.key", "b2.key"] {
        let value = json!({"value": "sk-1"}).to_string();
        assert_eq!(
            office
                .console
                .put_json(&format!("/api/v1/credentials/{credential}"), &value)
                .0,
            200
        );
    }
    for (block, next) in blocks.into_iter().zip(["GPT-5.4!", ""]) {
        let script = block.replace("https://console.example.com", &office.url());
        // Differences are an exit code of 1.
        let script = script.replace(
            "trilane diff gateway.json",
            "{ trilane diff gateway.json || test $? = 1; }",
        );
        let bin = std::path::Path::new(env!("CARGO_BIN_EXE_trilane"))
            .parent()
            .unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-ec", &script])
            .env("PATH", path)
            .current_dir(office.desk.path(""));
        shell.env("TRILANE_TOKEN", &office.console.token);
        let ran = shell.stdin(Stdio::null()).output().unwrap();
        assert!(ran.status.success(), "{script}: {ran:?}");
        office
            .desk
            .write("gateway.json", &all.replace("GPT-5.4", next));
    }
    assert_eq!(office.desk.read("published.version"), "4\n");
    assert!(office.desk.read("key_01.txt").starts_with("tl-"));
}
