//! A buffer for JSON that is written in short pieces.

use core::fmt;

use crate::text::{copy_short, is_plain};

/// The maximum length that the members of a record usually have, in bytes.
const USUAL_LENGTH: usize = 2048;

/// Bytes being written.
///
/// A record has a hundred pieces of a few bytes, so each of them should cost little: names are stored in one length, beyond
/// their end too, where the next piece will stand.
pub(super) struct MemberBuffer {
    /// The bytes written, and room for more.
    bytes: Vec<u8>,
    /// The number of bytes written.
    length: usize,
}

impl MemberBuffer {
    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0; USUAL_LENGTH],
            length: 0,
        }
    }

    /// Returns the bytes written.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.truncate(self.length);
        self.bytes
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Takes back what was written behind the first `length` bytes.
    pub(super) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Writes one byte in place of another.
    pub(super) fn replace(&mut self, at: usize, byte: u8) {
        if let Some(place) = self
            .bytes
            .get_mut(..self.length)
            .and_then(|b| b.get_mut(at))
        {
            *place = byte;
        }
    }

    /// Writes bytes.
    pub(super) fn push(&mut self, piece: &[u8]) {
        if let Some(place) = self.room(piece.len()).get_mut(..piece.len()) {
            copy_short(piece, place);
            self.length = self.length.saturating_add(piece.len());
        }
    }

    /// Writes a name.
    pub(super) fn push_name(&mut self, name: &MemberName) {
        if let Some(place) = self.room(MemberName::ROOM).first_chunk_mut() {
            *place = name.written;
            self.length = self.length.saturating_add(name.length);
        }
    }

    /// Writes one byte.
    pub(super) fn push_byte(&mut self, byte: u8) {
        if let Some(place) = self.room(1).first_mut() {
            *place = byte;
            self.length = self.length.saturating_add(1);
        }
    }

    /// Writes a text with its quotes.
    pub(super) fn push_text(&mut self, text: &str) {
        if !is_plain(text.as_bytes()) {
            // Text, into memory: it cannot fail.
            let _ = serde_json::to_writer(self, text);
            return;
        }
        let quoted = text.len().saturating_add(2);
        if let Some([first, middle @ .., last]) = self.room(quoted).get_mut(..quoted) {
            (*first, *last) = (b'"', b'"');
            copy_short(text.as_bytes(), middle);
            self.length = self.length.saturating_add(quoted);
        }
    }

    /// The room at the end, at least so many bytes.
    fn room(&mut self, length: usize) -> &mut [u8] {
        let end = self.length.saturating_add(length);
        if end > self.bytes.len() {
            self.bytes.resize(end.saturating_mul(2), 0);
        }
        self.bytes.get_mut(self.length..).unwrap_or_default()
    }
}

impl fmt::Write for MemberBuffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

impl std::io::Write for MemberBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A member's name as it stands before its value: `,"name":`.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemberName {
    written: [u8; Self::ROOM],
    length: usize,
}

impl MemberName {
    const ROOM: usize = 48;
    /// The longest name there may be, in bytes.
    pub(super) const MAX: usize = Self::ROOM - b",\"\":".len();

    /// See [`name!`].
    pub(super) const fn new(name: &str) -> Self {
        let mut written = [0; Self::ROOM];
        let length = copied(&mut written, 0, b",\"");
        let length = copied(&mut written, length, name.as_bytes());
        let length = copied(&mut written, length, b"\":");
        Self { written, length }
    }
}

/// Puts a piece behind the first `length` places, as much of it as there is room for; gives the length then.
const fn copied(places: &mut [u8], length: usize, piece: &[u8]) -> usize {
    let Some((_, mut room)) = places.split_at_mut_checked(length) else {
        return length;
    };
    let (mut rest, mut length) = (piece, length);
    while let (Some((place, free)), Some((byte, behind))) =
        (room.split_first_mut(), rest.split_first())
    {
        *place = *byte;
        (room, rest) = (free, behind);
        length = length.saturating_add(1);
    }
    length
}

/// A [`MemberName`], made by the compiler. It must be in plain characters.
macro_rules! name {
    ($name:literal) => {
        &const {
            assert!($name.len() <= MemberName::MAX, "longer than a name may be");
            MemberName::new($name)
        }
    };
}

pub(super) use name;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_any_length() {
        let cases: [(&str, &MemberName); 4] = [
            ("", name!("")),
            ("a", name!("a")),
            ("http.request.method", name!("http.request.method")),
            (
                "trilane.usage.cache_creation_5m.input_tokens",
                name!("trilane.usage.cache_creation_5m.input_tokens"),
            ),
        ];
        assert_eq!(cases[3].0.len(), MemberName::MAX);
        for (case, name) in cases {
            let mut line = MemberBuffer::new();
            line.push_name(name);
            line.push_name(name);
            let want = format!(",\"{case}\":").repeat(2);
            assert_eq!(line.into_bytes(), want.as_bytes(), "{case}");
        }
    }

    #[derive(Debug, Clone)]
    enum BufferEdit {
        Push(Vec<u8>),
        Byte(u8),
        Name,
        Text(String),
        Truncate(usize),
        Replace(usize, u8),
    }

    fn step() -> impl Strategy<Value = BufferEdit> {
        let bytes = prop_oneof![
            4 => prop::collection::vec(any::<u8>(), 0..70),
            1 => prop::collection::vec(any::<u8>(), 1000..5000),
        ];
        prop_oneof![
            4 => bytes.prop_map(BufferEdit::Push),
            1 => any::<u8>().prop_map(BufferEdit::Byte),
            2 => Just(BufferEdit::Name),
            2 => "[a-z]{0,40}|.{0,20}".prop_map(BufferEdit::Text),
            1 => (0..6000_usize).prop_map(BufferEdit::Truncate),
            1 => (0..6000_usize, any::<u8>()).prop_map(|(at, byte)| BufferEdit::Replace(at, byte)),
        ]
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn as_if_copied_byte_by_byte(steps in prop::collection::vec(step(), 0..40)) {
            let (mut line, mut want) = (MemberBuffer::new(), Vec::new());
            for step in steps {
                match step {
                    BufferEdit::Push(bytes) => {
                        line.push(&bytes);
                        want.extend(bytes);
                    }
                    BufferEdit::Byte(byte) => {
                        line.push_byte(byte);
                        want.push(byte);
                    }
                    BufferEdit::Name => {
                        line.push_name(name!("url.path"));
                        want.extend(b",\"url.path\":");
                    }
                    BufferEdit::Text(text) => {
                        line.push_text(&text);
                        want.extend(serde_json::to_vec(&text).unwrap());
                    }
                    BufferEdit::Truncate(length) => {
                        line.truncate(length);
                        want.truncate(length);
                    }
                    BufferEdit::Replace(at, byte) => {
                        line.replace(at, byte);
                        if let Some(place) = want.get_mut(at) {
                            *place = byte;
                        }
                    }
                }
                prop_assert_eq!(line.length(), want.len());
            }
            prop_assert_eq!(line.into_bytes(), want);
        }
    }
}
