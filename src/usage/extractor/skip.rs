//! What is skipped: strings, objects and arrays that the table says nothing of.

use super::{Extractor, ExtractorState};
use crate::text::{is_line_break, passable_run};
use crate::usage::holes::HoleKind;

impl Extractor {
    /// Reads on in an object or array that is skipped.
    pub(super) fn skip_nested<'a>(&mut self, bytes: &'a [u8], lines: bool) -> &'a [u8] {
        let mut rest = bytes;
        while let Some((&byte, tail)) = rest.split_first() {
            match byte {
                b'"' => {
                    self.state = ExtractorState::SkippingText;
                    rest = self.skip_text(tail, lines);
                    if self.state != ExtractorState::Skipping {
                        return rest;
                    }
                    continue;
                }
                b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return self.end_value(tail);
                    }
                }
                b'\r' | b'\n' if lines => return rest,
                b'0'..=b'9' => {
                    let more = tail.iter().position(|byte| !byte.is_ascii_digit());
                    let after = more.and_then(|more| tail.get(more..)).unwrap_or_default();
                    self.note(rest.len(), after.len(), HoleKind::Digits);
                    rest = after;
                    continue;
                }
                _ => {}
            }
            rest = tail;
        }
        rest
    }

    /// Reads on in a string that is skipped.
    pub(super) fn skip_text<'a>(&mut self, bytes: &'a [u8], lines: bool) -> &'a [u8] {
        let (mut text, mut rest) = (bytes, bytes);
        loop {
            rest = rest.get(passable_run(rest)..).unwrap_or_default();
            rest = match rest {
                [] => return rest,
                [b'"', tail @ ..] => {
                    // Keys are hardly ever others.
                    if tail.first() != Some(&b':') {
                        self.note(text.len(), rest.len(), HoleKind::Text);
                    }
                    if self.depth == 0 {
                        return self.end_value(tail);
                    }
                    // Nearly always the next one is near.
                    if let [b':' | b',', b'"', next @ ..] = tail {
                        text = next;
                        next
                    } else {
                        self.state = ExtractorState::Skipping;
                        return tail;
                    }
                }
                [b'\\', 0x20..=0xFF, tail @ ..] => tail,
                [b'\\', tail @ ..] => {
                    self.state = ExtractorState::SkippingEscape;
                    return tail;
                }
                [0x80..=0xFF, tail @ ..] => skip_wide(tail),
                [byte, ..] => {
                    if !(lines && is_line_break(*byte)) {
                        self.state = ExtractorState::Lost;
                    }
                    return rest;
                }
            }
        }
    }
}

/// The bytes after those outside ASCII at the start.
pub(super) fn skip_wide(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let [0x80..=0xFF, tail @ ..] = rest {
        rest = tail;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Wire;
    use crate::usage::tally::UsageTally;

    #[test]
    fn places_are_what_nobody_reads_and_numbers() {
        let cases = [
            (
                r#"{"x":"one","y":"","z":"three"}"#,
                &["one", "", "three"][..],
            ),
            (
                r#"{"x":{"a":"one","b":"two"},"y":[["c","d"],"e"],"z":"f"}"#,
                &["one", "two", "c", "d", "e", "f"],
            ),
            (
                r#"{"x" : {"a" : "one" , "b" : "two"}, "y": ["c", "d"] }"#,
                &["a", "one", "b", "two", "c", "d"],
            ),
            (
                r#"{"x":["a\"\\","é",12,"12","b",null,3],"y":null}"#,
                &["a\\\"\\\\", "é", "12", "12", "b", "3"],
            ),
            (
                r#"{"n":17,"id":"i","usage":{"prompt_tokens":5,"x":"6","y":7,"total_tokens": 8 },"m":9}"#,
                &["17", "5", "6", "7", "8", "9"],
            ),
            (r#"{"n":01,"m":1.5,"usage":{"prompt_tokens":05}}"#, &["01"]),
        ];
        for (json, want) in cases {
            let table = Wire::Chat.table();
            let (mut extractor, mut tally) = (Extractor::new(), UsageTally::new(table));
            extractor.reset(&table.event);
            extractor.note_from(json.len());
            extractor.feed(json.as_bytes(), true, &mut tally);
            let holes = extractor.holes().as_slice().iter();
            let got: Vec<_> = holes.map(|hole| &json[hole.start()..hole.end()]).collect();
            assert_eq!(got, want, "{json}");
            assert!(extractor.is_closed(), "{json}");
        }
    }
}
