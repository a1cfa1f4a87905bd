//! What leaves of a request's head, and what no upstream may see of it.

use std::borrow::Cow;

use super::admission;
use super::affinity::affinity;
use super::edits::{AFFINITY_HEADER, CLUSTER_HEADER, Edits, HeaderEdit, INTERNAL_PREFIX};
use crate::auth::credential;
use crate::head::Head;
use crate::lane::Protocol;
use crate::protocol::query::Target;
use crate::protocol::{Endpoint, messages};
use crate::routing::Route;

/// Headers that stay here, beside credentials and this gateway's own.
const KEPT_BACK: [&str; 9] = [
    // What comes back must be readable for the meter.
    "accept-encoding",
    // Of the client and this gateway, not of the upstream.
    "cookie",
    // What makes some upstreams serve another method or path than the one that was judged.
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
    // What chooses a tenant within the upstream account, which is ours to choose.
    "openai-organization",
    "openai-project",
    "x-goog-user-project",
];

/// How many changes there are to most heads, at the most.
const USUAL_EDITS: usize = 8;

/// The name, where a header of this name stays here.
fn kept_back(name: &[u8]) -> Option<Cow<'static, str>> {
    let mut named = credential::HEADERS.iter().chain(&KEPT_BACK);
    if let Some(known) = named.find(|known| known.as_bytes() == name) {
        return Some(Cow::Borrowed(known));
    }
    let ours = name.starts_with(INTERNAL_PREFIX.as_bytes());
    ours.then(|| Cow::Owned(String::from_utf8_lossy(name).into_owned()))
}

/// The changes to the head of a request that takes `route` for the key with the id `key`;
/// `upstream_model` is the model's name in the upstream's path, where the path has one.
pub(super) fn head_edits(
    head: &Head,
    target: &Target<'_>,
    endpoint: &Endpoint,
    route: &Route,
    key: &str,
    upstream_model: &str,
) -> Edits {
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
    if path != target.path || target.query.is_some() {
        let forwarded = target.rewritten(path);
        if forwarded != head.target() {
            headers.push(HeaderEdit::Set(":path", forwarded));
        }
    }
    if endpoint.protocol() == Some(Protocol::B) && !head.contains(messages::UPSTREAM_VERSION_HEADER)
    {
        // The admission has seen that all version headers agree.
        let named = admission::version(head).ok().flatten();
        let version = named.unwrap_or(messages::VERSION.as_bytes());
        headers.push(HeaderEdit::Set(
            messages::UPSTREAM_VERSION_HEADER,
            version.to_vec(),
        ));
    }
    Edits {
        headers,
        ..Edits::default()
    }
}
