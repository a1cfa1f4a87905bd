//! Listeners with TLS: what is negotiated, what the journal says of it, and who is turned away.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};
use trilane_upstream::certificate::{self, CertificateKind};
use trilane_upstream::server::{Address, Server};
use trilane_upstream::tls::{Offer, Tls};

use crate::support::{Http, Simulator, request};

/// A simulator whose first listener is plain and whose second has a certificate of this kind.
async fn simulator(directory: &Path, kind: CertificateKind, offer: Offer) -> Simulator {
    certificate::write(directory, &[], kind).unwrap();
    let address = |name: &str, tls| Address {
        name: name.to_owned(),
        address: "127.0.0.1:0".to_owned(),
        tls,
    };
    let tls = Tls {
        directory: directory.to_owned(),
        offer,
    };
    let addresses = [address("plain", None), address("tls", Some(tls))];
    let server = Server::bind(&addresses, true).await.unwrap();
    let bound = server.addresses().unwrap();
    tokio::spawn(server.serve());
    Simulator {
        first: bound[0].1,
        second: bound[1].1,
    }
}

async fn shake_hands(
    directory: &Path,
    to: SocketAddr,
    name: &str,
    alpn: &[&str],
) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(directory.join("ca.crt")).unwrap();
    roots.add(authority).unwrap();
    let mut config =
        ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let socket = TcpStream::connect(to).await.unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, socket)
        .await
}

/// Sends a request that is to be echoed, and gives the echo.
async fn echo(stream: TlsStream<TcpStream>, http: Http) -> hyper::Result<Value> {
    let io = TokioIo::new(stream);
    let mut asked = request("POST /v1/responses", &["x-sim-echo: 1"], "{}");
    let answer = if http == Http::One {
        let (mut sender, connection) = http1::handshake(io).await?;
        tokio::spawn(connection);
        asked
            .headers_mut()
            .insert("host", "localhost".parse().unwrap());
        sender.send_request(asked).await?
    } else {
        let (mut sender, connection) =
            http2::handshake::<_, _, Full<_>>(TokioExecutor::new(), io).await?;
        tokio::spawn(connection);
        *asked.uri_mut() = "https://localhost/v1/responses".parse().unwrap();
        sender.send_request(asked).await?
    };
    let body = answer.into_body().collect().await?.to_bytes();
    Ok(serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn the_version_is_negotiated() {
    let both: &[&str] = &["h2", "http/1.1"];
    let cases = [
        ("both, both", Offer::Both, both, Some("h2"), Http::Two),
        (
            "both, one",
            Offer::Both,
            &["http/1.1"],
            Some("http/1.1"),
            Http::One,
        ),
        ("both, none: HTTP/1.1", Offer::Both, &[], None, Http::One),
        ("both, none: HTTP/2", Offer::Both, &[], None, Http::Two),
        ("one, both", Offer::One, both, Some("http/1.1"), Http::One),
        ("two, both", Offer::Two, both, Some("h2"), Http::Two),
    ];
    for (case, offer, alpn, agreed, http) in cases {
        let directory = tempfile::tempdir().unwrap();
        let simulator = simulator(directory.path(), CertificateKind::Good, offer).await;
        let stream = shake_hands(directory.path(), simulator.second, "localhost", alpn).await;
        let echo = echo(stream.unwrap(), http).await.unwrap();
        assert_eq!(
            echo["tls"],
            json!({"sni": "localhost", "alpn": agreed}),
            "{case}"
        );
        let version = if http == Http::One {
            "HTTP/1.1"
        } else {
            "HTTP/2"
        };
        assert_eq!(echo["version"], version, "{case}");
    }
}

#[tokio::test]
async fn an_address_is_no_name_and_a_plain_listener_shakes_no_hands() {
    let directory = tempfile::tempdir().unwrap();
    let simulator = simulator(directory.path(), CertificateKind::Good, Offer::Both).await;
    let stream = shake_hands(directory.path(), simulator.second, "127.0.0.1", &["h2"]).await;
    let over_tls = echo(stream.unwrap(), Http::Two).await.unwrap();
    assert_eq!(over_tls["tls"], json!({"sni": null, "alpn": "h2"}));
    let asked = request("POST /v1/responses", &["x-sim-echo: 1"], "{}");
    let plain = crate::support::send(Http::One, simulator.first, asked)
        .await
        .json();
    assert_eq!(plain["tls"], Value::Null);
}

#[tokio::test]
async fn what_was_not_negotiated_is_not_spoken() {
    for (offer, alpn, http) in [
        (Offer::Both, "h2", Http::One),
        (Offer::Both, "http/1.1", Http::Two),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let simulator = simulator(directory.path(), CertificateKind::Good, offer).await;
        let stream = shake_hands(directory.path(), simulator.second, "localhost", &[alpn]).await;
        echo(stream.unwrap(), http).await.unwrap_err();
        let count = simulator.control("GET /_sim/count").await;
        assert_eq!(count["requests"], 0, "{alpn}");
    }
}

#[tokio::test]
async fn who_does_not_agree_is_turned_away() {
    let cases = [
        (
            "expired",
            CertificateKind::Expired,
            Offer::Both,
            "localhost",
            "h2",
        ),
        (
            "self-signed",
            CertificateKind::SelfSigned,
            Offer::Both,
            "localhost",
            "h2",
        ),
        (
            "other name",
            CertificateKind::Good,
            Offer::Both,
            "other.example",
            "h2",
        ),
        (
            "other address",
            CertificateKind::Good,
            Offer::Both,
            "127.0.0.2",
            "h2",
        ),
        (
            "only HTTP/2",
            CertificateKind::Good,
            Offer::Two,
            "localhost",
            "http/1.1",
        ),
        (
            "only HTTP/1.1",
            CertificateKind::Good,
            Offer::One,
            "localhost",
            "h2",
        ),
    ];
    for (case, kind, offer, name, alpn) in cases {
        let directory = tempfile::tempdir().unwrap();
        let simulator = simulator(directory.path(), kind, offer).await;
        let refused = shake_hands(directory.path(), simulator.second, name, &[alpn]).await;
        assert!(refused.is_err(), "{case}");
        let count = simulator.control("GET /_sim/count").await;
        assert_eq!(count["requests"], 0, "{case}");
    }
}

#[tokio::test]
async fn plain_http_gets_nowhere_and_harms_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let simulator = simulator(directory.path(), CertificateKind::Good, Offer::Both).await;
    let mut plain = TcpStream::connect(simulator.second).await.unwrap();
    plain
        .write_all(b"GET /_sim/ready HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    // An alert, or a reset: the handshake has failed.
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    let stream = shake_hands(directory.path(), simulator.second, "localhost", &["h2"]).await;
    echo(stream.unwrap(), Http::Two).await.unwrap();
}

#[tokio::test]
async fn a_cut_is_a_cut_behind_tls() {
    let directory = tempfile::tempdir().unwrap();
    let simulator = simulator(directory.path(), CertificateKind::Good, Offer::One).await;
    let to = simulator.second;
    let mut stream = shake_hands(directory.path(), to, "localhost", &[])
        .await
        .unwrap();
    stream
        .write_all(b"POST /v1/responses HTTP/1.1\r\nhost: x\r\nx-sim-cut: head\r\ncontent-length: 0\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    let end = stream.read_to_end(&mut answer).await;
    assert_eq!(end.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    assert!(answer.is_empty());
}

#[tokio::test]
async fn a_missing_certificate_is_explained() {
    let directory = tempfile::tempdir().unwrap();
    let cases = [
        ("nothing there", None),
        ("no certificate", Some(("server.crt", ""))),
        ("no key", Some(("server.key", "x"))),
    ];
    for (case, spoil) in cases {
        if let Some((file, content)) = spoil {
            certificate::write(directory.path(), &[], CertificateKind::Good).unwrap();
            std::fs::write(directory.path().join(file), content).unwrap();
        }
        let address = Address {
            name: "tls".to_owned(),
            address: "127.0.0.1:0".to_owned(),
            tls: Some(Tls {
                directory: directory.path().to_owned(),
                offer: Offer::Both,
            }),
        };
        let problem = Server::bind(&[address], true).await.unwrap_err();
        let advice = format!("certificate --out {}", directory.path().display());
        assert!(problem.contains(&advice), "{case}: {problem}");
    }
}
