//! Strings: their text, escapes, and what becomes of the ones that matter.

use super::others::OtherModel;
use super::scope::ScopeMarks;
use super::{ChunkCursor, JsonScanner, JsonState, StringRole};
use crate::body::BodyError;
use crate::text::{Decoded, Escape, skip_plain};

impl JsonScanner {
    /// Reads on in a string, and perhaps past its end; gives what is left of the chunk.
    pub(super) fn text<'a>(&mut self, mut cursor: ChunkCursor<'a>) -> Result<&'a [u8], BodyError> {
        loop {
            if !self.utf8.is_inside() {
                match self.text {
                    StringRole::Value | StringRole::NestedKey => {
                        cursor.rest = self.skip_nested(cursor.rest);
                        if !matches!(self.state, JsonState::Text) {
                            return Ok(cursor.rest);
                        }
                        // By now a key that is compared has begun.
                        if self.text == StringRole::Key {
                            continue;
                        }
                    }
                    StringRole::Key if self.key.is_empty() && !self.escape.in_pair() => {
                        let plain = skip_plain(cursor.rest);
                        // Nearly every key comes whole: it need not be kept.
                        if let Some((key, [b'"', behind @ ..])) =
                            cursor.rest.split_at_checked(plain)
                        {
                            self.end_key(Some(key))?;
                            return Ok(self.behind_key(behind));
                        }
                        cursor.rest = self.take(cursor, plain)?;
                    }
                    StringRole::Part => {
                        cursor.rest = self.part_text(cursor.rest);
                        if self.text == StringRole::Value {
                            continue;
                        }
                    }
                    StringRole::Key
                    | StringRole::Model
                    | StringRole::Other(_)
                    | StringRole::Word(_) => {
                        cursor.rest = self.take(cursor, skip_plain(cursor.rest))?;
                    }
                }
                match cursor.rest.split_first() {
                    None => return Ok(cursor.rest),
                    Some((b'"', tail)) => {
                        let end = cursor.at().saturating_add(1);
                        self.end_text(end)?;
                        return Ok(tail);
                    }
                    Some((b'\\', tail)) => {
                        self.state = JsonState::Escape;
                        cursor.rest = tail;
                        cursor.rest = self.read_escape(cursor)?;
                        if !matches!(self.state, JsonState::Text) {
                            return Ok(cursor.rest);
                        }
                        continue;
                    }
                    Some((0x00..0x20, _)) => return Err(BodyError::Syntax { at: cursor.at() }),
                    // Before anything is held against the character itself, wherever the chunks end.
                    Some(_) => self.end_surrogate()?,
                }
            }
            // One alone: what whole ones follow are skipped many at a time.
            let wide = self
                .utf8
                .character(cursor.rest)
                .map_err(|bad| BodyError::Utf8 {
                    at: cursor.at().saturating_add(bad as u64),
                })?;
            self.no_known_key();
            cursor.rest = self.take(cursor, wide)?;
            if cursor.rest.is_empty() {
                return Ok(cursor.rest);
            }
        }
    }

    /// Reads the colon behind a key that is compared, if it is there at once; gives what is left of the chunk.
    fn behind_key<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        match chunk {
            [b':', behind @ ..] => {
                self.state = JsonState::Value;
                behind
            }
            _ => {
                self.state = JsonState::Colon;
                chunk
            }
        }
    }

    /// Takes the next `len` bytes as they are into the string; gives what is left of the chunk.
    fn take<'a>(&mut self, cursor: ChunkCursor<'a>, len: usize) -> Result<&'a [u8], BodyError> {
        let Some((fragment, rest)) = cursor.rest.split_at_checked(len) else {
            return Ok(cursor.rest);
        };
        if !fragment.is_empty() && self.text.is_kept() {
            self.end_surrogate()?;
            let end = cursor.at().saturating_add(len as u64);
            self.push(fragment, end)?;
        }
        Ok(rest)
    }

    /// Adds decoded text to a string that is kept; `end` is the offset after its bytes.
    fn push(&mut self, fragment: &[u8], end: u64) -> Result<(), BodyError> {
        match self.text {
            StringRole::Key | StringRole::Word(_) => self.key.push(fragment),
            StringRole::Other(_) => self.name.push(fragment)?,
            StringRole::Model => {
                self.name.push(fragment)?;
                if self.name.overflow() && self.model.is_none() {
                    self.model = Some(self.name.found(self.model_start..end)?);
                }
            }
            StringRole::Value | StringRole::NestedKey | StringRole::Part => {}
        }
        Ok(())
    }

    /// Reads on in an escape, from behind its `\`; gives what is left of the chunk.
    pub(super) fn read_escape<'a>(
        &mut self,
        mut cursor: ChunkCursor<'a>,
    ) -> Result<&'a [u8], BodyError> {
        while let Some((&byte, tail)) = cursor.rest.split_first() {
            match self.escape.next(byte) {
                Escape::Open => cursor.rest = tail,
                Escape::Wrong => return Err(BodyError::Syntax { at: cursor.at() }),
                Escape::Whole(decoded) => {
                    self.state = JsonState::Text;
                    cursor.rest = tail;
                    self.decoded(decoded, cursor.at())?;
                    break;
                }
            }
        }
        Ok(cursor.rest)
    }

    /// Takes an escape that ends just before `end`.
    fn decoded(&mut self, decoded: Decoded, end: u64) -> Result<(), BodyError> {
        if decoded.is_unicode {
            self.unicode_escapes = self.unicode_escapes.saturating_add(1);
        }
        if !self.text.is_kept() {
            self.escape.end_pair();
            self.no_known_key();
            if self.text == StringRole::Part {
                self.part_escape(decoded);
            }
            return Ok(());
        }
        if decoded.lone {
            self.lone_surrogate()?;
        }
        match decoded.character {
            // A parser that ends texts at it would read another name.
            Some('\0') if self.text == StringRole::Key => Err(BodyError::NulInName),
            Some(character) => self.push(character.encode_utf8(&mut [0; 4]).as_bytes(), end),
            None => Ok(()),
        }
    }

    /// No second half followed the first half of a surrogate pair.
    fn end_surrogate(&mut self) -> Result<(), BodyError> {
        match self.escape.end_pair() {
            true => self.lone_surrogate(),
            false => Ok(()),
        }
    }

    fn lone_surrogate(&mut self) -> Result<(), BodyError> {
        if matches!(self.text, StringRole::Model | StringRole::Other(_)) {
            return Err(BodyError::ModelSurrogate);
        }
        self.key.push_lone_surrogate();
        Ok(())
    }

    /// Makes a key that is not compared match no known one, for an escape or a character outside ASCII in it.
    fn no_known_key(&mut self) {
        if self.text == StringRole::NestedKey {
            self.key.push_lone_surrogate();
        }
    }

    /// The closing quote of a string, just before `end`.
    fn end_text(&mut self, end: u64) -> Result<(), BodyError> {
        self.state = match self.text {
            StringRole::Value => JsonState::AfterValue,
            StringRole::NestedKey => JsonState::Colon,
            StringRole::Key => {
                self.end_surrogate()?;
                self.end_key(None)?;
                JsonState::Colon
            }
            StringRole::Part => {
                self.end_part(end);
                JsonState::AfterValue
            }
            StringRole::Word(word) => {
                self.end_surrogate()?;
                self.end_word(word);
                JsonState::AfterValue
            }
            StringRole::Other(role) => {
                self.end_surrogate()?;
                let found = self.name.found(self.model_start..end)?;
                self.note_other(OtherModel { role, found })?;
                self.scopes.mark(ScopeMarks::MODEL);
                JsonState::AfterValue
            }
            StringRole::Model => {
                self.end_surrogate()?;
                if self.model.is_none() {
                    self.model = Some(self.name.found(self.model_start..end)?);
                }
                JsonState::AfterValue
            }
        };
        Ok(())
    }
}
