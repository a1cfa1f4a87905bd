//! The configuration document as written: a mirror of its JSON, without meaning.
//!
//! Every field is optional here, so that reading finds only wrong types and unknown fields, and
//! [`super::compile()`] can name everything that is missing or does not fit together in one go.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::Problems;

/// The whole document.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Whether protocol C may send its key as the query parameter `key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_key: Option<bool>,
    /// How many bytes of a request body are held while the model is looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inspect_window: Option<u64>,
    /// The longest request body, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_body: Option<u64>,
    /// The currency of all prices, for records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<GroupDocument>>,
    /// The account keys, by digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<KeyDocument>>,
}

/// A group: a source of one protocol, or a Mixed group over such sources.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: policy.rs"
)]
pub struct GroupDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplier: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accounts: Option<Vec<AccountDocument>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_generation: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count_tokens: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_resources: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_usage: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<BTreeMap<String, EntryDocument>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<Vec<ModelDocument>>,
}

/// An upstream account of a source group.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: account.rs"
)]
pub struct AccountDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
}

/// When another account is tried, and how long a failing one is set aside.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: account.rs"
)]
pub struct FailoverDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tries: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_answer_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_aside_seconds: Option<u32>,
}

/// One entry of a Mixed group.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: policy.rs"
)]
pub struct EntryDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_multiplier: Option<String>,
}

/// A model of a source group, or the reference to one in a Mixed group.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: catalog.rs"
)]
pub struct ModelDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aliases: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_dated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entitled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<PricesDocument>,
}

/// The prices of a model: decimals in strings, per million tokens and per image.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: usage.rs, prices.rs"
)]
pub struct PricesDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_5m: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// An account key: never its value, only the SHA-256 digest of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(
    missing_docs,
    reason = "the fields are documented where they get their meaning: record.rs"
)]
pub struct KeyDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
}

/// How many problems of form are listed before the rest is left unsaid.
const MAX_PROBLEMS: usize = 100;

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    /// Bytes that are no JSON give one problem. JSON of another form gives every unknown field and
    /// every value of a wrong type (the first 100). No value of the document is quoted: an operator
    /// may have put a secret in a wrong place.
    pub fn parse(bytes: &[u8]) -> Result<Self, Problems> {
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let first = match serde_path_to_error::deserialize(&mut reader) {
            Ok(document) => match reader.end() {
                Ok(()) => return Ok(document),
                Err(error) => return Err(not_json(&error)),
            },
            Err(error) => error,
        };
        match serde_json::from_slice::<Value>(bytes) {
            Err(error) => Err(not_json(&error)),
            Ok(value) => Err(problems_of_form(value, &first)),
        }
    }

    /// This document without its keys: what the policy snapshot carries.
    pub fn without_keys(&self) -> Self {
        Self {
            keys: None,
            groups: self.groups.clone(),
            currency: self.currency.clone(),
            ..*self
        }
    }
}

fn not_json(error: &serde_json::Error) -> Problems {
    let mut problems = Problems::default();
    problems.push(
        "",
        format!(
            "is not valid JSON (line {}, column {})",
            error.line(),
            error.column()
        ),
    );
    problems
}

/// Finds every problem of form: reads, notes where reading failed, takes that place out, reads on.
fn problems_of_form(
    mut value: Value,
    first: &serde_path_to_error::Error<serde_json::Error>,
) -> Problems {
    let mut problems = Problems::default();
    while problems.0.len() < MAX_PROBLEMS {
        let Err(error) = serde_path_to_error::deserialize::<_, Document>(&value) else {
            break;
        };
        let path = error.path().to_string();
        let taken_out = take_out(&mut value, error.path());
        problems.push(path, without_values(&error.inner().to_string()));
        if !taken_out {
            break;
        }
    }
    // A field written twice is an error in the text that the parsed value no longer shows.
    if problems.is_empty() {
        problems.push(
            first.path().to_string(),
            without_values(&first.inner().to_string()),
        );
    }
    problems
}

/// Removes what stands at `path`; false where nothing does.
fn take_out(value: &mut Value, path: &serde_path_to_error::Path) -> bool {
    use serde_path_to_error::Segment;
    let mut segments: Vec<&Segment> = path.iter().collect();
    let Some(last) = segments.pop() else {
        return false;
    };
    let mut place = value;
    for segment in segments {
        let next = match segment {
            Segment::Map { key } => place.get_mut(key.as_str()),
            Segment::Seq { index } => place.get_mut(*index),
            _ => None,
        };
        match next {
            Some(next) => place = next,
            None => return false,
        }
    }
    match (last, place) {
        (Segment::Map { key }, Value::Object(map)) => map.remove(key).is_some(),
        // Taking an element out would shift the paths of those behind it.
        (Segment::Seq { index }, Value::Array(list)) => {
            list.get_mut(*index).is_some_and(|element| {
                !core::mem::replace(element, Value::Object(serde_json::Map::new())).is_object()
            })
        }
        _ => false,
    }
}

/// serde's message, less the value it quotes: `invalid type: string "x", expected a boolean`.
fn without_values(message: &str) -> String {
    let message = message
        .split_once(" at line ")
        .map_or(message, |(text, _)| text);
    match message.split_once(", expected ") {
        Some((found, expected)) if !found.starts_with("unknown field") => {
            format!("expected {expected}")
        }
        Some((found, expected)) => format!(
            "{found} (known: {})",
            expected.trim_start_matches("one of ")
        ),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        match Document::parse(text.as_bytes()) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn all_problems_of_form_are_listed() {
        let text = r#"{
            "groupz": [],
            "query_key": "yes",
            "groups": [{"id": 7, "naem": "x", "models": [{"id": "m", "aliases": "a"}, 3]}, 5],
            "keys": [{"id": "k", "disabled": "sk-secret"}]
        }"#;
        let got = problems(text);
        for want in [
            "groupz: unknown field `groupz`",
            "query_key: expected a boolean",
            "groups[0].id: expected a string",
            "groups[0].naem: unknown field `naem`",
            "groups[0].models[0].aliases: expected a sequence",
            "groups[0].models[1]: expected struct ModelDocument",
            "groups[1]: expected struct GroupDocument",
            "keys[0].disabled: expected a boolean",
        ] {
            assert!(
                got.iter().any(|p| p.starts_with(want)),
                "{want} is not among {got:#?}"
            );
        }
        assert!(got.iter().all(|p| !p.contains("sk-secret")), "{got:#?}");
        assert_eq!(got.len(), 8, "{got:#?}");
    }

    #[test]
    fn text_that_is_not_json() {
        let cases = [
            ("empty", ""),
            ("cut", r#"{"groups": ["#),
            ("trailing", "{} {}"),
        ];
        for (case, text) in cases {
            let got = problems(text);
            assert_eq!(got.len(), 1, "{case}: {got:?}");
            assert!(
                got[0].starts_with("is not valid JSON (line "),
                "{case}: {got:?}"
            );
        }
    }

    #[test]
    fn a_field_written_twice() {
        let got = problems(r#"{"groups": [], "groups": []}"#);
        assert_eq!(got.len(), 1, "{got:?}");
        assert!(got[0].contains("duplicate field `groups`"), "{got:?}");
    }
}
