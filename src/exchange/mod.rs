//! One exchange, request and answer, as a state machine that knows nothing of Envoy.
//!
//! ```text
//!            head            chunk…            last chunk         answer's head
//!  Start ──► AwaitingModel ──► Forwarding ──────────────────────► Relaying ──► Done
//!    │            │                │                                 ▲
//!    └────────────┴────────────────┴──► Replied (we answered)        └ may come before the last chunk
//! ```
//!
//! A transition consumes the phase and gives the next one with an [`Outcome`], which
//! `filter::http` carries out. A call that a phase does not expect is passed or refused, never an
//! error: Envoy may abort, answer by itself or end a stream in every phase.

mod admission;
mod edits;
mod forward;
mod lists;
mod request;
mod response;
mod upload;

pub use edits::{BodyEdit, Edits, HeaderEdit};
pub use response::Origin;

use upload::Upload;

use crate::protocol::Dialect;
use crate::reply::{Rejection, Reply};

/// Where one exchange stands.
#[derive(Debug, Default)]
pub enum Phase {
    /// Nothing has come yet.
    #[default]
    Start,
    /// The key is good; the head is held because the body must say which model.
    AwaitingModel(Box<Upload>),
    /// The head is on its way upstream; the rest of the body is watched as it follows.
    Forwarding(Box<Upload>),
    /// An answer passes through; what is left of the request body is still watched.
    Relaying(Box<Upload>),
    /// We answered; the local reply passes untouched.
    Replied,
    /// Nothing more will come.
    Done,
}

/// What is to be done with what just came.
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

/// Who asked and in which words the answer must be written.
#[derive(Debug, Clone)]
struct Asker {
    dialect: Dialect,
    request_id: Option<String>,
}

impl Asker {
    fn refuse(&self, rejection: Rejection) -> (Phase, Outcome) {
        let reply = rejection.into_reply(self.dialect, self.request_id.as_deref());
        (Phase::Replied, Outcome::Reply(reply))
    }
}

#[cfg(test)]
mod tests;
