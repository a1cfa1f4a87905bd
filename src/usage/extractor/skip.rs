//! Skipping of strings, objects and arrays that the table says nothing of, and of the text of the model, whose length
//! counts.

use super::{Counts, Extractor, ExtractorState};
use crate::text::{is_line_break, skip_digits, skip_scalars, skip_text};
use crate::usage::holes::HoleKind;
use crate::usage::tally::UsageTally;

/// The number of bytes that an escape `\uXXXX` counts less than it is long: it stands for a character of two or three bytes.
const ESCAPE: u64 = 3;

impl Extractor {
    /// Reads on in a value that is skipped. If the model wrote it, what stands between its quotes or brackets counts, of a
    /// document as it is written.
    pub(super) fn skip<'a>(
        &mut self,
        bytes: &'a [u8],
        lines: bool,
        tally: &mut UsageTally,
    ) -> &'a [u8] {
        let mut unicode = 0;
        let (left, ended) = self.skip_inside(bytes, lines, &mut unicode);
        if self.counts != Counts::Nothing {
            let length = bytes.len().saturating_sub(left.len());
            self.counts.tell(counted(length, unicode), tally);
        }
        match left {
            [_, after @ ..] if ended => self.end_value(after),
            _ => left,
        }
    }

    /// Reads on up to the quote or bracket that ends the value; gives what is left, and whether it begins with that. Adds
    /// to `unicode` how many `\u` are in its strings.
    fn skip_inside<'a>(
        &mut self,
        bytes: &'a [u8],
        lines: bool,
        unicode: &mut u64,
    ) -> (&'a [u8], bool) {
        // From the beginning of the string that is being read.
        let (mut text, mut rest) = (bytes, bytes);
        loop {
            if self.state == ExtractorState::SkippingText {
                rest = rest.get(skip_text(rest, unicode)..).unwrap_or_default();
                rest = match rest {
                    [b'"', tail @ ..] => {
                        // Keys are hardly ever others.
                        if tail.first() != Some(&b':') {
                            self.note_text(text.len(), rest.len(), *unicode);
                        }
                        if self.depth == 0 {
                            return (rest, true);
                        }
                        // Nearly always the next one is near.
                        if let [b':' | b',', b'"', next @ ..] = tail {
                            text = next;
                            next
                        } else {
                            self.state = ExtractorState::Skipping;
                            tail
                        }
                    }
                    [b'\\', tail @ ..] => {
                        self.state = ExtractorState::SkippingEscape;
                        return (tail, false);
                    }
                    [byte, ..] if !(lines && is_line_break(*byte)) => {
                        self.state = ExtractorState::Lost;
                        return (rest, false);
                    }
                    _ => return (rest, false),
                };
                continue;
            }
            let Some((&byte, tail)) = rest.split_first() else {
                return (rest, false);
            };
            rest = match byte {
                b'"' => {
                    self.state = ExtractorState::SkippingText;
                    text = tail;
                    tail
                }
                b'{' | b'[' => {
                    self.depth = self.depth.saturating_add(1);
                    tail
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return (rest, true);
                    }
                    tail
                }
                // A document has no holes.
                b'-' | b'0'..=b'9' if !lines => tail.get(skip_scalars(tail)..).unwrap_or_default(),
                b'0'..=b'9' => {
                    let after = rest.get(skip_digits(rest)..).unwrap_or_default();
                    self.note(rest.len(), after.len(), HoleKind::Digits);
                    after
                }
                b'\r' | b'\n' if lines => return (rest, false),
                b'\\' if self.counts != Counts::Nothing => {
                    self.state = ExtractorState::Lost;
                    return (rest, false);
                }
                _ => tail,
            };
        }
    }

    /// Notes the text of a string as a hole; see [`Self::note`].
    fn note_text(&mut self, left_at_start: usize, left_at_end: usize, unicode: u64) {
        let kind = match u8::try_from(unicode) {
            _ if self.counts == Counts::Nothing => HoleKind::Text,
            Ok(unicode) if self.counts == Counts::Text => HoleKind::Generated(unicode),
            // Where there is none, what has another name counts.
            Ok(unicode) if self.counts == Counts::Reasoning && left_at_start > left_at_end => {
                HoleKind::Reasoning(unicode)
            }
            // Of an event with data in it none is taken to be alike.
            _ => return,
        };
        self.note(left_at_start, left_at_end, kind);
    }

    /// Reads the character after a `\` in a string that is skipped.
    pub(super) fn skip_escaped(&mut self, byte: u8, tally: &mut UsageTally) {
        self.state = ExtractorState::SkippingText;
        self.counts.tell(counted(1, u64::from(byte == b'u')), tally);
    }
}

/// Returns the counted length of a text of so many bytes that has so many `\uXXXX`.
pub(in crate::usage) fn counted(length: usize, unicode: u64) -> i64 {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    // No text is so long that this wraps.
    length.wrapping_sub_unsigned(unicode.wrapping_mul(ESCAPE))
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
