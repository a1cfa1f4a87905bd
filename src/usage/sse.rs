//! Server-sent events (WHATWG HTML, 9.2.6), as they come: their data goes straight to the picker.
//!
//! Only `data` counts: every protocol here repeats in it what its `event` fields say.

use super::picker::Picker;
use super::quiet::Quiet;
use super::tally::Tally;
use memchr::memchr2;

/// Cuts a stream into lines and lines into events.
#[derive(Default)]
pub(super) struct Events {
    line: Line,
    /// The last byte read was a CR: an LF right behind it belongs to it.
    after_cr: bool,
    /// The event has a line of data.
    has_data: bool,
    /// Something of the event stood in a chunk before.
    begun: bool,
    /// The last event that said nothing new.
    quiet: Quiet,
}

/// Where in a line the bytes so far end.
#[derive(Clone, Copy, Default)]
enum Line {
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

impl Events {
    /// A stream that begins inside a line that is no field.
    pub(super) fn in_other_line() -> Self {
        Self {
            line: Line::Other,
            begun: true,
            ..Self::default()
        }
    }

    /// Reads the next bytes; none after the stream's own end.
    pub(super) fn feed(&mut self, bytes: &[u8], picker: &mut Picker, tally: &mut Tally) {
        if tally.is_done() {
            return;
        }
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        // From the first byte of the event on, where all of it so far is in this chunk.
        let mut event = None;
        if !self.begun {
            rest = self.skip_quiet(rest);
            event = Some(rest);
        }
        while let Some((&byte, tail)) = rest.split_first() {
            match self.line {
                Line::Start => {
                    if let Some(value) = rest.strip_prefix(DATA) {
                        self.line = Line::Colon;
                        rest = value;
                    } else if is_line_break(byte) {
                        let told = tally.is_told();
                        let is_one = self.dispatch(picker, tally);
                        if tally.is_done() {
                            return;
                        }
                        rest = self.end_line(rest);
                        if told {
                            self.quiet.forget();
                        } else if let Some(event) = event.filter(|_| is_one && !self.after_cr) {
                            self.quiet.learn(event, rest.len(), picker.passed());
                        }
                        if is_one {
                            picker.reset(&tally.table().event);
                        }
                        rest = self.skip_quiet(rest);
                        event = Some(rest);
                    } else {
                        self.line = Line::Name(0);
                    }
                }
                Line::Name(read) => match DATA.get(read) {
                    Some(want) if *want == byte => {
                        let read = read.saturating_add(1);
                        self.line = if read == DATA.len() {
                            Line::Colon
                        } else {
                            Line::Name(read)
                        };
                        rest = tail;
                    }
                    // A line that is nothing but a name is that field, empty.
                    Some(b':') if is_line_break(byte) => {
                        self.begin_data(picker, tally);
                        rest = self.end_line(rest);
                    }
                    _ => self.line = Line::Other,
                },
                Line::Colon => {
                    self.begin_data(picker, tally);
                    self.line = Line::Data;
                    rest = if byte == b' ' { tail } else { rest };
                }
                Line::Data => {
                    rest = picker.feed(rest, true, tally);
                    if !rest.is_empty() {
                        rest = self.end_line(rest);
                    }
                }
                Line::Other => {
                    let end = memchr2(b'\r', b'\n', rest).and_then(|end| rest.get(end..));
                    rest = self.end_line(end.unwrap_or_default());
                }
            }
        }
        self.begun = event.is_none_or(|event| !event.is_empty());
    }

    /// Passes over the events at the start that are like the last one that said nothing new.
    fn skip_quiet<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let mut rest = bytes;
        while let Some(after) = self.quiet.skip(rest) {
            rest = after;
        }
        rest
    }

    /// A line of data begins; it and the one before are joined by an LF.
    fn begin_data(&mut self, picker: &mut Picker, tally: &mut Tally) {
        if self.has_data {
            picker.feed(b"\n", false, tally);
        }
        self.has_data = true;
    }

    /// Reads the line break at the start, if there is one; gives what is left.
    fn end_line<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let (rest, after_cr) = match bytes {
            [] => return bytes,
            [b'\r', b'\n', rest @ ..] => (rest, false),
            [b'\r'] => (Default::default(), true),
            [_, rest @ ..] => (rest, false),
        };
        self.line = Line::Start;
        self.after_cr = after_cr;
        rest
    }

    /// A blank line: the event is whole. Whether it is one: it had a line of data.
    fn dispatch(&mut self, picker: &Picker, tally: &mut Tally) -> bool {
        if !self.has_data {
            return false;
        }
        self.has_data = false;
        if picker.is_closed() {
            tally.commit();
        } else {
            tally.discard();
        }
        true
    }
}

pub(super) fn is_line_break(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}
