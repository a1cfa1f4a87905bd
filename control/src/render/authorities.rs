//! Checks files of certificate authorities.

use std::path::Path;

use trilane_console::named_file;

/// Checks that a file has a certificate in PEM form. Without authorities Envoy sends nothing to an account.
///
/// # Errors
/// The defect of the file, as text.
pub fn inspect(file: &Path) -> Result<(), String> {
    let found = named_file::read(file, named_file::AUTHORITIES);
    let found = found.map_err(|error| format!("cannot be read: {error}"))?;
    let text = String::from_utf8_lossy(&found);
    if text.contains("-----BEGIN CERTIFICATE-----") {
        Ok(())
    } else {
        Err("has no certificate in PEM form".to_owned())
    }
}
