//! One key of a file: a line of JSON, as keys are in a document.

use std::sync::Arc;

use hashbrown::HashSet;
use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};
use trilane::config::Document;
use trilane::config::document::KeyDocument;

use crate::terminal::moment;

/// The SHA-256 digest of a key.
pub type Digest = [u8; 32];

/// What is known of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its id.
    pub id: Box<str>,
    /// The id of its group.
    pub group: Arc<str>,
    /// When it ends: seconds since the Unix epoch, of a year that has four digits.
    pub expires_at: Option<i64>,
    /// Whether it is switched off.
    pub disabled: bool,
}

impl Key {
    /// [`Key::expires_at`] as RFC 3339.
    pub fn expiry(&self) -> Option<String> {
        let time = OffsetDateTime::from_unix_timestamp(self.expires_at?);
        time.ok().map(moment)
    }
}

/// The ids of groups: a million keys have few.
pub type Groups = HashSet<Arc<str>>;

/// Reads a line.
///
/// # Errors
/// Everything that is wrong with it; no value is quoted.
pub fn parse(line: &[u8], groups: &mut Groups) -> Result<(Digest, Key), Vec<String>> {
    // serde would also take a list, for the fields in their order.
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err(vec!["must be a JSON object".to_owned()]);
    }
    let Ok(key) = serde_json::from_slice::<KeyDocument>(line) else {
        return Err(problems_of_form(line));
    };
    let mut problems = Vec::new();
    let mut wrong = |field: &str, what: &str| problems.push(format!("{field}: {what}"));
    let mut digest = Digest::default();
    if !key
        .sha256
        .as_deref()
        .is_some_and(|text| hex_digest(text, &mut digest))
    {
        wrong(
            "sha256",
            "must be the 64 hexadecimal digits of the key's SHA-256",
        );
    }
    for (field, id) in [("id", &key.id), ("group", &key.group)] {
        match id.as_deref() {
            None => wrong(field, "is missing"),
            Some(id) if !is_id(id) => {
                wrong(field, "must be 1 to 64 letters, digits or any of - _ . :")
            }
            Some(_) => {}
        }
    }
    let expires_at = key.expires_at.as_deref().map(seconds);
    if expires_at == Some(None) {
        wrong(
            "expires_at",
            "must be a time such as \"2027-01-01T00:00:00Z\"",
        );
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let group = key.group.unwrap_or_default();
    let group = groups.get_or_insert_with(group.as_str(), |group| Arc::from(group));
    let key = Key {
        id: key.id.unwrap_or_default().into_boxed_str(),
        group: Arc::clone(group),
        expires_at: expires_at.flatten(),
        disabled: key.disabled.unwrap_or(false),
    };
    Ok((digest, key))
}

fn hex_digest(text: &str, digest: &mut Digest) -> bool {
    text.len() == 64 && hex::decode_to_slice(text, digest).is_ok()
}

fn is_id(id: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    (1..=64).contains(&id.len()) && id.bytes().all(good)
}

fn seconds(text: &str) -> Option<i64> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    // In UTC it may be of another year, which then could not be written.
    let time = time.checked_to_offset(UtcOffset::UTC)?;
    (0..=9999)
        .contains(&time.year())
        .then_some(time.unix_timestamp())
}

/// What is no JSON, or a field of no key, or a value of a wrong type, in the words in which the gateway tells it of a
/// document that has this key.
fn problems_of_form(line: &[u8]) -> Vec<String> {
    if serde_json::from_slice::<serde_json::Value>(line).is_err() {
        return vec!["is not valid JSON".to_owned()];
    }
    let document = [br#"{"keys":["#, line, b"]}"].concat();
    match Document::parse(&document) {
        Ok(_) => vec!["is not a key".to_owned()],
        Err(problems) => {
            let told = problems.0.iter().map(|problem| {
                let text = problem.to_string();
                let of_key = text.strip_prefix("keys[0]").unwrap_or(&text);
                of_key.trim_start_matches(['.', ':', ' ']).to_owned()
            });
            told.collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: &str = "BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn read(more: &str) -> Result<(Digest, Key), Vec<String>> {
        let line = format!(r#"{{"id":"k:1","sha256":"{SHA}","group":"g.1"{more}}}"#);
        parse(line.as_bytes(), &mut Groups::default())
    }

    #[test]
    fn good_keys() {
        let cases = [
            ("", None, false),
            (r#","disabled":true"#, None, true),
            (r#","disabled":null,"expires_at":null"#, None, false),
            (
                r#","expires_at":"2027-01-01T00:00:00Z""#,
                Some("2027-01-01T00:00:00Z"),
                false,
            ),
            (
                r#","expires_at":"2027-01-01T01:00:00.9+02:00""#,
                Some("2026-12-31T23:00:00Z"),
                false,
            ),
            (
                r#","expires_at":"0000-01-01T00:00:00Z""#,
                Some("0000-01-01T00:00:00Z"),
                false,
            ),
        ];
        for (more, expiry, disabled) in cases {
            let (digest, key) = read(more).unwrap();
            assert_eq!(hex::encode(digest), SHA.to_lowercase(), "{more}");
            assert_eq!((&*key.id, &*key.group), ("k:1", "g.1"), "{more}");
            assert_eq!(
                (key.expiry().as_deref(), key.disabled),
                (expiry, disabled),
                "{more}"
            );
        }
    }

    #[test]
    fn bad_keys() {
        let cases = [
            ("x", vec!["must be a JSON object"]),
            (r#"["k","ab","g"]"#, vec!["must be a JSON object"]),
            (r#"{"id":"k"} {}"#, vec!["is not valid JSON"]),
            (r#"{"id":"#, vec!["is not valid JSON"]),
            (
                "{}",
                vec![
                    "sha256: must be the 64 hexadecimal digits of the key's SHA-256",
                    "id: is missing",
                    "group: is missing",
                ],
            ),
            ("7", vec!["must be a JSON object"]),
            (
                r#"{"id":"secret value","sha256":"ab","group":"","expires_at":"0000-01-01T00:00:00+01:00"}"#,
                vec![
                    "sha256: must be the 64 hexadecimal digits of the key's SHA-256",
                    "id: must be 1 to 64 letters, digits or any of - _ . :",
                    "group: must be 1 to 64 letters, digits or any of - _ . :",
                    "expires_at: must be a time such as \"2027-01-01T00:00:00Z\"",
                ],
            ),
            (
                r#"{"key":"secret","disabled":"secret"}"#,
                vec![
                    "disabled: expected a boolean",
                    "key: unknown field `key` (known: `id`, `sha256`, `group`, `expires_at`, `disabled`)",
                ],
            ),
        ];
        for (line, want) in cases {
            let got = parse(line.as_bytes(), &mut Groups::default()).unwrap_err();
            assert_eq!(got, want, "{line}");
        }
    }
}
