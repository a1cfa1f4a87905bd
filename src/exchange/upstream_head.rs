//! The changes to a request's head before it goes upstream.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

use super::authorization;
use super::edits::{CLUSTER_HEADER, HeaderEdit, PATH_HEADER};
use super::route::Route;
use super::stripped_headers::stripped;
use crate::config::base::without_version;
use crate::head::Head;
use crate::model::Model;
use crate::protocol::query::{PassingParameters, RequestTarget};
use crate::protocol::{Endpoint, Protocol, messages};

/// The capacity that suffices for the changes to most heads.
const USUAL_EDITS: usize = 8;

/// The headers by which a vendor tells a request that is sent again from another one.
const IDEMPOTENCY_HEADERS: [&str; 2] = ["idempotency-key", "x-idempotency-key"];

/// The changes to the head of a request, whichever source it goes to; `key` is the id of its API key, and `path` the path
/// upstream, before an account's own base.
pub(super) fn head_edits(
    head: &Head,
    target: &RequestTarget<'_>,
    endpoint: &Endpoint,
    key: &str,
    path: &[u8],
) -> Vec<HeaderEdit> {
    let mut headers: Vec<HeaderEdit> = Vec::with_capacity(USUAL_EDITS);
    for name in head.names().filter_map(stripped) {
        let mut idempotency = IDEMPOTENCY_HEADERS.into_iter();
        let edit = match idempotency.find(|known| **known == *name) {
            Some(name) => HeaderEdit::Set(name, idempotency_digest(key, head.values(name))),
            None => HeaderEdit::Remove(name),
        };
        if !headers.contains(&edit) {
            headers.push(edit);
        }
    }
    if path != target.path || target.query.is_some() {
        let passing = match endpoint.protocol() {
            Some(Protocol::C) => PassingParameters::AllButKey,
            _ => PassingParameters::Known,
        };
        let forwarded = target.rewritten(path, passing);
        if forwarded != head.target() {
            headers.push(HeaderEdit::Set(":path", forwarded));
        }
    }
    if asks_for_another_form(head) {
        headers.push(HeaderEdit::Set("accept", b"*/*".to_vec()));
    }
    if endpoint.protocol() == Some(Protocol::B) && !head.contains(messages::UPSTREAM_VERSION_HEADER)
    {
        // The authorization has seen that all version headers agree.
        let named = authorization::version(head).ok().flatten();
        let version = named.unwrap_or(messages::VERSION.as_bytes());
        headers.push(HeaderEdit::Set(
            messages::UPSTREAM_VERSION_HEADER,
            version.to_vec(),
        ));
    }
    headers
}

/// The changes that lead a request with `path` to its source.
///
/// The destination of a request to several accounts is decided when its head is released ([`SeveralAccounts`]).
///
/// [`SeveralAccounts`]: super::several_accounts::SeveralAccounts
pub(super) fn source_edits(route: &Route, path: &[u8]) -> [Option<HeaderEdit>; 2] {
    let source = &route.source;
    if source.alternatives().is_some() {
        return [None, None];
    }
    let cluster = HeaderEdit::Set(CLUSTER_HEADER, source.cluster.as_bytes().to_vec());
    let own_version = source.has_own_versions();
    let path = own_version.then(|| HeaderEdit::Set(PATH_HEADER, path_less_version(path)));
    [Some(cluster), path]
}

/// The idempotency key that goes upstream, in hexadecimal: all keys of a source share its account, where the same one of
/// another tenant would bring that one's response.
fn idempotency_digest<'a>(key: &str, values: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut hasher = Sha256::new();
    hasher.update(key);
    for value in values {
        // Neither an id nor a header's value holds this byte.
        hasher.update([0]);
        hasher.update(value);
    }
    hex::encode(hasher.finalize()).into_bytes()
}

/// The path upstream of a request for a model, before an account's own base.
pub(super) fn path_at(endpoint: &Endpoint, model: Option<&Model>) -> Option<Cow<'static, str>> {
    let upstream = model.and_then(|model| model.upstream.as_deref());
    endpoint.upstream_path(upstream.or(endpoint.path_model()).unwrap_or_default())
}

/// A path without its version, to be put behind an account's URL that has a version of its own.
pub(super) fn path_less_version(path: &[u8]) -> Vec<u8> {
    let text = core::str::from_utf8(path).map(without_version);
    text.map_or(path, str::as_bytes).to_vec()
}

/// Whether `accept` asks for an answer that the meter could not read. Google's APIs answer `application/x-protobuf` to
/// whoever accepts it. `*/*` takes its place, so that every upstream answers in its usual form.
fn asks_for_another_form(head: &Head) -> bool {
    head.values("accept")
        .any(|value| value != b"*/*" && value != b"application/json" && !is_readable(value))
}

/// Whether all media ranges of a list are read by the meter, or are left to the upstream.
fn is_readable(list: &[u8]) -> bool {
    const READ: [&[u8]; 6] = [
        b"*/*",
        b"application/json",
        b"text/event-stream",
        b"application/*",
        b"text/*",
        b"text/plain",
    ];
    list.split(|&b| b == b',').all(|range| {
        let mut parts = range.split(|&b| b == b';').map(<[u8]>::trim_ascii);
        let kind = parts.next().unwrap_or_default();
        let weight = |parameter: &[u8]| matches!(parameter, [b'q' | b'Q', b'=', ..]);
        READ.iter().any(|read| kind.eq_ignore_ascii_case(read)) && parts.all(weight)
    })
}
