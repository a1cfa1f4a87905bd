//! Requests that are not as they should be.

use super::running::{Serve, command, sha256};

#[test]
fn queries_that_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let key = format!(
        "{{\"id\":\"k\",\"sha256\":\"{}\",\"group\":\"g\"}}\n",
        sha256(1)
    );
    std::fs::write(directory.path().join("keys.jsonl"), key).unwrap();
    let serve = Serve::new(
        directory.path(),
        &["--keys", "keys.jsonl", "--path", "/a/keys"],
    );
    let mut line = serve.line();
    let page = line.get("/a/keys", &[]);
    assert_eq!(
        (page.status, page.headers["content-type"].as_str()),
        (200, "application/json")
    );
    let feed = page.json()["feed"].as_str().unwrap().to_owned();
    let anew = "read everything anew, without a cursor";
    let limit = "limit must be a number from 1 to 10000";
    let cases = [
        ("limit=0".to_owned(), 400, limit.to_owned()),
        ("limit=10001".to_owned(), 400, limit.to_owned()),
        ("limit=ten".to_owned(), 400, limit.to_owned()),
        (
            "limit=1&limit=1".to_owned(),
            400,
            "limit and cursor may be given once each".to_owned(),
        ),
        (
            "cursor=".to_owned(),
            410,
            format!("the cursor is not one of this service's; {anew}"),
        ),
        (
            "cursor=18".to_owned(),
            410,
            format!("the cursor is not one of this service's; {anew}"),
        ),
        (
            "cursor=%00%ff".to_owned(),
            410,
            format!("the cursor is not one of this service's; {anew}"),
        ),
        (
            "cursor=other.1".to_owned(),
            410,
            format!("the cursor is one of another feed: this one began anew since; {anew}"),
        ),
        (
            format!("cursor={feed}.99"),
            410,
            format!(
                "the cursor is past the last version: this is an older state of the feed; {anew}"
            ),
        ),
    ];
    for (query, status, error) in cases {
        let reply = line.get(&format!("/a/keys?{query}"), &[]);
        assert_eq!((reply.status, reply.error()), (status, error), "{query}");
    }
    for (method, path, status) in [
        ("POST", "/a/keys", 405),
        ("DELETE", "/healthz", 405),
        ("GET", "/a/keys/", 404),
        ("POST", "/", 404),
    ] {
        let reply = line.ask(method, path, &[("content-length", "0")]);
        assert_eq!(reply.status, status, "{method} {path}");
        assert_eq!(
            reply.headers.contains_key("allow"),
            status == 405,
            "{method} {path}"
        );
    }
    let own = line.get("/a/keys?tenant=7&limit=5", &[]);
    assert_eq!(own.status, 200, "a path may have a query of its own");
}

#[test]
fn command_lines_that_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let long = "x/".repeat(3000);
    let cases: [(&[&str], i32, &str); 9] = [
        (&[], 2, "--document"),
        (&["--keys", "a", "--sqlite", "b"], 2, "cannot be used with"),
        (&["--keys", "a", "--path", "keys"], 2, "must begin with /"),
        (
            &["--keys", "a", "--path", "/keys?x=1"],
            2,
            "must begin with /",
        ),
        (
            &["--keys", "a", "--path", "/healthz"],
            2,
            "/healthz tells whether the command is well",
        ),
        (
            &["--document", "a", "--keys", "b", "--path", "/gateway.json"],
            2,
            "name two",
        ),
        (
            &["--keys", "a", "--keep-removals", "0"],
            2,
            "--keep-removals",
        ),
        (
            &["--sqlite", "no/such/keys.db"],
            1,
            "its directory must exist and be writable",
        ),
        (&["--sqlite", &long], 1, "error: the database "),
    ];
    for (args, code, text) in cases {
        let ran = command(directory.path(), args).output().unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(text), "{args:?}: {said}");
    }
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    for (listen, text) in [
        (address.as_str(), "give port 0 to get a free one"),
        ("nowhere", "give it as HOST:PORT"),
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_trilane"));
        let ran = command
            .args(["serve", "--keys", "a", "--listen", listen])
            .output()
            .unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{listen}: {said}");
        assert!(said.contains(text), "{listen}: {said}");
    }
}
