//! Beginning, many connections, the end.

use std::time::{Duration, Instant};

use super::http::OpenConnection;
use super::reader::FeedReader;
use super::running::Serve;
use super::sqlite::{insert, program, serve, table};

#[test]
fn a_hundred_connections_read_all_keys() {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(directory.path(), &[]);
    let program = program(directory.path());
    insert(&program, 0..2000);
    let want = table(&program);
    let mut lines: Vec<OpenConnection> = (0..100).map(|_| server.line()).collect();
    let mut readers: Vec<FeedReader> = (0..100).map(|_| FeedReader::new()).collect();
    // All are open at once, and each goes on with its own.
    for limit in [700, 701, 702] {
        for (line, reader) in lines.iter_mut().zip(&mut readers) {
            reader.step(limit, |query| {
                let reply = line.get(&format!("/keys?{query}"), &[]);
                (reply.status, reply.body)
            });
        }
    }
    for (number, reader) in readers.iter().enumerate() {
        assert_eq!(reader.keys(), want, "{number}");
    }
}

#[test]
fn requests_that_come_before_the_answer_and_in_pieces() {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(directory.path(), &[]);
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
    let mut server = serve(directory.path(), &[]);
    insert(&program(directory.path()), 0..20_000);
    let mut idle = server.line();
    assert_eq!(idle.get("/healthz", &[]).status, 200);
    // An answer that is longer than what the system holds, and not taken yet.
    let mut taking = server.line();
    taking.send("GET /keys?limit=10000 HTTP/1.1\r\nhost: x\r\n\r\n");
    std::thread::sleep(Duration::from_millis(300));
    let since = Instant::now();
    server.signal(signal);
    assert!(
        idle.reply(true).is_none(),
        "one that asks nothing is closed at once"
    );
    let reply = taking.reply(true).unwrap();
    assert_eq!(
        reply.json()["changes"].as_array().unwrap().len(),
        10_000,
        "what has begun is finished"
    );
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
    let file = directory.path().join("keys.jsonl");
    std::fs::write(&file, "x\n").unwrap();
    let mut server = Serve::new(directory.path(), &["--json", "--keys", "keys.jsonl"]);
    super::running::replace(&file, "");
    server.until(r#""event":"keys""#);
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
        ["refused", "listening", "keys", "stopped"],
        "{said}"
    );
    assert_eq!(lines[0]["problems"][0], "line 1: must be a JSON object");
    assert_eq!(lines[1]["address"], server.address().to_string());
    assert!(
        lines
            .iter()
            .all(|line| line["time"].as_str().unwrap().ends_with('Z')),
        "{said}"
    );
}
