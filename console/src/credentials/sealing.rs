//! XChaCha20-Poly1305 over one value.

use core::fmt;

use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{Key, KeyInit as _, XChaCha20Poly1305, XNonce};
use sha2::{Digest as _, Sha256};
use zeroize::{Zeroize as _, Zeroizing};

use super::sealed_for::SealedFor;
use super::sealed_value::SealedValue;

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

    /// Writes the key as a line of a key file: hexadecimal.
    pub fn line(&self) -> Zeroizing<String> {
        Zeroizing::new(hex::encode(self.key.as_ref()))
    }

    /// By what it is known, which says nothing of it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Seals a value for one use.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn seal(&self, bound_to: SealedFor<'_>, value: &[u8]) -> Result<SealedValue, String> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce)
            .map_err(|error| format!("the system gives no randomness: {error}"))?;
        let aad = bound_to.text();
        let payload = Payload {
            msg: value,
            aad: aad.as_bytes(),
        };
        let sealed = self.cipher().encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| "a value cannot be sealed".to_owned())?;
        Ok(SealedValue {
            key_id: self.id.clone(),
            nonce: hex::encode(nonce),
            sealed: hex::encode(sealed),
        })
    }

    /// Opens it. `None`: it was sealed by another key, for something else, or is damaged.
    pub fn open(
        &self,
        bound_to: SealedFor<'_>,
        sealed: &SealedValue,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let mut nonce = [0; NONCE];
        hex::decode_to_slice(&sealed.nonce, &mut nonce).ok()?;
        let text = hex::decode(&sealed.sealed).ok()?;
        let aad = bound_to.text();
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

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SealingKey").field(&self.id).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::CredentialDestination;

    fn place(url: &str) -> CredentialDestination {
        CredentialDestination::parse(&format!(r#"{{"url": "{url}"}}"#)).unwrap()
    }

    fn credential<'a>(name: &'a str, destination: &'a CredentialDestination) -> SealedFor<'a> {
        SealedFor::Credential { name, destination }
    }

    const fn webhook<'a>(id: &'a str, url: &'a str) -> SealedFor<'a> {
        SealedFor::WebhookSecret { id, url }
    }

    #[test]
    fn only_the_same_key_name_and_place_open_it() {
        let (key, other) = (SealingKey::draw().unwrap(), SealingKey::draw().unwrap());
        let here = place("https://a.example");
        let sealed = key.seal(credential("n", &here), b"sk-1").unwrap();
        assert!(!sealed.sealed.contains(&hex::encode(b"sk-1")));
        let changed = if sealed.sealed.starts_with('0') {
            "1"
        } else {
            "0"
        };
        let mut damaged = sealed.clone();
        damaged.sealed.replace_range(0..1, changed);
        let by_proxy = CredentialDestination {
            proxy: Some("http://p".to_owned()),
            ..here.clone()
        };
        let by_ca = CredentialDestination {
            ca: Some("ca".to_owned()),
            ..here.clone()
        };
        let (host, scheme) = (place("https://b.example"), place("http://a.example"));
        let here_as_text = here.text();
        for (case, key, bound_to, sealed, want) in [
            ("the same", &key, credential("n", &here), &sealed, true),
            (
                "another key",
                &other,
                credential("n", &here),
                &sealed,
                false,
            ),
            ("another name", &key, credential("m", &here), &sealed, false),
            ("another host", &key, credential("n", &host), &sealed, false),
            (
                "another scheme",
                &key,
                credential("n", &scheme),
                &sealed,
                false,
            ),
            (
                "another proxy",
                &key,
                credential("n", &by_proxy),
                &sealed,
                false,
            ),
            (
                "other authorities",
                &key,
                credential("n", &by_ca),
                &sealed,
                false,
            ),
            (
                "a byte changed",
                &key,
                credential("n", &here),
                &damaged,
                false,
            ),
            (
                "a webhook's",
                &key,
                webhook("n", &here_as_text),
                &sealed,
                false,
            ),
        ] {
            let opened = key.open(bound_to, sealed);
            assert_eq!(
                opened.as_deref().map(Vec::as_slice),
                want.then_some(&b"sk-1"[..]),
                "{case}"
            );
        }
        let again = key.seal(credential("n", &here), b"sk-1").unwrap();
        assert_ne!(
            (&again.nonce, &again.sealed),
            (&sealed.nonce, &sealed.sealed)
        );
    }

    #[test]
    fn only_the_same_webhook_and_address_open_a_secret() {
        let key = SealingKey::draw().unwrap();
        let sealed = key
            .seal(webhook("w", "https://a.example/"), b"tlw-1")
            .unwrap();
        for (case, bound_to, want) in [
            ("the same", webhook("w", "https://a.example/"), true),
            ("another id", webhook("v", "https://a.example/"), false),
            (
                "another address",
                webhook("w", "https://a.example/b"),
                false,
            ),
            ("all in one", webhook("w\nhttps://a.example/", ""), false),
        ] {
            assert_eq!(key.open(bound_to, &sealed).is_some(), want, "{case}");
        }
    }

    /// Values sealed in existing databases must open in the next release, too.
    #[test]
    fn opens_what_was_sealed_before() {
        let key = SealingKey::parse(&"2a".repeat(32)).unwrap();
        let of = |nonce: &str, sealed: &str| SealedValue {
            key_id: key.id().to_owned(),
            nonce: nonce.to_owned(),
            sealed: sealed.to_owned(),
        };
        let place = place("https://a.example");
        for (bound_to, sealed) in [
            (
                credential("n", &place),
                of(
                    "000102030405060708090a0b0c0d0e0f1011121314151617",
                    "359695d06f4b05ec95b4f359837c8f4b1543f28632ba7023",
                ),
            ),
            (
                webhook("w", "https://a.example/"),
                of(
                    "18191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f",
                    "bfd55e0828eace6be64e32d17780ead611259f006e014d39",
                ),
            ),
        ] {
            let opened = key.open(bound_to, &sealed).unwrap();
            assert_eq!(opened.as_slice(), b"secret-1", "{bound_to:?}");
        }
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
