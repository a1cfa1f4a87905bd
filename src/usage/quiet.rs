//! Events that say nothing new. Most of a stream's do, and differ from one another only in strings that
//! nobody reads: these are told by comparing them, which is much faster than reading them.

use crate::text::{common_prefix, passable_run};

/// The longest event that is remembered, in bytes.
const MAX_EVENT: usize = 512;
/// How many of its strings may differ.
const MAX_STRINGS: usize = 8;

/// The last event that said nothing new, and where in it strings stand that nobody reads.
///
/// Whatever equals it but for the text of those strings is read with the same result: nothing. That holds
/// as long as what is known stays the same.
pub(super) struct Quiet {
    bytes: [u8; MAX_EVENT],
    len: usize,
    strings: Strings,
}

/// Places of strings: from behind the opening quote to the closing one. In what is still being read they are
/// counted from the end of the chunk, since nothing there knows where the event began.
#[derive(Clone, Copy, Default)]
pub(super) struct Strings {
    places: [(usize, usize); MAX_STRINGS],
    count: usize,
}

impl Strings {
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds a string, by how much of the chunk is left at its two ends; those that find no room may not differ.
    pub(super) fn note(&mut self, left_at_start: usize, left_at_end: usize) {
        if let Some(place) = self.places.get_mut(self.count) {
            *place = (left_at_start, left_at_end);
            self.count = self.count.saturating_add(1);
        }
    }

    fn iter(&self) -> impl Iterator<Item = &(usize, usize)> {
        self.places.iter().take(self.count)
    }
}

impl Default for Quiet {
    fn default() -> Self {
        Self {
            bytes: [0; MAX_EVENT],
            len: 0,
            strings: Strings::default(),
        }
    }
}

impl Quiet {
    /// Something has become known.
    pub(super) fn forget(&mut self) {
        self.len = 0;
    }

    /// Remembers the event at the start of `chunk`, from its first byte to behind its blank line; `left` is how
    /// much of the chunk comes behind it.
    pub(super) fn learn(&mut self, chunk: &[u8], left: usize, strings: &Strings) {
        self.len = 0;
        let all = chunk.len();
        let Some(event) = chunk.get(..all.saturating_sub(left)) else {
            return;
        };
        let Some(room) = self.bytes.get_mut(..event.len()) else {
            return;
        };
        room.copy_from_slice(event);
        self.len = event.len();
        self.strings.clear();
        for (start, end) in strings.iter() {
            self.strings
                .note(all.saturating_sub(*start), all.saturating_sub(*end));
        }
    }

    /// The bytes after the event at the start, where it says as little.
    pub(super) fn skip<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let known = self.bytes.get(..self.len)?;
        if known.is_empty() {
            return None;
        }
        let (mut at, mut rest) = (0_usize, bytes);
        let mut strings = self.strings.iter();
        loop {
            let want = known.get(at..)?;
            let same = common_prefix(want, rest);
            if same == want.len() {
                return rest.get(same..);
            }
            let differs = at.saturating_add(same);
            let (start, end) = strings.find(|(_, end)| *end >= differs)?;
            if *start > differs {
                return None;
            }
            // Up to here both are equal, so this string begins in both at the same place.
            rest = after_string(rest.get(start.checked_sub(at)?..)?)?;
            at = end.saturating_add(1);
        }
    }
}

/// The bytes after the closing quote of the string that is being read.
fn after_string(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes;
    loop {
        rest = match rest.get(passable_run(rest)..)? {
            [b'"', tail @ ..] => return Some(tail),
            [0x80..=0xFF, tail @ ..] => tail,
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Remembers `text`, in which the strings between `«` and `»` may differ, and asks for `other`.
    fn skipped<'a>(text: &str, other: &'a str) -> Option<&'a str> {
        let event = text.replace(['«', '»'], "");
        let mut strings = Strings::default();
        let mut seen = 0;
        let mut start = 0;
        for (at, character) in text.char_indices() {
            match character {
                '«' => (start, seen) = (at - seen, seen + '«'.len_utf8()),
                '»' => {
                    strings.note(event.len() - start, event.len() - (at - seen));
                    seen += '»'.len_utf8();
                }
                _ => {}
            }
        }
        let mut quiet = Quiet::default();
        quiet.learn(event.as_bytes(), 0, &strings);
        let rest = quiet.skip(other.as_bytes())?;
        Some(core::str::from_utf8(rest).unwrap())
    }

    #[test]
    fn what_is_like_it_is_skipped() {
        let event = "data: {\"a\":\"«one»\",\"b\":1,\"c\":\"«two»\"}\n\n";
        let cases = [
            ("the same", r#"{"a":"one","b":1,"c":"two"}"#, true),
            ("another string", r#"{"a":"uno","b":1,"c":"two"}"#, true),
            (
                "both others",
                r#"{"a":"x","b":1,"c":"somewhat longer"}"#,
                true,
            ),
            (
                "longer with the same start",
                r#"{"a":"ones","b":1,"c":"two two"}"#,
                true,
            ),
            (
                "shorter with the same start",
                r#"{"a":"on","b":1,"c":""}"#,
                true,
            ),
            ("escapes", r#"{"a":"on\"e\\","b":1,"c":"\u0041\n"}"#, true),
            ("not ASCII", r#"{"a":"größer","b":1,"c":"二"}"#, true),
            ("another number", r#"{"a":"one","b":2,"c":"two"}"#, false),
            ("another key", r#"{"a":"one","d":1,"c":"two"}"#, false),
            (
                "one more member",
                r#"{"a":"one","b":1,"c":"two","d":1}"#,
                false,
            ),
            (
                "a string that hides the rest",
                r#"{"a":"one\","b":1,"c":"two"}"#,
                false,
            ),
            ("no string any more", r#"{"a":1,"b":1,"c":"two"}"#, false),
        ];
        for (case, json, want) in cases {
            let other = format!("data: {json}\n\nmore");
            let got = skipped(event, &other);
            assert_eq!(got, want.then_some("more"), "{case}");
        }
        assert_eq!(skipped(event, "data: {\"a\":\"one"), None, "not whole");
        assert_eq!(
            skipped(event, "data: {\"a\":\"o\tne\",\"b\":1,\"c\":\"two\"}\n\n"),
            None,
            "a control character"
        );
        assert_eq!(skipped("", "data: {}\n\n"), None, "nothing remembered");
    }

    #[test]
    fn what_is_too_long_is_not_remembered() {
        let long = format!("data: \"«{}»\"\n\n", "x".repeat(MAX_EVENT));
        assert_eq!(skipped(&long, &long.replace(['«', '»'], "")), None);
    }
}
