//! Strings that are kept, and keys.

use super::{Extractor, ExtractorState};
use crate::text::{Escape, NO_CHARACTER, is_line_break, skip_plain};
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

    /// Reads a number that is written as a string, from behind its opening quote.
    pub(super) fn quoted_number<'a>(
        &mut self,
        bytes: &'a [u8],
        lines: bool,
        tally: &mut UsageTally,
    ) -> &'a [u8] {
        match plain_text(bytes) {
            Some((text, after)) => {
                self.count(text, tally);
                self.end_value(after)
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
                .split_at_checked(skip_plain(rest))
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
                    let wide = after.iter().position(u8::is_ascii);
                    let (wide, tail) = after
                        .split_at_checked(wide.unwrap_or(after.len()))
                        .unwrap_or((after, &[]));
                    self.keep_text(wide);
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
            None => {
                self.count(text, tally);
                self.end_value(after)
            }
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

    /// Reads the next byte of an escape.
    pub(super) fn escape(&mut self, byte: u8) {
        match self.decoder.next(byte) {
            Escape::Open => {}
            Escape::Wrong => self.state = ExtractorState::Lost,
            Escape::Whole(decoded) => {
                self.state = ExtractorState::Text;
                if decoded.lone {
                    self.keep(NO_TEXT);
                }
                if let Some(character) = decoded.character {
                    self.keep(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
    }

    /// No second half followed the first half of a surrogate pair.
    fn end_surrogate(&mut self) {
        if self.decoder.end_pair() {
            self.keep(NO_TEXT);
        }
    }
}

/// The string that ends at the first quote, if it is all there and nothing in it is other than it means, and what comes
/// after it.
pub(super) fn plain_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (text, after) = bytes.split_at_checked(skip_plain(bytes))?;
    match after {
        [b'"', after @ ..] => Some((text, after)),
        _ => None,
    }
}

/// A text, unless it is too long to be kept.
fn short(text: &[u8]) -> Option<&[u8]> {
    (text.len() <= MAX_TEXT).then_some(text)
}

/// The bytes that make a string no UTF-8, so that it is no key of a table and not kept.
const NO_TEXT: &[u8] = &[NO_CHARACTER];
