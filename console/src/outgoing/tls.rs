//! TLS of requests to others.

use std::path::Path;
use std::sync::Arc;

use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use crate::named_file;

/// TLS with servers whose certificates are of these authorities.
pub fn tls(roots: RootCerts) -> TlsConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    TlsConfig::builder()
        .root_certs(roots)
        .unversioned_rustls_crypto_provider(provider)
        .build()
}

/// Reads the authorities in a file.
///
/// # Errors
/// The file and its fault.
pub fn authorities(file: &Path) -> Result<RootCerts, String> {
    let failed = |why: String| format!("{} {why}", file.display());
    let text = named_file::read(file, named_file::AUTHORITIES);
    let text = text.map_err(|error| failed(format!("cannot be read: {error}")))?;
    let items = parse_pem(&text).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let certificates: Vec<_> = items.collect();
    if certificates.is_empty() {
        return Err(failed("has no certificate".to_owned()));
    }
    Ok(certificates.into())
}
