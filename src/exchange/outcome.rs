//! Next step for the part of the exchange that just came.

use super::edits::Edits;
use crate::reply::Reply;

/// The next step for the part of the exchange that just came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Let it go on, changed like this.
    Continue(Edits),
    /// Hold it, with what was held before.
    Pause,
    /// Answer now.
    Reply(Reply),
}

impl Outcome {
    /// Let it go on unchanged.
    pub fn pass() -> Self {
        Self::Continue(Edits::default())
    }
}
