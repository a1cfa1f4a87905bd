//! The cap that a body sets to the tokens of its output.
//!
//! Each protocol has a name of its own for it, and protocol A has three. It decides nothing, so none of
//! them is ever refused: of several the greatest counts, and what is no plain integer says nothing.

use super::number::Number;
use super::{JsonScanner, State};

impl JsonScanner {
    /// The greatest cap that has been read: top-level `max_tokens`, `max_completion_tokens` and
    /// `max_output_tokens`, and `maxOutputTokens` in `generationConfig`, both in either spelling.
    ///
    /// A number is one that begins with a digit and has neither a fraction nor an exponent; past
    /// [`u64::MAX`] it counts as that. It is known once the byte behind it has been read.
    pub fn output_cap(&self) -> Option<u64> {
        self.cap.found
    }

    /// Reads on in a number that is a cap so far; gives what is left of the chunk.
    pub(super) fn cap<'a>(&mut self, number: Number, chunk: &'a [u8]) -> &'a [u8] {
        let mut rest = chunk;
        while let Some((&byte, tail)) = rest.split_first() {
            let next = number.next(byte);
            if !matches!(next, Some(Number::Integer)) {
                // What goes on now has a fraction or an exponent.
                if next.is_none() {
                    self.cap.end();
                }
                self.state = State::Number(number);
                return rest;
            }
            self.cap.push(byte);
            rest = tail;
        }
        rest
    }
}

/// Follows a scanner through the body, as far as it concerns the cap.
#[derive(Debug, Default)]
pub(super) struct CapReader {
    /// The greatest so far.
    found: Option<u64>,
    /// The digits so far of the number being read.
    digits: u64,
    /// Whether an object that is the value of `generationConfig` is open.
    in_config: bool,
}

impl CapReader {
    pub(super) fn in_config(&self) -> bool {
        self.in_config
    }

    /// The first byte of the value of `generationConfig`.
    pub(super) fn begin_config(&mut self, byte: u8) {
        self.in_config = byte == b'{';
    }

    /// The closing bracket of any value of the outermost object.
    pub(super) fn end_config(&mut self) {
        self.in_config = false;
    }

    /// The first byte of a cap's value; whether it can be a cap.
    pub(super) fn begin(&mut self, byte: u8) -> bool {
        self.digits = 0;
        let digit = byte.is_ascii_digit();
        if digit {
            self.push(byte);
        }
        digit
    }

    /// The next digit.
    fn push(&mut self, digit: u8) {
        let digit = u64::from(digit.wrapping_sub(b'0'));
        self.digits = self.digits.saturating_mul(10).saturating_add(digit);
    }

    /// The end of a number that was all digits.
    fn end(&mut self) {
        self.found = self.found.max(Some(self.digits));
    }
}

#[cfg(test)]
mod tests;
