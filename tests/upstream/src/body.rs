//! The body of an answer: paced, dripped, cut or stalled as the request asked for.

use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use crate::course::Guard;
use crate::events::{Event, Events};
use crate::steer::{Point, Steer};
use crate::usage::SimulatedUsage;

/// No frame is larger, so that a peer that leaves in the middle of a large answer is noticed.
const LARGEST_FRAME: usize = 64 << 10;
/// Time for what was written to leave, before the connection is reset.
const BEFORE_RESET: Duration = Duration::from_millis(20);

/// The connection (HTTP/1) or the stream (HTTP/2) is reset on purpose.
#[derive(Debug)]
pub struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cut as the request asked for")
    }
}

impl std::error::Error for Cut {}

/// The source of the body's bytes.
#[derive(Debug)]
pub enum BodySource {
    /// All at once, with a length, and the usage that it tells.
    Whole(Bytes, Option<SimulatedUsage>),
    /// One event after the other.
    Events(Box<Events>),
}

/// A failure at a point of the body, in place of its end.
#[derive(Debug)]
enum Fate {
    Cut(Point),
    Stall(Point),
}

/// The condition that the body waits for before its next frame.
#[derive(Debug)]
enum Pause {
    No,
    /// Until the transport has written what it has.
    Yield,
    Sleep(Pin<Box<Sleep>>),
}

/// A response body.
#[derive(Debug)]
pub struct AnswerBody {
    source: BodySource,
    /// The unsent bytes of the current event.
    rest: Bytes,
    /// The usage that the current event tells.
    told: Option<SimulatedUsage>,
    /// The number of unsent bytes of a body whose length is known.
    left: Option<u64>,
    /// Number of whole events handed over.
    sent: u64,
    /// The current event is the half of one, and the last.
    halved: bool,
    finished: bool,
    drip: Option<NonZeroUsize>,
    gap: Duration,
    pause: Pause,
    fate: Option<Fate>,
    /// The moment before the reset has passed.
    flushed: bool,
    /// Tells the socket to close with a reset (HTTP/1 only).
    reset: Option<Arc<AtomicBool>>,
    guard: Option<Guard>,
}

impl AnswerBody {
    /// A body that is sent as `steer` says.
    pub fn new(
        source: BodySource,
        steer: &Steer,
        reset: Option<Arc<AtomicBool>>,
        guard: Option<Guard>,
    ) -> Self {
        let left = match &source {
            BodySource::Whole(bytes, _) => Some(bytes.len() as u64),
            BodySource::Events(_) => None,
        };
        let mut body = Self {
            source,
            rest: Bytes::new(),
            told: None,
            left,
            sent: 0,
            halved: false,
            finished: false,
            drip: steer.drip,
            gap: steer.gap,
            pause: Pause::No,
            fate: steer.stall.map(Fate::Stall).or(steer.cut.map(Fate::Cut)),
            flushed: false,
            reset,
            guard,
        };
        if left == Some(0) && body.fate.is_none() {
            body.finish();
        }
        body
    }

    /// A plain body.
    pub fn whole(bytes: Bytes) -> Self {
        Self::new(
            BodySource::Whole(bytes, None),
            &Steer::default(),
            None,
            None,
        )
    }

    fn finish(&mut self) {
        self.finished = true;
        if let Some(Guard(course)) = &self.guard {
            course.answered();
        }
    }

    fn next_event(&mut self) -> Option<Event> {
        match &mut self.source {
            BodySource::Whole(bytes, told) => {
                let (bytes, told) = (std::mem::take(bytes), *told);
                Some(Event { bytes, told }).filter(|event| !event.bytes.is_empty())
            }
            BodySource::Events(events) => events.next(),
        }
    }

    /// The point that the body does not get past.
    fn doom(&self) -> Option<Point> {
        match self.fate {
            Some(Fate::Cut(point) | Fate::Stall(point)) => Some(point),
            None => None,
        }
    }

    fn is_doomed(&self) -> bool {
        match self.doom() {
            Some(Point::Head) => true,
            Some(Point::Body) => self.halved,
            Some(Point::After(count)) => self.sent >= count,
            None => false,
        }
    }

    /// The next piece of the current event.
    fn next_piece(&mut self) -> Bytes {
        let size = self
            .drip
            .map_or(LARGEST_FRAME, NonZeroUsize::get)
            .min(self.rest.len());
        let piece = self.rest.split_to(size);
        if let Some(left) = &mut self.left {
            *left -= piece.len() as u64;
        }
        if self.drip.is_some() {
            self.pause = Pause::Yield;
        }
        if self.rest.is_empty() && !self.halved {
            self.event_done();
        }
        piece
    }

    fn event_done(&mut self) {
        self.sent += 1;
        if let Some(Guard(course)) = &self.guard {
            course.event_sent(self.told);
        }
        if !self.gap.is_zero() {
            self.pause = Pause::Sleep(Box::pin(tokio::time::sleep(self.gap)));
        }
        if self.left == Some(0) {
            self.finish();
        }
    }

    fn poll_pause(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.pause, Pause::No) {
            Pause::No => Poll::Ready(()),
            Pause::Yield => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Pause::Sleep(mut timer) => {
                let polled = timer.as_mut().poll(cx);
                if polled.is_pending() {
                    self.pause = Pause::Sleep(timer);
                }
                polled
            }
        }
    }

    /// Ends the body as its fate says; a reset comes a moment after the last bytes.
    fn poll_fate(&mut self, cx: &mut Context<'_>) -> Poll<Cut> {
        if matches!(self.fate, Some(Fate::Stall(_))) {
            return Poll::Pending;
        }
        if !self.flushed {
            self.flushed = true;
            self.pause = Pause::Sleep(Box::pin(tokio::time::sleep(BEFORE_RESET)));
            ready!(self.poll_pause(cx));
        }
        if let Some(reset) = &self.reset {
            reset.store(true, Ordering::Relaxed);
        }
        Poll::Ready(Cut)
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let this = self.get_mut();
        if this.finished {
            return Poll::Ready(None);
        }
        ready!(this.poll_pause(cx));
        if this.rest.is_empty() {
            if this.is_doomed() {
                return this.poll_fate(cx).map(|cut| Some(Err(cut)));
            }
            let Some(Event { mut bytes, told }) = this.next_event() else {
                this.finish();
                return Poll::Ready(None);
            };
            if this.doom() == Some(Point::Body) {
                bytes.truncate(bytes.len().div_ceil(2));
                this.halved = true;
            }
            this.rest = bytes;
            this.told = told;
        }
        Poll::Ready(Some(Ok(Frame::data(this.next_piece()))))
    }

    fn is_end_stream(&self) -> bool {
        self.finished
    }

    fn size_hint(&self) -> SizeHint {
        self.left
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
