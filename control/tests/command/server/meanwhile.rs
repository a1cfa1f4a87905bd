//! Changes of others between what a command has seen and what it does.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use super::{Office, changed, output};

/// The place that a command reaches the console at. Before it passes the first request of this method and path on, somebody else runs
/// a command of their own.
struct Relay {
    url: String,
}

impl Relay {
    fn start(office: &Office, method: &'static str, end: &'static str, other: Command) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let console = office.console.address.clone();
        let mut other = Some(other);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                let Some((head, body)) = request(&mut client) else {
                    continue;
                };
                let first = head.lines().next().unwrap_or_default();
                let path = first.split(' ').nth(1).unwrap_or_default();
                if first.starts_with(method)
                    && path.ends_with(end)
                    && let Some(other) = other.take()
                {
                    let ran = output(other);
                    assert_eq!(ran.code, 0, "{ran:?}");
                }
                let mut server = TcpStream::connect(&console).unwrap();
                let head = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
                server.write_all(head.as_bytes()).unwrap();
                server.write_all(&body).unwrap();
                let mut response = Vec::new();
                server.read_to_end(&mut response).unwrap();
                client.write_all(&response).unwrap();
            }
        });
        Self { url }
    }
}

/// A request: its head, and its body. `None`: the connection ends.
fn request(client: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some(end) = text.find("\r\n\r\n") {
            let end = end + 4;
            let head = text[..end].to_ascii_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
            if bytes.len() >= end + length {
                return Some((text[..end].to_owned(), bytes[end..].to_vec()));
            }
        }
        let read = client.read(&mut chunk).unwrap_or(0);
        if read == 0 {
            return None;
        }
        bytes.extend_from_slice(&chunk[..read]);
    }
}

#[test]
fn a_key_is_changed() {
    let office = Office::published();
    office.post("/api/v1/keys", r#"{"id": "k", "group": "a"}"#);
    let other = office.command(&["key", "limit", "--id", "k", "--rpm", "7"]);
    let relay = Relay::start(&office, "PATCH", "/api/v1/keys/k", other);
    let ran = office.run(&[
        "key", "limit", "--id", "k", "--rpm", "9", "--server", &relay.url,
    ]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("the key was changed meanwhile"), "{ran:?}");
    let (_, key) = office.console.get("/api/v1/keys/k");
    assert_eq!(key["limits"]["requests_per_minute"], 7, "{key}");
}

#[test]
fn a_document_is_published() {
    // After the check, and after the draft.
    for (end, said) in [
        (
            "/api/v1/documents/current",
            "another version was published meanwhile",
        ),
        ("/api/v1/drafts", "version 2 was published meanwhile"),
        ("/publish", "version 2 was published meanwhile"),
    ] {
        let office = Office::published();
        office
            .desk
            .write("theirs.json", &changed("GPT-5.1", "theirs"));
        office.desk.write("ours.json", &changed("GPT-5.4", "ours"));
        let other = office.command(&["publish", "--yes", "theirs.json"]);
        let method = if end.ends_with("current") {
            "GET"
        } else {
            "POST"
        };
        let relay = Relay::start(&office, method, end, other);
        let ran = office.run(&["publish", "--yes", "ours.json", "--server", &relay.url]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{end}: {ran:?}");
        assert!(ran.err.contains(said), "{end}: {ran:?}");
        let (_, current) = office.console.get("/api/v1/documents/current");
        assert_eq!(current["version"], 2, "{end}");
        assert!(
            current["body"].as_str().unwrap().contains("theirs"),
            "{end}"
        );
        assert!(office.items("/api/v1/drafts").is_empty(), "{end}");
    }
}
