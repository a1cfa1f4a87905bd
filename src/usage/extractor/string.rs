//! Strings that are kept, and keys.

use super::skip::skip_wide;
use super::{Extractor, ExtractorState};
use crate::text::{is_line_break, plain_run, unescaped};
use crate::usage::short_text::MAX_TEXT;
use crate::usage::table::TextField;
use crate::usage::tally::UsageTally;

impl Extractor {
    /// Reads a string that is told as this, from behind its opening quote.
    pub(super) fn told_text<'a>(
        &mut self,
        what: TextField,
        bytes: &'a [u8],
        lines: bool,
        tally: &mut UsageTally,
    ) -> &'a [u8] {
        match plain_text(bytes) {
            Some((text, after)) => {
                let good = tally.text(what, short(text), true);
                self.end_told(good, after)
            }
            None => {
                self.key = false;
                self.state = ExtractorState::Text;
                self.text(bytes, lines, tally)
            }
        }
    }

    /// Reads on in a string that is kept.
    pub(super) fn text<'a>(
        &mut self,
        bytes: &'a [u8],
        lines: bool,
        tally: &mut UsageTally,
    ) -> &'a [u8] {
        let mut rest = bytes;
        loop {
            let (fragment, after) = rest
                .split_at_checked(plain_run(rest))
                .unwrap_or((rest, &[]));
            self.keep_text(fragment);
            rest = match after {
                [] => return after,
                [b'"', tail @ ..] => {
                    self.end_surrogate();
                    return self.end_text(tail, tally);
                }
                [b'\\', tail @ ..] => {
                    self.state = ExtractorState::Escape;
                    return tail;
                }
                [0x80..=0xFF, ..] => {
                    let tail = skip_wide(after);
                    let wide = after.len().saturating_sub(tail.len());
                    self.keep_text(after.get(..wide).unwrap_or_default());
                    tail
                }
                [byte, ..] => {
                    if !(lines && is_line_break(*byte)) {
                        self.state = ExtractorState::Lost;
                    }
                    return after;
                }
            };
        }
    }

    /// The string in the scratch has ended, and this comes after it; gives what is left.
    #[inline(never)]
    fn end_text<'a>(&mut self, after: &'a [u8], tally: &mut UsageTally) -> &'a [u8] {
        let scratch = self.scratch;
        // What is too long is as if it were no text at all.
        let text = if self.too_long {
            NO_TEXT
        } else {
            scratch.as_bytes()
        };
        self.clear_scratch();
        match self.node.text {
            _ if self.key => {
                self.find_member(text);
                self.state = ExtractorState::Colon;
                after
            }
            Some(what) => {
                let good = tally.text(what, short(text), false);
                self.end_told(good, after)
            }
            None => self.end_value(after),
        }
    }

    /// A string that was told has ended, and this comes after it; gives what is left.
    fn end_told<'a>(&mut self, worth_reading_on: bool, after: &'a [u8]) -> &'a [u8] {
        if worth_reading_on {
            return self.end_value(after);
        }
        self.state = ExtractorState::Lost;
        after
    }

    /// Adds bytes that stand in the string as they are.
    fn keep_text(&mut self, fragment: &[u8]) {
        if !fragment.is_empty() {
            self.end_surrogate();
            self.keep(fragment);
        }
    }

    /// Reads the byte after a `\`.
    pub(super) fn escape(&mut self, byte: u8) {
        if byte == b'u' {
            self.state = ExtractorState::Unicode(4, 0);
            return;
        }
        let Some(character) = unescaped(byte) else {
            self.state = ExtractorState::Lost;
            return;
        };
        self.state = ExtractorState::Text;
        self.keep_text(&[character]);
    }

    /// Reads a digit of `\uXXXX`.
    pub(super) fn unicode(&mut self, left: u8, code: u16, byte: u8) {
        let digit = match byte {
            b'0'..=b'9' => byte.wrapping_sub(b'0'),
            b'a'..=b'f' => byte.wrapping_sub(b'a').wrapping_add(10),
            b'A'..=b'F' => byte.wrapping_sub(b'A').wrapping_add(10),
            _ => {
                self.state = ExtractorState::Lost;
                return;
            }
        };
        let code = code.wrapping_mul(16) | u16::from(digit);
        let left = left.saturating_sub(1);
        if left > 0 {
            self.state = ExtractorState::Unicode(left, code);
            return;
        }
        self.state = ExtractorState::Text;
        match (self.high_surrogate, code) {
            (Some(high), 0xDC00..=0xDFFF) => {
                self.high_surrogate = None;
                for character in char::decode_utf16([high, code]).flatten() {
                    self.keep(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
            (_, 0xD800..=0xDBFF) => {
                self.end_surrogate();
                self.high_surrogate = Some(code);
            }
            _ => {
                self.end_surrogate();
                match char::from_u32(u32::from(code)) {
                    Some(character) => self.keep(character.encode_utf8(&mut [0; 4]).as_bytes()),
                    None => self.keep(NO_TEXT),
                }
            }
        }
    }

    /// No second half followed the first half of a surrogate pair.
    fn end_surrogate(&mut self) {
        if self.high_surrogate.take().is_some() {
            self.keep(NO_TEXT);
        }
    }
}

/// The string that ends at the first quote, if it is all there and nothing in it is other than it means, and what comes
/// after it.
pub(super) fn plain_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (text, after) = bytes.split_at_checked(plain_run(bytes))?;
    match after {
        [b'"', after @ ..] => Some((text, after)),
        _ => None,
    }
}

/// A text, unless it is too long to be kept.
fn short(text: &[u8]) -> Option<&[u8]> {
    (text.len() <= MAX_TEXT).then_some(text)
}

/// What makes a string no UTF-8, so that it is no key of a table and not kept.
const NO_TEXT: &[u8] = &[0xFF];
