//! Numbers and literals.

use super::{Extractor, ExtractorState};
use crate::usage::holes::HoleKind;
use crate::usage::numbers::{Slot, integer, short_integer, whole};
use crate::usage::short_text::MAX_TEXT;
use crate::usage::table::{COST, TextField};
use crate::usage::tally::UsageTally;

impl Extractor {
    /// Reads a number or a literal from its first byte on.
    pub(super) fn new_word<'a>(&mut self, bytes: &'a [u8], tally: &mut UsageTally) -> &'a [u8] {
        if let Some(after) = self.usual_word(bytes, tally) {
            return self.end_value(after);
        }
        self.state = ExtractorState::Word;
        self.word(bytes, tally)
    }

    /// Takes the whole number or `null` at the start, as nearly all words are; gives what comes after it.
    pub(super) fn usual_word<'a>(
        &mut self,
        bytes: &'a [u8],
        tally: &mut UsageTally,
    ) -> Option<&'a [u8]> {
        let (value, after) = match short_integer(bytes) {
            Some((value, after)) => (Some(value), after),
            None => (None, bytes.strip_prefix(b"null")?),
        };
        let next = after.first()?;
        if *next != b',' && is_word(*next) {
            return None;
        }
        if let Some(value) = value {
            let kind = match self.node.number {
                Some(slot) => {
                    tally.number(slot, value);
                    HoleKind::Number(slot)
                }
                None => HoleKind::Digits,
            };
            self.note(bytes.len(), after.len(), kind);
        }
        Some(after)
    }

    /// Reads on in a number or a literal.
    pub(super) fn word<'a>(&mut self, bytes: &'a [u8], tally: &mut UsageTally) -> &'a [u8] {
        let end = bytes.iter().position(|byte| !is_word(*byte));
        let (fragment, rest) = bytes
            .split_at_checked(end.unwrap_or(bytes.len()))
            .unwrap_or((bytes, &[]));
        if rest.is_empty() {
            // It may go on in the next chunk: half a number is no number.
            self.keep(fragment);
            return rest;
        }
        let good = if self.scratch.as_bytes().is_empty() && !self.too_long {
            let (good, told) = self.end_word(fragment, tally);
            let unread = self.node.number.is_none() && fragment.iter().all(u8::is_ascii_digit);
            if told.is_some() || unread {
                let kind = told.map_or(HoleKind::Digits, HoleKind::Number);
                self.note(bytes.len(), rest.len(), kind);
            }
            good
        } else {
            self.keep(fragment);
            let word = self.scratch;
            let (good, _) = self.end_word(word.as_bytes(), tally);
            self.clear_scratch();
            good
        };
        if good {
            return self.end_value(rest);
        }
        self.state = ExtractorState::Lost;
        rest
    }

    /// Takes a whole number or literal: whether it is one, and the hole of the number, if it was told.
    fn end_word(&mut self, word: &[u8], tally: &mut UsageTally) -> (bool, Option<Slot>) {
        let mut told = None;
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
                        told = Some(slot);
                    }
                    true
                }
                None => {
                    self.count(word, tally);
                    word.iter()
                        .all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
                }
            },
            _ => false,
        };
        (good, told)
    }

    /// Takes a number of any spelling, in quotes too, where one is told.
    pub(super) fn count(&self, word: &[u8], tally: &mut UsageTally) {
        let Some(slot) = self.node.number else { return };
        match integer(word).or_else(|| whole(word)) {
            Some(value) => tally.number(slot, value),
            None if slot == COST => {
                tally.text(TextField::Cost, Some(word), false);
            }
            None => tally.no_number(),
        }
    }
}

/// Whether a byte can stand in a number or a literal, or in what is mistaken for one.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}
