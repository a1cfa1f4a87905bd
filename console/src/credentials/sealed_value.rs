//! A sealed value, and its text.

/// The prefix of a sealed value's text. No credential and no secret begins with it.
const PREFIX: &str = "sealed-1:";

/// A sealed value, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedValue {
    /// The id of the key that opens it.
    pub key_id: String,
    /// The nonce.
    pub nonce: String,
    /// The value, with the tag that shows a change of it or of what it is bound to.
    pub sealed: String,
}

impl SealedValue {
    /// All of it as one text.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}:{}:{}", self.key_id, self.nonce, self.sealed)
    }

    /// The reverse of [`text`](Self::text). `None`: nothing is sealed in it. One that is damaged is one that no key opens.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix(PREFIX)?.splitn(3, ':');
        let mut part = || parts.next().unwrap_or_default().to_owned();
        Some(Self {
            key_id: part(),
            nonce: part(),
            sealed: part(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::{SealedFor, SealingKey};
    use crate::secret::NewSecret;

    const OF: SealedFor<'_> = SealedFor::WebhookSecret {
        id: "w",
        url: "https://a.example/",
    };

    #[test]
    fn a_value_and_its_text() {
        let key = SealingKey::draw().unwrap();
        let sealed = key.seal(OF, b"tlw-1").unwrap();
        let text = sealed.text();
        assert_eq!(SealedValue::parse(&text), Some(sealed));
        let opens = |text: &str| key.open(OF, &SealedValue::parse(text).unwrap()).is_some();
        assert!(opens(&text));
        for damaged in [
            text[..text.len() - 1].to_owned(),
            format!("{text}:"),
            format!("{text}00"),
            PREFIX.to_owned(),
            text.rsplit_once(':').unwrap().0.to_owned(),
        ] {
            assert!(!opens(&damaged), "{damaged}");
        }
    }

    #[test]
    fn what_is_not_sealed() {
        let plain = NewSecret::webhook().unwrap();
        for text in [plain.reveal(), "", "sealed", "tlw-sealed-1:a:b:c"] {
            assert_eq!(SealedValue::parse(text), None, "{text}");
        }
    }
}
