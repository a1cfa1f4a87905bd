//! In which protocol's words a local reply is written, and which request it answers.

use smol_str::SmolStr;

use crate::head::Head;
use crate::protocol::{Dialect, Protocol};
use crate::reply::{Rejection, Reply};

/// What a local reply needs to know of its request.
#[derive(Debug, Clone)]
pub(super) struct ReplyContext {
    /// The shape of its body.
    pub dialect: Dialect,
    /// The id of the request.
    pub request_id: Option<SmolStr>,
}

impl ReplyContext {
    /// Of a request of `protocol`, or of one whose path does not tell its protocol.
    pub(super) fn new(protocol: Option<Protocol>, head: &Head) -> Self {
        Self {
            dialect: Dialect::of(protocol, head),
            request_id: head.get("x-request-id").and_then(plain_id),
        }
    }

    /// The reply that says why a request is rejected.
    pub(super) fn reject(&self, rejection: Rejection) -> Reply {
        rejection.into_reply(self.dialect, self.request_id.as_deref())
    }
}

/// Of a request that nothing is known of.
impl Default for ReplyContext {
    fn default() -> Self {
        Self {
            dialect: Dialect::Shared(Protocol::A),
            request_id: None,
        }
    }
}

/// An id that is safe to repeat in a header.
fn plain_id(value: &[u8]) -> Option<SmolStr> {
    let good = |b: &u8| b.is_ascii_alphanumeric() || b"-_.:".contains(b);
    let plain = !value.is_empty() && value.len() <= 128 && value.iter().all(good);
    let text = core::str::from_utf8(value).ok().filter(|_| plain)?;
    Some(text.into())
}
