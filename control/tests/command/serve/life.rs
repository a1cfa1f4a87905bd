//! Beginning, many connections, the end.

use std::time::{Duration, Instant};

use super::document::GOOD;
use super::http::OpenConnection;
use super::running::{Serve, large};

#[test]
fn a_hundred_connections() {
    let directory = tempfile::tempdir().unwrap();
    let (server, document) = large(directory.path());
    let mut lines: Vec<OpenConnection> = (0..100).map(|_| server.line()).collect();
    // All are open at once.
    for (number, line) in lines.iter_mut().enumerate() {
        assert!(line.get("/gateway.json", &[]).body == document, "{number}");
    }
}

#[test]
fn requests_that_come_before_the_answer_and_in_pieces() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = large(directory.path());
    let mut line = server.line();
    let one = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    line.send(&one.repeat(3));
    for byte in one.chars() {
        line.send(&byte.to_string());
    }
    for number in 0..4 {
        assert_eq!(
            line.reply(true).map(|reply| reply.status),
            Some(200),
            "{number}"
        );
    }
    line.send("what is this?\r\n\r\n");
    assert_eq!(line.reply(true).map(|reply| reply.status), Some(400));
    assert!(line.reply(true).is_none(), "it is closed then");
}

fn ends(signal: &str) {
    let directory = tempfile::tempdir().unwrap();
    let (mut server, document) = large(directory.path());
    let mut idle = server.line();
    assert_eq!(idle.get("/healthz", &[]).status, 200);
    // An answer that is longer than what the system holds, and not taken yet.
    let mut taking = server.line();
    taking.send("GET /gateway.json HTTP/1.1\r\nhost: x\r\n\r\n");
    std::thread::sleep(Duration::from_millis(300));
    let since = Instant::now();
    server.signal(signal);
    assert!(
        idle.reply(true).is_none(),
        "one that asks nothing is closed at once"
    );
    let reply = taking.reply(true).unwrap();
    assert!(reply.body == document, "what has begun is finished");
    assert!(server.wait().success(), "{signal}");
    assert!(
        since.elapsed() < Duration::from_secs(4),
        "{:?}",
        since.elapsed()
    );
    assert!(server.rest().ends_with("stopped\n"));
    assert!(std::net::TcpStream::connect(server.address()).is_err());
}

#[test]
fn sigterm() {
    ends("-TERM");
}

#[test]
fn sigint() {
    ends("-INT");
}

#[test]
fn what_a_program_reads() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("gateway.json");
    std::fs::write(&file, "x\n").unwrap();
    let mut server = Serve::new(directory.path(), &["--json", "--document", "gateway.json"]);
    super::running::replace(&file, GOOD);
    server.until(r#""event":"document""#);
    server.signal("-TERM");
    server.wait();
    let all = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let said = all
        .into_iter()
        .find(|path| path.to_str().unwrap().contains("said"))
        .unwrap();
    let said = std::fs::read_to_string(said).unwrap();
    let lines: Vec<serde_json::Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let events: Vec<&str> = lines
        .iter()
        .map(|line| line["event"].as_str().unwrap())
        .collect();
    assert_eq!(
        events,
        ["refused", "listening", "document", "stopped"],
        "{said}"
    );
    let problem = lines[0]["problems"][0].as_str().unwrap();
    assert!(problem.contains("is not valid JSON (line 1"), "{said}");
    assert_eq!(lines[1]["address"], server.address().to_string());
    assert!(
        lines
            .iter()
            .all(|line| line["time"].as_str().unwrap().ends_with('Z')),
        "{said}"
    );
}
