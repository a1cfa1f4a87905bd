//! What a database has of a key, checked once more before a page gives it: a gateway refuses a whole page for one bad key.

use trilane::config::document::{KeyDocument, LimitsDocument};
use trilane::config::key::CheckedKey;

use super::page_error::PageError;

/// Whether a gateway accepts this as an owner.
pub fn is_owner(text: &str) -> bool {
    (1..=128).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// A key's limits in the form of a document. The database refuses others; if that was bypassed, the key must not be served
/// without its limits.
///
/// # Errors
/// The limits are invalid, so there is no page.
pub fn stored_limits(sha256: &str, id: &str, group: &str, text: &str) -> Result<String, PageError> {
    let bad = |problem: &str| PageError::Unready(format!("the key {id} is not good: {problem}"));
    let limits: LimitsDocument =
        serde_json::from_str(text).map_err(|_| bad("limits: are not as in a document"))?;
    let written = serde_json::to_string(&limits).unwrap_or_default();
    let key = KeyDocument {
        id: Some(id.to_owned()),
        sha256: Some(sha256.to_owned()),
        group: Some(group.to_owned()),
        limits: Some(limits),
        ..KeyDocument::default()
    };
    CheckedKey::of(&key).map_err(|problems| bad(&problems.to_string()))?;
    Ok(written)
}
