//! The terms of a key from a database, checked again before a page serves it: a gateway rejects a whole page for one invalid key.

use trilane::config::document::{KeyDocument, LimitsDocument};
use trilane::config::key::CheckedKey;

use super::key::FeedKey;
use super::page_error::PageError;

/// Whether a gateway accepts this as an owner.
pub fn is_owner(text: &str) -> bool {
    (1..=128).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// The permissions and costs of a key, in the form of a document. The database rejects other forms; if that was bypassed, the
/// key must not be served without them.
#[derive(Debug, Clone, Default)]
pub struct StoredTerms {
    limits: Option<String>,
    models: Option<String>,
}

impl StoredTerms {
    /// Those of a key as it is stored.
    ///
    /// # Errors
    /// The terms are invalid, so there is no page.
    pub fn of(key: &FeedKey<'_>) -> Result<Self, PageError> {
        let FeedKey {
            team,
            counts_as,
            models,
            multiplier,
            limits,
            ..
        } = *key;
        if [team, counts_as, models, multiplier, limits]
            .iter()
            .all(Option::is_none)
        {
            return Ok(Self::default());
        }
        let bad = |problem: &str| {
            PageError::Unready(format!("the key {} is not good: {problem}", key.id))
        };
        let limits: Option<LimitsDocument> = limits
            .map(serde_json::from_str)
            .transpose()
            .map_err(|_| bad("limits: are not as in a document"))?;
        let models: Option<Vec<String>> = models
            .map(serde_json::from_str)
            .transpose()
            .map_err(|_| bad("models: are not as in a document"))?;
        let written = Self {
            limits: limits.as_ref().map(text),
            models: models.as_ref().map(text),
        };
        let document = KeyDocument {
            id: Some(key.id.to_owned()),
            sha256: Some(key.sha256.to_owned()),
            group: Some(key.group.to_owned()),
            team: team.map(str::to_owned),
            counts_as: counts_as.map(str::to_owned),
            multiplier: multiplier.map(str::to_owned),
            models,
            limits,
            ..KeyDocument::default()
        };
        CheckedKey::of(&document).map_err(|problems| bad(&problems.to_string()))?;
        Ok(written)
    }

    /// The key with them.
    pub fn put<'a>(&'a self, key: FeedKey<'a>) -> FeedKey<'a> {
        FeedKey {
            limits: self.limits.as_deref(),
            models: self.models.as_deref(),
            ..key
        }
    }
}

/// Texts and numbers, into memory: it cannot fail.
fn text<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
