//! The echo and the journal tell what was received and what became of it.

use std::io::Error;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::channel::{Channel, Sender};
use hyper::Request;
use hyper::client::conn::http2;
use hyper::http::{HeaderMap, HeaderValue};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::support::{BOTH, Http, Simulator, head, request, send, simulator, start};

const DIGEST_OF_HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

#[tokio::test]
async fn echo_tells_what_came() {
    let simulator = simulator().await;
    for (http, version) in [(Http::One, "HTTP/1.1"), (Http::Two, "HTTP/2")] {
        let mut request = request(
            "PUT /a/b?c=d&e",
            &["x-sim-echo: 1", "x-two: 1", "x-two: 2"],
            "hello",
        );
        request
            .headers_mut()
            .insert("x-bytes", HeaderValue::from_bytes(b"\xff").unwrap());
        let echo = send(http, simulator.second, request).await.json();
        assert_eq!(echo["listener"], "second");
        assert_eq!(
            (&echo["method"], &echo["path"]),
            (&"PUT".into(), &"/a/b?c=d&e".into())
        );
        assert_eq!(
            (&echo["version"], &echo["body"]),
            (&version.into(), &"hello".into())
        );
        assert_eq!(
            (&echo["body_bytes"], &echo["chunks"]),
            (&5.into(), &1.into())
        );
        assert_eq!(echo["body_sha256"], DIGEST_OF_HELLO);
        let headers = echo["headers"].as_array().unwrap();
        for header in [
            serde_json::json!(["x-two", "1"]),
            serde_json::json!(["x-two", "2"]),
            serde_json::json!(["x-bytes", {"hex": "ff"}]),
        ] {
            assert!(headers.contains(&header), "{header}");
        }
    }
}

#[tokio::test]
async fn echo_works_without_body_and_journal() {
    let simulator = start(false).await;
    let echo = send(
        Http::One,
        simulator.first,
        request("GET /x", &["x-sim-echo: 1"], ""),
    )
    .await
    .json();
    assert_eq!(
        (&echo["method"], &echo["body"]),
        (&"GET".into(), &"".into())
    );
    assert_eq!(simulator.control("GET /_sim/count").await["requests"], 1);
    assert_eq!(
        simulator.control("GET /_sim/requests").await,
        serde_json::json!([])
    );
}

#[tokio::test]
async fn large_bodies_are_digested_not_kept() {
    let simulator = simulator().await;
    for (size, kept) in [(64 << 10, true), ((64 << 10) + 1, false)] {
        let request = request("POST /x", &["x-sim-echo: 1"], &"x".repeat(size));
        let echo = send(Http::Two, simulator.first, request).await.json();
        assert_eq!(
            (echo["body"].is_string(), &echo["body_bytes"]),
            (kept, &size.into())
        );
        assert_eq!(echo["body_sha256"].as_str().unwrap().len(), 64);
    }
}

#[tokio::test]
async fn counts_lists_and_clears() {
    let simulator = simulator().await;
    for (number, address) in [simulator.first, simulator.second, simulator.second]
        .into_iter()
        .enumerate()
    {
        let marker = format!("x-sim-marker: m{number}");
        send(Http::One, address, request("GET /x", &[&marker], "")).await;
    }
    let count = simulator.control("GET /_sim/count").await;
    assert_eq!(
        count,
        serde_json::json!({"requests": 3, "by_listener": {"first": 1, "second": 2}})
    );
    let last = simulator.control("GET /_sim/requests?last=2").await;
    let ids: Vec<_> = last
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids, [2, 3]);
    let marked = simulator.entry("m0", "answered").await;
    assert_eq!(
        (&marked["id"], &marked["status"], &marked["events_sent"]),
        (&1.into(), &404.into(), &1.into())
    );
    simulator.control("DELETE /_sim/requests").await;
    assert_eq!(simulator.control("GET /_sim/count").await["requests"], 0);
    assert_eq!(
        simulator.control("GET /_sim/requests").await,
        serde_json::json!([])
    );
    simulator.control("GET /_sim/ready").await;
}

#[tokio::test]
async fn a_finished_stream_is_answered() {
    let simulator = simulator().await;
    for (http, marker) in BOTH.into_iter().zip(["one", "two"]) {
        let marked = format!("x-sim-marker: {marker}");
        let body = r#"{"model":"m","stream":true}"#;
        send(
            http,
            simulator.first,
            request("POST /v1/responses", &[&marked], body),
        )
        .await;
        assert_eq!(simulator.entry(marker, "answered").await["events_sent"], 13);
    }
}

/// Begins an upload over HTTP/2; the channel continues it.
async fn upload(simulator: &Simulator, marker: &str) -> (Sender<Bytes, Error>, JoinHandle<()>) {
    let io = TokioIo::new(TcpStream::connect(simulator.first).await.unwrap());
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let (mut channel, body) = Channel::new(1);
    let request = Request::post("http://x/x")
        .header("x-sim-marker", marker)
        .body(body)
        .unwrap();
    let exchange = tokio::spawn(async move {
        if let Ok(answer) = sender.send_request(request).await {
            answer.into_body().collect().await.unwrap();
        }
    });
    channel
        .send_data(Bytes::from_static(b"hello"))
        .await
        .unwrap();
    (channel, exchange)
}

#[tokio::test]
async fn trailers_end_a_body_too() {
    let simulator = simulator().await;
    let (mut channel, exchange) = upload(&simulator, "t").await;
    assert_eq!(
        simulator.entry("t", "receiving").await["trailers"],
        serde_json::Value::Null
    );
    let trailers = HeaderMap::from_iter([("x-end".parse().unwrap(), "1".parse().unwrap())]);
    channel.send_trailers(trailers).await.unwrap();
    drop(channel);
    exchange.await.unwrap();
    let entry = simulator.entry("t", "answered").await;
    assert_eq!(entry["trailers"], serde_json::json!([["x-end", "1"]]));
    assert_eq!(entry["body_sha256"], DIGEST_OF_HELLO);
}

#[tokio::test]
async fn an_upload_that_is_given_up_is_seen() {
    let simulator = simulator().await;
    let (channel, exchange) = upload(&simulator, "two").await;
    simulator.entry("two", "receiving").await;
    exchange.abort();
    channel.abort(Error::other("given up"));

    let mut stream = TcpStream::connect(simulator.first).await.unwrap();
    let head =
        b"POST /x HTTP/1.1\r\nhost: x\r\nx-sim-marker: one\r\ncontent-length: 10\r\n\r\nhello";
    stream.write_all(head).await.unwrap();
    simulator.entry("one", "receiving").await;
    drop(stream);

    for marker in ["one", "two"] {
        let entry = simulator.entry(marker, "request_aborted").await;
        assert_eq!(
            (&entry["body_bytes"], &entry["body_sha256"]),
            (&5.into(), &().into()),
            "{entry}"
        );
    }
}

/// Sends a request, leaves when it is in `state`, and expects the simulator to notice.
async fn leave(http: Http, steer: &str, state: &str) -> serde_json::Value {
    let simulator = simulator().await;
    let body = r#"{"model":"m","stream":true}"#;
    let request = request("POST /v1/responses", &["x-sim-marker: m", steer], body);
    let answer = tokio::spawn(head(http, simulator.first, request));
    simulator.entry("m", state).await;
    tokio::time::sleep(Duration::from_millis(30)).await;
    answer.abort();
    drop(answer.await.ok());
    simulator.entry("m", "answer_aborted").await
}

#[tokio::test]
async fn a_peer_that_leaves_is_seen() {
    for http in BOTH {
        for (steer, state) in [
            ("x-sim-delay-ms: 60000", "request_complete"),
            ("x-sim-stall: head", "request_complete"),
            ("x-sim-stall: after=2", "answering"),
        ] {
            leave(http, steer, state).await;
        }
        let entry = leave(http, "x-sim-gap-ms: 50", "answering").await;
        let sent = entry["events_sent"].as_u64().unwrap();
        assert!((1..13).contains(&sent), "{http:?} {entry}");
    }
}

#[tokio::test]
async fn a_large_answer_that_is_not_read_is_not_answered() {
    let simulator = simulator().await;
    let mut stream = TcpStream::connect(simulator.first).await.unwrap();
    let head =
        b"GET /x HTTP/1.1\r\nhost: x\r\nx-sim-marker: m\r\nx-sim-body-bytes: 50000000\r\n\r\n";
    stream.write_all(head).await.unwrap();
    stream.read_exact(&mut [0; 1000]).await.unwrap();
    simulator.entry("m", "answering").await;
    drop(stream);
    simulator.entry("m", "answer_aborted").await;
}
