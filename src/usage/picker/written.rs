//! What the model wrote: its length counts, nothing in it is read.

use super::passing::skip_wide;
use super::{Picker, State};
use crate::text::{passable_run, unicode_escapes};
use crate::usage::places::Free;
use crate::usage::sse::is_line_break;
use crate::usage::tally::Tally;

/// How much shorter an escape `\uXXXX` counts than it is written: it stands for a character of two or three bytes.
const ESCAPE: i64 = 3;

impl Picker {
    /// Reads on in a string that the model wrote.
    pub(super) fn generated<'a>(
        &mut self,
        bytes: &'a [u8],
        lines: bool,
        tally: &mut Tally,
    ) -> &'a [u8] {
        let mut rest = bytes;
        let after = loop {
            rest = rest.get(passable_run(rest)..).unwrap_or_default();
            rest = match rest {
                [b'\\', 0x20..=0xFF, tail @ ..] => tail,
                [b'\\', tail @ ..] => {
                    self.state = State::GeneratedEscape;
                    break tail;
                }
                [0x80..=0xFF, tail @ ..] => skip_wide(tail),
                _ => break rest,
            }
        };
        let (length, escapes) = self.count(bytes, after, tally);
        match after {
            [b'"', tail @ ..] if self.state == State::Generated => {
                if let Ok(escapes) = u8::try_from(escapes) {
                    let end = bytes.len().saturating_sub(length);
                    self.note(bytes.len(), end, Free::Generated(escapes));
                }
                self.end_value(tail)
            }
            [byte, ..] if self.state == State::Generated => {
                if !(lines && is_line_break(*byte)) {
                    self.state = State::Lost;
                }
                after
            }
            _ => after,
        }
    }

    /// Reads the character after a `\` in such a string.
    pub(super) fn generated_escape(&mut self, byte: u8, tally: &mut Tally) {
        self.state = State::Generated;
        tally.generated(escaped(byte));
    }

    /// Reads on in an object or array that the model wrote. What stands between its brackets counts, of a document as it is
    /// written.
    pub(super) fn written<'a>(
        &mut self,
        bytes: &'a [u8],
        lines: bool,
        tally: &mut Tally,
    ) -> &'a [u8] {
        let mut text = bytes;
        if let [byte, tail @ ..] = bytes
            && self.state == State::WrittenEscape
        {
            self.state = State::WrittenText;
            tally.generated(escaped(*byte));
            text = tail;
        }
        let mut rest = text;
        while let Some((&byte, tail)) = rest.split_first() {
            if self.state == State::WrittenText {
                rest = match rest.get(passable_run(rest)..).unwrap_or_default() {
                    [b'"', tail @ ..] => {
                        self.state = State::Written;
                        tail
                    }
                    [b'\\', 0x20..=0xFF, tail @ ..] => tail,
                    [b'\\', tail @ ..] => {
                        self.state = State::WrittenEscape;
                        rest = tail;
                        break;
                    }
                    [0x80..=0xFF, tail @ ..] => skip_wide(tail),
                    other => {
                        rest = other;
                        break;
                    }
                };
                continue;
            }
            match byte {
                b'"' => self.state = State::WrittenText,
                b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.count(text, rest, tally);
                        return self.end_value(tail);
                    }
                }
                b'\\' => break,
                b'\r' | b'\n' if lines => break,
                _ => {}
            }
            rest = tail;
        }
        self.count(text, rest, tally);
        if let [byte, ..] = rest
            && self.state != State::WrittenEscape
            && !(lines && is_line_break(*byte))
        {
            self.state = State::Lost;
        }
        rest
    }

    /// Counts what was read of a text, up to what is left; gives how long it is and how many characters in it are written by
    /// number.
    fn count(&mut self, text: &[u8], left: &[u8], tally: &mut Tally) -> (usize, usize) {
        let length = text.len().saturating_sub(left.len());
        let escapes = unicode_escapes(text.get(..length).unwrap_or_default());
        tally.generated(counted(length, escapes));
        (length, escapes)
    }
}

/// What a text of so many bytes counts.
pub(in crate::usage) fn counted(length: usize, escapes: usize) -> i64 {
    let number = |size: usize| i64::try_from(size).unwrap_or(i64::MAX);
    number(length).saturating_sub(number(escapes).saturating_mul(ESCAPE))
}

/// What the character after a `\` counts.
fn escaped(byte: u8) -> i64 {
    counted(1, usize::from(byte == b'u'))
}
