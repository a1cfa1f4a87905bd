//! HTTP/1.1 by hand.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// An answer.
#[derive(Debug)]
pub struct FeedReply {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl FeedReply {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The text of an error.
    pub fn error(&self) -> String {
        self.json()["error"].as_str().unwrap().to_owned()
    }
}

/// A connection that stays open.
#[derive(Debug)]
pub struct OpenConnection(BufReader<TcpStream>);

impl OpenConnection {
    pub fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    pub fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> FeedReply {
        self.ask("GET", path, headers)
    }

    pub fn ask(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> FeedReply {
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: keys.internal\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        self.send(&(head + "\r\n"));
        self.reply(method != "HEAD")
            .expect("the connection was closed")
    }

    /// The next answer; `None` at the end.
    pub fn reply(&mut self, with_body: bool) -> Option<FeedReply> {
        let mut line = String::new();
        if self.0.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = BTreeMap::new();
        loop {
            line.clear();
            self.0.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim().split_once(": ") else {
                break;
            };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        let length = headers
            .get("content-length")
            .map_or(0, |length| length.parse().unwrap());
        let mut body = vec![
            0;
            if with_body && status != 304 {
                length
            } else {
                0
            }
        ];
        self.0.read_exact(&mut body).ok()?;
        Some(FeedReply {
            status,
            headers,
            body,
        })
    }
}
