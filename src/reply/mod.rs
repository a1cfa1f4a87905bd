//! Local replies: why a request is rejected, and the reply that says so in its protocol's words.

mod context;
mod message;
mod rejection;

pub use context::ReplyContext;
pub use rejection::{GroupProtocol, Rejection};

use serde_json::Value;

use crate::limits::Limit;
use crate::protocol::Protocol;
use crate::protocol::{Dialect, ErrorFacts};

/// The header with a sentence on what the body does not say: where a valid key should have stood, which path its group
/// takes, or which query parameters did not go on.
pub const DETAIL_HEADER: &str = "x-trilane-detail";

/// A response that the gateway gives itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The headers; values are visible ASCII.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Rejection {
    /// The reply, in the shape of `dialect`.
    pub fn into_reply(self, dialect: Dialect, request_id: Option<&str>) -> Reply {
        let status = self.status();
        let facts = ErrorFacts {
            status,
            code: self.code(),
            message: &self.message(dialect.protocol()),
            param: self.param(),
            request_id,
            quota: self.quota(),
        };
        let mut reply = Reply::json(status, &dialect.error_body(&facts), dialect, request_id);
        reply
            .headers
            .push(("x-trilane-error", facts.code.to_owned()));
        if let Some(detail) = self.detail(dialect.protocol()) {
            reply.headers.push((DETAIL_HEADER, detail.to_owned()));
        }
        if self.is_final() {
            reply.headers.push(("x-should-retry", "false".to_owned()));
        }
        match self {
            Self::WrongMethod { allow } => reply.headers.push(("allow", allow.to_owned())),
            Self::NotReady | Self::NotCounted => {
                reply.headers.push(("retry-after", "1".to_owned()));
            }
            // Nothing has to be waited for, and the SDKs of A and B try once more at once.
            Self::UsageOptionRefused => {
                reply.headers.push(("retry-after", "0".to_owned()));
                reply.headers.push(("x-should-retry", "true".to_owned()));
            }
            // Each refusal has a line too, which takes of the room that is left.
            Self::LedgerUnwritable => reply.headers.push(("retry-after", "5".to_owned())),
            // Clients would sleep on it without a word, until the day or the month is over. The message says when.
            Self::LimitReached {
                limit: Limit::Budget(_),
                ..
            } => {}
            Self::LimitReached { retry_after_s, .. }
            | Self::ServiceLimit { retry_after_s }
            | Self::AccountsLimited { retry_after_s } => {
                reply
                    .headers
                    .push(("retry-after", retry_after_s.to_string()));
            }
            _ => {}
        }
        reply
    }
}

impl Reply {
    /// A JSON reply with the ids that clients of the dialect look for.
    pub fn json(status: u16, body: &Value, dialect: Dialect, request_id: Option<&str>) -> Self {
        // A value of strings and numbers can always be written.
        let body = serde_json::to_vec(body).unwrap_or_default();
        Self::written(status, body, dialect, request_id)
    }

    /// The same with a body that is JSON already.
    pub fn written(status: u16, body: Vec<u8>, dialect: Dialect, request_id: Option<&str>) -> Self {
        let mut headers = vec![("content-type", "application/json".to_owned())];
        if let Some(id) = request_id {
            headers.push(("x-request-id", id.to_owned()));
            if matches!(dialect, Dialect::Native(Protocol::B) | Dialect::Shared(_)) {
                headers.push(("request-id", id.to_owned()));
            }
        }
        Self {
            status,
            headers,
            body,
        }
    }
}

#[cfg(test)]
mod tests;
