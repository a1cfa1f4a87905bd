//! The sources of a vendor's credential.

use std::env;
use std::fs;
use std::path::PathBuf;

use trilane_console::vendors::VendorCredential;

/// The place that a credential is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialSource {
    /// In a file, alone on its line.
    File(PathBuf),
    /// In an environment variable.
    Variable(String),
    /// The server asks for none.
    None,
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
            Self::None => Ok(VendorCredential::none()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
