//! Requests and command lines that are not as they should be.

use super::running::{Serve, command};

#[test]
fn requests_that_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.json"), super::document::GOOD).unwrap();
    let args = ["--document", "a.json", "--document-path", "/a/{b}"];
    let serve = Serve::new(directory.path(), &args);
    let mut line = serve.line();
    // A path is what it says, and has no parameters.
    assert_eq!(line.get("/a/{b}", &[]).status, 200);
    assert_eq!(line.get("/a/c", &[]).status, 404);
    for (method, path, status) in [
        ("POST", "/a/{b}", 405),
        ("DELETE", "/healthz", 405),
        ("GET", "/a/{b}/", 404),
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
}

#[test]
fn command_lines_that_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &str); 5] = [
        (&[], "--document"),
        (&["--document", "a", "--keys", "b"], "--keys"),
        (
            &["--document", "a", "--document-path", "b"],
            "must begin with /",
        ),
        (
            &["--document", "a", "--document-path", "/b?x=1"],
            "must begin with /",
        ),
        (
            &["--document", "a", "--document-path", "/healthz"],
            "/healthz tells whether the command is well",
        ),
    ];
    for (args, text) in cases {
        let ran = command(directory.path(), args).output().unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{args:?}: {said}");
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
            .args(["serve", "--document", "a", "--listen", listen])
            .output()
            .unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{listen}: {said}");
        assert!(said.contains(text), "{listen}: {said}");
    }
}
