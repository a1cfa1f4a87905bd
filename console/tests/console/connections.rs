//! Connections that say nothing, or say it slowly, keep nobody out.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use http::{Request, Response};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use trilane_console::connections::{ConnectionLimits, ConnectionTimeouts, ReceivedBody, serve};

const LIMITS: ConnectionLimits = ConnectionLimits {
    most: 60,
    of_an_address: 40,
    timeouts: ConnectionTimeouts {
        head: Duration::from_secs(3),
        idle: Duration::from_secs(6),
        answer: Duration::from_secs(3),
        renewed: true,
    },
    watch: |_| {},
};

struct TestServer {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

/// Answers with the length of the request's body, or with so many bytes.
async fn answer(request: Request<ReceivedBody>, _: SocketAddr) -> Response<axum::body::Body> {
    let long = request.uri().path() == "/long";
    let body = axum::body::Body::new(request.into_body());
    let body = axum::body::to_bytes(body, 1 << 20).await;
    let text = match body {
        Ok(_) if long => "x".repeat(64 << 20),
        Ok(bytes) => bytes.len().to_string(),
        Err(_) => "broken off".to_owned(),
    };
    Response::new(text.into())
}

impl TestServer {
    async fn start(limits: ConnectionLimits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async move { drop(stopped.await) };
        let serving = tokio::spawn(serve(listener, limits, None, answer, stopped));
        Self {
            address,
            stop,
            serving,
        }
    }

    async fn connect(&self, from: &str) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
        socket.connect(self.address).await.unwrap()
    }

    /// Measures the time of a request from there.
    async fn ask(&self, from: &str) -> Duration {
        let begun = Instant::now();
        let mut stream = self.connect(from).await;
        stream
            .write_all(
                b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\nconnection: close\r\n\r\nabc",
            )
            .await
            .unwrap();
        let mut text = String::new();
        let read = timeout(Duration::from_secs(10), stream.read_to_string(&mut text)).await;
        read.expect("it is answered").unwrap();
        assert!(
            text.starts_with("HTTP/1.1 200") && text.ends_with("\r\n\r\n3"),
            "{text}"
        );
        begun.elapsed()
    }

    async fn end(self) {
        drop(self.stop);
        self.serving.await.unwrap();
    }
}

async fn is_closed(stream: &mut TcpStream, within: Duration) -> bool {
    let mut bytes = [0; 1024];
    let reading = async { while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {} };
    timeout(within, reading).await.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_keeps_nobody_out() {
    let server = TestServer::start(LIMITS).await;
    for (case, from, said) in [
        ("nothing is said", "127.0.0.1", ""),
        ("half a head", "127.0.0.1", "GET / HTTP/1.1\r\nx: "),
        (
            "half a body",
            "127.0.0.1",
            "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nab",
        ),
        (
            "half a body, from elsewhere",
            "127.0.0.7",
            "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nab",
        ),
    ] {
        let mut crowd = Vec::new();
        for _ in 0..300 {
            let mut stream = server.connect(from).await;
            let _ = stream.write_all(said.as_bytes()).await;
            crowd.push(stream);
        }
        // From the same address, too.
        for asks in ["127.0.0.1", "127.0.0.2"] {
            let took = server.ask(asks).await;
            assert!(took < Duration::from_secs(7), "{case}: {asks}: {took:?}");
        }
        drop(crowd);
        sleep(Duration::from_millis(100)).await;
    }
    server.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_has_only_its_share() {
    let server = TestServer::start(LIMITS).await;
    let mut others = Vec::new();
    for _ in 0..10 {
        others.push(server.connect("127.0.0.3").await);
    }
    let mut crowd = Vec::new();
    for _ in 0..100 {
        let mut stream = server.connect("127.0.0.4").await;
        let _ = stream.write_all(b"GET / HTTP/1.1\r\n").await;
        crowd.push(stream);
    }
    sleep(Duration::from_millis(300)).await;
    let mut open = 0;
    for stream in &mut crowd {
        open += usize::from(!is_closed(stream, Duration::from_millis(5)).await);
    }
    assert_eq!(open, LIMITS.of_an_address);
    for stream in &mut others {
        stream
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).await.unwrap();
        assert_eq!(&start, b"HTTP/1.1 200", "one of another address");
    }
    server.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_slow_is_closed_in_time() {
    let server = TestServer::start(LIMITS).await;
    for (case, said, within) in [
        ("no request", "", 5),
        ("half a head", "GET / HTTP/1.1\r\nx: ", 5),
        ("no second request", "GET / HTTP/1.1\r\nhost: x\r\n\r\n", 8),
        (
            "half a body",
            "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nab",
            5,
        ),
        (
            "half a chunk",
            "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
            5,
        ),
    ] {
        let mut stream = server.connect("127.0.0.1").await;
        stream.write_all(said.as_bytes()).await.unwrap();
        assert!(
            is_closed(&mut stream, Duration::from_secs(within)).await,
            "{case}"
        );
    }
    // A head that comes byte by byte, for ever.
    let mut stream = server.connect("127.0.0.1").await;
    let begun = Instant::now();
    while stream.write_all(b"a").await.is_ok() {
        assert!(
            begun.elapsed() < Duration::from_secs(6),
            "a head byte by byte"
        );
        sleep(Duration::from_millis(100)).await;
    }
    // A response that nobody reads: of what the kernel does not hold nothing comes any more.
    let mut stream = server.connect("127.0.0.1").await;
    stream
        .write_all(b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    // From its first byte on, which a slow machine may take a while for.
    let mut bytes = vec![0; 1];
    stream.read_exact(&mut bytes).await.unwrap();
    sleep(Duration::from_secs(8)).await;
    let read = stream.read_to_end(&mut bytes).await;
    assert!(
        read.is_err() || bytes.len() < 64 << 20,
        "all of it came: {read:?}"
    );
    // One that is read slowly, but is, is no trouble.
    let mut stream = server.connect("127.0.0.1").await;
    stream
        .write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    for byte in b"abcde" {
        sleep(Duration::from_millis(1500)).await;
        stream.write_all(&[*byte]).await.unwrap();
    }
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.ends_with("\r\n\r\n5"), "{text}");
    server.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_has_a_bound() {
    let server = TestServer::start(LIMITS).await;
    let mut stream = server.connect("127.0.0.1").await;
    let head = format!(
        "GET / HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n",
        "a".repeat(1 << 20)
    );
    let _ = stream.write_all(head.as_bytes()).await;
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text).await;
    assert!(
        !text.starts_with(b"HTTP/1.1 200"),
        "{}",
        text.escape_ascii()
    );
    server.ask("127.0.0.1").await;
    server.end().await;
}
