//! Headers of a request on its way upstream, and those that stay here: of a request those that may hold a credential, the
//! client's address, an order to another method, path, tenant or model, or a mask for the answer; of an answer those that only
//! this gateway may say, those that name our account at the upstream, and those that lead a client, or a proxy on its way, past
//! this gateway.
//!
//! A name is judged by its words, which stand between `-`, `_` and `.`, not by a list of names: `ocp-apim-subscription-key`
//! and `x-next-years-api-key` are credentials because they end in `key`. What the rules take away too much costs a client
//! nothing, for no vendor's API needs such a header from it; what they leave could cost the operator.
//!
//! | what | words |
//! |---|---|
//! | credentials | [`is_credential`] |
//! | addresses | `ip`, `addr`, `forwarded`, `remote`, `via`, `geo`, … |
//! | another method or path | `method`, `override`, `original`, `rewrite`, `url`, `uri`, `path`, `host` behind another word, … |
//! | another tenant, route or model | `organization`, `project`, `account`, `tenant`, `route`, `upstream`, `model`, `provider`, … |
//! | another request's answer | `idempotency`, …: one that is known goes on as a digest |
//! | another form of answer | `fieldmask`, `fields`, `range`, `prefer`, `accept-…` but for `accept-language`; first word `if` |
//! | orders to gateways and clouds | first word (behind `x-`) `litellm`, `portkey`, `cf`, `helicone`, `amz`, `ms`, `goog`, `envoy`, … |

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

use super::outcome::{CLUSTER_HEADER, HeaderEdit, PATH_HEADER};
use super::route::Route;
use crate::config::base::without_version;
use crate::head::Head;
use crate::model::Model;
use crate::protocol::credential_name::{is_credential, words};
use crate::protocol::limits::speaks_of_limits;
use crate::protocol::parameters::PassingParameters;
use crate::protocol::query::RequestTarget;
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
        let named = messages::version(head).ok().flatten();
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
/// [`SeveralAccounts`]: super::dispatch::SeveralAccounts
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

/// Headers that most requests have and that stay here. To name them takes no memory.
const USUAL: [&str; 6] = [
    "authorization",
    "accept-encoding",
    "x-api-key",
    "x-goog-api-key",
    "x-vc-api-key",
    "cookie",
];

/// The name, where a header of a request stays here. `name` is in lower case.
fn stripped(name: &[u8]) -> Option<Cow<'static, str>> {
    if !is_stripped(name) {
        return None;
    }
    let usual = USUAL.iter().find(|usual| usual.as_bytes() == name);
    Some(match usual {
        Some(usual) => Cow::Borrowed(*usual),
        None => Cow::Owned(String::from_utf8_lossy(name).into_owned()),
    })
}

/// Whether a header of a request stays here. `name` is in lower case.
fn is_stripped(name: &[u8]) -> bool {
    if is_usual(name) {
        return false;
    }
    let mut before: &[u8] = &[];
    name.split(|byte| matches!(byte, b'-' | b'_' | b'.'))
        .any(|word| {
            // `x-` says nothing.
            let first = matches!(before, [] | [b'x']);
            let found =
                is_credential(before, word) || is_order(before, word) || (first && is_family(word));
            before = word;
            found
        })
}

/// Whether a header goes on without a look at its words: pseudo-headers, which are the request line, and what nearly every
/// request has. Envoy itself sets x-forwarded-proto and x-envoy-internal, in place of a client's.
#[inline]
fn is_usual(name: &[u8]) -> bool {
    if name.first().is_none_or(|first| *first == b':') {
        return true;
    }
    match name.len() {
        4 => name == b"host",
        6 => name == b"accept",
        10 => name == b"user-agent",
        12 => name == b"content-type" || name == b"x-request-id",
        14 => name == b"content-length" || name == b"x-stainless-os",
        15 => name == b"accept-language",
        16 => {
            name == b"x-stainless-lang"
                || name == b"x-stainless-arch"
                || name == b"x-envoy-internal"
        }
        17 => {
            name == b"x-forwarded-proto"
                || name == b"anthropic-version"
                || name == b"x-goog-api-client"
        }
        19 => name == b"x-stainless-runtime",
        23 => name == b"x-stainless-retry-count",
        24 => name == b"x-stainless-read-timeout",
        27 => name == b"x-stainless-runtime-version" || name == b"x-stainless-package-version",
        _ => false,
    }
}

/// Whether a word says that the value is an address, or an order to another method, path, tenant, model or form of answer.
#[inline]
fn is_order(before: &[u8], word: &[u8]) -> bool {
    match word {
        // The client's address.
        b"ip" | b"ipv4" | b"ipv6" | b"ipaddress" | b"ipaddr" | b"clientip" | b"realip" | b"remoteip" | b"userip"
        | b"sourceip" | b"ipcountry" | b"addr" | b"address" | b"remoteaddr" | b"clientaddr" | b"forwarded"
        | b"forwardedfor" | b"remote" | b"via" | b"geo" | b"geoip"
        // Another method or path than the one that was judged.
        | b"httpmethod" | b"override" | b"original" | b"rewrite" | b"rewritten" | b"redirect" | b"url"
        | b"uri" | b"path" | b"baseurl"
        // A tenant or a way within the upstream account, which is ours to choose.
        | b"organization" | b"org" | b"project" | b"account" | b"tenant" | b"workspace" | b"route" | b"router"
        | b"routing" | b"upstream" | b"backend" | b"cluster" | b"target" | b"endpoint" | b"gateway" | b"deployment"
        | b"provider" | b"profile" | b"model"
        // Another request's response: one that is known goes on as a digest.
        | b"idempotency" | b"idempotencykey" | b"idempotent"
        // Another form of answer: parts of it, in another charset, or later.
        | b"fieldmask" | b"fields" | b"mask" | b"range" | b"prefer" => true,
        b"host" => !before.is_empty(),
        // x-stainless-helper-method tells which function of an SDK was called.
        b"method" => before != b"helper",
        _ => before == b"accept",
    }
}

/// Whether names that begin with this word, behind an `x-` or not, are orders to a gateway, a cloud or a proxy.
#[inline]
fn is_family(word: &[u8]) -> bool {
    matches!(
        word,
        // This gateway and its Envoy.
        b"trilane" | b"envoy"
        // Conditions on the answer: none is kept here that could be compared, and no 304 is one.
        | b"if"
        // Clouds.
        | b"goog" | b"google" | b"amz" | b"amzn" | b"aws" | b"ms" | b"azure" | b"arr" | b"apim" | b"ocp" | b"appengine"
        | b"appgw" | b"vertex" | b"vercel"
        // Networks before a server.
        | b"cf" | b"cloudflare" | b"cloudfront" | b"fastly" | b"akamai" | b"incap" | b"sucuri" | b"proxy" | b"real"
        | b"accel" | b"nginx" | b"kong" | b"consumer" | b"anonymous" | b"apisix" | b"tyk" | b"istio" | b"traefik"
        // Gateways of models.
        | b"litellm" | b"portkey" | b"helicone" | b"bf" | b"bt" | b"tfy" | b"higress" | b"eg"
    )
}

/// Whether a header of an upstream's answer stays here: one that speaks of our account there (its name, its limits, its
/// cookies and other credentials), one that leads past this gateway, or that is a word of this gateway or of Envoy, which
/// clients and further proxies would believe. `name` is in lower case.
pub fn is_withheld(name: &[u8]) -> bool {
    if matches!(name, [b':', ..]) {
        return false;
    }
    let mut before: &[u8] = &[];
    speaks_of_limits(name)
        || name.starts_with(b"x-envoy-")
        || name.starts_with(b"x-trilane-")
        || speaks_for_an_origin(name)
        || words(name).any(|word| {
            let found = is_credential(before, word)
                || leads_elsewhere(before, word)
                || names_an_account(before, word);
            before = word;
            found
        })
}

/// Whether a word of an answer's header says that the value is an address or a file: a client or a proxy would go there,
/// perhaps with its key in its hands.
#[inline]
fn leads_elsewhere(before: &[u8], word: &[u8]) -> bool {
    match word {
        b"location" | b"refresh" | b"redirect" | b"url" | b"uri" | b"link" | b"links" | b"href"
        | b"asyncoperation" => true,
        // To files and hosts that a web server before us would take in the answer's place.
        b"sendfile" | b"reproxy" | b"sourcemap" => true,
        b"file" => before == b"send",
        b"svc" => before == b"alt",
        _ => before == b"accel",
    }
}

/// Whether a word of an answer's header says that the value names the account, or a part of it.
#[inline]
fn names_an_account(before: &[u8], word: &[u8]) -> bool {
    match word {
        b"organization" | b"organisation" | b"org" | b"project" | b"account" | b"tenant"
        | b"workspace" | b"subscription" | b"deployment" => true,
        // A gateway behind this one, at which address it asks.
        b"base" => before == b"api",
        _ => false,
    }
}

/// Whether a header of an answer speaks to browsers or proxies for the whole origin, which is this gateway's, or asks them to
/// report elsewhere what they did there.
fn speaks_for_an_origin(name: &[u8]) -> bool {
    match name.first() {
        Some(b'a') => name.starts_with(b"access-control-"),
        Some(b'c') => {
            name.starts_with(b"content-security-policy")
                || name.starts_with(b"cross-origin-")
                || name == b"clear-site-data"
        }
        Some(b'e') => name == b"expect-ct",
        Some(b'n') => name == b"nel",
        Some(b'o') => matches!(name, b"origin-agent-cluster" | b"origin-trial"),
        Some(b'p') => name.starts_with(b"public-key-pins") || name.starts_with(b"proxy-"),
        Some(b'r') => matches!(name, b"report-to" | b"reporting-endpoints"),
        Some(b's') => matches!(
            name,
            b"strict-transport-security" | b"service-worker-allowed" | b"speculation-rules"
        ),
        Some(b't') => name == b"timing-allow-origin",
        Some(b'x') => name == b"x-permitted-cross-domain-policies",
        _ => false,
    }
}

#[cfg(test)]
mod tests;
