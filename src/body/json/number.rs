//! Numbers: their grammar.

use super::{ChunkCursor, JsonScanner, JsonState};
use crate::body::BodyError;

/// The position in a number at which the bytes so far end (RFC 8259, 6).
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Number {
    pub(super) fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') | (Self::Integer, b'0'..=b'9') => Self::Integer,
            (Self::Zero | Self::Integer, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Self::E,
            (Self::E, b'+' | b'-') => Self::Sign,
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Self::Exponent,
            _ => return None,
        })
    }

    pub(super) fn may_end(self) -> bool {
        matches!(
            self,
            Self::Zero | Self::Integer | Self::Fraction | Self::Exponent
        )
    }
}

impl JsonScanner {
    /// Reads on in a number; gives what is left of the chunk.
    pub(super) fn number<'a>(
        &mut self,
        mut number: Number,
        mut cursor: ChunkCursor<'a>,
    ) -> Result<&'a [u8], BodyError> {
        while let Some((&byte, tail)) = cursor.rest.split_first() {
            match number.next(byte) {
                Some(next) => number = next,
                None if number.may_end() => {
                    self.state = JsonState::AfterValue;
                    return Ok(cursor.rest);
                }
                None => return Err(BodyError::Syntax { at: cursor.at() }),
            }
            cursor.rest = tail;
        }
        self.state = JsonState::Number(number);
        Ok(cursor.rest)
    }
}
