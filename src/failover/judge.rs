//! The judgement on an answer in its account's cluster, before Envoy decides whether it asks another account.
//!
//! | answer | is held | is a failure of the account |
//! |---|---|---|
//! | 400, 401, 403, 404, 429 | whole, up to [`MAX_ANSWER`] | where its words tell a [fault](crate::ledger::AccountFault), or its status does |
//! | 200, event stream | until its first event that is no preamble, up to [`MAX_PREAMBLE`] | where that event is an error of the account's, or none comes |
//! | 200 with nothing in it | no | always |
//! | any other | no | as its status says |
//!
//! Whoever holds an answer lets it go after [`MOST_HELD`], judged or not.

mod event;

use core::time::Duration;

use super::fault::{MAX_ANSWER, ToldError, ToldFailure};
use crate::ledger::AttemptFailure;
use event::{Event, events};

/// Bytes of a stream in which its first event that is no preamble must begin.
pub const MAX_PREAMBLE: usize = 64 << 10;
/// The time for which an answer is held at most.
pub const MOST_HELD: Duration = Duration::from_millis(300);

/// The judge of one answer. Envoy shows it only those that may be other than their status says.
///
/// The status is asked for only where it matters: it is dear to take out of Envoy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Judge {
    /// The kind of answer, once its status was asked for.
    kind: Option<Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// An error with this status.
    Words(u16),
    /// A stream.
    Preamble,
}

/// The judgement on an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// More of it must come.
    Held,
    /// It goes on.
    Passes,
    /// It goes on, as a failure of the account.
    Failed(ToldFailure),
}

impl Judge {
    /// The verdict on a head; `end` says that no body follows.
    pub fn on_head(end: bool, status: impl FnOnce() -> u16) -> Verdict {
        match end {
            false => Verdict::Held,
            true if status() == 200 => Verdict::Failed(AttemptFailure::ServerError.into()),
            true => Verdict::Passes,
        }
    }

    /// Bytes of a body to give to [`on_body`](Self::on_body), when `size` have come.
    pub fn reads(self, size: usize, end: bool) -> usize {
        match self.kind {
            Some(Kind::Words(_)) if !end && size <= MAX_ANSWER => 0,
            Some(Kind::Words(_)) => MAX_ANSWER.saturating_add(1),
            Some(Kind::Preamble) | None => MAX_PREAMBLE,
        }
    }

    /// The verdict on a body: `bytes` are all of it so far, or as many as are read; `end` says that no more follow.
    pub fn on_body(&mut self, bytes: &[u8], end: bool, status: impl FnOnce() -> u16) -> Verdict {
        if self.kind.is_none() {
            if bytes.is_empty() && !end {
                return Verdict::Held;
            }
            // No error that tells anything begins like this, so only a failure needs the status.
            if bytes.len() <= MAX_ANSWER && begins_as_stream(bytes) {
                let verdict = judge_stream(bytes, end);
                if !matches!(verdict, Verdict::Failed(_)) {
                    return verdict;
                }
            }
        }
        let kind = match self.kind {
            Some(kind) => kind,
            None => match status() {
                200 => Kind::Preamble,
                status if ToldError::may_be_told(status) => Kind::Words(status),
                _ => return Verdict::Passes,
            },
        };
        self.kind = Some(kind);
        match kind {
            Kind::Words(_) if !end && bytes.len() <= MAX_ANSWER => Verdict::Held,
            Kind::Words(status) => {
                ToldFailure::read(status, bytes).map_or(Verdict::Passes, Verdict::Failed)
            }
            Kind::Preamble => judge_stream(bytes, end),
        }
    }
}

/// Whether a body begins as an event stream does, and JSON never: with a comment, the name of a field, or an empty line.
fn begins_as_stream(bytes: &[u8]) -> bool {
    [&b"data:"[..], b"event:", b"id:", b"retry:", b":"]
        .iter()
        .any(|begin| bytes.starts_with(begin))
}

/// Judges a stream by its beginning.
fn judge_stream(bytes: &[u8], end: bool) -> Verdict {
    for event in events(bytes, end) {
        match event {
            Event::Preamble => {}
            Event::Failure(told) => return Verdict::Failed(told),
            Event::Other => return Verdict::Passes,
        }
    }
    if end {
        Verdict::Failed(AttemptFailure::ServerError.into())
    } else if bytes.len() >= MAX_PREAMBLE {
        Verdict::Passes
    } else {
        Verdict::Held
    }
}

#[cfg(test)]
mod tests;
