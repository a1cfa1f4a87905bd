//! The place of a key in a request.

use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use trilane::config::policy::{Group, GroupKind};
use trilane::protocol::Protocol;

/// A place for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialPlace {
    /// authorization: Bearer
    Authorization,
    /// x-api-key
    XApiKey,
    /// x-goog-api-key
    XGoogApiKey,
    /// x-vc-api-key
    XVcApiKey,
    /// The query parameter key
    Query,
}

impl CredentialPlace {
    /// The protocol's own place.
    pub fn of(protocol: Protocol) -> Self {
        match protocol {
            Protocol::A => Self::Authorization,
            Protocol::B => Self::XApiKey,
            Protocol::C => Self::XGoogApiKey,
        }
    }

    /// The header's name, if it is one.
    pub fn header(self) -> Option<&'static str> {
        match self {
            Self::Authorization => Some("authorization"),
            Self::XApiKey => Some("x-api-key"),
            Self::XGoogApiKey => Some("x-goog-api-key"),
            Self::XVcApiKey => Some("x-vc-api-key"),
            Self::Query => None,
        }
    }

    /// Puts a key there: into the headers, or at the end of `target`.
    pub fn put(self, key: &[u8], target: &mut Vec<u8>, headers: &mut Vec<(String, Vec<u8>)>) {
        let Some(name) = self.header() else {
            let mark = if target.contains(&b'?') { b'&' } else { b'?' };
            target.push(mark);
            let key = percent_encode(key, NON_ALPHANUMERIC);
            target.extend_from_slice(format!("key={key}").as_bytes());
            return;
        };
        let scheme: &[u8] = if self == Self::Authorization {
            b"Bearer "
        } else {
            b""
        };
        headers.push((name.to_owned(), [scheme, key].concat()));
    }
}

/// The default protocol of a group's keys: its own, and A for a Mixed group.
pub fn protocol_of(group: Option<&Group>) -> Protocol {
    match group.map(|group| &group.kind) {
        Some(GroupKind::Source(source)) => source.protocol,
        Some(GroupKind::Mixed(_)) | None => Protocol::A,
    }
}
