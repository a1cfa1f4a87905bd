//! A vendor's credential, which nothing prints.

use core::fmt;

use zeroize::Zeroizing;

use crate::credentials::{ValueFault, check_value};

/// A credential. `Debug` does not print it; [`reveal`](Self::reveal) shows it.
#[derive(Clone)]
pub struct VendorCredential(Zeroizing<String>);

impl VendorCredential {
    /// Checks that Envoy can send it.
    ///
    /// # Errors
    /// A description of the fault, without the credential; `of` says whose or which it is.
    pub fn new(of: &str, value: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("the credential {of} {what}: give it alone, on one line");
        match check_value(value.as_bytes()) {
            Ok(value) => Ok(Self(Zeroizing::new(
                String::from_utf8_lossy(value).into_owned(),
            ))),
            Err(ValueFault::Empty) => Err(wrong("is empty")),
            Err(ValueFault::Invalid(what)) => Err(wrong(what)),
        }
    }

    /// Makes the credential for a server that needs none: the gateway always sends one.
    pub fn none() -> Self {
        Self(Zeroizing::new("none".to_owned()))
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
}
