//! Strings: their text, escapes, and what becomes of the ones that matter.

use super::others::OtherModel;
use super::{ChunkCursor, JsonScanner, JsonState, StringRole};
use crate::body::BodyError;
use crate::text::{plain_run, unescaped};

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
                    StringRole::Key if self.key.is_empty() && self.high_surrogate.is_none() => {
                        let plain = plain_run(cursor.rest);
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
                        cursor.rest = self.take(cursor, plain_run(cursor.rest))?;
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
                        let Some((&byte, tail)) = tail.split_first() else {
                            return Ok(tail);
                        };
                        self.escape(byte, cursor.at())?;
                        cursor.rest = tail;
                        if !matches!(self.state, JsonState::Text) {
                            return Ok(tail);
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
            StringRole::Value => {}
            StringRole::NestedKey => self.no_known_key(),
            StringRole::Part => {
                for character in fragment {
                    self.part_escape(*character);
                }
            }
            StringRole::Key | StringRole::Word(_) => self.key.push(fragment),
            StringRole::Other(_) => self.name.push(fragment)?,
            StringRole::Model => {
                self.name.push(fragment)?;
                if self.name.overflow() && self.model.is_none() {
                    self.model = Some(self.name.found(self.model_start..end)?);
                }
            }
        }
        Ok(())
    }

    /// Reads the byte after a `\`.
    pub(super) fn escape(&mut self, byte: u8, at: u64) -> Result<(), BodyError> {
        if byte == b'u' {
            self.state = JsonState::Unicode(4, 0);
            return Ok(());
        }
        let character = unescaped(byte).ok_or(BodyError::Syntax { at })?;
        self.end_surrogate()?;
        self.state = JsonState::Text;
        self.push(&[character], at.saturating_add(1))
    }

    /// Reads a digit of `\uXXXX`.
    pub(super) fn unicode(
        &mut self,
        left: u8,
        code: u16,
        byte: u8,
        at: u64,
    ) -> Result<(), BodyError> {
        let digit = match byte {
            b'0'..=b'9' => byte.wrapping_sub(b'0'),
            b'a'..=b'f' => byte.wrapping_sub(b'a').wrapping_add(10),
            b'A'..=b'F' => byte.wrapping_sub(b'A').wrapping_add(10),
            _ => return Err(BodyError::Syntax { at }),
        };
        let code = code.wrapping_mul(16) | u16::from(digit);
        let left = left.saturating_sub(1);
        if left > 0 {
            self.state = JsonState::Unicode(left, code);
            return Ok(());
        }
        self.state = JsonState::Text;
        self.unicode_escapes = self.unicode_escapes.saturating_add(1);
        if !self.text.is_kept() {
            self.no_known_key();
            if self.text == StringRole::Part {
                self.part_is_text();
            }
            return Ok(());
        }
        let units = match (self.high_surrogate.take(), code) {
            (Some(high), 0xDC00..=0xDFFF) => [high, code],
            (Some(_), _) => {
                self.lone_surrogate()?;
                return self.unit(code, at);
            }
            (None, _) => return self.unit(code, at),
        };
        for character in char::decode_utf16(units).flatten() {
            self.push_char(character, at)?;
        }
        Ok(())
    }

    /// Takes an escaped UTF-16 code unit that ends no surrogate pair.
    fn unit(&mut self, code: u16, at: u64) -> Result<(), BodyError> {
        match char::from_u32(u32::from(code)) {
            Some(character) => self.push_char(character, at),
            None if code < 0xDC00 => {
                self.high_surrogate = Some(code);
                Ok(())
            }
            None => self.lone_surrogate(),
        }
    }

    fn push_char(&mut self, character: char, at: u64) -> Result<(), BodyError> {
        let mut utf8 = [0; 4];
        let fragment = character.encode_utf8(&mut utf8).as_bytes();
        self.push(fragment, at.saturating_add(1))
    }

    /// No second half followed the first half of a surrogate pair.
    fn end_surrogate(&mut self) -> Result<(), BodyError> {
        match self.high_surrogate.take() {
            Some(_) => self.lone_surrogate(),
            None => Ok(()),
        }
    }

    fn lone_surrogate(&mut self) -> Result<(), BodyError> {
        if matches!(self.text, StringRole::Model | StringRole::Other(_)) {
            return Err(BodyError::ModelSurrogate);
        }
        self.key.push_lone_surrogate();
        Ok(())
    }

    /// What is not as it stands makes a key that is not compared one that tells nothing.
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
