//! Problems, warnings and notes about a document and the files that it names. They never quote those files.

use serde::Serialize;

/// All findings of a pass.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Errors: nothing is written while there is one.
    pub problems: Vec<String>,
    /// Something is missing, and an account serves nothing until it is there.
    pub warnings: Vec<String>,
    /// Something is allowed, but looks unintended.
    pub notes: Vec<String>,
}

impl Findings {
    /// The findings that are not among `before`.
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
