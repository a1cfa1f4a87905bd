//! The reasons that a console did not do what it was asked.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::terminal::printable;

/// A finding with its place.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct PlacedFinding {
    /// The path in the document.
    pub path: String,
    /// The finding, in words.
    pub reason: String,
}

/// The kind of a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiFault {
    /// There is no such thing, or it is not this person's.
    NotFound,
    /// The person may not do it, or the token.
    Forbidden,
    /// Another one.
    Other,
}

/// The reason that a console did not do what it was asked. No text has a credential.
#[derive(Debug)]
pub struct ApiError {
    /// Its kind.
    pub fault: ApiFault,
    /// In words, with what to do.
    pub text: String,
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self::Data(error.text)
    }
}

/// The members of a problem details object (RFC 9457) that are told.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ApiProblem {
    #[serde(default)]
    pub detail: String,
    #[serde(default)]
    problems: Vec<PlacedFinding>,
}

impl ApiProblem {
    /// Its words: each place with its fault, or else the whole.
    pub fn words(&self) -> String {
        if self.problems.is_empty() {
            return printable(&self.detail);
        }
        let problems = self.problems.iter().map(|problem| {
            let text = format!("{}: {}", problem.path, problem.reason);
            printable(text.trim_start_matches(": "))
        });
        problems.collect::<Vec<_>>().join("; ")
    }
}
