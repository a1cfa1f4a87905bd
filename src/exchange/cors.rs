//! Answers that scripts of web pages may read (CORS), where the document lists the pages' origins.
//!
//! Before a script's request a browser sends a preflight, which has no key: `OPTIONS` with the method and the headers that are
//! meant. One from a listed origin to a path that takes the method is answered here. Every answer to a listed origin says that
//! its scripts may read it. An upstream's own word on that never passes ([`is_withheld`](super::is_withheld)).

use std::rc::Rc;

use super::environment::ResponseHeaders;
use super::outcome::{Edits, HeaderEdit};
use crate::config::Policy;
use crate::head::{Head, Occurrence};
use crate::protocol::match_request;
use crate::protocol::query::RequestTarget;
use crate::reply::{Reply, ReplyContext};

const ALLOW_ORIGIN: &str = "access-control-allow-origin";
const EXPOSE: &str = "access-control-expose-headers";
const VARY: &str = "vary";
const ORIGIN: &str = "origin";
/// The header of a request that says from which page it comes.
const REFERER: &str = "referer";

/// The headers of answers that scripts may read, beside the few that they always may: ids, what SDKs wait by, what the
/// gateway says, and what is left of limits.
const READABLE: &str = "x-request-id, request-id, retry-after, x-should-retry, x-trilane-error, x-trilane-detail, \
    x-trilane-budget-limit-day, x-trilane-budget-remaining-day, \
    x-trilane-budget-limit-month, x-trilane-budget-remaining-month, \
    x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, \
    x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens, \
    anthropic-ratelimit-requests-limit, anthropic-ratelimit-requests-remaining, anthropic-ratelimit-requests-reset, \
    anthropic-ratelimit-tokens-limit, anthropic-ratelimit-tokens-remaining, anthropic-ratelimit-tokens-reset, \
    anthropic-ratelimit-input-tokens-limit, anthropic-ratelimit-input-tokens-remaining, \
    anthropic-ratelimit-input-tokens-reset, \
    anthropic-ratelimit-output-tokens-limit, anthropic-ratelimit-output-tokens-remaining, \
    anthropic-ratelimit-output-tokens-reset";

/// For how many seconds a browser may remember the answer to a preflight: as long as Chromium does at most.
const MAX_AGE_S: &str = "7200";
/// The longest list of headers that a preflight may ask for, in bytes.
const LONGEST_LIST: usize = 4096;

/// The value of `access-control-allow-origin` for the answer to a request; `None` where it says nothing of its origin, or comes
/// from one that is not listed.
pub(super) fn allowed_origin(policy: &Policy, head: &Head) -> Option<Rc<str>> {
    let cors = policy.cors.as_ref()?;
    match head.single(ORIGIN) {
        Occurrence::Once(origin) => cors.allowed(origin),
        Occurrence::Absent | Occurrence::Repeated => None,
    }
}

/// The headers of a listed origin's request that an upstream gets to see nothing of: some refuse pages that they do not know.
pub(super) fn own_headers(policy: &Policy, head: &Head) -> impl Iterator<Item = HeaderEdit> {
    let is_listed = allowed_origin(policy, head).is_some();
    let names = [ORIGIN, REFERER].into_iter();
    let present = names.filter(move |name| is_listed && head.contains(name));
    present.map(|name| HeaderEdit::Remove(name.into()))
}

/// The answer to a preflight from a listed origin, for a method that its path takes; `None` for any other request.
pub(super) fn preflight(
    policy: &Policy,
    head: &Head,
    target: &RequestTarget<'_>,
    context: &ReplyContext,
) -> Option<Reply> {
    if head.method() != b"OPTIONS" {
        return None;
    }
    allowed_origin(policy, head)?;
    let Occurrence::Once(method) = head.single("access-control-request-method") else {
        return None;
    };
    // A method that an endpoint has is a plain one.
    match_request(method, target.path).ok()?;
    let method = core::str::from_utf8(method).ok()?;
    let headers = match head.single("access-control-request-headers") {
        Occurrence::Once(list) => plain_list(list).map(str::to_owned),
        Occurrence::Absent | Occurrence::Repeated => None,
    };
    let id = context.request_id.as_ref();
    let headers = [
        id.map(|id| ("x-request-id", id.to_string())),
        Some(("access-control-allow-methods", method.to_owned())),
        headers.map(|list| ("access-control-allow-headers", list)),
        Some(("access-control-max-age", MAX_AGE_S.to_owned())),
        Some((
            VARY,
            "access-control-request-method, access-control-request-headers".to_owned(),
        )),
    ];
    Some(Reply {
        status: 204,
        headers: headers.into_iter().flatten().collect(),
        body: Vec::new(),
    })
}

/// A list of names of headers, where it holds nothing else.
fn plain_list(list: &[u8]) -> Option<&str> {
    let is_name = |name: &[u8]| !name.is_empty() && name.iter().all(|b| is_token(*b));
    let mut names = list.split(|b| *b == b',').map(<[u8]>::trim_ascii);
    let plain = list.len() <= LONGEST_LIST && names.all(is_name);
    core::str::from_utf8(list).ok().filter(|_| plain)
}

/// Whether a byte may stand in the name of a header (RFC 9110).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Says in a reply that scripts of `origin` may read it.
pub(super) fn open_reply(reply: &mut Reply, origin: &str) {
    reply.headers.push((ALLOW_ORIGIN, origin.to_owned()));
    reply.headers.push((EXPOSE, READABLE.to_owned()));
    match reply.headers.iter_mut().find(|(name, _)| *name == VARY) {
        Some((_, varies)) => varies.push_str(", origin"),
        None => reply.headers.push((VARY, ORIGIN.to_owned())),
    }
}

/// Says in a response that scripts of `origin` may read it.
pub(super) fn open_response(edits: &mut Edits, origin: &str, head: &impl ResponseHeaders) {
    let set = |name, value: &str| HeaderEdit::Set(name, value.as_bytes().to_vec());
    edits.headers.push(set(ALLOW_ORIGIN, origin));
    edits.headers.push(set(EXPOSE, READABLE));
    let varies = head.header(VARY).unwrap_or_default();
    let mut named = varies.split(',').map(str::trim);
    if !named.any(|name| name == "*" || name.eq_ignore_ascii_case(ORIGIN)) {
        let joint = if varies.is_empty() { "" } else { ", " };
        edits
            .headers
            .push(set(VARY, &format!("{varies}{joint}{ORIGIN}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{BudgetBalance, Figures, Gauge};
    use crate::money::Amount;
    use crate::protocol::{Protocol, limits};

    #[test]
    fn what_is_left_of_limits_may_be_read() {
        let gauge = Some(Gauge {
            limit: 1,
            remaining: 1,
            reset_us: 1,
        });
        let balance = Some(BudgetBalance {
            budget: Amount::ZERO,
            remaining: Amount::ZERO,
            spent: Amount::ZERO,
        });
        let figures = Figures {
            requests: gauge,
            input_tokens: gauge,
            output_tokens: gauge,
            budgets: [balance; 2],
            at_us: 0,
        };
        let mut own: Vec<&str> = [Protocol::A, Protocol::B, Protocol::C]
            .iter()
            .flat_map(|protocol| limits::of(*protocol, &figures, None))
            .map(|(name, _)| name)
            .collect();
        own.extend([
            "x-request-id",
            "request-id",
            "retry-after",
            "x-trilane-error",
        ]);
        let readable: Vec<&str> = READABLE.split(", ").collect();
        for name in own {
            assert!(readable.contains(&name), "{name}");
        }
        for name in readable {
            assert!(name.bytes().all(is_token), "{name}");
        }
    }

    #[test]
    fn lists_of_headers() {
        let cases: [(&[u8], bool); 9] = [
            (b"authorization", true),
            (b"authorization,content-type", true),
            (b"x-api-key, anthropic-version", true),
            (b"", false),
            (b"a,,b", false),
            (b"a b", false),
            (b"a: b", false),
            (b"a\x7f", false),
            (b"\xc3\xa9", false),
        ];
        for (list, want) in cases {
            assert_eq!(plain_list(list).is_some(), want, "{}", list.escape_ascii());
        }
        let long = vec![b'x'; LONGEST_LIST + 1];
        assert_eq!(plain_list(&long), None);
    }
}
