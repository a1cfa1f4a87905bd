//! Picks the values that a table names out of JSON, as it streams by.
//!
//! Down to where the table has something to say, a document is read as RFC 8259 has it. Any other value
//! is skipped: in it only strings are told from the rest, and brackets counted.

mod members;
mod path;
mod skip;
mod string;
mod word;

use super::holes::{HoleKind, Holes};
use super::short_text::ShortText;
use super::table::{Generated, Node};
use super::tally::UsageTally;
use crate::text::{Container, EscapeDecoder, is_line_break, is_whitespace, skip_whitespace};
use memchr::memchr2;
use path::Path;
pub(super) use skip::counted;
use word::is_word;

/// Reads one value after the other, each after a [`reset`](Self::reset).
pub(super) struct Extractor {
    state: ExtractorState,
    /// The table's node for the value that comes next or is being read.
    node: &'static Node,
    path: Path,
    /// Open brackets of the value that is being skipped.
    depth: u64,
    /// The counter of that value's length.
    counts: Counts,
    /// The string being read is a key.
    key: bool,
    /// The bytes read of a key, string or number, if it did not come in one piece.
    scratch: ShortText,
    /// It is longer than what is kept.
    too_long: bool,
    decoder: EscapeDecoder,
    /// The places at which other bytes make no difference, but for numbers.
    holes: Holes,
    /// The number of bytes left to read at the place that holes count from.
    holes_from: usize,
}

/// The counter of a skipped value's length.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    Nothing,
    /// Text that the model wrote.
    Text,
    /// The same, of its reasoning.
    Reasoning,
    /// Data of a picture or sound.
    Data,
}

impl Counts {
    /// Of a string.
    fn of(generated: Generated, tally: &UsageTally) -> Self {
        let reasoning = |counts: bool| {
            if counts {
                Self::Reasoning
            } else {
                Self::Nothing
            }
        };
        match generated {
            Generated::No => Self::Nothing,
            Generated::Text | Generated::Any => Self::Text,
            Generated::Reasoning => reasoning(tally.counts_reasoning()),
            Generated::ReasoningPart => reasoning(tally.counts_reasoning_parts()),
            Generated::Data => Self::Data,
        }
    }

    /// Counts `more` bytes that were read of it.
    fn tell(self, more: i64, tally: &mut UsageTally) {
        match self {
            Self::Nothing => {}
            Self::Text => tally.generated(more),
            Self::Reasoning => tally.reasoned(more),
            Self::Data => tally.data(more),
        }
    }
}

/// The syntax that may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExtractorState {
    Value,
    /// After `[`.
    FirstItem,
    /// After `{`.
    FirstKey,
    Key,
    Colon,
    AfterValue,
    /// In a string that is kept.
    Text,
    Escape,
    /// In a number, `true`, `false` or `null`.
    Word,
    /// In an object or array that is skipped.
    Skipping,
    /// In a string that is skipped.
    SkippingText,
    SkippingEscape,
    /// After the outermost value.
    End,
    /// In what is no JSON, or not worth reading on.
    Lost,
}

impl Extractor {
    pub(super) fn new() -> Self {
        Self {
            state: ExtractorState::Value,
            node: &Node::NONE,
            path: Path::default(),
            depth: 0,
            counts: Counts::Nothing,
            key: false,
            scratch: ShortText::default(),
            too_long: false,
            decoder: EscapeDecoder::default(),
            holes: Holes::default(),
            holes_from: 0,
        }
    }

    /// Begins anew, with a value that the table says this of.
    pub(super) fn reset(&mut self, root: &'static Node) {
        self.state = ExtractorState::Value;
        self.node = root;
        self.path.clear();
        self.depth = 0;
        self.clear_scratch();
    }

    /// Notes holes from here on, where so many bytes are left to read.
    pub(super) fn note_from(&mut self, left: usize) {
        self.holes_from = left;
        self.holes.clear();
    }

    /// Goes on noting holes, where so many bytes of the event are left or were read before.
    pub(super) fn note_on(&mut self, all: usize) {
        self.holes_from = all;
    }

    /// The holes since then, of what came in one piece.
    pub(super) fn holes(&self) -> &Holes {
        &self.holes
    }

    /// Notes a hole by how much is left to read at its two ends.
    fn note(&mut self, left_at_start: usize, left_at_end: usize, kind: HoleKind) {
        let read = |left| self.holes_from.checked_sub(left);
        // A document has no holes.
        if let (Some(start), Some(end)) = (read(left_at_start), read(left_at_end)) {
            self.holes.add(start, end, kind);
        }
    }

    /// Whether one value was read, whole, and nothing but whitespace behind it.
    pub(super) fn is_closed(&self) -> bool {
        self.state == ExtractorState::End
    }

    /// Whether what was read is no JSON, or not worth reading on.
    pub(super) fn is_lost(&self) -> bool {
        self.state == ExtractorState::Lost
    }

    /// Reads on; with `lines` no further than to the next line break, which is what is left then.
    pub(super) fn feed<'a>(
        &mut self,
        bytes: &'a [u8],
        lines: bool,
        tally: &mut UsageTally,
    ) -> &'a [u8] {
        let mut rest = bytes;
        loop {
            if let [b'"', tail @ ..] = rest
                && matches!(self.state, ExtractorState::FirstKey | ExtractorState::Key)
            {
                rest = self.members(tail, lines, tally);
            }
            let Some((&byte, tail)) = rest.split_first() else {
                return rest;
            };
            if lines && is_line_break(byte) {
                return rest;
            }
            rest = match self.state {
                ExtractorState::Skipping | ExtractorState::SkippingText => {
                    self.skip(rest, lines, tally)
                }
                ExtractorState::SkippingEscape => {
                    self.skip_escaped(byte, tally);
                    tail
                }
                ExtractorState::Text => self.text(rest, lines, tally),
                ExtractorState::Escape => {
                    self.escape(byte);
                    tail
                }
                ExtractorState::Word => self.word(rest, tally),
                ExtractorState::Lost => {
                    let end = lines.then(|| memchr2(b'\r', b'\n', rest)).flatten();
                    let after = end.and_then(|end| rest.get(end..)).unwrap_or_default();
                    if !after.is_empty() {
                        // The first byte may be why.
                        self.note(tail.len(), after.len(), HoleKind::Line);
                    }
                    after
                }
                _ if is_whitespace(byte) => {
                    if lines {
                        tail
                    } else {
                        skip_whitespace(tail)
                    }
                }
                ExtractorState::Value | ExtractorState::FirstItem => {
                    self.value(rest, byte, tail, lines, tally)
                }
                _ => self.structure(byte, tail, tally),
            };
        }
    }

    /// Reads the first byte of a value, and as much more as is there.
    fn value<'a>(
        &mut self,
        rest: &'a [u8],
        byte: u8,
        tail: &'a [u8],
        lines: bool,
        tally: &mut UsageTally,
    ) -> &'a [u8] {
        match byte {
            b'"' => match self.node.text {
                Some(what) => self.told_text(what, tail, lines, tally),
                None if self.node.number.is_some() => self.quoted_number(tail, lines, tally),
                None => {
                    self.counts = Counts::of(self.node.generated, tally);
                    self.state = ExtractorState::SkippingText;
                    self.skip(tail, lines, tally)
                }
            },
            b'{' if self.node.members.is_some() => {
                self.open(Container::Object, tally);
                tail
            }
            b'[' if self.node.items.is_some() => {
                self.open(Container::Array, tally);
                tail
            }
            b'{' | b'[' => {
                self.counts = Counts::Nothing;
                if self.node.generated == Generated::Any {
                    self.counts = Counts::Text;
                    tally.begin_written();
                }
                self.depth = 1;
                self.state = ExtractorState::Skipping;
                self.skip(tail, lines, tally)
            }
            b']' if self.state == ExtractorState::FirstItem => {
                self.close(Container::Array, tail, tally)
            }
            byte if is_word(byte) => self.new_word(rest, tally),
            _ => {
                self.state = ExtractorState::Lost;
                tail
            }
        }
    }

    /// Reads a byte between values; gives what is left.
    fn structure<'a>(&mut self, byte: u8, tail: &'a [u8], tally: &mut UsageTally) -> &'a [u8] {
        match (self.state, byte) {
            (ExtractorState::Colon, b':') => self.state = ExtractorState::Value,
            (ExtractorState::AfterValue, b',') => self.next_in_container(),
            (ExtractorState::AfterValue | ExtractorState::FirstKey, b'}') => {
                return self.close(Container::Object, tail, tally);
            }
            (ExtractorState::AfterValue, b']') => return self.close(Container::Array, tail, tally),
            _ => self.state = ExtractorState::Lost,
        }
        tail
    }

    fn open(&mut self, container: Container, tally: &mut UsageTally) {
        let node = self.node;
        if !self.path.push(container, node) {
            // No table is as deep as that.
            self.state = ExtractorState::Lost;
            return;
        }
        if let Some(mark) = node.mark {
            tally.begin(mark);
        }
        match container {
            Container::Object => self.state = ExtractorState::FirstKey,
            Container::Array => {
                self.node = node.items.unwrap_or(&Node::NONE);
                self.state = ExtractorState::FirstItem;
            }
        }
    }

    fn close<'a>(
        &mut self,
        container: Container,
        after: &'a [u8],
        tally: &mut UsageTally,
    ) -> &'a [u8] {
        match self.path.pop() {
            Some((open, node)) if open == container => {
                if let Some(mark) = node.mark {
                    tally.end(mark);
                }
                self.end_value(after)
            }
            _ => {
                self.state = ExtractorState::Lost;
                after
            }
        }
    }

    /// A value has ended, and this comes after it; gives what is left behind a comma.
    fn end_value<'a>(&mut self, after: &'a [u8]) -> &'a [u8] {
        match after {
            // Nearly always: it saves a round.
            [b',', rest @ ..] if !self.path.is_empty() => {
                self.next_in_container();
                rest
            }
            _ => {
                self.state = if self.path.is_empty() {
                    ExtractorState::End
                } else {
                    ExtractorState::AfterValue
                };
                after
            }
        }
    }

    /// A comma: another member or item comes.
    fn next_in_container(&mut self) {
        let (container, node) = self.path.inner();
        self.state = match container {
            Container::Object => ExtractorState::Key,
            Container::Array => {
                self.node = node.items.unwrap_or(&Node::NONE);
                ExtractorState::Value
            }
        };
    }

    /// Takes the next bytes of what is being read into the scratch.
    fn keep(&mut self, fragment: &[u8]) {
        self.too_long |= !self.scratch.push(fragment);
    }

    fn clear_scratch(&mut self) {
        self.scratch.clear();
        self.too_long = false;
        self.decoder = EscapeDecoder::default();
    }
}
