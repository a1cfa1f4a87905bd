//! Checks files of certificate authorities.

use std::fs;
use std::path::Path;

/// Checks that a file has a certificate in PEM form. Without authorities Envoy sends nothing to an account.
///
/// # Errors
/// What is wrong with the file.
pub fn inspect(file: &Path) -> Result<(), String> {
    let found = fs::read(file).map_err(|error| format!("cannot be read: {error}"))?;
    let text = String::from_utf8_lossy(&found);
    if text.contains("-----BEGIN CERTIFICATE-----") {
        Ok(())
    } else {
        Err("has no certificate in PEM form".to_owned())
    }
}
