//! The response on its way back, and the meter that reads it.

use super::environment::Clock;
use super::include_usage::UsageEventFilter;
use crate::failover::ToldError;
use crate::ledger::UpstreamError;
use crate::usage::{Meter, Reading, Wire};

/// The outcome at the upstream.
#[derive(Debug, Default)]
pub(super) enum UpstreamResult {
    /// No response came, or none was asked for.
    #[default]
    None,
    /// The upstream's response is relayed.
    Relayed(Response),
    /// A local reply takes its place.
    Replaced(Replaced),
}

/// A response of an upstream that is relayed.
#[derive(Debug)]
pub(super) struct Response {
    /// The HTTP status of the response.
    pub status: u16,
    /// The id that the upstream gave it, by which the client may ask about it.
    pub request_id: Option<Box<str>>,
    /// Whether its head is held until its words are known.
    pub held: bool,
    /// The error in it, where that was read.
    pub error: Option<Box<UpstreamError>>,
    /// Whether its end has come.
    pub ended: bool,
    /// Bytes of its body so far, as the client gets it.
    pub bytes: u64,
    /// The time at which the first byte came, in microseconds of the steady clock.
    pub first_byte_us: Option<u64>,
    /// Reads its body; `None` where there is nothing to meter.
    metered: Option<Box<MeteredBody>>,
    /// Takes out of its body what the client did not ask for.
    unasked: Option<Box<UsageEventFilter>>,
}

/// The meter of a body.
#[derive(Debug)]
struct MeteredBody {
    meter: Meter,
    /// The silence of the response, where it is a stream whose model reasons.
    silence: Option<Silence>,
}

/// The known facts of an upstream whose response, or missing response, a local reply replaces.
#[derive(Debug, Default)]
pub(super) struct Replaced {
    /// The status of its response, where it gave one.
    pub status: Option<u16>,
    /// The id that it gave the response.
    pub request_id: Option<String>,
    /// The reason why Envoy answered in the upstream's place, in Envoy's words.
    pub failure: Option<String>,
    /// The words of its response, where that is an error that was read.
    pub told: Option<ToldError>,
}

impl Response {
    /// A response whose head is relayed; `usage` is how it reports usage, and `usage_added` whether it was made to. `reasons`
    /// tells whether it is a stream whose model may reason unseen.
    pub(super) fn new(
        status: u16,
        request_id: Option<String>,
        usage: Option<Wire>,
        usage_added: bool,
        reasons: bool,
    ) -> Self {
        let edits = usage_added && is_success(status);
        Self {
            status,
            request_id: request_id.map(String::into_boxed_str),
            held: false,
            error: None,
            ended: false,
            bytes: 0,
            first_byte_us: None,
            metered: usage.map(|wire| {
                Box::new(MeteredBody {
                    meter: Meter::new(wire),
                    silence: reasons.then(Silence::default),
                })
            }),
            unasked: edits.then(Box::default),
        }
    }

    /// An error whose head is held.
    pub(super) fn held(status: u16) -> Self {
        Self {
            held: true,
            ..Self::new(status, None, None, false, false)
        }
    }

    /// Whether its bytes are worth copying out of the proxy.
    pub(super) fn is_metered(&self) -> bool {
        self.metered.is_some()
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
        self.ended |= end;
        if let Some(metered) = self.metered.as_mut().filter(|_| len > 0) {
            self.first_byte_us.get_or_insert_with(|| clock.now_us());
            metered.meter.feed(bytes);
            if let Some(silence) = &mut metered.silence {
                silence.pass(&metered.meter, clock);
            }
        }
        let edited = self.unasked.as_mut().and_then(|it| it.pass(bytes, end));
        let passed = edited.as_ref().map_or(len, Vec::len);
        self.bytes = self.bytes.saturating_add(passed as u64);
        edited
    }

    /// For how many microseconds the model may have reasoned unseen, up to now.
    pub(super) fn silent_us(&self, clock: &impl Clock) -> u64 {
        let metered = self.metered.as_ref();
        let silence = metered.and_then(|metered| metered.silence.as_ref());
        silence.map_or(0, |silence| silence.total_us(clock))
    }

    /// Returns the meter's reading.
    fn reading(&mut self) -> Reading {
        let metered = self.metered.as_mut();
        metered.map_or_else(Reading::default, |metered| metered.meter.finish())
    }

    /// Whether the upstream answered as asked.
    pub(super) fn is_success(&self) -> bool {
        is_success(self.status)
    }
}

impl UpstreamResult {
    /// Whether nothing came.
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The response, where one is relayed.
    pub(super) fn relayed(&self) -> Option<&Response> {
        match self {
            Self::Relayed(response) => Some(response),
            Self::None | Self::Replaced(_) => None,
        }
    }

    /// The same, to be fed.
    pub(super) fn relayed_mut(&mut self) -> Option<&mut Response> {
        match self {
            Self::Relayed(response) => Some(response),
            Self::None | Self::Replaced(_) => None,
        }
    }

    /// Returns the meter's reading, to be asked once. Nobody pays for usage that an error reports.
    pub(super) fn reading(&mut self) -> Reading {
        let Some(response) = self.relayed_mut() else {
            return Reading::default();
        };
        let mut reading = response.reading();
        if !response.is_success() {
            reading.usage = None;
            reading.reported.clear();
            reading.doubt = None;
            reading.reported_cost = None;
        }
        reading
    }
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// The silent time of one stream, in which nothing comes of what its model makes.
///
/// A model that reasons where nobody sees it is silent meanwhile, and the vendor charges for it. Silence begins with the
/// first event that tells anything, or one behind it that has no text, picture or sound in it, and ends with the next that has.
/// So the clock is read twice for each silence, and not at all while text flows.
#[derive(Debug, Default)]
struct Silence {
    /// The start of the current silence, in microseconds of the steady clock.
    since_us: Option<u64>,
    /// The total length of the earlier silences, in microseconds.
    total_us: u64,
    /// The number of bytes of text, pictures and sound that had passed.
    passed: u64,
}

impl Silence {
    /// Bytes of the stream have passed, and `meter` has read them.
    fn pass(&mut self, meter: &Meter, clock: &impl Clock) {
        let passed = meter.passed_bytes();
        let is_told = core::mem::replace(&mut self.passed, passed) != passed;
        match self.since_us {
            Some(since) if is_told => {
                self.total_us = self.total_us.saturating_add(elapsed(since, clock));
                self.since_us = None;
            }
            None if !is_told && meter.has_begun() => self.since_us = Some(clock.now_us()),
            _ => {}
        }
    }

    /// Returns the total length of the silences up to now, in microseconds.
    fn total_us(&self, clock: &impl Clock) -> u64 {
        let lasting = self.since_us.map_or(0, |since| elapsed(since, clock));
        self.total_us.saturating_add(lasting)
    }
}

fn elapsed(since: u64, clock: &impl Clock) -> u64 {
    clock.now_us().saturating_sub(since)
}
