//! TLS on a listener: its certificate, the protocols that it offers, and what a handshake came to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};
use tokio_rustls::server::TlsStream;

/// The TLS settings of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The directory of `server.crt` and `server.key`.
    pub directory: PathBuf,
    /// The versions of HTTP to choose from.
    pub offer: Offer,
}

/// The versions of HTTP that a listener offers in the handshake (ALPN, RFC 7301), the preferred one first.
///
/// The handshake with a client that names others only is refused. One that names none may speak any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// HTTP/2, HTTP/1.1
    Both,
    /// HTTP/1.1
    One,
    /// HTTP/2
    Two,
}

const H2: &str = "h2";
const H1: &str = "http/1.1";

impl Offer {
    /// The offer of one protocol, by its name.
    pub fn only(protocol: &str) -> Option<Self> {
        match protocol {
            H2 => Some(Self::Two),
            H1 => Some(Self::One),
            _ => None,
        }
    }

    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Both => &[H2, H1],
            Self::One => &[H1],
            Self::Two => &[H2],
        }
    }
}

/// The parameters that a client and a listener agreed on.
#[derive(Debug, Serialize)]
pub struct Handshake {
    /// The server's name as the client said it (SNI); an address is never said.
    pub sni: Option<String>,
    /// The protocol that was negotiated.
    pub alpn: Option<String>,
}

/// Accepts connections with one certificate.
#[derive(Clone, Debug)]
pub struct Acceptor {
    config: Arc<ServerConfig>,
}

impl Acceptor {
    /// Reads the certificate. The error says which file is not as it should be.
    pub fn new(tls: &Tls) -> Result<Self, String> {
        let file = |name: &str| tls.directory.join(name);
        let chain: Vec<CertificateDer<'_>> = CertificateDer::pem_file_iter(file("server.crt"))
            .and_then(Iterator::collect)
            .map_err(|error| cannot_read(&file("server.crt"), &error))?;
        let key = PrivateKeyDer::from_pem_file(file("server.key"))
            .map_err(|error| cannot_read(&file("server.key"), &error))?;
        let mut config =
            ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
                .map_err(|error| cannot_read(&tls.directory, &error))?;
        let names = tls.offer.names().iter();
        config.alpn_protocols = names.map(|name| name.as_bytes().to_vec()).collect();
        let config = Arc::new(config);
        Ok(Self { config })
    }

    /// Shakes hands with a client.
    pub async fn accept<IO: AsyncRead + AsyncWrite + Unpin>(
        &self,
        socket: IO,
    ) -> std::io::Result<(TlsStream<IO>, Handshake)> {
        let stream = TlsAcceptor::from(Arc::clone(&self.config))
            .accept(socket)
            .await?;
        let (_, connection) = stream.get_ref();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let handshake = Handshake {
            sni: connection.server_name().map(str::to_owned),
            alpn: connection.alpn_protocol().map(text),
        };
        Ok((stream, handshake))
    }
}

impl Handshake {
    /// Whether nothing but HTTP/2 may be spoken.
    pub fn is_h2(&self) -> bool {
        self.alpn.as_deref() == Some(H2)
    }

    /// Whether nothing but HTTP/1.1 may be spoken.
    pub fn is_h1(&self) -> bool {
        self.alpn.as_deref() == Some(H1)
    }
}

fn cannot_read(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!(
        "cannot use {}: {error}; make a certificate with `trilane-upstream certificate --out {}`",
        path.display(),
        path.parent()
            .filter(|_| path.extension().is_some())
            .unwrap_or(path)
            .display(),
    )
}
