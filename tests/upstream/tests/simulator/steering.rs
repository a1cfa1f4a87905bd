//! The `x-sim-*` headers do what the crate's documentation says.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{BOTH, Http, head, request, send, simulator};

const STREAM: &str = r#"{"model":"m","stream":true}"#;
const PLAIN: &str = r#"{"model":"m"}"#;
const RESPONSES: &str = "POST /v1/responses";

#[tokio::test]
async fn status_and_headers() {
    let simulator = simulator().await;
    let headers = [
        "x-sim-status: 429",
        "x-sim-retry-after: 7",
        "x-sim-limits: 1",
    ];
    let answer = send(
        Http::One,
        simulator.first,
        request(RESPONSES, &headers, PLAIN),
    )
    .await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("retry-after")),
        (429, "7")
    );
    assert_eq!(answer.header("x-ratelimit-limit-requests"), "500");
    let accepted = send(
        Http::One,
        simulator.first,
        request(RESPONSES, &["x-sim-status: 202"], PLAIN),
    )
    .await;
    assert_eq!(
        (accepted.status.as_u16(), accepted.json()["model"].as_str()),
        (202, Some("m"))
    );
}

#[tokio::test]
async fn another_listener_may_be_meant() {
    let simulator = simulator().await;
    let headers = ["x-sim-status: 503", "x-sim-at: first"];
    for (address, status) in [(simulator.first, 503), (simulator.second, 200)] {
        assert_eq!(
            send(Http::Two, address, request(RESPONSES, &headers, PLAIN))
                .await
                .status,
            status
        );
    }
}

#[tokio::test]
async fn sizes() {
    let simulator = simulator().await;
    for (line, body) in [
        (RESPONSES, PLAIN),
        ("GET /nothing", ""),
        ("GET /v1beta/files", ""),
    ] {
        for size in [5000, 300_000] {
            let steer = format!("x-sim-body-bytes: {size}");
            let answer = send(Http::Two, simulator.first, request(line, &[&steer], body)).await;
            assert_eq!(answer.body.len(), size, "{line}");
            answer.json();
        }
    }
    let headers = ["x-sim-events: 2", "x-sim-event-bytes: 1000"];
    let answer = send(
        Http::One,
        simulator.first,
        request(RESPONSES, &headers, STREAM),
    )
    .await;
    let deltas = answer
        .events()
        .into_iter()
        .filter(|(name, _)| name.as_deref() == Some("response.output_text.delta"));
    let sizes: Vec<_> = deltas
        .map(|(_, data)| {
            serde_json::from_str::<serde_json::Value>(&data).unwrap()["delta"]
                .as_str()
                .unwrap()
                .len()
        })
        .collect();
    assert_eq!(sizes, [1000, 1000]);
}

#[tokio::test]
async fn pauses() {
    let simulator = simulator().await;
    for (headers, body, least) in [
        (&["x-sim-delay-ms: 60"][..], PLAIN, 60),
        (&["x-sim-gap-ms: 5"], STREAM, 12 * 5),
    ] {
        for http in BOTH {
            let started = Instant::now();
            let answer = send(http, simulator.first, request(RESPONSES, headers, body)).await;
            assert!(!answer.cut);
            assert!(
                started.elapsed() >= Duration::from_millis(least),
                "{headers:?}"
            );
        }
    }
}

#[tokio::test]
async fn dripped_answers_come_in_pieces_and_whole() {
    let simulator = simulator().await;
    for body in [PLAIN, STREAM] {
        for http in BOTH {
            let whole = send(
                http,
                simulator.first,
                request(RESPONSES, &["x-sim-events: 1"], body),
            )
            .await;
            let headers = ["x-sim-events: 1", "x-sim-drip: 7"];
            let dripped = send(http, simulator.first, request(RESPONSES, &headers, body)).await;
            assert!(
                !dripped.cut && dripped.frames > whole.frames,
                "{http:?} {}",
                dripped.frames
            );
            assert!(dripped.body.len().abs_diff(whole.body.len()) < 40);
        }
    }
}

#[tokio::test]
async fn cuts_in_the_body() {
    let simulator = simulator().await;
    for http in BOTH {
        for (cut, body, whole_events) in [
            ("body", STREAM, 0),
            ("after=0", STREAM, 0),
            ("after=3", STREAM, 3),
            ("body", PLAIN, 0),
        ] {
            let steer = format!("x-sim-cut: {cut}");
            let answer = send(http, simulator.first, request(RESPONSES, &[&steer], body)).await;
            assert!(answer.cut, "{http:?} {cut}");
            let text = String::from_utf8(answer.body.to_vec()).unwrap();
            assert_eq!(text.matches("\n\n").count(), whole_events, "{http:?} {cut}");
            assert_eq!(text.is_empty(), cut == "after=0", "{http:?} {cut}");
        }
    }
}

#[tokio::test]
async fn cuts_before_the_head() {
    let simulator = simulator().await;
    for http in BOTH {
        let cut = head(
            http,
            simulator.first,
            request(RESPONSES, &["x-sim-cut: head"], PLAIN),
        )
        .await;
        cut.unwrap_err();
    }
}

#[tokio::test]
async fn a_cut_is_a_reset_on_http1() {
    let simulator = simulator().await;
    for cut in ["head", "after=1"] {
        let mut stream = TcpStream::connect(simulator.first).await.unwrap();
        let request = format!(
            "POST /v1/responses HTTP/1.1\r\nhost: x\r\nx-sim-cut: {cut}\r\ncontent-length: {}\r\n\r\n{STREAM}",
            STREAM.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let error = stream.read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{cut}");
    }
}

#[tokio::test]
async fn an_http2_cut_spares_the_neighbours() {
    use http_body_util::BodyExt;
    use hyper::client::conn::http2;
    use hyper_util::rt::{TokioExecutor, TokioIo};

    let simulator = simulator().await;
    let io = TokioIo::new(TcpStream::connect(simulator.first).await.unwrap());
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let line = "POST http://x/v1/responses";
    let slow = sender.send_request(request(line, &["x-sim-delay-ms: 150"], PLAIN));
    let slow = tokio::spawn(slow);
    sender
        .send_request(request(line, &["x-sim-cut: head"], PLAIN))
        .await
        .unwrap_err();
    let body = slow
        .await
        .unwrap()
        .unwrap()
        .into_body()
        .collect()
        .await
        .unwrap();
    assert!(body.to_bytes().ends_with(b"}"));
}

#[tokio::test]
async fn stalls() {
    let simulator = simulator().await;
    for http in BOTH {
        for stall in ["head", "body", "after=2"] {
            let steer = format!("x-sim-stall: {stall}");
            let answer = send(http, simulator.first, request(RESPONSES, &[&steer], STREAM));
            tokio::time::timeout(Duration::from_millis(100), answer)
                .await
                .unwrap_err();
        }
    }
}

/// Sends a head that announces a body, and only the first bytes of it.
async fn begin_upload(to: std::net::SocketAddr, header: &str) -> TcpStream {
    let mut stream = TcpStream::connect(to).await.unwrap();
    let head = format!(
        "POST /v1/responses HTTP/1.1\r\nhost: x\r\n{header}\r\ncontent-length: 10\r\n\r\n12345"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn early_answers_do_not_wait_for_the_body() {
    let simulator = simulator().await;
    for (early, drained) in [("1", true), ("close", false)] {
        let header = format!("x-sim-early: {early}\r\nx-sim-marker: {early}");
        let mut stream = begin_upload(simulator.first, &header).await;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
        let _ = stream.write_all(b"67890").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let entry = simulator.entry(early, "answered").await;
        assert_eq!(entry["body_bytes"] == 10, drained, "{entry}");
    }
}

#[tokio::test]
async fn slow_reading_takes_its_time() {
    let simulator = simulator().await;
    let body = format!(r#"{{"pad":"{}","model":"m"}}"#, "x".repeat(2 << 20));
    for http in BOTH {
        let started = Instant::now();
        let request = request(
            RESPONSES,
            &["x-sim-slow-read-ms: 2", "x-sim-echo: 1"],
            &body,
        );
        let answer = send(http, simulator.first, request).await.json();
        let chunks = answer["chunks"].as_u64().unwrap();
        assert!(chunks > 1, "{answer}");
        assert!(started.elapsed() >= Duration::from_millis(2 * chunks));
    }
}
