//! The `x-sim-*` request headers: what a request asks the simulator to do with it.

use std::num::NonZeroUsize;
use std::str::FromStr;
use std::time::Duration;

use hyper::http::{HeaderMap, HeaderValue, StatusCode};

use crate::draw;
use crate::scenario::Scenario;
use crate::usage::RequestedUsage;

/// The largest padded answer; a typing error shall not exhaust the machine.
const MAX_BODY: usize = 256 << 20;
/// The size that the scenario `big` takes for large, in bytes.
const BIG: usize = 1 << 20;

/// A place in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Before the response head.
    Head,
    /// In the middle of the first event (of the body, where it is not a stream).
    Body,
    /// After this many whole events.
    After(u64),
}

/// Whether the answer waits for the request body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Early {
    /// It does.
    #[default]
    No,
    /// It does not; the body is read to its end in the background.
    Drain,
    /// It does not, and the body is never read.
    Close,
}

/// The instructions of one request.
#[derive(Clone, Debug)]
pub struct Steer {
    /// Answer with this status.
    pub status: Option<StatusCode>,
    /// Send this `retry-after`.
    pub retry_after: Option<HeaderValue>,
    /// Wait before the response head.
    pub delay: Duration,
    /// Number of deltas in a stream.
    pub events: u64,
    /// Pause between two events.
    pub gap: Duration,
    /// Size of the text of one delta.
    pub event_bytes: Option<usize>,
    /// Reset here.
    pub cut: Option<Point>,
    /// Hang here, for ever.
    pub stall: Option<Point>,
    /// Write the body in pieces of this size.
    pub drip: Option<NonZeroUsize>,
    /// Pad a JSON answer to this size.
    pub body_bytes: Option<usize>,
    /// Answer before the request body is read.
    pub early: Early,
    /// Pause between two frames of the request body.
    pub slow_read: Duration,
    /// Send the vendors' limit headers.
    pub limits: bool,
    /// Answer what was received.
    pub echo: bool,
    /// The usage to report.
    pub usage: RequestedUsage,
    /// The seed of random usage, instead of the request's number.
    pub seed: Option<u64>,
    /// The ending of the response, and the way in which it is written.
    pub scenario: Scenario,
}

impl Default for Steer {
    fn default() -> Self {
        Self {
            status: None,
            retry_after: None,
            delay: Duration::ZERO,
            events: 5,
            gap: Duration::ZERO,
            event_bytes: None,
            cut: None,
            stall: None,
            drip: None,
            body_bytes: None,
            early: Early::No,
            slow_read: Duration::ZERO,
            limits: false,
            echo: false,
            usage: RequestedUsage::Usual,
            seed: None,
            scenario: Scenario::default(),
        }
    }
}

impl Steer {
    /// Reads the instructions, as `listener` understands them. The error says which header is wrong.
    pub fn read(headers: &HeaderMap, listener: &str) -> Result<Self, String> {
        let mut steer = Self::default();
        let mut here = true;
        for (name, value) in headers {
            let Some(instruction) = name.as_str().strip_prefix("x-sim-") else {
                continue;
            };
            let text = value.to_str().map_err(|_| format!("{name}: not ASCII"))?;
            if instruction == "at" {
                here = text.split(',').any(|name| name.trim() == listener);
            } else {
                steer
                    .obey(instruction, text)
                    .map_err(|reason| format!("{name}: {text}: {reason}"))?;
            }
        }
        if steer.error().is_some() && !steer.scenario.fits_plain(true) {
            return Err("x-sim-scenario: not for an error".to_owned());
        }
        if steer.scenario.big {
            steer.event_bytes.get_or_insert(BIG);
            steer.body_bytes.get_or_insert(BIG);
        }
        if here {
            Ok(steer)
        } else {
            Ok(Self {
                echo: steer.echo,
                ..Self::default()
            })
        }
    }

    fn obey(&mut self, instruction: &str, text: &str) -> Result<(), String> {
        match instruction {
            "status" => self.status = Some(status(text)?),
            "retry-after" => {
                self.retry_after = Some(HeaderValue::from_str(text).map_err(|e| e.to_string())?)
            }
            "delay-ms" => self.delay = milliseconds(text)?,
            "events" => self.events = number(text)?,
            "gap-ms" => self.gap = milliseconds(text)?,
            "event-bytes" => self.event_bytes = Some(size(text)?),
            "cut" => self.cut = Some(point(text)?),
            "stall" => self.stall = Some(point(text)?),
            "drip" => self.drip = Some(number(text)?),
            "body-bytes" => self.body_bytes = Some(size(text)?),
            "early" => self.early = early(text)?,
            "slow-read-ms" => self.slow_read = milliseconds(text)?,
            "limits" => self.limits = flag(text)?,
            "echo" => self.echo = flag(text)?,
            "usage" => self.usage = RequestedUsage::read(text)?,
            "scenario" => self.scenario = Scenario::read(text)?,
            "marker" => self.seed = Some(draw::seed(text.as_bytes())),
            _ => return Err("the simulator knows no such header".to_owned()),
        }
        Ok(())
    }

    /// The status of an error to answer, if one is asked for.
    pub fn error(&self) -> Option<StatusCode> {
        self.status
            .filter(|status| status.is_client_error() || status.is_server_error())
    }
}

fn number<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn size(text: &str) -> Result<usize, String> {
    number(text).and_then(|size| {
        if size <= MAX_BODY {
            Ok(size)
        } else {
            Err(format!("over {MAX_BODY} bytes"))
        }
    })
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    number(text).map(Duration::from_millis)
}

fn flag(text: &str) -> Result<bool, String> {
    match text {
        "1" => Ok(true),
        "0" => Ok(false),
        _ => Err("0 or 1 expected".to_owned()),
    }
}

fn early(text: &str) -> Result<Early, String> {
    match text {
        "0" => Ok(Early::No),
        "1" => Ok(Early::Drain),
        "close" => Ok(Early::Close),
        _ => Err("0, 1 or close expected".to_owned()),
    }
}

fn point(text: &str) -> Result<Point, String> {
    match text {
        "head" => Ok(Point::Head),
        "body" => Ok(Point::Body),
        _ => match text.strip_prefix("after=") {
            Some(count) => number(count).map(Point::After),
            None => Err("head, body or after=N expected".to_owned()),
        },
    }
}

fn status(text: &str) -> Result<StatusCode, String> {
    match StatusCode::from_str(text) {
        Ok(status) if !status.is_informational() => Ok(status),
        _ => Err("a final status expected".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::http::HeaderName;

    fn read(pairs: &[(&'static str, &'static str)]) -> Result<Steer, String> {
        let pairs = pairs
            .iter()
            .map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v)));
        Steer::read(&pairs.collect(), "here")
    }

    #[test]
    fn understands_every_header() {
        let steer = read(&[
            ("x-sim-status", "429"),
            ("x-sim-cut", "after=3"),
            ("x-sim-stall", "head"),
            ("x-sim-early", "close"),
            ("x-sim-drip", "7"),
            ("x-sim-gap-ms", "20"),
            ("accept", "*/*"),
        ])
        .unwrap();
        assert_eq!(steer.error(), Some(StatusCode::TOO_MANY_REQUESTS));
        assert_eq!(
            (steer.cut, steer.stall),
            (Some(Point::After(3)), Some(Point::Head))
        );
        assert_eq!(
            (steer.early, steer.drip.map(NonZeroUsize::get)),
            (Early::Close, Some(7))
        );
        assert_eq!(steer.gap, Duration::from_millis(20));
    }

    #[test]
    fn refuses_what_it_does_not_understand() {
        for (name, value) in [
            ("x-sim-statsu", "429"),
            ("x-sim-status", "100"),
            ("x-sim-drip", "0"),
            ("x-sim-cut", "tail"),
            ("x-sim-echo", "yes"),
            ("x-sim-event-bytes", "99999999999"),
        ] {
            assert!(
                read(&[(name, value)]).unwrap_err().starts_with(name),
                "{name}: {value}"
            );
        }
    }

    #[test]
    fn obeys_only_where_it_is_told_to() {
        let elsewhere = read(&[
            ("x-sim-status", "500"),
            ("x-sim-echo", "1"),
            ("x-sim-at", "a, b"),
        ])
        .unwrap();
        assert_eq!((elsewhere.status, elsewhere.echo), (None, true));
        let here = read(&[("x-sim-status", "500"), ("x-sim-at", "a, here")]).unwrap();
        assert_eq!(here.error(), Some(StatusCode::INTERNAL_SERVER_ERROR));
    }
}
