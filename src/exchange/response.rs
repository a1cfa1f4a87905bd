//! The answer's side of the state machine.

use super::{Outcome, Phase};
use crate::reply::Rejection;

/// Who made the answer that comes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The upstream.
    Upstream,
    /// Envoy itself: no connection, reset, timeout, no healthy host, no credential, …
    Envoy,
}

impl Phase {
    /// The answer's head has come. `origin` is only asked for errors.
    pub fn on_response_head(self, status: u16, origin: impl FnOnce() -> Origin) -> (Self, Outcome) {
        let upload = match self {
            Self::AwaitingModel(upload) | Self::Forwarding(upload) | Self::Relaying(upload) => {
                upload
            }
            // Our own local reply, or Envoy's before the filter saw a head.
            other @ (Self::Start | Self::Replied | Self::Done) => return (other, Outcome::pass()),
        };
        if status < 400 {
            return (Self::Relaying(upload), Outcome::pass());
        }
        match failure(status, origin()) {
            Some(rejection) => upload.asker.refuse(rejection),
            None => (Self::Relaying(upload), Outcome::pass()),
        }
    }
}

/// What an error means to the client, where that is not what the upstream said.
fn failure(status: u16, origin: Origin) -> Option<Rejection> {
    match (origin, status) {
        (Origin::Upstream, 401) => Some(Rejection::UpstreamFailed),
        (Origin::Upstream, 403) => Some(Rejection::UpstreamForbade),
        (Origin::Upstream, _) => None,
        // The client's own doing, which Envoy's configuration words: too large, too slow.
        (Origin::Envoy, 400 | 408 | 413 | 431) => None,
        (Origin::Envoy, _) => Some(Rejection::UpstreamFailed),
    }
}
