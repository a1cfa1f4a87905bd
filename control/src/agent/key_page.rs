//! A page of the console's feed of keys.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use trilane::config::error::Problems;
use trilane::feed::page::Page;

/// A page.
#[derive(Debug, Deserialize)]
pub struct KeyFeedPage {
    /// The version that the feed has.
    pub version: u64,
    /// The cursor of the next page.
    pub cursor: String,
    /// Whether there is another one already.
    pub more: bool,
    /// Keys, and removals of keys.
    pub changes: Vec<KeyChange>,
}

/// A key, or that one was removed. Members that this release does not know are not sent to it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyChange {
    #[serde(rename = "version", skip_serializing)]
    _version: u64,
    /// The digest.
    pub sha256: String,
    /// Whether it was removed; then there is nothing else.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub removed: bool,
    /// The id.
    pub id: Option<String>,
    /// The id of its group.
    pub group: Option<String>,
    /// The owner that it belongs to.
    pub owner: Option<String>,
    /// The team that it belongs to.
    pub team: Option<String>,
    /// The id of the key in whose counters its limits count.
    pub counts_as: Option<String>,
    /// The models of its group that it may use.
    pub models: Option<Box<RawValue>>,
    /// The final multiplier of its requests.
    pub multiplier: Option<String>,
    /// The time at which the key expires, as RFC 3339.
    pub expires_at: Option<String>,
    /// Whether it is disabled.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub disabled: bool,
    /// The limits of the key: a JSON object.
    pub limits: Option<Box<RawValue>>,
}

impl KeyChange {
    /// Returns it as a feed tells it, but for its version, which is another one there.
    pub fn told(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(members)) => {
                let members = members.into_iter();
                members.filter(|(_, value)| !value.is_null()).collect()
            }
            _ => Map::new(),
        }
    }
}

impl KeyFeedPage {
    /// Reads one.
    ///
    /// # Errors
    /// It is none, or the gateway would refuse it: one bad key would keep all others from it.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let refused = |problems: Problems| format!("a page of keys is refused: {problems}");
        Page::parse(text).map_err(refused)?;
        let wrong = |error: serde_json::Error| {
            format!(
                "a page of keys cannot be read (column {}): is the console of a later release?",
                error.column()
            )
        };
        serde_json::from_slice(text).map_err(wrong)
    }
}
