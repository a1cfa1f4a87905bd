//! A message for a webhook.

use serde_json::{Map, Value, json};
use time::OffsetDateTime;

use crate::secret;
use crate::store::StoreError;
use crate::timestamp;

/// A message that is not in the database yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The id of the message, which no other has.
    pub id: String,
    /// The JSON: `id`, `type`, `at`, and the facts.
    pub body: String,
}

impl NewMessage {
    /// One of this type, with these facts.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn new(
        of_type: &str,
        facts: &[(&str, Value)],
        now: OffsetDateTime,
    ) -> Result<Self, StoreError> {
        let id = format!("event_{}", secret::new_id().map_err(StoreError::Value)?);
        let head = [
            ("id", json!(id)),
            ("type", json!(of_type)),
            ("at", json!(timestamp::text(now))),
        ];
        let all = head.iter().chain(facts);
        let body: Map<String, Value> = all
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        Ok(Self {
            id,
            body: Value::Object(body).to_string(),
        })
    }
}
