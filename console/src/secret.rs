//! The value of a new key or token.

use std::fmt;

use hex::encode;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

/// The prefix of every key, so that people and secret scanners recognize one.
const KEY: &str = "tl-";
/// The prefix of every token of the console's API.
const TOKEN: &str = "tlc-";
/// The prefix of every token with which an agent enrols, once.
const ENROLMENT: &str = "tle-";
/// The prefix of every secret with which agents enrol, as often as they like.
const ENROLMENT_SECRET: &str = "tlr-";
/// The prefix of every session of the pages.
const SESSION: &str = "tls-";
/// The prefix of every link that signs in, once.
const LINK: &str = "tll-";
/// The prefix of what tells a device with which one has signed in.
const DEVICE: &str = "tld-";
/// The prefix of every code with which a client waits to be let in.
const DEVICE_CODE: &str = "tlg-";
/// The prefix of every token with which a client that was let in gets another value of its key.
const REFRESH: &str = "tlf-";
/// The prefix of what tells a browser that signs in at an identity provider, and of each of its requests.
const AUTHORIZATION: &str = "tlo-";
/// The prefix of what the messages of a webhook are signed with.
const WEBHOOK: &str = "tlw-";
/// Letters and digits only: a double click selects them all, and no shell or URL has to escape them.
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// 62^43 is more than 2^256.
const LENGTH: usize = 43;

/// A new key or token. `Debug` does not print it; [`reveal`](Self::reveal) shows it.
#[derive(Clone)]
pub struct NewSecret(String);

impl NewSecret {
    /// Draws a key from the operating system's randomness.
    ///
    /// # Errors
    /// The system gives none.
    pub fn key() -> Result<Self, String> {
        Self::draw(KEY)
    }

    /// Draws a token of the console's API.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn token() -> Result<Self, String> {
        Self::draw(TOKEN)
    }

    /// Draws a token with which an agent enrols.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn enrolment() -> Result<Self, String> {
        Self::draw(ENROLMENT)
    }

    /// Draws a secret with which agents enrol, as often as they like.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn enrolment_secret() -> Result<Self, String> {
        Self::draw(ENROLMENT_SECRET)
    }

    /// Draws the token of a session.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn session() -> Result<Self, String> {
        Self::draw(SESSION)
    }

    /// Draws the token of a link that signs in.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn sign_in_link() -> Result<Self, String> {
        Self::draw(LINK)
    }

    /// Draws what tells a device with which one has signed in.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn device() -> Result<Self, String> {
        Self::draw(DEVICE)
    }

    /// Draws the code with which a client waits to be let in.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn device_code() -> Result<Self, String> {
        Self::draw(DEVICE_CODE)
    }

    /// Draws the token with which a client that was let in gets another value of its key.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn refresh() -> Result<Self, String> {
        Self::draw(REFRESH)
    }

    /// The value of this number of the key that belongs to a refresh token. It is computed, not drawn: whoever sends the token twice
    /// gets one value, and nothing of it has to be kept.
    ///
    /// # Errors
    /// None is known: every token can be the key of an HMAC.
    pub fn key_of_refresh(refresh: &str, number: i64) -> Result<Self, String> {
        let mac = Hmac::<Sha256>::new_from_slice(refresh.as_bytes());
        let mut mac = mac.map_err(|error| error.to_string())?;
        mac.update(format!("key value {number}").as_bytes());
        Ok(Self(format!(
            "{KEY}{}",
            encode(mac.finalize().into_bytes())
        )))
    }

    /// Draws what tells a browser that signs in at an identity provider, or one of its requests.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn authorization() -> Result<Self, String> {
        Self::draw(AUTHORIZATION)
    }

    /// Draws what the messages of a webhook are signed with.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn webhook() -> Result<Self, String> {
        Self::draw(WEBHOOK)
    }

    /// A secret that was drawn before.
    pub fn given(text: &str) -> Self {
        Self(text.to_owned())
    }

    fn draw(prefix: &str) -> Result<Self, String> {
        random_letters(ALPHABET, LENGTH).map(|letters| Self(format!("{prefix}{letters}")))
    }

    /// The key itself, for the one place that prints it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the digest of the value, as in a document.
    pub fn digest(&self) -> String {
        digest(&self.0)
    }

    /// Returns the last four characters, by which people tell theirs apart.
    pub fn hint(&self) -> &str {
        let start = self.0.len().saturating_sub(4);
        self.0.get(start..).unwrap_or_default()
    }
}

/// Whether this is a secret with which agents enrol as often as they like, by its form.
pub fn is_enrolment_secret(text: &str) -> bool {
    text.starts_with(ENROLMENT_SECRET)
}

/// Whether this is what tells a browser that signs in at an identity provider, by its form.
pub fn is_authorization(text: &str) -> bool {
    let letters = text.strip_prefix(AUTHORIZATION);
    letters
        .is_some_and(|it| it.len() == LENGTH && it.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Whether a text that somebody looks for is a whole secret, by its form: then it must be in no address. Keys may be imported from
/// elsewhere, with other beginnings.
pub fn is_whole(text: &str) -> bool {
    const SHORTEST: usize = 20;
    let begins = [
        "tl-", "tlc-", "tle-", "tlr-", "tls-", "tll-", "tlf-", "tlg-", "sk-", "sk_", "AIza",
    ];
    text.len() >= SHORTEST
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && begins.iter().any(|begin| text.starts_with(begin))
}

/// The digest of a key or token that somebody has sent.
pub fn digest(secret: &str) -> String {
    encode(Sha256::digest(secret.as_bytes()))
}

/// Draws letters of an alphabet from the operating system's randomness, each as likely as any other.
///
/// # Errors
/// The system gives none.
pub fn random_letters(alphabet: &[u8], length: usize) -> Result<String, String> {
    // Bytes from the greatest multiple of the alphabet's length on would make some letters more likely.
    let left = 256_usize.checked_rem(alphabet.len()).unwrap_or_default();
    let fair = 256_usize.saturating_sub(left);
    let mut text = String::new();
    let mut bytes = [0; 64];
    while text.len() < length {
        getrandom::fill(&mut bytes)
            .map_err(|error| format!("the system gives no randomness: {error}"))?;
        let letters = bytes.iter().filter_map(|byte| {
            let byte = usize::from(*byte);
            let place = byte.checked_rem(alphabet.len()).filter(|_| byte < fair)?;
            alphabet.get(place).map(|letter| char::from(*letter))
        });
        text.extend(letters.take(length.saturating_sub(text.len())));
    }
    Ok(text)
}

/// An id that nobody else has.
///
/// # Errors
/// The system gives no randomness.
pub fn new_id() -> Result<String, String> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes)
        .map_err(|error| format!("the system gives no randomness: {error}"))?;
    Ok(encode(bytes))
}

impl fmt::Debug for NewSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_are_of_the_form_and_all_different() {
        let keys: Vec<NewSecret> = (0..200).map(|_| NewSecret::key().unwrap()).collect();
        for key in &keys {
            let letters = key.reveal().strip_prefix("tl-").unwrap();
            assert_eq!(letters.len(), 43);
            assert!(letters.bytes().all(|b| b.is_ascii_alphanumeric()));
            assert_eq!(key.digest().len(), 64);
            assert!(!format!("{key:?}").contains(letters));
        }
        let different: HashSet<&str> = keys.iter().map(NewSecret::reveal).collect();
        assert_eq!(different.len(), keys.len());
        let letters: HashSet<u8> = keys.iter().flat_map(|key| key.reveal().bytes()).collect();
        assert!(
            letters.len() >= 62,
            "8600 draws have every letter: {}",
            letters.len()
        );
    }

    #[test]
    fn what_is_a_whole_secret() {
        let key = NewSecret::key().unwrap();
        for (text, want) in [
            (key.reveal(), true),
            ("sk-proj-0123456789abcdef", true),
            ("tl-team-laptop", false),
            ("ann@example.com", false),
            ("tl-words that are a label of a key", false),
            ("key_0123456789abcdef01234567", false),
        ] {
            assert_eq!(is_whole(text), want, "{text}");
        }
    }

    #[test]
    fn the_digest_is_that_of_the_gateway() {
        let key = NewSecret("abc".to_owned());
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(key.digest(), hex);
        assert_eq!(NewSecret("tl-abcd".to_owned()).hint(), "abcd");
    }
}
