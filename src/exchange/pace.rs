//! How many attempts a request may take at a source's accounts, and how long they may last.

use super::edits::{ATTEMPT_TIMEOUT_HEADER, BOUNDS_HEADER, HeaderEdit};
use crate::config::account::Accounts;

/// The bounds of one request's attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How many accounts may be asked.
    pub attempts: usize,
    /// After when no further one is asked, in microseconds of the steady clock.
    pub until_us: u64,
}

impl Bounds {
    /// Reads what [`Self::write`] wrote.
    pub fn read(text: &[u8]) -> Option<Self> {
        let (attempts, until_us) = core::str::from_utf8(text).ok()?.split_once(' ')?;
        Some(Self {
            attempts: attempts.parse().ok()?,
            until_us: until_us.parse().ok()?,
        })
    }

    /// The header's value.
    pub fn write(self) -> String {
        format!("{} {}", self.attempts, self.until_us)
    }
}

/// The headers that tell Envoy and the filter of attempts when to turn to another account, and until when.
pub(super) fn headers(accounts: &Accounts, stream: bool, began_us: u64) -> [HeaderEdit; 2] {
    let failover = &accounts.failover;
    let seconds = if stream {
        failover.stream_answer_seconds
    } else {
        failover.answer_seconds
    };
    let limit_ms = u64::from(seconds).saturating_mul(1000).to_string();
    let total_us = u64::from(failover.total_seconds).saturating_mul(1_000_000);
    let attempts = usize::try_from(failover.tries).unwrap_or(usize::MAX);
    let bounds = Bounds {
        // None is asked twice for one request.
        attempts: attempts.min(accounts.accounts.len()),
        until_us: began_us.saturating_add(total_us),
    };
    [
        (ATTEMPT_TIMEOUT_HEADER, limit_ms),
        (BOUNDS_HEADER, bounds.write()),
    ]
    .map(|(name, value)| HeaderEdit::Set(name, value.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_as_they_were_written() {
        let bounds = Bounds {
            attempts: 3,
            until_us: u64::MAX,
        };
        assert_eq!(Bounds::read(bounds.write().as_bytes()), Some(bounds));
        for text in ["", "3", "3 ", " 3", "a 3", "3 -1", "3 4 5", "\u{e9} 3"] {
            assert_eq!(Bounds::read(text.as_bytes()), None, "{text:?}");
        }
    }
}
