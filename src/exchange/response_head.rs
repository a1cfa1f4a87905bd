//! The decision on a response's head: which responses are relayed, and which a local reply replaces.

use super::admitted_request::AdmittedRequest;
use super::dispatch::SeveralAccounts;
use super::environment::{AccountStates, Clock, ResponseHeaders};
use super::limits::service_rejection;
use super::outcome::{Edits, HeaderEdit, JUDGED_HEADER};
use super::response::{Replaced, Response};
use crate::config::account::Account;
use crate::config::policy::Source;
use crate::failover::{RequestAttempts, ToldError};
use crate::ledger::{AccountFault, AttemptFailure, FailedAttempt};
use crate::protocol::Protocol;
use crate::reply::Rejection;

/// The header in which clients of all protocols but B find the id of a response. Every response has it.
const REQUEST_ID: &str = "x-request-id";
/// The header in which clients of protocol B find it.
const REQUEST_ID_B: &str = "request-id";
/// Envoy's response code details for a response that the upstream made.
const VIA_UPSTREAM: &[u8] = b"via_upstream";

/// The treatment of a response.
#[derive(Debug)]
pub(super) enum ResponseDecision {
    /// It waits for its body, whose words may tell a fault of the account. It has this status.
    Hold(u16),
    /// It is relayed, its head changed like this.
    Relay(Response, Edits),
    /// A local reply takes its place.
    Replace(Replaced, Rejection),
    /// It is Envoy's own to what the client did, and goes as Envoy's configuration words it. The code is that of the
    /// configuration.
    Envoys(&'static str),
}

/// Decides on a response's head. `words` is its body, or more of it than is read; `None` before that is known.
pub(super) fn decide(
    head: &impl ResponseHeaders,
    words: Option<&[u8]>,
    admitted: &AdmittedRequest,
    accounts: &(impl AccountStates + Clock),
) -> ResponseDecision {
    let status = head.status();
    if !is_status(status) {
        return replace(status, head, admitted, None, Rejection::UpstreamFailed);
    }
    let told = words.map(|words| ToldError::read(status, words).unwrap_or_default());
    if status >= 300
        && let Some(decision) = decide_error(status, head, told.as_ref(), admitted, accounts)
    {
        return decision;
    }
    if status < 300
        && head.header(JUDGED_HEADER).is_none()
        && let Some(several) = &admitted.upstream.several
    {
        several.on_success(accounts);
    }
    let (request_id, mut edits) = identify(head, admitted);
    let body = &admitted.upstream.body;
    let usage = admitted.upstream.spec.usage;
    let reasons = admitted.upstream.may_reason_unseen();
    let several = admitted.upstream.several.as_ref();
    let is_left_out = several.is_some_and(|it| it.has_left_out_usage());
    let usage_added = body.usage_added && !is_left_out;
    let mut response = Response::new(status, request_id, usage, usage_added, reasons);
    response.error = told.map(|told| Box::new(told.error));
    let withheld = head
        .withheld_headers()
        .into_iter()
        .map(|name| HeaderEdit::Remove(name.into()));
    edits.headers.extend(withheld);
    if response.is_edited() {
        edits
            .headers
            .push(HeaderEdit::Remove("content-length".into()));
    }
    ResponseDecision::Relay(response, edits)
}

/// Decides on an error, or on a response that leads elsewhere; `None` where it is relayed.
fn decide_error(
    status: u16,
    head: &impl ResponseHeaders,
    told: Option<&ToldError>,
    admitted: &AdmittedRequest,
    accounts: &(impl AccountStates + Clock),
) -> Option<ResponseDecision> {
    let details = head.details();
    if let Some(rejection) = service_rejection(&details, head) {
        return Some(ResponseDecision::Replace(Replaced::default(), rejection));
    }
    let relayed = details == VIA_UPSTREAM;
    let several = admitted.upstream.several.as_ref();
    let is_left_out = several.is_some_and(|it| it.has_left_out_usage());
    let is_added = admitted.upstream.body.usage_added && !is_left_out;
    let is_asked = is_added && ToldError::may_refuse_usage(status);
    let is_told = relayed && (ToldError::may_be_told(status) || is_asked);
    if is_told && told.is_none() {
        return Some(ResponseDecision::Hold(status));
    }
    let told = told.filter(|_| is_told);
    let fault = told.and_then(|told| told.fault);
    let by_foreign_hop = several.is_some_and(|it| it.is_refused_by_foreign_hop(status));
    let is_clients_fault = !relayed && matches!(status, 400 | 408 | 413 | 431) && !by_foreign_hop;
    if let Some(several) = several
        && !is_clients_fault
    {
        let is_judged = head.header(JUDGED_HEADER).is_some();
        several.on_error(status, &details, told, is_judged, accounts);
    }
    let hop = attempt_failure(status, relayed, admitted);
    if let Some(several) = several {
        several.note_too_large(admitted.upstream.body.seen(), accounts);
    }
    // Who did not ask for the usage gets no error of it. The next try goes without.
    if let (Some(told), true, None) = (told, is_asked, &hop)
        && told.refuses_usage
    {
        accounts.note_usage_refused(admitted.upstream.way(accounts));
        let rejection = Rejection::UsageOptionRefused;
        return Some(replace(status, head, admitted, Some(told), rejection));
    }
    if let (Some(fault), None) = (fault, &hop) {
        let rejection = rejection_of(fault, admitted, accounts);
        return Some(replace(status, head, admitted, told, rejection));
    }
    match (relayed, &hop, status) {
        (true, None, 401) => {
            let rejection = rejection_of(AccountFault::DeadKey, admitted, accounts);
            Some(replace(status, head, admitted, told, rejection))
        }
        // Clients would follow, with the key in their hands.
        (true, None, 300..=399) => {
            let rejection = failure_of(admitted, accounts);
            Some(replace(status, head, admitted, None, rejection))
        }
        (true, None, 403) => {
            let rejection = Rejection::UpstreamForbade;
            Some(replace(status, head, admitted, told, rejection))
        }
        (true, None, _) => None,
        // Too large, too slow. On the way to an account there is nothing that the client could have done wrong.
        (false, None, _) if is_clients_fault => {
            Some(ResponseDecision::Envoys(envoys_refusal(status)))
        }
        // No connection, reset, timeout, no healthy host, no credential, …
        _ => {
            let details = || String::from_utf8_lossy(&details).into_owned();
            let replaced = Replaced {
                failure: Some(hop.unwrap_or_else(details)),
                ..Replaced::default()
            };
            let rejection = failure_of(admitted, accounts);
            Some(ResponseDecision::Replace(replaced, rejection))
        }
    }
}

/// A local reply takes the place of a response that the upstream gave.
fn replace(
    status: u16,
    head: &impl ResponseHeaders,
    admitted: &AdmittedRequest,
    told: Option<&ToldError>,
    rejection: Rejection,
) -> ResponseDecision {
    let replaced = Replaced {
        status: Some(status),
        request_id: upstream_id(head, admitted.caller.protocol),
        failure: None,
        told: told.cloned(),
    };
    ResponseDecision::Replace(replaced, rejection)
}

/// The id that the upstream gave the response.
fn upstream_id(head: &impl ResponseHeaders, protocol: Protocol) -> Option<String> {
    let [first, second] = match protocol {
        Protocol::B => [REQUEST_ID_B, REQUEST_ID],
        Protocol::A | Protocol::C => [REQUEST_ID, REQUEST_ID_B],
    };
    head.header(first).or_else(|| head.header(second))
}

/// The id that the upstream gave the response, and the headers in which a client finds an id, where the upstream left
/// them out: `x-request-id` with the id of the request, for clients of protocol B also `request-id`.
fn identify(head: &impl ResponseHeaders, admitted: &AdmittedRequest) -> (Option<String>, Edits) {
    let mut edits = Edits::default();
    let protocol = admitted.caller.protocol;
    let ours = admitted.reply.request_id.as_deref();
    let usual = head.header(REQUEST_ID);
    if let (None, Some(id)) = (&usual, ours) {
        edits
            .headers
            .push(HeaderEdit::Set(REQUEST_ID, id.as_bytes().to_vec()));
    }
    if protocol != Protocol::B {
        return (usual.or_else(|| head.header(REQUEST_ID_B)), edits);
    }
    if let Some(id) = head.header(REQUEST_ID_B) {
        return (Some(id), edits);
    }
    if let Some(id) = usual.as_deref().or(ours) {
        let id = id.as_bytes().to_vec();
        edits.headers.push(HeaderEdit::Set(REQUEST_ID_B, id));
    }
    (usual, edits)
}

/// Returns the reason why a seeming error of an account is not one: on the way to one of several accounts Envoy passes
/// through itself, and its own responses there look like the account's.
fn attempt_failure(status: u16, relayed: bool, admitted: &AdmittedRequest) -> Option<String> {
    match attempts(admitted)?.failed().pop() {
        Some(last) if last.status == status => None,
        Some(last) if !last.reason.is_empty() => Some(last.reason),
        // The account's response would be the last that was noted.
        _ => relayed.then(|| "no_other_account".to_owned()),
    }
}

/// The attempts at several accounts.
fn attempts(admitted: &AdmittedRequest) -> Option<&RequestAttempts> {
    admitted.upstream.several.as_ref()?.attempts()
}

/// The rejection where no account could answer. That one of them is at its limit is more useful to know than that another
/// is broken.
fn failure_of(admitted: &AdmittedRequest, clock: &impl Clock) -> Rejection {
    let limited = attempts(admitted).and_then(|it| it.limited_for_s(clock.now_us()));
    limited.map_or(Rejection::UpstreamFailed, |retry_after_s| {
        Rejection::AccountsLimited { retry_after_s }
    })
}

/// The rejection where an account has this fault. It is final where no account of the source could have done better: this
/// is the only one, or every other was asked too and rejected. Who asks again would meet the same.
fn rejection_of(fault: AccountFault, admitted: &AdmittedRequest, clock: &impl Clock) -> Rejection {
    let mut lacks_model = fault == AccountFault::NoModel;
    if let Some(attempts) = attempts(admitted) {
        let failed = attempts.failed();
        let is_asked = |(source, account): (&Source, &Account)| {
            failed.iter().any(|failed| {
                let of_source = failed.source.as_ref();
                failed.account == account.id && of_source.is_none_or(|id| *id == source.group)
            })
        };
        if !failed.iter().all(FailedAttempt::rejects_account)
            || !attempts.eligible(clock.now_us()).all(is_asked)
        {
            return failure_of(admitted, clock);
        }
        lacks_model = failed.iter().all(|it| it.kind == AttemptFailure::NoModel);
    }
    let named = admitted.upstream.body.models().name();
    match named.filter(|_| lacks_model) {
        Some(name) => Rejection::ModelNotEntitled {
            name: name.to_owned(),
        },
        None => Rejection::AccountsRefused,
    }
}

/// Notes an error that ended, or whose client left, before its words were read.
pub(super) fn note_unread(
    status: u16,
    several: &SeveralAccounts,
    accounts: &(impl AccountStates + Clock),
) {
    several.on_error(status, VIA_UPSTREAM, None, false, accounts);
}

/// Whether this is a final status (RFC 9110, 15). What clients and proxies make of another differs.
fn is_status(status: u16) -> bool {
    (200..600).contains(&status)
}

/// The code in Envoy's configuration for its own refusals.
fn envoys_refusal(status: u16) -> &'static str {
    match status {
        408 => "request_timeout",
        413 => "request_too_large",
        431 => "headers_too_large",
        _ => "bad_request",
    }
}
