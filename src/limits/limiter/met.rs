//! What keeps a request out, where several subjects do.

use super::Refused;
use crate::limits::Scope;
use crate::limits::counters::Full;

/// The limit that a request meets, and whose it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Met {
    pub scope: Scope,
    pub full: Full,
}

impl Met {
    /// What both together say.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let scope = if other.full.rank() >= self.full.rank() {
            other.scope
        } else {
            self.scope
        };
        let full = self.full.and(other.full);
        Self { scope, full }
    }

    /// What is answered then.
    pub fn refused(self) -> Refused {
        let Full { limit, wait_us } = self.full;
        Refused::Full {
            scope: self.scope,
            limit,
            wait_us,
        }
    }
}
