//! The feed from a file.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use serde_json::json;

use super::reader::FeedReader;
use super::running::{Serve, replace, sha256};

struct FeedFile {
    directory: tempfile::TempDir,
    file: PathBuf,
}

fn site() -> FeedFile {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("keys.jsonl");
    FeedFile { directory, file }
}

impl FeedFile {
    fn serve(&self, more: &[&str]) -> Serve {
        Serve::new(
            self.directory.path(),
            &[&["--keys", "keys.jsonl"], more].concat(),
        )
    }
}

fn line(number: u64, group: &str) -> String {
    let (id, sha256) = (format!("k{number}"), sha256(number));
    json!({"id": id, "sha256": sha256, "group": group}).to_string() + "\n"
}

fn lines(keys: &BTreeMap<u64, &str>) -> String {
    keys.iter()
        .map(|(number, group)| line(*number, group))
        .collect()
}

fn same(reader: &FeedReader, keys: &BTreeMap<u64, &str>, case: &str) {
    let want: BTreeMap<_, _> = keys
        .iter()
        .map(|(number, group)| {
            (
                sha256(*number),
                json!({"id": format!("k{number}"), "group": group}),
            )
        })
        .collect();
    assert_eq!(reader.keys(), want, "{case}");
}

#[test]
fn replaced_appended_and_refused() {
    let site = site();
    let mut keys: BTreeMap<u64, &str> = (0..20).map(|number| (number, "g")).collect();
    fs::write(&site.file, lines(&keys)).unwrap();
    let mut serve = site.serve(&[]);
    let mut reader = FeedReader::new();
    reader.finish(7, serve.ask());
    same(&reader, &keys, "the first reading");
    let version = serve.version();

    // Only what is different has another version.
    keys.insert(3, "h");
    keys.insert(90, "g");
    keys.remove(&5);
    replace(&site.file, &lines(&keys));
    serve.until("keys keys.jsonl: 20 (added 1, changed 1, removed 1), version");
    assert_eq!(serve.version(), version + 3);
    let page = serve
        .get(&format!("/keys?cursor={}", reader.cursor()))
        .json();
    assert_eq!(page["changes"].as_array().unwrap().len(), 3, "{page}");
    reader.finish(2, serve.ask());
    same(&reader, &keys, "after a change");
    assert_eq!(reader.full_readings, 1);

    let mut file = fs::File::options().append(true).open(&site.file).unwrap();
    keys.insert(91, "g");
    file.write_all(line(91, "g").as_bytes()).unwrap();
    serve.until("keys keys.jsonl: 21 (added 1, changed 0, removed 0), version");
    reader.finish(100, serve.ask());
    same(&reader, &keys, "after an addition");

    serve.rest();
    let bad = lines(&keys)
        + "{\"id\":\"k1\",\"sha256\":\"00\",\"group\":\"secret value\"}\n"
        + &line(91, "g");
    replace(&site.file, &bad);
    let said = serve.until("the file of keys keys.jsonl is refused: the keys of before stay");
    for problem in [
        "line 22: sha256: must be the 64 hexadecimal digits of the key's SHA-256",
        "line 22: group: must be 1 to 64 letters, digits or any of - _ . :",
        "line 23: sha256: is the digest of line 21 too",
    ] {
        assert!(said.contains(problem), "{problem}: {said}");
    }
    assert!(!said.contains("secret value"), "{said}");
    assert_eq!(serve.get("/healthz").status, 200);
    reader.finish(100, serve.ask());
    same(&reader, &keys, "a bad file changes nothing");

    keys.retain(|number, _| *number < 3);
    replace(&site.file, &lines(&keys));
    serve.until("keys keys.jsonl: 3 (added 0, changed 0, removed 18), version");
    reader.finish(5, serve.ask());
    same(&reader, &keys, "most are gone");
    assert_eq!(reader.full_readings, 1);
}

#[test]
fn limits() {
    let site = site();
    let with = |number: u64, limits: &str| {
        line(number, "g").replace('}', &format!(r#","limits":{limits}}}"#))
    };
    let put = |lines: [String; 3]| replace(&site.file, &lines.concat());
    put([
        line(0, "g"),
        line(1, "g"),
        with(2, r#"{"requests_per_minute": 6}"#),
    ]);
    let mut serve = site.serve(&[]);
    let mut reader = FeedReader::new();
    let mut read = |serve: &Serve| {
        reader.finish(7, serve.ask());
        [0, 1, 2].map(|number| reader.keys()[&sha256(number)]["limits"].clone())
    };
    assert_eq!(
        read(&serve),
        [json!(null), json!(null), json!({"requests_per_minute": 6})]
    );
    // A change of limits alone is one; the same in other words is none.
    let budget = r#"{"per_day": "1.50", "spent": {"at": "2026-11-22T00:00:00Z", "in_day": "0.1"}}"#;
    let version = serve.version();
    put([
        line(0, "g"),
        with(1, &format!(r#"{{"budget": {budget}}}"#)),
        with(
            2,
            r#"{ "concurrent_requests": null, "requests_per_minute":6 }"#,
        ),
    ]);
    serve.until("keys keys.jsonl: 3 (added 0, changed 1, removed 0), version");
    assert_eq!(serve.version(), version + 1);
    let budget: serde_json::Value = serde_json::from_str(budget).unwrap();
    let want = [
        json!(null),
        json!({"budget": budget}),
        json!({"requests_per_minute": 6}),
    ];
    assert_eq!(read(&serve), want);
    serve.rest();
    put([
        with(0, "{}"),
        with(1, r#"{"budget": {"per_day": "secret"}}"#),
        with(2, r#"{"requests_per_minute": 0, "concurrent_requests": 0}"#),
    ]);
    let said = serve.until("the file of keys keys.jsonl is refused: the keys of before stay");
    for problem in [
        "line 1: limits: limits nothing",
        "line 2: limits.budget.per_day: must be a plain decimal number",
        "line 3: limits.requests_per_minute: must be between 1 and 1000000000",
        "line 3: limits.concurrent_requests: must be between 1 and 1000000000",
    ] {
        assert!(said.contains(problem), "{problem}: {said}");
    }
    assert!(!said.contains("secret"), "{said}");
    assert_eq!(read(&serve), want);
    put([0, 1, 2].map(|number| line(number, "g")));
    serve.until("keys keys.jsonl: 3 (added 0, changed 2, removed 0), version");
    assert_eq!(read(&serve), [json!(null), json!(null), json!(null)]);
}

#[test]
fn a_file_that_is_being_written_loses_nothing() {
    let site = site();
    let keys: BTreeMap<u64, &str> = (0..50).map(|number| (number, "g")).collect();
    let all = lines(&keys);
    fs::write(&site.file, &all).unwrap();
    let mut serve = site.serve(&[]);
    serve.rest();
    let version = serve.version();
    // As a careless program does it: the file in place, from its beginning, slowly.
    let mut file = fs::File::create(&site.file).unwrap();
    let (half, rest) = all.split_at(all.len() / 2 + 10);
    for part in [half, rest] {
        std::thread::sleep(std::time::Duration::from_millis(700));
        assert_eq!(
            serve.version(),
            version,
            "what is not there yet is not gone"
        );
        file.write_all(part.as_bytes()).unwrap();
    }
    serve.until("keys keys.jsonl: 50 (added 0, changed 0, removed 0)");
    // One that stays shorter is believed when it rests.
    file.set_len(half.rfind('\n').unwrap() as u64 + 1).unwrap();
    serve.until("keys keys.jsonl: 25 (added 0, changed 0, removed 25)");
    assert_eq!(serve.rest(), "");
}

#[test]
fn a_restart_is_another_feed_and_loses_nothing() {
    let site = site();
    let mut keys: BTreeMap<u64, &str> = (0..9).map(|number| (number, "g")).collect();
    fs::write(&site.file, lines(&keys)).unwrap();
    let serve = site.serve(&[]);
    let feed = serve.get("/keys").json()["feed"].clone();
    let mut reader = FeedReader::new();
    reader.finish(100, serve.ask());
    drop(serve);
    keys.remove(&4);
    replace(&site.file, &lines(&keys));
    let serve = site.serve(&[]);
    assert_ne!(serve.get("/keys").json()["feed"], feed);
    reader.finish(2, serve.ask());
    same(&reader, &keys, "after a restart");
    assert_eq!(reader.behind, 0);
}

#[test]
fn no_file_yet_and_an_empty_one() {
    let site = site();
    let mut serve = site.serve(&[]);
    let reply = serve.get("/keys");
    assert_eq!(
        (reply.status, reply.error().as_str()),
        (503, "the file of keys was not read yet, or is not good")
    );
    assert_eq!(serve.get("/healthz").status, 503);
    replace(&site.file, "");
    serve.until("keys keys.jsonl: 0 (added 0");
    let page = serve.get("/keys").json();
    assert_eq!(
        (&page["changes"], &page["more"]),
        (&json!([]), &json!(false)),
        "{page}"
    );
    assert_eq!(serve.get("/healthz").status, 200);
    assert!(!serve.rest().contains("error"), "told once, before");
}
