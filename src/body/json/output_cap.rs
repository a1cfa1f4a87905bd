//! The cap that a body sets to the tokens of its output, and how many outputs it asks for.
//!
//! Each protocol has a name of its own for the cap, and protocol A has three. It decides nothing, so none of
//! them is ever refused: of several the greatest counts, and what is no plain integer says nothing. The number
//! of outputs multiplies what a request costs, so it is a plain integer or refused.

use super::number::Number;
use super::scope::KeyScope;
use super::{JsonScanner, JsonState};
use crate::body::{BodyError, Field};

/// The members that cap the output of an endpoint; others are none of its own, and cap nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CapMembers {
    /// Those of any endpoint.
    #[default]
    Any,
    /// Of Chat Completions.
    Chat,
    /// Of Responses.
    Responses,
    /// Of Messages.
    Messages,
    /// Of generate-content.
    Generate,
    /// The endpoint has none.
    None,
}

impl CapMembers {
    /// Whether the member of this name, which caps the output somewhere, is one of them.
    pub(super) fn has(self, scope: KeyScope, key: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Chat => {
                scope == KeyScope::Top && matches!(key, b"max_tokens" | b"max_completion_tokens")
            }
            Self::Responses => scope == KeyScope::Top && key == b"max_output_tokens",
            Self::Messages => scope != KeyScope::GenerationConfig && key == b"max_tokens",
            Self::Generate => scope == KeyScope::GenerationConfig,
            Self::None => false,
        }
    }
}

impl JsonScanner {
    /// Takes these members alone for caps.
    pub fn expect_caps(&mut self, members: CapMembers) {
        self.cap.members = members;
    }

    /// The greatest cap that has been read: top-level `max_tokens`, `max_completion_tokens` and
    /// `max_output_tokens`, and `maxOutputTokens` in `generationConfig`, both in either spelling.
    ///
    /// A number is one that begins with a digit and has neither a fraction nor an exponent; past
    /// [`u64::MAX`] it counts as that. It is known once the byte behind it has been read.
    pub fn output_cap(&self) -> Option<u64> {
        self.cap.found
    }

    /// Returns the number of outputs that the body asks for: the greatest of top-level `n`, and `candidateCount` in
    /// `generationConfig`, both in either spelling. It is known as a cap is.
    pub fn candidates(&self) -> Option<u64> {
        self.rare.as_ref()?.candidates
    }

    /// Reads on in a number that is a cap so far; gives what is left of the chunk.
    pub(super) fn cap<'a>(
        &mut self,
        number: Number,
        chunk: &'a [u8],
    ) -> Result<&'a [u8], BodyError> {
        let mut rest = chunk;
        while let Some((&byte, tail)) = rest.split_first() {
            let next = number.next(byte);
            if !matches!(next, Some(Number::Integer)) {
                // What goes on now has a fraction or an exponent.
                match (next, self.cap.counts) {
                    (None, None) => self.cap.found = self.cap.found.max(Some(self.cap.digits)),
                    (None, Some(_)) => {
                        let count = Some(self.cap.digits);
                        let rare = self.rare();
                        rare.candidates = rare.candidates.max(count);
                    }
                    (Some(_), Some(field)) => return Err(BodyError::WrongType(field)),
                    (Some(_), None) => {}
                }
                self.state = JsonState::Number(number);
                return Ok(rest);
            }
            self.cap.push(byte);
            rest = tail;
        }
        Ok(rest)
    }
}

/// Follows a scanner through the body, as far as it concerns the cap.
#[derive(Debug, Default)]
pub(super) struct CapReader {
    /// The members that are caps.
    pub(super) members: CapMembers,
    /// The greatest so far.
    found: Option<u64>,
    /// The digits so far of the number being read.
    digits: u64,
    /// The field whose number is being read, if that is one of outputs.
    counts: Option<Field>,
}

impl CapReader {
    /// The first byte of the value of a cap, or of the field that `counts` outputs; whether it can be one.
    pub(super) fn begin(&mut self, byte: u8, counts: Option<Field>) -> bool {
        self.digits = 0;
        self.counts = counts;
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
}

#[cfg(test)]
mod tests;
