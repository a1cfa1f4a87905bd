//! Facts that a request tells in its head: method and path, session, client and labels.
//!
//! The ledger has these texts, so each is bounded, whatever a client sends.

use std::borrow::Cow;

use smol_str::{SmolStr, SmolStrBuilder};

use crate::config::labels::Label;
use crate::head::{Head, Occurrence};
use crate::ledger::RequestLabels;
use crate::protocol::query::RequestTarget;
use crate::protocol::{Endpoint, EndpointSpec, Mismatch, Protocol, match_request};

/// Longest path that is kept, in characters: ours are shorter, with any model's name in them.
const MAX_PATH: usize = 256;
/// Longest method that is kept, in characters: of those that HTTP knows the longest has 17.
const MAX_METHOD: usize = 32;
/// The mark in place of the rest of a text.
const CUT: char = '…';

/// The request line. Known once the head was read.
#[derive(Debug)]
pub(super) struct RequestLine {
    /// The method, and no more than [`MAX_METHOD`] characters of it.
    pub method: SmolStr,
    /// The path, without its query, and no more than [`MAX_PATH`] characters of it.
    pub path: SmolStr,
    /// The endpoint that method and path ask for.
    pub endpoint: Result<Endpoint, Mismatch>,
}

impl RequestLine {
    /// Reads method and path.
    pub(super) fn new(head: &Head, target: &RequestTarget<'_>) -> Self {
        Self {
            method: excerpt(head.method(), MAX_METHOD),
            path: excerpt(target.path, MAX_PATH),
            endpoint: match_request(head.method(), target.path),
        }
    }

    /// The line of a preflight.
    pub(super) fn of_preflight(self) -> Self {
        Self {
            endpoint: Ok(Endpoint::Preflight),
            ..self
        }
    }

    /// Whether it only asks if somebody is there: `GET` or `HEAD /healthz`, and `HEAD /`, which coding agents send at
    /// their start; or what a browser may send.
    pub(super) fn is_probe(&self) -> bool {
        matches!(self.endpoint, Ok(Endpoint::Health | Endpoint::Preflight))
            || (self.path == "/" && self.method == "HEAD")
    }

    /// The protocol that the path belongs to, where it tells.
    pub(super) fn protocol(&self) -> Option<Protocol> {
        match &self.endpoint {
            Ok(endpoint) => endpoint.protocol(),
            Err(mismatch) => mismatch.protocol(),
        }
    }

    /// Returns the fixed properties of the endpoint, where there is one.
    pub(super) fn spec(&self) -> Option<&'static EndpointSpec> {
        self.endpoint.as_ref().ok().map(Endpoint::spec)
    }
}

/// Of a request whose head never came.
impl Default for RequestLine {
    fn default() -> Self {
        Self {
            method: SmolStr::default(),
            path: SmolStr::default(),
            endpoint: Err(Mismatch::UnknownPath {
                protocol: None,
                advice: None,
            }),
        }
    }
}

/// Text with at most `most` characters, then [`CUT`] where there is more, and with a sign in place of whatever is not UTF-8.
// Nearly all of it is short and UTF-8, and to see that takes far less than to look for what is not.
fn excerpt(bytes: &[u8], most: usize) -> SmolStr {
    // No character has more bytes than this, so what is behind them is not looked at.
    let first = bytes
        .get(..most.saturating_add(1).saturating_mul(4))
        .unwrap_or(bytes);
    let text = match core::str::from_utf8(first) {
        Ok(text) if text.len() <= most => return text.into(),
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(first),
    };
    match text.char_indices().nth(most) {
        Some((end, _)) => text
            .get(..end)
            .into_iter()
            .flat_map(str::chars)
            .chain([CUT])
            .collect(),
        None => text.into(),
    }
}

/// The longest name of a client, in bytes.
const LONGEST_CLIENT: usize = 32;
/// The most digits of a part of a version.
const MOST_DIGITS: usize = 6;
/// The longest session, and the longest value of a label, in bytes.
const LONGEST: usize = 64;

/// Reads the client, the session and the labels that a request names; `None` for none of them.
pub(super) fn request_labels(head: &Head, labels: &[Label]) -> Option<Box<RequestLabels>> {
    let of_header = |label: &Label| match head.single(&label.header) {
        Occurrence::Once(value) => Some((label.name.clone(), value_of(value)?)),
        Occurrence::Absent | Occurrence::Repeated => None,
    };
    let found = RequestLabels {
        client: head.get("user-agent").and_then(client),
        session: session(head).and_then(plain_session),
        labels: labels.iter().filter_map(of_header).collect(),
    };
    (!found.is_empty()).then(|| Box::new(found))
}

/// The first product of a `user-agent` (RFC 9110, section 10.1.5), with the first two parts of its version. SDKs write
/// `OpenAI/Python 1.52.0`: what stands behind the `/` is a part of the name there.
fn client(agent: &[u8]) -> Option<SmolStr> {
    let mut words = agent.split(|byte| matches!(byte, b' ' | b'(' | b';' | b','));
    let product = words.next()?;
    let mut parts = product.splitn(2, |byte| *byte == b'/');
    let name = plain(parts.next()?)?;
    let rest = parts.next().unwrap_or_default();
    // Without `format!`, which costs more than all the rest of this.
    let mut written = SmolStrBuilder::new();
    written.push_str(name);
    let found = version(rest).or_else(|| {
        if let Some(more) = plain(rest) {
            written.push('-');
            written.push_str(more);
        }
        words.next().and_then(version)
    });
    if let Some(version) = found {
        written.push('/');
        written.push_str(version);
    }
    Some(written.finish())
}

/// The letters, digits, `.`, `_` and `-` that a text begins with, and no more than [`LONGEST_CLIENT`]; `None` for none.
fn plain(text: &[u8]) -> Option<&str> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    let length = text.iter().take_while(|byte| is_plain(byte)).count();
    let plain = text.get(..length.min(LONGEST_CLIENT))?;
    let plain = core::str::from_utf8(plain).ok()?;
    (!plain.is_empty()).then_some(plain)
}

/// The first two parts of a version: `2.1` of `2.1.37-beta`; `None` where no digit stands first.
fn version(text: &[u8]) -> Option<&str> {
    let text = text.strip_prefix(b"v").unwrap_or(text);
    let digits = |text: &[u8]| {
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
        digits.take(MOST_DIGITS).count()
    };
    let major = digits(text);
    if major == 0 {
        return None;
    }
    let minor = match text.get(major..) {
        Some([b'.', rest @ ..]) => digits(rest),
        _ => 0,
    };
    let length = if minor == 0 {
        major
    } else {
        major.saturating_add(1).saturating_add(minor)
    };
    core::str::from_utf8(text.get(..length)?).ok()
}

/// A session as agents write it. One that is longer, or has other signs, is left out.
fn plain_session(value: &[u8]) -> Option<SmolStr> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    let is_session = value.len() <= LONGEST && value.iter().all(is_plain);
    let text = core::str::from_utf8(value).ok().filter(|_| is_session)?;
    Some(text.into())
}

/// The value of a label: its first [`LONGEST`] bytes, with `_` in place of what is no printable ASCII; `None` where it is blank.
fn value_of(value: &[u8]) -> Option<SmolStr> {
    let value = value.trim_ascii();
    let printable = |byte: &u8| match byte {
        b' '..=b'~' => char::from(*byte),
        _ => '_',
    };
    (!value.is_empty()).then(|| value.iter().take(LONGEST).map(printable).collect())
}

/// The headers in which agents name their session, in the order in which they are looked at.
const SESSION_HEADERS: [&str; 4] = [
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "x-session-id",
];

/// The session that a request names.
pub(super) fn session(head: &Head) -> Option<&[u8]> {
    SESSION_HEADERS
        .into_iter()
        .find_map(|name| match head.single(name) {
            Occurrence::Once(value) if !value.is_empty() => Some(value),
            _ => None,
        })
}

#[cfg(test)]
mod tests;
