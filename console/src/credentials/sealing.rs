//! XChaCha20-Poly1305 over one credential.

use core::fmt;

use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{Key, KeyInit as _, XChaCha20Poly1305, XNonce};
use sha2::{Digest as _, Sha256};
use zeroize::{Zeroize as _, Zeroizing};

use super::destination::CredentialDestination;

/// The length of a key.
const KEY: usize = 32;
/// The length of a nonce: long enough to draw it each time.
const NONCE: usize = 24;

/// A key that seals. `Debug` does not print it, and its memory is cleared.
#[derive(Clone)]
pub struct SealingKey {
    key: Zeroizing<[u8; KEY]>,
    id: String,
}

/// A sealed credential, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedValue {
    /// Which key opens it.
    pub key_id: String,
    /// The nonce.
    pub nonce: String,
    /// The credential, with the tag that shows a change of it, of its name or of its destination.
    pub sealed: String,
}

impl SealingKey {
    /// Draws a key from the operating system's randomness.
    ///
    /// # Errors
    /// The system gives none.
    pub fn draw() -> Result<Self, String> {
        let mut key = Zeroizing::new([0; KEY]);
        getrandom::fill(key.as_mut())
            .map_err(|error| format!("the system gives no randomness: {error}"))?;
        Ok(Self::new(key))
    }

    /// The key that a line of a file has. `None`: it has none.
    pub fn parse(line: &str) -> Option<Self> {
        let mut key = Zeroizing::new([0; KEY]);
        hex::decode_to_slice(line, key.as_mut()).ok()?;
        Some(Self::new(key))
    }

    fn new(key: Zeroizing<[u8; KEY]>) -> Self {
        let mut digest = Sha256::new();
        digest.update(b"trilane sealing key\n");
        digest.update(key.as_ref());
        let mut id = hex::encode(digest.finalize());
        id.truncate(16);
        Self { key, id }
    }

    /// Its line in a file.
    pub fn line(&self) -> Zeroizing<String> {
        Zeroizing::new(hex::encode(self.key.as_ref()))
    }

    /// By what it is known, which says nothing of it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Seals a credential for one destination.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn seal(
        &self,
        name: &str,
        destination: &CredentialDestination,
        value: &[u8],
    ) -> Result<SealedValue, String> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce)
            .map_err(|error| format!("the system gives no randomness: {error}"))?;
        let aad = aad(name, destination);
        let payload = Payload {
            msg: value,
            aad: aad.as_bytes(),
        };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| "a credential cannot be sealed".to_owned())?;
        Ok(SealedValue {
            key_id: self.id.clone(),
            nonce: hex::encode(nonce),
            sealed: hex::encode(sealed),
        })
    }

    /// Opens it. `None`: it was sealed by another key, for another name or destination, or is damaged.
    pub fn open(
        &self,
        name: &str,
        destination: &CredentialDestination,
        sealed: &SealedValue,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let mut nonce = [0; NONCE];
        hex::decode_to_slice(&sealed.nonce, &mut nonce).ok()?;
        let text = hex::decode(&sealed.sealed).ok()?;
        let aad = aad(name, destination);
        let payload = Payload {
            msg: &text,
            aad: aad.as_bytes(),
        };
        let opened = self.cipher().decrypt(&XNonce::from(nonce), payload);
        opened.ok().map(Zeroizing::new)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        let mut key = Key::from(*self.key);
        let cipher = XChaCha20Poly1305::new(&key);
        key.zeroize();
        cipher
    }
}

/// What a credential is bound to. No part has an end of line.
fn aad(name: &str, destination: &CredentialDestination) -> String {
    format!("trilane credential 1\n{name}\n{}", destination.text())
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SealingKey").field(&self.id).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(url: &str) -> CredentialDestination {
        CredentialDestination {
            url: url.to_owned(),
            proxy: None,
            ca: None,
        }
    }

    #[test]
    fn only_the_same_key_name_and_place_open_it() {
        let (key, other) = (SealingKey::draw().unwrap(), SealingKey::draw().unwrap());
        let here = place("https://a.example");
        let sealed = key.seal("n", &here, b"sk-1").unwrap();
        assert!(!sealed.sealed.contains(&hex::encode(b"sk-1")));
        let mut changed = sealed.clone();
        changed.sealed.replace_range(
            0..1,
            if changed.sealed.starts_with('0') {
                "1"
            } else {
                "0"
            },
        );
        let by_proxy = CredentialDestination {
            proxy: Some("http://p".to_owned()),
            ..here.clone()
        };
        let by_ca = CredentialDestination {
            ca: Some("ca".to_owned()),
            ..here.clone()
        };
        for (case, key, name, place, sealed, want) in [
            ("the same", &key, "n", &here, &sealed, true),
            ("another key", &other, "n", &here, &sealed, false),
            ("another name", &key, "m", &here, &sealed, false),
            (
                "another host",
                &key,
                "n",
                &place("https://b.example"),
                &sealed,
                false,
            ),
            (
                "another scheme",
                &key,
                "n",
                &place("http://a.example"),
                &sealed,
                false,
            ),
            ("another proxy", &key, "n", &by_proxy, &sealed, false),
            ("other authorities", &key, "n", &by_ca, &sealed, false),
            ("a byte changed", &key, "n", &here, &changed, false),
        ] {
            let opened = key.open(name, place, sealed);
            assert_eq!(
                opened.as_deref().map(Vec::as_slice),
                want.then_some(&b"sk-1"[..]),
                "{case}"
            );
        }
        let again = key.seal("n", &here, b"sk-1").unwrap();
        assert_ne!(
            (&again.nonce, &again.sealed),
            (&sealed.nonce, &sealed.sealed)
        );
    }

    #[test]
    fn a_key_and_its_line() {
        let key = SealingKey::draw().unwrap();
        let read = SealingKey::parse(&key.line()).unwrap();
        assert_eq!(read.id(), key.id());
        assert!(!format!("{key:?}").contains(key.line().as_str()));
        for wrong in ["", "00", &"0".repeat(63), &"g".repeat(64), &"0".repeat(66)] {
            assert!(SealingKey::parse(wrong).is_none(), "{wrong}");
        }
    }
}
