//! What the model wrote: its length counts, nothing in it is read.

use super::skip::skip_wide;
use super::{Extractor, ExtractorState};
use crate::text::{is_line_break, passable_run, unicode_escapes};
use crate::usage::holes::HoleKind;
use crate::usage::tally::UsageTally;

/// How much shorter an escape `\uXXXX` counts than it is written: it stands for a character of two or three bytes.
const ESCAPE: i64 = 3;

impl Extractor {
    /// Reads on in a string that the model wrote.
    pub(super) fn generated<'a>(
        &mut self,
        bytes: &'a [u8],
        lines: bool,
        tally: &mut UsageTally,
    ) -> &'a [u8] {
        let mut rest = bytes;
        let after = loop {
            rest = rest.get(passable_run(rest)..).unwrap_or_default();
            rest = match rest {
                [b'\\', 0x20..=0xFF, tail @ ..] => tail,
                [b'\\', tail @ ..] => {
                    self.state = ExtractorState::GeneratedEscape;
                    break tail;
                }
                [0x80..=0xFF, tail @ ..] => skip_wide(tail),
                _ => break rest,
            }
        };
        let (length, escapes) = self.count(bytes, after, tally);
        match after {
            [b'"', tail @ ..] if self.state == ExtractorState::Generated => {
                if let Ok(escapes) = u8::try_from(escapes) {
                    let end = bytes.len().saturating_sub(length);
                    self.note(bytes.len(), end, HoleKind::Generated(escapes));
                }
                self.end_value(tail)
            }
            [byte, ..] if self.state == ExtractorState::Generated => {
                if !(lines && is_line_break(*byte)) {
                    self.state = ExtractorState::Lost;
                }
                after
            }
            _ => after,
        }
    }

    /// Reads the character after a `\` in such a string.
    pub(super) fn generated_escape(&mut self, byte: u8, tally: &mut UsageTally) {
        self.state = ExtractorState::Generated;
        tally.generated(escaped(byte));
    }

    /// Reads on in an object or array that the model wrote. What stands between its brackets counts, of a document as it is
    /// written.
    pub(super) fn written<'a>(
        &mut self,
        bytes: &'a [u8],
        lines: bool,
        tally: &mut UsageTally,
    ) -> &'a [u8] {
        let mut text = bytes;
        if let [byte, tail @ ..] = bytes
            && self.state == ExtractorState::WrittenEscape
        {
            self.state = ExtractorState::WrittenText;
            tally.generated(escaped(*byte));
            text = tail;
        }
        let mut rest = text;
        while let Some((&byte, tail)) = rest.split_first() {
            if self.state == ExtractorState::WrittenText {
                rest = match rest.get(passable_run(rest)..).unwrap_or_default() {
                    [b'"', tail @ ..] => {
                        self.state = ExtractorState::Written;
                        tail
                    }
                    [b'\\', 0x20..=0xFF, tail @ ..] => tail,
                    [b'\\', tail @ ..] => {
                        self.state = ExtractorState::WrittenEscape;
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
                b'"' => self.state = ExtractorState::WrittenText,
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
            && self.state != ExtractorState::WrittenEscape
            && !(lines && is_line_break(*byte))
        {
            self.state = ExtractorState::Lost;
        }
        rest
    }

    /// Counts what was read of a text, up to what is left; gives how long it is and how many characters in it are written by
    /// number.
    fn count(&mut self, text: &[u8], left: &[u8], tally: &mut UsageTally) -> (usize, usize) {
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
