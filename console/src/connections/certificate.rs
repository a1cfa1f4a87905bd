//! The certificate of a server that ends TLS itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// The interval between looks whether the files are others by now.
const LOOK: Duration = Duration::from_secs(10);

/// The files of a certificate: its chain, and its private key, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The chain, the server's own certificate first.
    pub chain: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// The certificate in two files. Once they are others it is read again, without a restart.
pub struct ServerCertificate {
    files: CertificateFiles,
    report: Box<dyn Fn(&str) + Send + Sync>,
    state: Mutex<CertificateState>,
}

struct CertificateState {
    config: Arc<ServerConfig>,
    /// The times at which the files were changed.
    changed: [Option<SystemTime>; 2],
    looked: Instant,
}

impl core::fmt::Debug for ServerCertificate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("ServerCertificate")
            .field(&self.files)
            .finish()
    }
}

impl CertificateFiles {
    fn changed(&self) -> [Option<SystemTime>; 2] {
        [&self.chain, &self.key].map(|file| fs::metadata(file).and_then(|of| of.modified()).ok())
    }

    /// Reads them.
    ///
    /// # Errors
    /// A file cannot be read, or the two do not belong together.
    fn read(&self) -> Result<ServerConfig, String> {
        let text = |file: &Path| {
            fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
        };
        let chain =
            CertificateDer::pem_slice_iter(&text(&self.chain)?).collect::<Result<Vec<_>, _>>();
        let chain = chain.ok().filter(|chain| !chain.is_empty());
        let chain =
            chain.ok_or_else(|| format!("{} has no certificate in PEM", self.chain.display()))?;
        let key = PrivateKeyDer::from_pem_slice(&text(&self.key)?);
        let key = key.map_err(|_| format!("{} has no private key in PEM", self.key.display()))?;
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions();
        let builder = builder
            .map_err(|error| error.to_string())?
            .with_no_client_auth();
        let config = builder.with_single_cert(chain, key);
        let mut config = config.map_err(|error| {
            let (chain, key) = (self.chain.display(), self.key.display());
            format!("{chain} and {key} are not good together: {error}")
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// Returns the end of the first certificate in a file with PEM, in seconds since 1970; `None`: none can be read.
pub fn certificate_end(chain: &Path) -> Option<i64> {
    let text = fs::read(chain).ok()?;
    let first = CertificateDer::pem_slice_iter(&text).next()?.ok()?;
    let (_, certificate) = x509_parser::parse_x509_certificate(&first).ok()?;
    Some(certificate.validity().not_after.timestamp())
}

impl ServerCertificate {
    /// Reads the certificate. What is wrong with it later is reported.
    ///
    /// # Errors
    /// A file cannot be read, or the two do not belong together.
    pub fn new(
        files: CertificateFiles,
        report: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let state = CertificateState {
            changed: files.changed(),
            config: Arc::new(files.read()?),
            looked: Instant::now(),
        };
        Ok(Self {
            files,
            report: Box::new(report),
            state: Mutex::new(state),
        })
    }

    /// Returns the acceptor of a connection: with the certificate that is in the files by now, or else the last good one.
    pub fn acceptor(&self) -> TlsAcceptor {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.elapsed() >= LOOK {
            state.looked = Instant::now();
            let changed = self.files.changed();
            if changed != state.changed {
                match self.files.read() {
                    Ok(config) => {
                        state.config = Arc::new(config);
                        state.changed = changed;
                    }
                    // One file may be there before the other: it is looked at again.
                    Err(why) => {
                        (self.report)(&format!("the certificate stays the one of before: {why}"))
                    }
                }
            }
        }
        TlsAcceptor::from(Arc::clone(&state.config))
    }
}
