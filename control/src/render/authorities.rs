//! Whether a file of certificate authorities is one.

use std::fs;
use std::path::Path;

/// Looks at a file of authorities. Envoy sends nothing to an account without them.
///
/// # Errors
/// What is wrong.
pub fn look(file: &Path) -> Result<(), String> {
    let found = fs::read(file).map_err(|error| format!("cannot be read: {error}"))?;
    let text = String::from_utf8_lossy(&found);
    if text.contains("-----BEGIN CERTIFICATE-----") {
        Ok(())
    } else {
        Err("has no certificate in PEM form".to_owned())
    }
}
