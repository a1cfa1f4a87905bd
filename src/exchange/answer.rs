//! The answer on its way back: which answers are replaced, and the meter that watches the others.

use super::descriptors;
use super::edits::{Edits, HeaderEdit};
use super::facts::Facts;
use super::unasked::UnaskedUsage;
use super::{Clock, Outcome, Phase};
use crate::ledger::FailedTry;
use crate::protocol::Protocol;
use crate::reply::Rejection;
use crate::usage::{Meter, Reading};

/// The head of an answer. Each look at it is a host call.
pub trait AnswerHead {
    /// The status.
    fn status(&self) -> u16;
    /// Envoy's response code details: `via_upstream` where the upstream made it, else why Envoy did.
    fn details(&self) -> Vec<u8>;
    /// The failed tries at accounts, as [`FailedTry::hand_over`] left them, this answer's among them.
    fn failed_tries(&self) -> Vec<u8>;
    /// A header, where it is there and is text.
    fn header(&self, name: &'static str) -> Option<String>;
    /// The names of the headers that stay here: see [`is_withheld`](super::is_withheld).
    fn withheld_headers(&self) -> Vec<String>;
}

/// What is known of the answer.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The status of the upstream's answer, where that is relayed.
    pub relayed: Option<u16>,
    /// The id that the upstream gave it, by which the client may ask about it.
    pub request_id: Option<String>,
    /// The status of the upstream's answer, where ours takes its place.
    pub replaced: Option<u16>,
    /// Why Envoy answered in the upstream's place.
    pub failure: Option<String>,
    /// Whether its end has come.
    pub ended: bool,
    /// Bytes of its body so far, as the client gets it.
    pub bytes: u64,
    /// When its first byte came, in microseconds of the clock.
    pub first_byte_us: Option<u64>,
    /// Reads its body; `None` where there is nothing to meter.
    meter: Option<Box<Meter>>,
    /// Takes out of its body what the client did not ask for.
    unasked: Option<Box<UnaskedUsage>>,
}

impl Answer {
    /// Its head goes to the client.
    fn begin(&mut self, status: u16, facts: &Facts) {
        self.relayed = Some(status);
        self.meter = facts.wire().map(|wire| Box::new(Meter::new(wire)));
        let edits = facts.usage_unasked && is_success(status);
        self.unasked = edits.then(Box::default);
    }

    /// Notes the id that the upstream gave it, and gives the header by which a client of protocol B
    /// finds an id, where the upstream left that out. (Envoy's configuration sees to `x-request-id`.)
    fn identify(&mut self, head: &impl AnswerHead, facts: &Facts, ours: Option<&str>) -> Edits {
        let mut edits = Edits::default();
        if facts.protocol == Some(Protocol::B) {
            self.request_id = head.header(REQUEST_ID_B);
            if self.request_id.is_some() {
                return edits;
            }
        }
        self.request_id = head
            .header(REQUEST_ID)
            .or_else(|| head.header(REQUEST_ID_B));
        if facts.protocol == Some(Protocol::B)
            && let Some(id) = self.request_id.as_deref().or(ours)
        {
            edits
                .headers
                .push(HeaderEdit::Set(REQUEST_ID_B, id.as_bytes().to_vec()));
        }
        edits
    }

    /// Whether its bytes are worth copying out of the proxy.
    pub(super) fn is_metered(&self) -> bool {
        self.meter.is_some()
    }

    /// Whether bytes may be taken out of its body, so that it must be given in whole chunks.
    pub(super) fn is_edited(&self) -> bool {
        self.unasked.is_some()
    }

    /// Bytes of its body pass, its last ones if `end`; where it is not metered, only their number is asked for. Gives
    /// what goes on in their place, where that is something else.
    pub(super) fn pass(
        &mut self,
        bytes: &[u8],
        len: usize,
        end: bool,
        clock: &impl Clock,
    ) -> Option<Vec<u8>> {
        self.relayed?;
        if let Some(meter) = self.meter.as_mut().filter(|_| len > 0) {
            self.first_byte_us.get_or_insert_with(|| clock.now_us());
            meter.feed(bytes);
        }
        let edited = self.unasked.as_mut().and_then(|it| it.pass(bytes, end));
        let passed = edited.as_ref().map_or(len, Vec::len);
        self.bytes = self.bytes.saturating_add(passed as u64);
        edited
    }

    /// What the meter has read, all told.
    pub(super) fn reading(&mut self) -> Reading {
        self.meter
            .take()
            .map_or_else(Reading::default, |mut meter| meter.finish())
    }

    /// Whether the upstream answered as asked.
    pub(super) fn is_success(&self) -> bool {
        self.relayed.is_some_and(is_success)
    }
}

/// Where clients of all protocols but B find the id of an answer.
const REQUEST_ID: &str = "x-request-id";
/// Where clients of protocol B find it.
const REQUEST_ID_B: &str = "request-id";

/// What Envoy's details say of an answer that the upstream made.
const VIA_UPSTREAM: &[u8] = b"via_upstream";

/// Whether this is a final status (RFC 9110, 15). What clients and proxies make of another differs.
fn is_status(status: u16) -> bool {
    (200..600).contains(&status)
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

impl Phase {
    /// The answer's head has come.
    pub(super) fn on_response_head(
        self,
        head: &impl AnswerHead,
        facts: &mut Facts,
        answer: &mut Answer,
    ) -> (Self, Outcome) {
        let upload = match self {
            Self::AwaitingModel(upload) | Self::Forwarding(upload) | Self::Relaying(upload) => {
                upload
            }
            // Our own local reply, or Envoy's before the filter saw a head.
            other @ (Self::Start | Self::Replied | Self::Done) => return (other, Outcome::pass()),
        };
        let status = head.status();
        if !is_status(status) {
            answer.identify(head, facts, None);
            answer.replaced = Some(status);
            return upload.asker.refuse(Rejection::UpstreamFailed, facts);
        }
        if status >= 400 {
            let details = head.details();
            if let Some(rejection) = descriptors::refusal(&details, head) {
                return upload.asker.refuse(rejection, facts);
            }
            let relayed = details == VIA_UPSTREAM;
            let hop = hop_failure(head, status, relayed, facts);
            let by_upstream = relayed && hop.is_none();
            let verdict = match &hop {
                // On the way to an account there is nothing that the client could have done wrong.
                Some(_) => Verdict::Replace(Rejection::UpstreamFailed),
                None => verdict(status, by_upstream),
            };
            match verdict {
                Verdict::Replace(rejection) if by_upstream => {
                    answer.identify(head, facts, None);
                    answer.replaced = Some(status);
                    let rejection = if status == 401 && every_account_refused(head, facts) {
                        Rejection::AccountsRefused
                    } else {
                        rejection
                    };
                    return upload.asker.refuse(rejection, facts);
                }
                Verdict::Replace(rejection) => {
                    let details = || String::from_utf8_lossy(&details).into_owned();
                    answer.failure = Some(hop.unwrap_or_else(details));
                    return upload.asker.refuse(rejection, facts);
                }
                Verdict::Envoys => {
                    facts.refused = Some(envoys_refusal(status));
                    return (Self::Relaying(upload), Outcome::pass());
                }
                Verdict::Relay => {}
            }
        }
        answer.begin(status, facts);
        let mut edits = answer.identify(head, facts, upload.asker.request_id.as_deref());
        let withheld = head
            .withheld_headers()
            .into_iter()
            .map(|name| HeaderEdit::Remove(name.into()));
        edits.headers.extend(withheld);
        if answer.is_edited() {
            edits
                .headers
                .push(HeaderEdit::Remove("content-length".into()));
        }
        (Self::Relaying(upload), Outcome::Continue(edits))
    }
}

/// Why an error that seems to be an account's is not: on the way to one of several accounts Envoy passes
/// through itself, and its own answers there look like the account's.
fn hop_failure(
    head: &impl AnswerHead,
    status: u16,
    relayed: bool,
    facts: &Facts,
) -> Option<String> {
    facts.route.as_ref()?.source.alternatives()?;
    match FailedTry::take_over(&head.failed_tries()).pop() {
        Some(last) if last.status == status => None,
        Some(last) if !last.reason.is_empty() => Some(last.reason),
        // The account's answer would be the last that was noted.
        _ => relayed.then(|| "no_other_account".to_owned()),
    }
}

/// Whether no account of the source could have done better than the one that answered, which refused its credential: it
/// is the only one, or every other was asked too and refused its own. Who asks again would meet the same.
fn every_account_refused(head: &impl AnswerHead, facts: &Facts) -> bool {
    let source = facts.route.as_ref().map(|route| &route.source);
    let Some(several) = source.and_then(|source| source.alternatives()) else {
        return true;
    };
    let failed = FailedTry::take_over(&head.failed_tries());
    let asked = |id: &str| failed.iter().any(|failed| failed.account == id);
    failed.iter().all(FailedTry::is_refusal)
        && several.accounts.iter().all(|account| asked(&account.id))
}

/// What becomes of an error.
#[derive(Debug)]
enum Verdict {
    /// It goes to the client as it is.
    Relay,
    /// It is Envoy's own answer to what the client did, and goes as Envoy's configuration words it.
    Envoys,
    /// The client gets ours.
    Replace(Rejection),
}

/// What an error means to the client, where that is not what the upstream said.
fn verdict(status: u16, by_upstream: bool) -> Verdict {
    match (by_upstream, status) {
        (true, 401) => Verdict::Replace(Rejection::UpstreamFailed),
        (true, 403) => Verdict::Replace(Rejection::UpstreamForbade),
        (true, _) => Verdict::Relay,
        // Too large, too slow.
        (false, 400 | 408 | 413 | 431) => Verdict::Envoys,
        // No connection, reset, timeout, no healthy host, no credential, …
        (false, _) => Verdict::Replace(Rejection::UpstreamFailed),
    }
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
