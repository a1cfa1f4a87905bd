//! Server-sent events (WHATWG HTML, 9.2.6), as they come: their data goes straight to the extractor.
//!
//! Only `data` counts: every protocol here repeats in it what its `event` fields say.
//!
//! An event that the end of the answer cuts before its blank line counts if its JSON is whole: the standard drops it, but the
//! vendors' clients read it, and what it tells was used. Of one that is cut inside its JSON only what the model wrote counts.

use super::event_buffer::EventBuffer;
use super::extractor::Extractor;
use super::tally::{Effect, UsageTally};
use super::template::{EventTemplate, MAX_EVENT, TemplateMatch};
use crate::text::is_line_break;
use memchr::memchr2;

/// Cuts a stream into lines and lines into events.
#[derive(Default)]
pub(super) struct EventReader {
    line: LineState,
    /// The last byte read was a CR: an LF right behind it belongs to it.
    after_cr: bool,
    /// The event has a line of data.
    has_data: bool,
    /// An event had one.
    any_data: bool,
    /// The first bytes of the stream.
    head: StreamStart,
    /// Whether the event's bytes from the chunks before have been read.
    begun: bool,
    /// The last event.
    template: EventTemplate,
    /// The event's bytes from the chunks before. Unless it has begun it may be like the last one.
    carry: EventBuffer,
}

/// The position in a line at which the bytes so far end.
#[derive(Clone, Copy, Default)]
enum LineState {
    #[default]
    Start,
    /// After so many bytes of `data:`.
    Name(usize),
    /// After `data:`.
    Colon,
    Data,
    /// In a comment or another field.
    Other,
}

const DATA: &[u8] = b"data:";

/// The first bytes of a stream.
#[derive(Default)]
struct StreamStart {
    bytes: [u8; Self::SIZE],
    len: usize,
}

impl StreamStart {
    /// Enough to know any field by.
    const SIZE: usize = 6;
    /// The beginnings of lines of a stream: a comment, or a field.
    const BEGINNINGS: [&[u8]; 5] = [b":", DATA, b"event:", b"id:", b"retry:"];

    fn add(&mut self, bytes: &[u8]) {
        for (place, byte) in self.bytes.iter_mut().skip(self.len).zip(bytes) {
            *place = *byte;
            self.len = self.len.saturating_add(1);
        }
    }

    /// Whether it is the beginning of a line of a stream, as far as it is known.
    fn is_of_stream(&self) -> bool {
        let head = self.bytes.get(..self.len).unwrap_or_default();
        Self::BEGINNINGS
            .iter()
            .any(|line| line.starts_with(head) || head.starts_with(line))
    }
}

impl EventReader {
    /// A stream that begins inside a line that is no field.
    pub(super) fn in_other_line() -> Self {
        Self {
            line: LineState::Other,
            head: StreamStart {
                bytes: [b' '; StreamStart::SIZE],
                len: StreamStart::SIZE,
            },
            begun: true,
            carry: EventBuffer::lacking(),
            ..Self::default()
        }
    }

    /// Reads the next bytes; none after the stream's own end.
    pub(super) fn feed(&mut self, bytes: &[u8], extractor: &mut Extractor, tally: &mut UsageTally) {
        if self.head.len < StreamStart::SIZE {
            self.head.add(bytes);
        }
        let mut rest = bytes;
        while !self.begun && self.carry.len() > 0 && !rest.is_empty() {
            rest = self.carry_on(rest, extractor, tally);
        }
        self.read(rest, extractor, tally);
    }

    /// Tells that the stream has ended: the last event may have no blank line.
    pub(super) fn end(&mut self, extractor: &mut Extractor, tally: &mut UsageTally) {
        // Nothing that is carried over is like the last event now.
        self.template.forget();
        if !self.begun {
            let carry = core::mem::take(&mut self.carry);
            self.read(carry.as_bytes(), extractor, tally);
        }
        if tally.is_done() {
            return;
        }
        let cut = self.has_data && !extractor.is_closed() && !extractor.is_lost();
        if cut {
            tally.cut();
        } else {
            self.dispatch(extractor, tally);
        }
    }

    /// Whether nothing of it was like a stream of events.
    pub(super) fn is_unreadable(&self) -> bool {
        !self.any_data && !self.head.is_of_stream()
    }

    /// Goes on with the event that was carried over; gives what is left.
    fn carry_on<'a>(
        &mut self,
        bytes: &'a [u8],
        extractor: &mut Extractor,
        tally: &mut UsageTally,
    ) -> &'a [u8] {
        let before = self.carry.len();
        let after = self.carry.fill(bytes);
        match self.template.compare(self.carry.as_bytes()) {
            TemplateMatch::Alike(left) => {
                let read = self.carry.len().saturating_sub(left.len());
                self.carry.clear();
                let rest = bytes.get(read.saturating_sub(before)..);
                self.repeat(rest.unwrap_or_default(), tally)
            }
            TemplateMatch::Open if after.is_empty() => after,
            TemplateMatch::Open | TemplateMatch::Unlike => {
                let carry = core::mem::take(&mut self.carry);
                self.read(carry.as_bytes(), extractor, tally);
                after
            }
        }
    }

    /// Reads the next bytes, all that are not carried over.
    fn read(&mut self, bytes: &[u8], extractor: &mut Extractor, tally: &mut UsageTally) {
        if bytes.is_empty() || tally.is_done() {
            return;
        }
        let mut rest = bytes;
        if core::mem::take(&mut self.after_cr) {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        if self.begun {
            extractor.note_on(self.carry.len().saturating_add(rest.len()));
        } else {
            rest = self.begin_event(rest, extractor, tally);
        }
        // From the first byte of the event in this chunk on.
        let mut event = rest;
        while let Some((&byte, tail)) = rest.split_first() {
            match self.line {
                LineState::Start => {
                    if let Some(value) = rest.strip_prefix(DATA) {
                        self.line = LineState::Colon;
                        rest = value;
                    } else if is_line_break(byte) {
                        let (told, repeatable) = (tally.is_told(), tally.is_repeatable());
                        let dispatched = self.dispatch(extractor, tally);
                        if tally.is_done() {
                            return;
                        }
                        rest = self.end_line(rest);
                        if let Some(effect) = dispatched {
                            let length = event.len().saturating_sub(rest.len());
                            let last = event.get(..length).unwrap_or_default();
                            let as_it_says = effect.is_none_or(|effect| effect.as_it_says);
                            match self.carry.end(last) {
                                Some(event) if repeatable && as_it_says => {
                                    let numbers = effect.is_some_and(|effect| effect.numbers);
                                    let generated = effect.map(|effect| effect.generated);
                                    let holes = extractor.holes();
                                    self.template.learn(event, holes, numbers, generated);
                                }
                                _ if told => self.template.forget(),
                                _ => {}
                            }
                            extractor.reset(&tally.table().event);
                        }
                        self.carry.clear();
                        self.begun = false;
                        rest = self.begin_event(rest, extractor, tally);
                        event = rest;
                    } else {
                        self.line = LineState::Name(0);
                    }
                }
                LineState::Name(read) => match DATA.get(read) {
                    Some(want) if *want == byte => {
                        let read = read.saturating_add(1);
                        self.line = if read == DATA.len() {
                            LineState::Colon
                        } else {
                            LineState::Name(read)
                        };
                        rest = tail;
                    }
                    // A line that is nothing but a name is that field, empty.
                    Some(b':') if is_line_break(byte) => {
                        self.begin_data(extractor, tally);
                        rest = self.end_line(rest);
                    }
                    _ => self.line = LineState::Other,
                },
                LineState::Colon => {
                    self.begin_data(extractor, tally);
                    self.line = LineState::Data;
                    rest = if byte == b' ' { tail } else { rest };
                }
                LineState::Data => {
                    rest = extractor.feed(rest, true, tally);
                    if !rest.is_empty() {
                        rest = self.end_line(rest);
                    }
                }
                LineState::Other => {
                    let end = memchr2(b'\r', b'\n', rest).and_then(|end| rest.get(end..));
                    rest = self.end_line(end.unwrap_or_default());
                }
            }
        }
        if !event.is_empty() {
            self.carry.add(event);
            self.begun = true;
        }
    }

    /// Passes over the events at the start that are like the last one; carries over the beginning of what may be
    /// one. Gives what is to be read.
    fn begin_event<'a>(
        &mut self,
        bytes: &'a [u8],
        extractor: &mut Extractor,
        tally: &mut UsageTally,
    ) -> &'a [u8] {
        let mut rest = bytes;
        loop {
            match self.template.compare(rest) {
                TemplateMatch::Alike(after) => rest = self.repeat(after, tally),
                TemplateMatch::Open if rest.len() < MAX_EVENT => {
                    self.carry.add(rest);
                    return Default::default();
                }
                TemplateMatch::Open | TemplateMatch::Unlike => {
                    extractor.note_from(rest.len());
                    return rest;
                }
            }
        }
    }

    /// Counts once more the last event, as the bytes before these are like it. Returns the rest.
    fn repeat<'a>(&mut self, bytes: &'a [u8], tally: &mut UsageTally) -> &'a [u8] {
        let generated = self.template.generated();
        tally.repeat(self.template.changed_numbers(), generated);
        // The template has no LF of a last CR LF.
        if !self.template.ends_with_cr() {
            return bytes;
        }
        self.after_cr = bytes.is_empty();
        bytes.strip_prefix(b"\n").unwrap_or(bytes)
    }

    /// A line of data begins; it and the one before are joined by an LF.
    fn begin_data(&mut self, extractor: &mut Extractor, tally: &mut UsageTally) {
        if self.has_data {
            extractor.feed(b"\n", false, tally);
        }
        self.has_data = true;
        self.any_data = true;
    }

    /// Reads the line break at the start, if there is one; gives what is left.
    fn end_line<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (rest, after_cr) = match bytes {
            [] => return bytes,
            [b'\r', b'\n', rest @ ..] => (rest, false),
            [b'\r'] => (Default::default(), true),
            [_, rest @ ..] => (rest, false),
        };
        self.line = LineState::Start;
        self.after_cr = after_cr;
        rest
    }

    /// A blank line: the event is whole. Nothing if it is none, for want of a line of data; otherwise what it changed, if it
    /// is JSON.
    fn dispatch(
        &mut self,
        extractor: &Extractor,
        tally: &mut UsageTally,
    ) -> Option<Option<Effect>> {
        if !core::mem::take(&mut self.has_data) {
            return None;
        }
        if extractor.is_closed() {
            return Some(Some(tally.commit()));
        }
        tally.discard();
        Some(None)
    }
}
