//! A key of a file: a line of JSON in the form of a document's keys.

use std::sync::Arc;

use hashbrown::HashSet;
use serde::Deserialize;
use serde_json::Value;
use trilane::config::document::{KeyDocument, LimitsDocument};
use trilane::config::key::CheckedKey;
use trilane::config::{Problem, problems_of_key};

use crate::timestamp;

/// The SHA-256 digest of a key.
pub type Digest = [u8; 32];

/// A key of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileKey {
    /// Its id.
    pub id: Box<str>,
    /// The id of its group.
    pub group: Arc<str>,
    /// Its owner.
    pub owner: Option<Arc<str>>,
    /// The team that it belongs to.
    pub team: Option<Arc<str>>,
    /// The models of its group that it may use: a JSON list.
    pub models: Option<Arc<str>>,
    /// The final multiplier of its requests.
    pub multiplier: Option<Arc<str>>,
    /// When it expires: seconds since the Unix epoch, in the years 0 to 9999.
    pub expires_at: Option<i64>,
    /// Its limits: a JSON object in canonical form.
    pub limits: Option<Arc<str>>,
    /// Whether it is disabled.
    pub disabled: bool,
}

impl FileKey {
    /// [`FileKey::expires_at`] as RFC 3339.
    pub fn expiry(&self) -> Option<String> {
        timestamp::unix_text(self.expires_at?)
    }
}

/// Interned texts that many keys share: ids of groups, owners, limits and the like.
#[derive(Debug, Default)]
pub struct Texts(HashSet<Arc<str>>);

impl Texts {
    /// The text, shared by all keys that have it.
    fn common(&mut self, text: &str) -> Arc<str> {
        let known = self.0.get_or_insert_with(text, |text| Arc::from(text));
        Arc::clone(known)
    }
}

/// Reads a line.
///
/// # Errors
/// Everything that is wrong with it; no value is quoted.
pub fn parse(line: &[u8], texts: &mut Texts) -> Result<(Digest, FileKey), Vec<String>> {
    // serde would also take a list, for the fields in their order.
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err(vec!["must be a JSON object".to_owned()]);
    }
    let Ok(line_document) = serde_json::from_slice::<LineDocument>(line) else {
        return Err(problems_of_form(line));
    };
    let key = line_document.into_key();
    let meaning = CheckedKey::of(&key).map_err(|problems| {
        problems
            .0
            .iter()
            .map(Problem::to_string)
            .collect::<Vec<_>>()
    })?;
    if meaning
        .expires_at
        .is_some_and(|at| timestamp::unix_text(at).is_none())
    {
        let problem = "expires_at: must be a time of the years 0 to 9999 in UTC";
        return Err(vec![problem.to_owned()]);
    }
    let limits = key.limits.as_ref().map(serde_json::to_string);
    let models = key.models.as_ref().map(serde_json::to_string);
    let key = FileKey {
        id: key.id.unwrap_or_default().into_boxed_str(),
        group: texts.common(&key.group.unwrap_or_default()),
        owner: key.owner.map(|owner| texts.common(&owner)),
        team: key.team.map(|team| texts.common(&team)),
        models: models.map(|text| texts.common(&text.unwrap_or_default())),
        multiplier: key.multiplier.map(|text| texts.common(&text)),
        expires_at: meaning.expires_at,
        limits: limits.map(|text| texts.common(&text.unwrap_or_default())),
        disabled: key.disabled.unwrap_or(false),
    };
    Ok((*meaning.digest.bytes(), key))
}

/// A line as written: a key as in a document, and what stays here.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LineDocument {
    id: Option<String>,
    sha256: Option<String>,
    group: Option<String>,
    owner: Option<String>,
    team: Option<String>,
    models: Option<Vec<String>>,
    multiplier: Option<String>,
    expires_at: Option<String>,
    disabled: Option<bool>,
    limits: Option<LimitsDocument>,
    /// A note of whoever issued the key; no feed gives it.
    #[serde(rename = "label")]
    _label: Option<String>,
    /// When the key was made; no feed gives it.
    #[serde(rename = "created_at")]
    _created_at: Option<String>,
}

/// The members of a line that no key of a document has.
const KEPT: [&str; 2] = ["label", "created_at"];

impl LineDocument {
    fn into_key(self) -> KeyDocument {
        KeyDocument {
            id: self.id,
            sha256: self.sha256,
            group: self.group,
            owner: self.owner,
            team: self.team,
            models: self.models,
            multiplier: self.multiplier,
            expires_at: self.expires_at,
            disabled: self.disabled,
            limits: self.limits,
        }
    }
}

/// What is no JSON, or a field of no key, or a value of a wrong type, in the words in which the gateway tells it of a
/// document that has this key; and what is wrong with the rest of it.
fn problems_of_form(line: &[u8]) -> Vec<String> {
    let Ok(text) = str::from_utf8(line) else {
        return vec!["is not valid JSON".to_owned()];
    };
    let Ok(whole) = serde_json::from_slice::<Value>(line) else {
        return vec!["is not valid JSON".to_owned()];
    };
    let is_text = |value: &Value| value.is_string() || value.is_null();
    let no_text = KEPT
        .iter()
        .filter(|name| !whole.get(name).is_none_or(is_text));
    let mut told: Vec<String> = no_text
        .map(|name| format!("{name}: must be a string"))
        .collect();
    // A document has none of what stays here.
    let is_kept = |text: &String| {
        KEPT.iter()
            .any(|name| text.starts_with(&format!("{name}:")))
    };
    let of_key = problems_of_key(text).0;
    told.extend(
        of_key
            .iter()
            .map(Problem::to_string)
            .filter(|text| !is_kept(text)),
    );
    if told.is_empty() {
        told.push("is not a key".to_owned());
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: &str = "BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn read(more: &str) -> Result<(Digest, FileKey), Vec<String>> {
        let line = format!(r#"{{"id":"k:1","sha256":"{SHA}","group":"g.1"{more}}}"#);
        parse(line.as_bytes(), &mut Texts::default())
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
    fn years_that_cannot_be_written() {
        let line =
            |time: &str| read(&format!(r#","expires_at":"{time}""#)).map(|(_, key)| key.expiry());
        let bad = Err(vec![
            "expires_at: must be a time of the years 0 to 9999 in UTC".to_owned(),
        ]);
        assert_eq!(line("0000-01-01T00:00:00+01:00"), bad);
        assert_eq!(line("9999-12-31T23:59:59-01:00"), bad);
        let last = "9999-12-31T23:59:59Z";
        assert_eq!(line(last), Ok(Some(last.to_owned())));
    }

    #[test]
    fn an_owner_is_given_and_a_label_stays() {
        let [plain, owned, labelled] = [
            "",
            r#","owner":"sales""#,
            r#","label":"laptop","created_at":"2026-11-23T00:00:00Z""#,
        ]
        .map(|more| read(more).unwrap().1);
        assert_eq!(owned.owner.as_deref(), Some("sales"));
        assert_ne!(plain, owned);
        assert_eq!(plain, labelled, "nobody is told of a label");
    }

    #[test]
    fn limits_are_kept_as_they_mean() {
        let limits = |text: &str| read(&format!(r#","limits":{text}"#)).unwrap().1.limits;
        let cases = [
            (r"null", None),
            (
                r#"{"requests_per_minute":6}"#,
                Some(r#"{"requests_per_minute":6}"#),
            ),
            (
                r#"{ "budget" : {"spent":null, "per_day":"1.0"},"input_tokens_per_minute":null,"requests_per_minute":6}"#,
                Some(r#"{"requests_per_minute":6,"budget":{"per_day":"1.0"}}"#),
            ),
        ];
        for (text, want) in cases {
            assert_eq!(limits(text).as_deref(), want, "{text}");
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
                    "id: is missing",
                    "sha256: must be the 64 hexadecimal digits of the key's SHA-256",
                    "group: is missing",
                ],
            ),
            ("7", vec!["must be a JSON object"]),
            (
                r#"{"id":"secret value","sha256":"ab","group":"","expires_at":"secret","limits":{"requests_per_minute":0}}"#,
                vec![
                    "id: must be 1 to 64 letters, digits or any of - _ . :",
                    "sha256: must be the 64 hexadecimal digits of the key's SHA-256",
                    "group: must be 1 to 64 letters, digits or any of - _ . :",
                    "expires_at: must be a time such as \"2027-01-01T00:00:00Z\"",
                    "limits.requests_per_minute: must be between 1 and 1000000000 (leave it out for no limit; a key \
                     that may do nothing is disabled)",
                ],
            ),
            (
                r#"{"key":"secret","disabled":"secret","limits":{"requests_per_minute":"secret"}}"#,
                vec![
                    "disabled: must be true or false",
                    "key: unknown field `key` (known: `id`, `sha256`, `group`, `owner`, `team`, `models`, `multiplier`, `expires_at`, `disabled`, `limits`)",
                    "limits.requests_per_minute: must be a whole number from 0 to 4294967295",
                    "id: is missing",
                    "sha256: must be the 64 hexadecimal digits of the key's SHA-256",
                    "group: is missing",
                ],
            ),
            (
                r#"{"label":7,"created_at":"then","disabled":"secret"}"#,
                vec![
                    "label: must be a string",
                    "disabled: must be true or false",
                    "id: is missing",
                    "sha256: must be the 64 hexadecimal digits of the key's SHA-256",
                    "group: is missing",
                ],
            ),
        ];
        for (line, want) in cases {
            let got = parse(line.as_bytes(), &mut Texts::default()).unwrap_err();
            assert_eq!(got, want, "{line}");
        }
    }
}
