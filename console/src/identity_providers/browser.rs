//! The secret of a browser that is about to sign in. What its request needs later is derived from it, so that the database keeps
//! digests only.

use sha2::{Digest as _, Sha256};

use crate::secret;

/// The secret of a browser, from its cookie, together with one authorization request. `Debug` prints nothing of it.
#[derive(Clone, Copy)]
pub struct BrowserSecret<'a> {
    /// The value of the cookie.
    pub cookie: &'a str,
    /// The `state` of the request.
    pub state: &'a str,
}

impl core::fmt::Debug for BrowserSecret<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("BrowserSecret(..)")
    }
}

impl BrowserSecret<'_> {
    /// The digest of the browser.
    pub fn digest(&self) -> String {
        secret::digest(self.cookie)
    }

    fn derived(&self, what: &str) -> String {
        let mut digest = Sha256::new();
        for part in ["trilane authorization 1", what, self.cookie, self.state] {
            digest.update(part.as_bytes());
            digest.update([0]);
        }
        hex::encode(digest.finalize())
    }

    /// The nonce that the ID token must have.
    pub(super) fn nonce(&self) -> String {
        self.derived("nonce")
    }

    /// The verifier of the request (PKCE): 64 letters of those that it may have.
    pub(super) fn verifier(&self) -> String {
        self.derived("verifier")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_has_its_own() {
        let of = |cookie, state| BrowserSecret { cookie, state };
        let one = of("a", "b");
        assert_eq!(one.nonce(), of("a", "b").nonce());
        for (case, other) in [
            ("another state", of("a", "c")),
            ("another browser", of("c", "b")),
            ("the parts moved", of("ab", "")),
        ] {
            assert_ne!(one.nonce(), other.nonce(), "{case}");
            assert_ne!(one.verifier(), other.verifier(), "{case}");
        }
        assert_ne!(one.nonce(), one.verifier());
        assert_eq!(one.verifier().len(), 64, "43 to 128 letters (RFC 7636)");
        assert!(!format!("{one:?}").contains('a'));
    }
}
