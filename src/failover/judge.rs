//! The judgement on an answer in its account's cluster, before Envoy decides whether it asks another account.
//!
//! | answer | is held | is a failure of the account |
//! |---|---|---|
//! | 400, 403, 404 | whole, up to [`MAX_ANSWER`] | where its words tell a [fault](crate::ledger::AccountFault), or its status does |
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

/// The judge of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Judge {
    /// The head has not come, or there is nothing to judge any more.
    #[default]
    Idle,
    /// An error with this status is held.
    Words(u16),
    /// A stream is held.
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
    /// The head has come; `end` says that no body follows.
    pub fn on_head(&mut self, status: u16, is_event_stream: bool, end: bool) -> Verdict {
        *self = match status {
            200 if end => return Verdict::Failed(AttemptFailure::ServerError.into()),
            200 if is_event_stream => Self::Preamble,
            _ if ToldError::may_be_told(status) && !end => Self::Words(status),
            _ => return Verdict::Passes,
        };
        Verdict::Held
    }

    /// Bytes of the body to give to [`on_body`](Self::on_body).
    pub fn reads(self) -> usize {
        match self {
            Self::Idle => 0,
            Self::Words(_) => MAX_ANSWER.saturating_add(1),
            Self::Preamble => MAX_PREAMBLE,
        }
    }

    /// More of the body has come: `bytes` are all of it so far, or as many as are read; `end` says that no more follow.
    pub fn on_body(&mut self, bytes: &[u8], end: bool) -> Verdict {
        let verdict = match *self {
            Self::Idle => return Verdict::Passes,
            Self::Words(_) if !end && bytes.len() <= MAX_ANSWER => return Verdict::Held,
            Self::Words(status) => {
                ToldFailure::read(status, bytes).map_or(Verdict::Passes, Verdict::Failed)
            }
            Self::Preamble => judge_stream(bytes, end),
        };
        if verdict != Verdict::Held {
            *self = Self::Idle;
        }
        verdict
    }

    /// The time for holding is over.
    pub fn let_go(&mut self) {
        *self = Self::Idle;
    }
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
