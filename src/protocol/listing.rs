//! Model lists, in the two shapes that serve three protocols.
//!
//! `GET /v1/models` is asked by the SDKs of A and of B, so its entries carry the fields of both;
//! either SDK ignores the other's. `GET /v1beta/models` has the shape of C.

use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::model::Model;
use crate::money::Multiplier;
use crate::protocol::Entry;

/// A model as one key sees it.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a> {
    /// The model.
    pub model: &'a Model,
    /// For a key of a Mixed group: the entry that serves the model, and the final multiplier.
    pub offer: Option<(Entry, Multiplier)>,
}

impl Listed<'_> {
    /// The entry of `GET /v1/models`, with the fields of protocols A and B.
    pub fn shared(&self) -> Value {
        let model = self.model;
        self.with_offer(json!({
            "id": model.id,
            "object": "model",
            "created": model.created,
            "owned_by": "trilane",
            "type": "model",
            "display_name": model.display_name,
            "created_at": timestamp(model.created),
            "lifecycle": "active",
        }))
    }

    /// The entry of `GET /v1beta/models`.
    pub fn generate(&self) -> Value {
        let model = self.model;
        self.with_offer(json!({
            "name": format!("models/{}", model.id),
            "displayName": model.display_name,
            "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
        }))
    }

    fn with_offer(&self, value: Value) -> Value {
        let (Some((entry, multiplier)), Value::Object(mut fields)) = (self.offer, value.clone())
        else {
            return value;
        };
        fields.insert("entry".to_owned(), entry.name().into());
        fields.insert("multiplier".to_owned(), multiplier.to_string().into());
        Value::Object(fields)
    }
}

/// The body of `GET /v1/models`: one page, in the envelope of both A and B.
pub fn shared_list(page: &[Listed<'_>], has_more: bool) -> Value {
    json!({
        "object": "list",
        "data": page.iter().map(Listed::shared).collect::<Vec<_>>(),
        "first_id": page.first().map(|listed| &listed.model.id),
        "last_id": page.last().map(|listed| &listed.model.id),
        "has_more": has_more,
    })
}

/// The body of `GET /v1beta/models`: one page, and the token of the next where there is one.
pub fn generate_list(page: &[Listed<'_>], has_more: bool) -> Value {
    let mut list = Map::new();
    let models = page.iter().map(Listed::generate).collect();
    list.insert("models".to_owned(), Value::Array(models));
    if let (true, Some(last)) = (has_more, page.last()) {
        list.insert("nextPageToken".to_owned(), last.model.id.as_str().into());
    }
    Value::Object(list)
}

fn timestamp(seconds: i64) -> String {
    OffsetDateTime::from_unix_timestamp(seconds)
        .ok()
        .and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_else(|| "1970-01-01T00:00:00Z".to_owned())
}
