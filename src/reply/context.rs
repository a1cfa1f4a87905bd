//! In which protocol's words a local reply is written, and which request it answers.

use smol_str::SmolStr;

use super::{DETAIL_HEADER, Rejection, Reply};
use crate::head::Head;
use crate::protocol::query::RequestTarget;
use crate::protocol::{Dialect, Endpoint, Protocol, parameters};

/// The facts of a request that a local reply needs.
#[derive(Debug, Clone)]
pub struct ReplyContext {
    /// The shape of its body.
    pub dialect: Dialect,
    /// The id of the request.
    pub request_id: Option<SmolStr>,
    /// The sentence on query parameters that did not go on. Few requests have one.
    left_out: Option<Box<str>>,
}

impl ReplyContext {
    /// Of a request of `protocol`, or of one whose path does not tell its protocol.
    pub fn new(protocol: Option<Protocol>, head: &Head) -> Self {
        Self {
            dialect: Dialect::of(protocol, head),
            request_id: head.get("x-request-id").and_then(plain_id),
            left_out: None,
        }
    }

    /// The same of a request that goes on, without the query parameters that protocols A and B do not know.
    pub fn with_left_out(self, endpoint: &Endpoint, target: &RequestTarget<'_>) -> Self {
        if endpoint.protocol() == Some(Protocol::C) {
            return self;
        }
        Self {
            left_out: parameters::left_out(target).map(Into::into),
            ..self
        }
    }

    /// The reply that says why a request is rejected.
    pub fn reject(&self, rejection: Rejection) -> Reply {
        let mut reply = rejection.into_reply(self.dialect, self.request_id.as_deref());
        let is_told = reply.headers.iter().any(|(name, _)| *name == DETAIL_HEADER);
        if let Some(left_out) = self.left_out.as_deref().filter(|_| !is_told) {
            reply.headers.push((DETAIL_HEADER, left_out.to_owned()));
        }
        reply
    }

    /// The header of an upstream's response that says what of the request did not go on.
    pub fn detail(&self) -> Option<(&'static str, &str)> {
        Some((DETAIL_HEADER, self.left_out.as_deref()?))
    }
}

/// Of a request that nothing is known of.
impl Default for ReplyContext {
    fn default() -> Self {
        Self {
            dialect: Dialect::Shared(Protocol::A),
            request_id: None,
            left_out: None,
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
