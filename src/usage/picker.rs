//! Picks the values that a table names out of JSON, as it streams by.
//!
//! Down to where the table has something to say, a document is read as RFC 8259 has it. Any other value
//! is passed over: in it only strings are told from the rest, and brackets counted.

mod members;
mod passing;
mod path;
mod string;
mod word;
mod written;

use super::places::{Free, Places};
use super::short_text::ShortText;
use super::sse::is_line_break;
use super::table::{Generated, Node};
use super::tally::Tally;
use crate::text::{is_whitespace, skip_whitespace};
use memchr::memchr2;
use path::{Container, Path};
use word::is_word;
pub(super) use written::counted;

/// Reads one value after the other, each after a [`reset`](Self::reset).
pub(super) struct Picker {
    state: State,
    /// What the table says of the value that comes next or is being read.
    node: &'static Node,
    path: Path,
    /// Open brackets of the value that is being passed over.
    depth: u64,
    /// The string being read is a key.
    key: bool,
    /// What was read of a key, string or number, if it did not come in one piece.
    scratch: ShortText,
    /// It is longer than what is kept.
    too_long: bool,
    /// The escaped first half of a surrogate pair, when a second one must follow.
    high_surrogate: Option<u16>,
    /// Where something else may stand without any difference, but for numbers.
    places: Places,
    /// How much was left to read where places count from.
    places_from: usize,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
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
    /// In `\uXXXX`: how many digits are left, and the value of those before.
    Unicode(u8, u16),
    /// In a number, `true`, `false` or `null`.
    Word,
    /// In an object or array that is passed over.
    Passing,
    /// In a string that is passed over.
    PassingText,
    PassingEscape,
    /// In a string that the model wrote.
    Generated,
    GeneratedEscape,
    /// In an object or array that the model wrote.
    Written,
    /// In a string in it.
    WrittenText,
    WrittenEscape,
    /// After the outermost value.
    End,
    /// In what is no JSON, or not worth reading on.
    Lost,
}

impl Picker {
    pub(super) fn new() -> Self {
        Self {
            state: State::Value,
            node: &Node::NONE,
            path: Path::default(),
            depth: 0,
            key: false,
            scratch: ShortText::default(),
            too_long: false,
            high_surrogate: None,
            places: Places::default(),
            places_from: 0,
        }
    }

    /// Begins anew, with a value that the table says this of.
    pub(super) fn reset(&mut self, root: &'static Node) {
        self.state = State::Value;
        self.node = root;
        self.path.clear();
        self.depth = 0;
        self.clear_scratch();
    }

    /// Notes places from here on, where so many bytes are left to read.
    pub(super) fn note_from(&mut self, left: usize) {
        self.places_from = left;
        self.places.clear();
    }

    /// Goes on noting places, where so many bytes of the event are left or were read before.
    pub(super) fn note_on(&mut self, all: usize) {
        self.places_from = all;
    }

    /// The places since then, of what came in one piece.
    pub(super) fn places(&self) -> &Places {
        &self.places
    }

    /// Notes a place by how much is left to read at its two ends.
    fn note(&mut self, left_at_start: usize, left_at_end: usize, free: Free) {
        let read = |left| self.places_from.checked_sub(left);
        // A document has no places.
        if let (Some(start), Some(end)) = (read(left_at_start), read(left_at_end)) {
            self.places.add(start, end, free);
        }
    }

    /// Whether one value was read, whole, and nothing but whitespace behind it.
    pub(super) fn is_closed(&self) -> bool {
        self.state == State::End
    }

    /// Whether what was read is no JSON, or not worth reading on.
    pub(super) fn is_lost(&self) -> bool {
        self.state == State::Lost
    }

    /// Reads on; with `lines` no further than to the next line break, which is what is left then.
    pub(super) fn feed<'a>(&mut self, bytes: &'a [u8], lines: bool, tally: &mut Tally) -> &'a [u8] {
        let mut rest = bytes;
        loop {
            if let [b'"', tail @ ..] = rest
                && matches!(self.state, State::FirstKey | State::Key)
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
                State::Passing => self.pass(rest, lines),
                State::PassingText => self.pass_text(rest, lines),
                State::PassingEscape => {
                    self.state = State::PassingText;
                    tail
                }
                State::Generated => self.generated(rest, lines, tally),
                State::GeneratedEscape => {
                    self.generated_escape(byte, tally);
                    tail
                }
                State::Written | State::WrittenText | State::WrittenEscape => {
                    self.written(rest, lines, tally)
                }
                State::Text => self.text(rest, lines, tally),
                State::Escape => {
                    self.escape(byte);
                    tail
                }
                State::Unicode(left, code) => {
                    self.unicode(left, code, byte);
                    tail
                }
                State::Word => self.word(rest, tally),
                State::Lost => {
                    let end = lines.then(|| memchr2(b'\r', b'\n', rest)).flatten();
                    let after = end.and_then(|end| rest.get(end..)).unwrap_or_default();
                    if !after.is_empty() {
                        // The first byte may be why.
                        self.note(tail.len(), after.len(), Free::Line);
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
                State::Value | State::FirstItem => self.value(rest, byte, tail, lines, tally),
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
        tally: &mut Tally,
    ) -> &'a [u8] {
        match byte {
            b'"' => match self.node.text {
                Some(what) => self.told_text(what, tail, lines, tally),
                None if self.node.generated != Generated::No => {
                    self.state = State::Generated;
                    self.generated(tail, lines, tally)
                }
                None => {
                    self.state = State::PassingText;
                    self.pass_text(tail, lines)
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
            b'{' | b'[' if self.node.generated == Generated::Any => {
                tally.begin_written();
                self.depth = 1;
                self.state = State::Written;
                self.written(tail, lines, tally)
            }
            b'{' | b'[' => {
                self.depth = 1;
                self.state = State::Passing;
                self.pass(tail, lines)
            }
            b']' if self.state == State::FirstItem => self.close(Container::Array, tail, tally),
            byte if is_word(byte) => self.new_word(rest, tally),
            _ => {
                self.state = State::Lost;
                tail
            }
        }
    }

    /// Reads a byte between values; gives what is left.
    fn structure<'a>(&mut self, byte: u8, tail: &'a [u8], tally: &mut Tally) -> &'a [u8] {
        match (self.state, byte) {
            (State::Colon, b':') => self.state = State::Value,
            (State::AfterValue, b',') => self.next_in_container(),
            (State::AfterValue | State::FirstKey, b'}') => {
                return self.close(Container::Object, tail, tally);
            }
            (State::AfterValue, b']') => return self.close(Container::Array, tail, tally),
            _ => self.state = State::Lost,
        }
        tail
    }

    fn open(&mut self, container: Container, tally: &mut Tally) {
        let node = self.node;
        if !self.path.push(container, node) {
            // No table is as deep as that.
            self.state = State::Lost;
            return;
        }
        if let Some(mark) = node.mark {
            tally.begin(mark);
        }
        match container {
            Container::Object => self.state = State::FirstKey,
            Container::Array => {
                self.node = node.items.unwrap_or(&Node::NONE);
                self.state = State::FirstItem;
            }
        }
    }

    fn close<'a>(&mut self, container: Container, after: &'a [u8], tally: &mut Tally) -> &'a [u8] {
        match self.path.pop() {
            Some((open, node)) if open == container => {
                if let Some(mark) = node.mark {
                    tally.end(mark);
                }
                self.end_value(after)
            }
            _ => {
                self.state = State::Lost;
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
                    State::End
                } else {
                    State::AfterValue
                };
                after
            }
        }
    }

    /// A comma: another member or item comes.
    fn next_in_container(&mut self) {
        let (container, node) = self.path.inner();
        self.state = match container {
            Container::Object => State::Key,
            Container::Array => {
                self.node = node.items.unwrap_or(&Node::NONE);
                State::Value
            }
        };
    }

    /// Takes the next bytes of what is being read into the scratch.
    fn keep(&mut self, piece: &[u8]) {
        self.too_long |= !self.scratch.push(piece);
    }

    fn clear_scratch(&mut self) {
        self.scratch.clear();
        self.too_long = false;
        self.high_surrogate = None;
    }
}
