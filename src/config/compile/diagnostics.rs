//! Findings of compiling: every problem and every warning, each with its path in the document.

use crate::config::error::{Problem, Problems};

/// The problems and warnings found so far.
#[derive(Debug, Default)]
pub(super) struct Diagnostics {
    /// The errors: nothing of a document that has one takes effect.
    pub problems: Problems,
    /// Settings that are allowed yet look unintended.
    pub warnings: Problems,
}

impl Diagnostics {
    /// The warnings, where there is no problem.
    ///
    /// # Errors
    /// The problems.
    pub(super) fn finish(self) -> Result<Vec<Problem>, Problems> {
        if self.problems.is_empty() {
            Ok(self.warnings.0)
        } else {
            Err(self.problems)
        }
    }
}
