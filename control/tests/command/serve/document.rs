//! The document, as it is served.

use std::fs;

use super::http::FeedReply;
use super::running::{Serve, replace};

pub const GOOD: &str =
    r#"{"groups": [{"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c"}], "keys": []}"#;

fn tag(reply: &FeedReply) -> String {
    reply.headers["etag"].clone()
}

#[test]
fn known_replaced_and_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("gateway.json");
    fs::write(&file, GOOD).unwrap();
    let mut serve = Serve::new(directory.path(), &["--document", "gateway.json"]);
    let mut line = serve.line();

    let first = line.get("/gateway.json", &[]);
    assert_eq!(
        (first.status, first.body.as_slice()),
        (200, GOOD.as_bytes())
    );
    assert_eq!(first.headers["content-type"], "application/json");
    let first = tag(&first);
    assert!(first.starts_with('"') && first.len() == 66, "{first}");
    let weak = format!("W/{first}");
    let several = format!("\"x\", {first}");
    for known in [&first, &weak, &several, "*"] {
        let reply = line.get("/gateway.json", &[("if-none-match", known)]);
        assert_eq!((reply.status, tag(&reply)), (304, first.clone()), "{known}");
    }
    assert_eq!(
        line.get("/gateway.json", &[("if-none-match", "\"x\"")])
            .status,
        200
    );
    let head = line.ask("HEAD", "/gateway.json", &[]);
    assert_eq!(
        (head.status, head.headers["content-length"].as_str()),
        (200, GOOD.len().to_string().as_str())
    );

    serve.rest();
    let cases = [
        (
            "no JSON",
            r#"{"groups": "#,
            vec!["is not valid JSON (line 1, column 11)"],
        ),
        (
            "every problem is named",
            r#"{"groups": [{"id": "g", "protocol": "D", "multiplier": "1", "cluster": "c"}], "keys": [{"id": "k"}]}"#,
            vec![
                "groups[0].protocol: ",
                "keys[0].sha256: ",
                "keys[0].group: ",
            ],
        ),
    ];
    for (case, bad, problems) in cases {
        replace(&file, bad);
        let said = serve.until("is refused: the last good one goes on being served");
        for problem in problems {
            assert!(
                said.contains(&format!(" error: {problem}")),
                "{case}: {problem}: {said}"
            );
        }
        let reply = line.get("/gateway.json", &[("if-none-match", &first)]);
        assert_eq!(reply.status, 304, "{case}: the last good one stays");
        assert_eq!(line.get("/healthz", &[]).status, 200, "{case}");
    }
    fs::remove_file(&file).unwrap();
    serve.until("cannot be read: No such file");
    assert_eq!(line.get("/gateway.json", &[]).status, 200);

    let other = GOOD.replace("\"1\"", "\"2\"");
    replace(&file, &other);
    serve.until("document gateway.json: groups 1, keys 0");
    let reply = line.get("/gateway.json", &[("if-none-match", &first)]);
    assert_eq!(
        (reply.status, reply.body.as_slice()),
        (200, other.as_bytes())
    );
    assert_ne!(tag(&reply), first);
}

#[test]
fn none_yet() {
    let directory = tempfile::tempdir().unwrap();
    let mut serve = Serve::new(
        directory.path(),
        &[
            "--document",
            "late.json",
            "--document-path",
            "/a/b",
            "--json",
        ],
    );
    let reply = serve.get("/a/b");
    assert_eq!(reply.status, 503);
    assert_eq!(
        reply.error(),
        "there is no good document yet; the output of trilane serve says why"
    );
    assert_eq!(serve.get("/healthz").status, 503);
    replace(&directory.path().join("late.json"), GOOD);
    let said = serve.until(r#""event":"document""#);
    let told: serde_json::Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&told["groups"], &told["keys"]),
        (&1.into(), &0.into()),
        "{said}"
    );
    let reply = serve.get("/a/b");
    assert_eq!(
        (reply.status, tag(&reply).as_str()),
        (200, told["etag"].as_str().unwrap())
    );
    assert_eq!(serve.get("/healthz").json()["ok"], true);
    assert_eq!(serve.get("/gateway.json").status, 404);
}

#[test]
fn prices_of_the_catalogue_are_served_as_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("gateway.json");
    let text = |prices: &str| {
        GOOD.replace(
            r#""cluster": "c""#,
            &format!(r#""cluster": "c", "models": [{{"id": "gpt-5-nano", "prices": {prices}}}]"#),
        )
    };
    fs::write(&file, text("\"catalogue\"")).unwrap();
    let serve = Serve::new(directory.path(), &["--document", "gateway.json"]);
    let served = serve.get("/gateway.json");
    let want = text(r#"{"input":"0.05","cache_read":"0.005","output":"0.4"}"#);
    assert_eq!(String::from_utf8(served.body).unwrap(), want);
}
