//! Connections that are slow, on purpose or not: they keep nobody out, and end.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::running::{Serve, large};

/// More than `serve` takes at a time.
const MANY: usize = 320;
/// The longest time of a request's head, as docs/command.md says.
const HEAD: Duration = Duration::from_secs(5);
/// For a machine that does other things too.
const SLACK: Duration = Duration::from_secs(5);

fn connect(server: &Serve) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    stream
}

/// The status of an answer; `None` where there is none within two seconds.
fn ask(stream: &mut TcpStream) -> Option<String> {
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        .ok()?;
    let mut got = [0; 4096];
    let length = stream.read(&mut got).ok()?;
    let text = String::from_utf8_lossy(&got[..length]);
    Some(text.split(' ').nth(1)?.to_owned())
}

/// Whether the peer closes within so long.
fn is_closed(stream: &mut TcpStream, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    let mut rest = [0; 4096];
    loop {
        match stream.read(&mut rest) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if Instant::now() > until {
                    return false;
                }
            }
            Err(_) => return true,
        }
    }
}

/// Asks on new connections until one is answered; gives how many it took.
fn tries(server: &Serve) -> usize {
    for count in 1..=3 {
        if ask(&mut connect(server)).as_deref() == Some("200") {
            return count;
        }
    }
    panic!("not answered in three tries");
}

#[test]
fn half_sent_heads_keep_nobody_out() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = large(directory.path());
    let mut known = connect(&server);
    assert_eq!(ask(&mut known).as_deref(), Some("200"));
    let began = Instant::now();
    let mut half: Vec<TcpStream> = (0..MANY).map(|_| connect(&server)).collect();
    for stream in &mut half {
        // Some are closed by now, for those that came after them.
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ");
    }
    assert_eq!(tries(&server), 1, "a new connection");
    assert_eq!(
        ask(&mut known).as_deref(),
        Some("200"),
        "one that was there"
    );
    // A byte now and then wins them no time.
    while began.elapsed() < HEAD {
        std::thread::sleep(Duration::from_millis(500));
        for stream in &mut half {
            let _ = stream.write_all(b"x");
        }
        assert_eq!(tries(&server), 1, "meanwhile");
    }
    let until = began + HEAD + SLACK;
    for (number, stream) in half.iter_mut().enumerate() {
        let rest = until.saturating_duration_since(Instant::now());
        assert!(is_closed(stream, rest), "{number} is open");
    }
    assert_eq!(ask(&mut known).as_deref(), Some("200"), "afterwards");
}

#[test]
fn idle_connections_keep_nobody_out() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = large(directory.path());
    let mut idle: Vec<TcpStream> = (0..256).map(|_| connect(&server)).collect();
    for (number, stream) in idle.iter_mut().enumerate() {
        assert_eq!(ask(stream).as_deref(), Some("200"), "{number}");
    }
    for _ in 0..10 {
        assert_eq!(tries(&server), 1);
    }
    // Those that asked first made room.
    assert!(is_closed(&mut idle[0], SLACK), "the first");
    assert_eq!(ask(&mut idle[255]).as_deref(), Some("200"), "the last");
}

#[test]
fn answers_that_nobody_takes_keep_nobody_out() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = large(directory.path());
    let mut stuck: Vec<TcpStream> = (0..MANY).map(|_| connect(&server)).collect();
    for stream in &mut stuck {
        let _ = stream.write_all(b"GET /gateway.json HTTP/1.1\r\nhost: x\r\n\r\n");
    }
    let began = Instant::now();
    let answered = (0..6).any(|_| ask(&mut connect(&server)).as_deref() == Some("200"));
    assert!(answered, "within {:?}", began.elapsed());
}

#[test]
fn bodies_that_never_end() {
    let directory = tempfile::tempdir().unwrap();
    let (server, _) = large(directory.path());
    for method in ["POST", "GET"] {
        let mut stream = connect(&server);
        let head =
            format!("{method} /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let until = Instant::now() + HEAD + SLACK;
        let closed = loop {
            if stream.write_all(b"x").is_err() || is_closed(&mut stream, Duration::ZERO) {
                break true;
            }
            if Instant::now() > until {
                break false;
            }
        };
        assert!(closed, "{method}");
    }
}
