//! How a request's head changes before it goes upstream.

use super::affinity::affinity;
use super::authorization;
use super::edits::{AFFINITY_HEADER, CLUSTER_HEADER, HeaderEdit, PATH_HEADER};
use super::kept_back::kept_back;
use super::route::Route;
use crate::config::base::without_version;
use crate::head::Head;
use crate::protocol::query::{Stripped, Target};
use crate::protocol::{Endpoint, Protocol, messages};

/// How many changes there are to most heads, at the most.
const USUAL_EDITS: usize = 8;

/// The changes to the head of a request that takes `route` for the key with the id `key`;
/// `upstream_model` is the model's name in the upstream's path, where the path has one.
pub(super) fn head_edits(
    head: &Head,
    target: &Target<'_>,
    endpoint: &Endpoint,
    route: &Route,
    key: &str,
    upstream_model: &str,
) -> Vec<HeaderEdit> {
    let mut headers: Vec<HeaderEdit> = Vec::with_capacity(USUAL_EDITS);
    for name in head.names().filter_map(kept_back) {
        let edit = HeaderEdit::Remove(name);
        if !headers.contains(&edit) {
            headers.push(edit);
        }
    }
    headers.push(HeaderEdit::Set(
        CLUSTER_HEADER,
        route.source.cluster.clone().into_bytes(),
    ));
    if route.source.alternatives().is_some() {
        let affinity = affinity(key, head).into_bytes();
        headers.push(HeaderEdit::Set(AFFINITY_HEADER, affinity));
    }
    let path = endpoint.upstream_path(upstream_model);
    let path = path.as_deref().map_or(target.path, str::as_bytes);
    if route.source.has_own_versions()
        && let Ok(path) = core::str::from_utf8(path)
    {
        let rest = without_version(path).as_bytes().to_vec();
        headers.push(HeaderEdit::Set(PATH_HEADER, rest));
    }
    if path != target.path || target.query.is_some() {
        let cut = match endpoint.protocol() {
            Some(Protocol::C) => Stripped::Key,
            _ => Stripped::Credentials,
        };
        let forwarded = target.rewritten(path, cut);
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
