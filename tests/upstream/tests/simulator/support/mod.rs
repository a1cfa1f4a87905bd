//! A simulator on loopback and a plain client for both HTTP versions.
#![allow(dead_code, unreachable_pub, missing_docs)]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper::http::{HeaderMap, StatusCode};
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::net::TcpStream;
use trilane_upstream::server::{Address, Server};

pub mod play;
pub mod sse;
pub mod usage;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    One,
    Two,
}

pub const BOTH: [Http; 2] = [Http::One, Http::Two];

/// Runs for as long as the test's runtime.
pub struct Simulator {
    pub first: SocketAddr,
    pub second: SocketAddr,
}

/// A response as far as it came.
#[derive(Debug)]
pub struct ReceivedResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub frames: usize,
    /// It ended in a reset.
    pub cut: bool,
}

pub async fn simulator() -> Simulator {
    start(true).await
}

pub async fn start(journal: bool) -> Simulator {
    let address = |name: &str| Address {
        name: name.to_owned(),
        address: "127.0.0.1:0".to_owned(),
        tls: None,
    };
    let server = Server::bind(&[address("first"), address("second")], journal)
        .await
        .unwrap();
    let addresses = server.addresses().unwrap();
    tokio::spawn(server.serve());
    Simulator {
        first: addresses[0].1,
        second: addresses[1].1,
    }
}

/// Builds a request from a line such as `POST /v1/responses` and `name: value` lines.
pub fn request(line: &str, headers: &[&str], body: &str) -> Request<Full<Bytes>> {
    let (method, target) = line.split_once(' ').unwrap();
    let mut request = Request::builder()
        .method(method)
        .uri(target)
        .header("content-type", "application/json");
    for header in headers {
        let (name, value) = header.split_once(": ").unwrap();
        request = request.header(name, value);
    }
    request
        .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
        .unwrap()
}

/// Sends the request and waits for the head.
pub async fn head(
    http: Http,
    to: SocketAddr,
    mut request: Request<Full<Bytes>>,
) -> hyper::Result<Response<Incoming>> {
    let io = TokioIo::new(TcpStream::connect(to).await.unwrap());
    if http == Http::One {
        let (mut sender, connection) = http1::handshake(io).await?;
        tokio::spawn(connection);
        request
            .headers_mut()
            .insert("host", "simulator".parse().unwrap());
        sender.send_request(request).await
    } else {
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
        tokio::spawn(connection);
        *request.uri_mut() = format!("http://simulator{}", request.uri())
            .parse()
            .unwrap();
        sender.send_request(request).await
    }
}

/// Sends the request and reads all that comes.
pub async fn send(http: Http, to: SocketAddr, request: Request<Full<Bytes>>) -> ReceivedResponse {
    let (head, mut incoming) = head(http, to, request).await.unwrap().into_parts();
    let (mut body, mut frames, mut cut) = (Vec::new(), 0, false);
    while let Some(frame) = incoming.frame().await {
        match frame {
            Ok(frame) => {
                frames += 1;
                body.extend_from_slice(&frame.into_data().unwrap());
            }
            Err(_) => {
                cut = true;
                break;
            }
        }
    }
    ReceivedResponse {
        status: head.status,
        headers: head.headers,
        body: body.into(),
        frames,
        cut,
    }
}

impl ReceivedResponse {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// Events of a well-formed stream: name and data.
    pub fn events(&self) -> Vec<(Option<String>, String)> {
        let text = String::from_utf8(self.body.to_vec())
            .unwrap()
            .replace("\r\n", "\n");
        assert!(text.ends_with("\n\n"), "{text}");
        let event = |event: &str| {
            let (name, data) = match event.split_once('\n') {
                Some((name, data)) => {
                    (Some(name.strip_prefix("event: ").unwrap().to_owned()), data)
                }
                None => (None, event),
            };
            (name, data.strip_prefix("data: ").unwrap().to_owned())
        };
        text.trim_end().split("\n\n").map(event).collect()
    }
}

impl Simulator {
    /// A control request.
    pub async fn control(&self, line: &str) -> Value {
        let answer = send(Http::One, self.first, request(line, &[], "")).await;
        assert_eq!(answer.status, 200, "{line}");
        answer.json()
    }

    /// The entry with this marker, once it is in this state.
    pub async fn entry(&self, marker: &str, state: &str) -> Value {
        let started = Instant::now();
        loop {
            let mut entries = self
                .control(&format!("GET /_sim/requests?marker={marker}"))
                .await;
            let entry = entries.get_mut(0).map(Value::take).unwrap_or_default();
            if entry["state"] == state {
                return entry;
            }
            assert!(
                started.elapsed() < Duration::from_secs(5),
                "{marker}: not {state}: {entry}"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
