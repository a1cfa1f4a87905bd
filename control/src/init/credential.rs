//! A vendor's credential: where it comes from, and that nothing prints it.

use std::env;
use std::fmt;
use std::fs;
use std::path::PathBuf;

use crate::render::{CredentialState, credential_state};

/// What a server without a credential gets: the gateway always sends one.
const NONE: &str = "none";

/// A credential. `Debug` does not print it; [`reveal`](Self::reveal) shows it.
#[derive(Clone)]
pub struct VendorCredential(String);

/// Where a credential is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialSource {
    /// In a file, alone on its line.
    File(PathBuf),
    /// In an environment variable.
    Variable(String),
    /// The server asks for none.
    None,
}

impl VendorCredential {
    /// Checks that Envoy can send it.
    ///
    /// # Errors
    /// What is wrong, without the credential; `of` says whose or which it is.
    pub fn new(of: &str, value: &str) -> Result<Self, String> {
        let value = value.trim_end_matches(['\r', '\n']);
        match credential_state(value.as_bytes()) {
            CredentialState::Valid => Ok(Self(value.to_owned())),
            CredentialState::Unavailable(what) | CredentialState::Invalid(what) => Err(format!(
                "the credential {of} {what}: give it alone, on one line"
            )),
            CredentialState::NoDirectory => Err(format!("the credential {of} is missing")),
        }
    }

    /// The credential itself, for the request and for its file.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for VendorCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VendorCredential(..)")
    }
}

impl CredentialSource {
    /// Takes the credential from there.
    ///
    /// # Errors
    /// It is not there, or Envoy could not send it.
    pub fn read(&self) -> Result<VendorCredential, String> {
        match self {
            Self::File(file) => {
                let name = file.display();
                let text = fs::read_to_string(file);
                let text =
                    text.map_err(|error| {
                        format!("cannot read the credential in {name}: {error}. Name its file with --credential-file FILE")
                    })?;
                VendorCredential::new(&format!("in {name}"), &text)
            }
            Self::Variable(name) => {
                let text = env::var(name).map_err(|_| {
                    format!(
                        "the environment has no {name}: set it, or name a file with --credential-file FILE"
                    )
                })?;
                VendorCredential::new(&format!("in ${name}"), &text)
            }
            Self::None => Ok(VendorCredential(NONE.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_prints_it() {
        let credential = VendorCredential::new("typed", "sk-secret\n").unwrap();
        assert_eq!(credential.reveal(), "sk-secret");
        assert!(!format!("{credential:?}").contains("secret"));
        for wrong in ["sk-secret two", "sk-secret\nsk", ""] {
            let error = VendorCredential::new("typed", wrong).unwrap_err();
            assert!(error.starts_with("the credential typed "), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn where_it_may_be() {
        let files = tempfile::tempdir().unwrap();
        let file = files.path().join("key");
        fs::write(&file, "sk-1\r\n").unwrap();
        let read = CredentialSource::File(file).read().unwrap();
        assert_eq!(read.reveal(), "sk-1");
        assert_eq!(CredentialSource::None.read().unwrap().reveal(), "none");
        let missing = CredentialSource::Variable("TRILANE_NO_SUCH".to_owned());
        let error = missing.read().unwrap_err();
        assert!(error.contains("no TRILANE_NO_SUCH"), "{error}");
        let missing = CredentialSource::File(files.path().join("nope"));
        assert!(missing.read().unwrap_err().contains("nope"));
    }
}
