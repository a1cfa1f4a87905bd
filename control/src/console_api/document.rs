//! Documents of a console.

use serde::{Deserialize, Serialize};

use super::client::ConsoleApi;
use super::error::{ApiError, ApiFault, PlacedFinding};

/// A published document.
#[derive(Debug, Deserialize)]
pub struct PublishedDocument {
    /// Its version; 0: nothing is published.
    pub version: i64,
    /// Its text, as it was written.
    #[serde(default)]
    pub body: String,
}

/// The check of a document, beside what the console has.
#[derive(Debug, Deserialize)]
pub struct DocumentCheck {
    /// The version in force; 0: nothing is.
    pub in_force: i64,
    /// Whether gateways would take it.
    pub valid: bool,
    /// The reasons that they would not.
    pub problems: Vec<PlacedFinding>,
    /// The valid settings that look unintended.
    pub warnings: Vec<PlacedFinding>,
    /// The number of its groups.
    pub groups: usize,
    /// The number of its keys.
    pub keys: usize,
    /// The keys that gain or lose models.
    pub model_changes: Vec<ModelChange>,
    /// The keys for which prices change.
    #[serde(default)]
    pub price_changes: Vec<PriceChange>,
    /// The accounts whose credential the console does not keep; `None`: this person may not see credentials.
    pub missing_credentials: Option<Vec<MissingCredential>>,
}

/// Keys that gain and lose the same models.
#[derive(Debug, Deserialize)]
pub struct ModelChange {
    /// In a sentence.
    pub sentence: String,
}

/// Keys for which the price of a model changes alike.
#[derive(Debug, Deserialize)]
pub struct PriceChange {
    /// In a sentence.
    pub sentence: String,
}

/// An account whose credential the console does not keep.
#[derive(Debug, Deserialize)]
pub struct MissingCredential {
    group: String,
    account: String,
    credential: String,
    destination: Destination,
}

#[derive(Debug, Deserialize)]
struct Destination {
    url: String,
}

impl MissingCredential {
    /// As a finding.
    pub fn finding(&self) -> PlacedFinding {
        PlacedFinding {
            path: format!("account {}/{}", self.group, self.account),
            reason: format!(
                "the console keeps no credential {} for {}: give it on the page Vendors, unless the gateway's machine has it",
                self.credential, self.destination.url
            ),
        }
    }
}

impl DocumentCheck {
    /// All that look unintended, with the credentials that are missing.
    pub fn all_warnings(&self) -> Vec<PlacedFinding> {
        let missing = self.missing_credentials.iter().flatten();
        let missing = missing.map(MissingCredential::finding);
        self.warnings.iter().cloned().chain(missing).collect()
    }

    /// The keys that gain or lose models, and those that pay other prices, in sentences.
    pub fn changes(&self) -> Vec<String> {
        let models = self.model_changes.iter().map(|change| &change.sentence);
        let prices = self.price_changes.iter().map(|change| &change.sentence);
        models.chain(prices).cloned().collect()
    }
}

impl ConsoleApi {
    /// The document in force.
    ///
    /// # Errors
    /// The console does not give it.
    pub fn document_in_force(&self) -> Result<PublishedDocument, ApiError> {
        match self.get("/api/v1/documents/current") {
            Err(error) if error.fault == ApiFault::NotFound => Ok(PublishedDocument {
                version: 0,
                body: r#"{"groups": [], "keys": []}"#.to_owned(),
            }),
            found => found,
        }
    }

    /// Checks a document.
    ///
    /// # Errors
    /// The console does not check it.
    pub fn check_document(&self, body: &str) -> Result<DocumentCheck, ApiError> {
        #[derive(Serialize)]
        struct Asked<'a> {
            body: &'a str,
        }
        self.send_json("POST", "/api/v1/documents/check", &Asked { body })
    }
}
