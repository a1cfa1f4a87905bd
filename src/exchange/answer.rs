//! The answer on its way back: which answers are replaced, and the meter that watches the others.

use super::facts::Facts;
use super::{Clock, Outcome, Phase};
use crate::reply::Rejection;
use crate::usage::{Meter, Reading};

/// The head of an answer. Each look at it is a host call.
pub trait AnswerHead {
    /// The status.
    fn status(&self) -> u16;
    /// Envoy's response code details: `via_upstream` where the upstream made it, else why Envoy did.
    fn details(&self) -> Vec<u8>;
    /// The upstream's id of the request, where it gave one.
    fn request_id(&self) -> Option<String>;
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
    /// Bytes of its body so far.
    pub bytes: u64,
    /// When its first byte came, in microseconds of the clock.
    pub first_byte_us: Option<u64>,
    /// Reads its body; `None` where there is nothing to meter.
    meter: Option<Box<Meter>>,
}

impl Answer {
    /// Its head goes to the client.
    fn begin(&mut self, head: &impl AnswerHead, facts: &Facts) {
        self.relayed = Some(head.status());
        self.request_id = head.request_id();
        self.meter = facts.wire().map(|wire| Box::new(Meter::new(wire)));
    }

    /// Whether its bytes are worth copying out of the proxy.
    pub(super) fn is_metered(&self) -> bool {
        self.meter.is_some()
    }

    /// Bytes of its body pass; where it is not metered, only their number is asked for.
    pub(super) fn pass(&mut self, bytes: &[u8], len: usize, clock: &impl Clock) {
        if len == 0 || self.relayed.is_none() {
            return;
        }
        if self.bytes == 0 && self.meter.is_some() {
            self.first_byte_us = Some(clock.now_us());
        }
        self.bytes = self.bytes.saturating_add(len as u64);
        if let Some(meter) = &mut self.meter {
            meter.feed(bytes);
        }
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

/// What Envoy's details say of an answer that the upstream made.
const VIA_UPSTREAM: &[u8] = b"via_upstream";

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
        if head.status() >= 400 {
            let details = head.details();
            let by_upstream = details == VIA_UPSTREAM;
            match verdict(head.status(), by_upstream) {
                Verdict::Replace(rejection) if by_upstream => {
                    answer.request_id = head.request_id();
                    answer.replaced = Some(head.status());
                    return upload.asker.refuse(rejection, facts);
                }
                Verdict::Replace(rejection) => {
                    answer.failure = Some(String::from_utf8_lossy(&details).into_owned());
                    return upload.asker.refuse(rejection, facts);
                }
                Verdict::Envoys => {
                    facts.refused = Some(envoys_refusal(head.status()));
                    return (Self::Relaying(upload), Outcome::pass());
                }
                Verdict::Relay => {}
            }
        }
        answer.begin(head, facts);
        (Self::Relaying(upload), Outcome::pass())
    }
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
