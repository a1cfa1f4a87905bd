//! Reads files of certificate authorities.

use std::path::Path;

use memchr::memmem;
use trilane_console::named_file;

/// Reads a file that has a certificate in PEM form. Without authorities Envoy sends nothing to an account.
///
/// # Errors
/// The defect of the file, as text.
pub fn read(file: &Path) -> Result<Vec<u8>, String> {
    let found = named_file::read(file, named_file::AUTHORITIES);
    let found = found.map_err(|error| format!("cannot be read: {error}"))?;
    if memmem::find(&found, b"-----BEGIN CERTIFICATE-----").is_some() {
        Ok(found)
    } else {
        Err("has no certificate in PEM form".to_owned())
    }
}
