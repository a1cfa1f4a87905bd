//! What compiling finds: every problem and every warning, each with its path in the document.

use crate::config::error::{Problem, Problems};

/// The problems and warnings found so far.
#[derive(Debug, Default)]
pub(super) struct Diagnostics {
    /// What is wrong: nothing of a document with a problem comes into force.
    pub problems: Problems,
    /// What is allowed yet looks unintended.
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
