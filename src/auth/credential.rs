//! Credentials: in which headers an API key may come, and when one counts as sent.

use core::fmt;

use crate::head::{Head, Occurrence};
use crate::keys::KeyDigest;
use crate::protocol::Protocol;
use crate::protocol::query::RequestTarget;
use crate::protocol::{Endpoint, generate, messages, responses};

/// The longest API key, in bytes.
pub const MAX_KEY_BYTES: usize = 256;

/// The form in which a client presents its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialForm {
    /// `authorization: Bearer <key>` (RFC 6750, section 2.1; the scheme in any case).
    Bearer,
    /// `x-api-key: <key>`.
    XApiKey,
    /// `x-vc-api-key: <key>` or `x-goog-api-key: <key>`.
    VcApiKey,
    /// The query parameter `key`.
    Query,
}

/// An API key as sent. It is never shown: `Debug` prints nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(Vec<u8>);

impl ApiKey {
    /// The digest by which the key's record is found.
    pub fn digest(&self) -> KeyDigest {
        KeyDigest::of(&self.0)
    }

    /// A key is 1 to 256 visible ASCII characters. A comma is none of them: Envoy joins repeated
    /// headers with it.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let good = |b: &u8| b.is_ascii_graphic() && *b != b',';
        (!bytes.is_empty() && bytes.len() <= MAX_KEY_BYTES && bytes.iter().all(good))
            .then(|| Self(bytes.to_vec()))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

/// The credential that a request presents in one form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PresentedCredential {
    /// Nothing.
    Absent,
    /// Something that is no key: empty, repeated, too long, not visible ASCII, another scheme, or
    /// two different keys.
    Malformed,
    /// A key.
    Key(ApiKey),
}

impl CredentialForm {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Bearer, Self::XApiKey, Self::VcApiKey, Self::Query];

    /// The forms an endpoint looks at, in the order in which they are tried.
    ///
    /// The first is the protocol's own; on B, Bearer is what current SDKs send, and only counts for
    /// groups that say so. On `/v1/models` all three protocols ask.
    pub fn of(endpoint: &Endpoint) -> &'static [Self] {
        match endpoint.protocol() {
            Some(Protocol::A) => &[Self::Bearer],
            Some(Protocol::B) => &[Self::XApiKey, Self::Bearer],
            Some(Protocol::C) => &[Self::VcApiKey, Self::Query],
            None => &[Self::XApiKey, Self::VcApiKey, Self::Bearer],
        }
    }

    /// The name of the header in which the request presents something in this form, as it wrote it; `query` for the
    /// parameter.
    pub fn place(self, head: &Head) -> &'static str {
        match self {
            Self::Bearer => responses::KEY_HEADER,
            Self::XApiKey => messages::KEY_HEADER,
            Self::VcApiKey => {
                let mut names = generate::KEY_HEADERS.into_iter();
                names.find(|name| head.contains(name)).unwrap_or_default()
            }
            Self::Query => "query",
        }
    }

    /// Reads what the request presents in this form.
    pub fn read(self, head: &Head, target: &RequestTarget<'_>) -> PresentedCredential {
        match self {
            Self::Bearer => match head.single(responses::KEY_HEADER) {
                Occurrence::Once(value) => bearer(value).into(),
                other => from_header(other),
            },
            Self::XApiKey => from_header(head.single(messages::KEY_HEADER)),
            Self::VcApiKey => agreed(
                generate::KEY_HEADERS
                    .iter()
                    .map(|name| from_header(head.single(name))),
            ),
            Self::Query => agreed(target.keys().map(|value| ApiKey::parse(&value).into())),
        }
    }
}

impl From<Option<ApiKey>> for PresentedCredential {
    fn from(key: Option<ApiKey>) -> Self {
        key.map_or(Self::Malformed, Self::Key)
    }
}

fn from_header(occurrence: Occurrence<'_>) -> PresentedCredential {
    match occurrence {
        Occurrence::Absent => PresentedCredential::Absent,
        Occurrence::Once(value) => ApiKey::parse(value).into(),
        Occurrence::Repeated => PresentedCredential::Malformed,
    }
}

fn bearer(value: &[u8]) -> Option<ApiKey> {
    let (scheme, rest) = value.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"bearer") || rest.first() != Some(&b' ') {
        return None;
    }
    ApiKey::parse(rest.trim_ascii())
}

/// Several places for one key: those that hold something must hold the same.
fn agreed(mut places: impl Iterator<Item = PresentedCredential>) -> PresentedCredential {
    places
        .try_fold(PresentedCredential::Absent, |so_far, next| {
            match (so_far, next) {
                (_, PresentedCredential::Malformed) => Err(()),
                (so_far, PresentedCredential::Absent) => Ok(so_far),
                (PresentedCredential::Key(a), PresentedCredential::Key(b)) if a != b => Err(()),
                (_, next) => Ok(next),
            }
        })
        .unwrap_or(PresentedCredential::Malformed)
}

#[cfg(test)]
mod tests;
