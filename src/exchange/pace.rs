//! How many accounts a request may be sent to, and how long they may take.

use super::edits::{BOUNDS_HEADER, HeaderEdit, TRY_LIMIT_HEADER};
use crate::config::account::Accounts;

/// How far the tries of one request may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How many accounts may be asked.
    pub tries: usize,
    /// After when no further one is asked, in microseconds of the steady clock.
    pub until_us: u64,
}

impl Bounds {
    /// Reads what [`Self::write`] wrote.
    pub fn read(text: &[u8]) -> Option<Self> {
        let (tries, until_us) = core::str::from_utf8(text).ok()?.split_once(' ')?;
        Some(Self {
            tries: tries.parse().ok()?,
            until_us: until_us.parse().ok()?,
        })
    }

    /// The header's value.
    pub fn write(self) -> String {
        format!("{} {}", self.tries, self.until_us)
    }
}

/// The headers that tell Envoy and the filter of tries when to turn to another account, and until when.
pub(super) fn headers(accounts: &Accounts, stream: bool, began_us: u64) -> [HeaderEdit; 2] {
    let failover = &accounts.failover;
    let seconds = if stream {
        failover.stream_answer_seconds
    } else {
        failover.answer_seconds
    };
    let limit_ms = u64::from(seconds).saturating_mul(1000).to_string();
    let total_us = u64::from(failover.total_seconds).saturating_mul(1_000_000);
    let tries = usize::try_from(failover.tries).unwrap_or(usize::MAX);
    let bounds = Bounds {
        // None is asked twice for one request.
        tries: tries.min(accounts.accounts.len()),
        until_us: began_us.saturating_add(total_us),
    };
    [
        (TRY_LIMIT_HEADER, limit_ms),
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
            tries: 3,
            until_us: u64::MAX,
        };
        assert_eq!(Bounds::read(bounds.write().as_bytes()), Some(bounds));
        for text in ["", "3", "3 ", " 3", "a 3", "3 -1", "3 4 5", "\u{e9} 3"] {
            assert_eq!(Bounds::read(text.as_bytes()), None, "{text:?}");
        }
    }
}
