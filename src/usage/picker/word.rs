//! Numbers and literals.

use super::{Picker, State};
use crate::usage::short_text::MAX_TEXT;
use crate::usage::tally::Tally;

impl Picker {
    /// Reads on in a number or a literal.
    pub(super) fn word<'a>(&mut self, bytes: &'a [u8], tally: &mut Tally) -> &'a [u8] {
        let end = bytes.iter().position(|byte| !is_word(*byte));
        let (piece, rest) = bytes
            .split_at_checked(end.unwrap_or(bytes.len()))
            .unwrap_or((bytes, &[]));
        if rest.is_empty() {
            // It may go on in the next chunk: half a number is no number.
            self.keep(piece);
            return rest;
        }
        if self.scratch.as_bytes().is_empty() && !self.too_long {
            self.end_word(piece, tally);
        } else {
            self.keep(piece);
            let word = self.scratch;
            self.end_word(word.as_bytes(), tally);
            self.clear_scratch();
        }
        rest
    }

    fn end_word(&mut self, word: &[u8], tally: &mut Tally) {
        let good = match word {
            // Whatever it is, it was not kept.
            _ if self.too_long || word.len() > MAX_TEXT => true,
            b"true" | b"false" | b"null" => true,
            // What the end of a stream is written with: `data: [DONE]`.
            b"DONE" => self.path.is_outermost_array() && tally.done(),
            [b'-' | b'0'..=b'9', ..] => match integer(word) {
                Some(value) => {
                    if let Some(slot) = self.node.number {
                        tally.number(slot, value);
                    }
                    true
                }
                None => word
                    .iter()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')),
            },
            _ => false,
        };
        self.end_value();
        if !good {
            self.state = State::Lost;
        }
    }
}

/// Whether a byte can stand in a number or a literal, or in what is mistaken for one.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// The value of a plain integer: no sign, fraction, exponent or leading zero, and no more than 64 bits.
fn integer(word: &[u8]) -> Option<u64> {
    if matches!(word, [b'0', _, ..]) {
        return None;
    }
    word.iter().try_fold(0u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| byte.wrapping_sub(b'0'))?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}
