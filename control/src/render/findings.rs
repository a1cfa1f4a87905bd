//! What is to be said about a document and the files that it names. Never anything that is in those files.

use serde::Serialize;

/// All that was found.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Nothing may be written with one of these.
    pub problems: Vec<String>,
    /// Something is not there yet, and an account does not serve until it is.
    pub warnings: Vec<String>,
    /// Allowed, yet looks unintended.
    pub notes: Vec<String>,
}

impl Findings {
    /// What was not found before.
    pub fn without(&self, before: &Self) -> Self {
        let new = |now: &[String], before: &[String]| {
            let new = now.iter().filter(|text| !before.contains(text));
            new.cloned().collect()
        };
        Self {
            problems: new(&self.problems, &before.problems),
            warnings: new(&self.warnings, &before.warnings),
            notes: new(&self.notes, &before.notes),
        }
    }
}
