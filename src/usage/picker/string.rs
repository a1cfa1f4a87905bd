//! Strings: those that are kept, and those that are passed over.

use super::{Picker, State};
use crate::text::{passable_run, plain_run, unescaped};
use crate::usage::short_text::MAX_TEXT;
use crate::usage::sse::is_line_break;
use crate::usage::table::Node;
use crate::usage::tally::Tally;

impl Picker {
    /// Reads on in a string that is passed over.
    pub(super) fn pass_text<'a>(&mut self, bytes: &'a [u8], lines: bool) -> &'a [u8] {
        let mut rest = bytes;
        loop {
            rest = rest.get(passable_run(rest)..).unwrap_or_default();
            rest = match rest {
                [] => return rest,
                [b'"', tail @ ..] => {
                    self.passed.note(bytes.len(), rest.len());
                    if self.depth == 0 {
                        self.end_value();
                    } else {
                        self.state = State::Passing;
                    }
                    return tail;
                }
                [b'\\', 0x20..=0xFF, tail @ ..] => tail,
                [b'\\', tail @ ..] => {
                    self.state = State::PassingEscape;
                    return tail;
                }
                [0x80..=0xFF, tail @ ..] => skip_wide(tail),
                [byte, ..] => {
                    if !(lines && is_line_break(*byte)) {
                        self.state = State::Lost;
                    }
                    return rest;
                }
            }
        }
    }

    /// Reads on in a string that is kept.
    pub(super) fn text<'a>(&mut self, bytes: &'a [u8], lines: bool, tally: &mut Tally) -> &'a [u8] {
        let mut rest = bytes;
        loop {
            let (piece, after) = rest
                .split_at_checked(plain_run(rest))
                .unwrap_or((rest, &[]));
            if let [b'"', tail @ ..] = after
                && self.scratch.as_bytes().is_empty()
                && !self.too_long
                && self.high_surrogate.is_none()
            {
                self.end_text(piece, tally);
                return tail;
            }
            self.keep_text(piece);
            rest = match after {
                [] => return after,
                [b'"', tail @ ..] => {
                    self.end_surrogate();
                    let scratch = self.scratch;
                    // What is too long is as if it were no text at all.
                    let text = if self.too_long {
                        NO_TEXT
                    } else {
                        scratch.as_bytes()
                    };
                    self.clear_scratch();
                    self.end_text(text, tally);
                    return tail;
                }
                [b'\\', tail @ ..] => {
                    self.state = State::Escape;
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
                        self.state = State::Lost;
                    }
                    return after;
                }
            };
        }
    }

    fn end_text(&mut self, text: &[u8], tally: &mut Tally) {
        if self.key {
            let (_, object) = self.path.inner();
            self.node = object.member(text).unwrap_or(&Node::NONE);
            self.state = State::Colon;
            return;
        }
        self.end_value();
        if let Some(what) = self.node.text {
            let short = (text.len() <= MAX_TEXT).then_some(text);
            if !tally.text(what, short) {
                self.state = State::Lost;
            }
        }
    }

    /// Adds bytes that stand in the string as they are.
    fn keep_text(&mut self, piece: &[u8]) {
        if !piece.is_empty() {
            self.end_surrogate();
            self.keep(piece);
        }
    }

    /// Reads the byte after a `\`.
    pub(super) fn escape(&mut self, byte: u8) {
        if byte == b'u' {
            self.state = State::Unicode(4, 0);
            return;
        }
        let Some(character) = unescaped(byte) else {
            self.state = State::Lost;
            return;
        };
        self.state = State::Text;
        self.keep_text(&[character]);
    }

    /// Reads a digit of `\uXXXX`.
    pub(super) fn unicode(&mut self, left: u8, code: u16, byte: u8) {
        let digit = match byte {
            b'0'..=b'9' => byte.wrapping_sub(b'0'),
            b'a'..=b'f' => byte.wrapping_sub(b'a').wrapping_add(10),
            b'A'..=b'F' => byte.wrapping_sub(b'A').wrapping_add(10),
            _ => {
                self.state = State::Lost;
                return;
            }
        };
        let code = code.wrapping_mul(16) | u16::from(digit);
        let left = left.saturating_sub(1);
        if left > 0 {
            self.state = State::Unicode(left, code);
            return;
        }
        self.state = State::Text;
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

/// What makes a string no UTF-8, so that it is no key of a table and not kept.
const NO_TEXT: &[u8] = &[0xFF];

/// The bytes after those outside ASCII at the start.
fn skip_wide(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let [0x80..=0xFF, tail @ ..] = rest {
        rest = tail;
    }
    rest
}
