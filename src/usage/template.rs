//! The last event, as a template for the next. Most events of a stream differ from the one before only in text
//! that nobody reads and in numbers: those are told by comparing them, which takes much less than reading them.

use super::extractor::counted;
use super::holes::{Hole, HoleKind, Holes};
use super::numbers::{MAX_COUNT, Slot, integer};
use crate::text::{common_prefix, same, skip_digits, skip_text};
use memchr::memchr2;

/// The longest event that is remembered, in bytes.
pub(super) const MAX_EVENT: usize = 512;
/// The maximum number of its numbers that may differ.
const MAX_VALUES: usize = 8;
/// The longest text that is remembered with it. Those that are longer are hardly ever the same.
const MAX_TEXT: usize = MAX_EVENT / 2;

/// The last event, where in it something else may stand, and what was known after it.
///
/// An event that equals it but for these holes is read with the same result, but for the numbers. That holds as long as
/// nothing else is read in between.
pub(super) struct EventTemplate {
    bytes: [u8; MAX_EVENT],
    /// None: nothing is remembered.
    len: usize,
    holes: Holes,
    /// Those of them in which events like it were others: bit n stands for hole n.
    usual: u32,
    /// Whether its numbers count, and there are some.
    tells: bool,
    /// The length of the model's text in it, in bytes, as it is remembered; `None` if that did not count.
    generated: Option<i64>,
    /// The differences of the event that was compared with it.
    changes: Changes,
    /// A number has more digits than there is room for: nothing is like it any more.
    outgrown: bool,
}

/// The differences of an event.
#[derive(Default)]
struct Changes {
    values: ChangedNumbers,
    /// The length of the additional text of the model in it, in bytes.
    generated: i64,
}

impl Changes {
    fn clear(&mut self) {
        self.values.clear();
        self.generated = 0;
    }
}

/// The likeness of the bytes at the start of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TemplateMatch<'a> {
    /// An event like the one remembered, and what comes behind it.
    Alike(&'a [u8]),
    /// Something else.
    Unlike,
    /// The beginning of an event that may yet be either.
    Open,
}

/// The numbers of an event.
#[derive(Default)]
struct ChangedNumbers {
    list: [(Slot, u64); MAX_VALUES],
    count: usize,
}

impl ChangedNumbers {
    fn clear(&mut self) {
        self.count = 0;
    }

    /// Whether there was room for it.
    fn add(&mut self, slot: Slot, value: u64) -> bool {
        let Some(hole) = self.list.get_mut(self.count) else {
            return false;
        };
        *hole = (slot, value);
        self.count = self.count.saturating_add(1);
        true
    }

    fn as_slice(&self) -> &[(Slot, u64)] {
        self.list.get(..self.count).unwrap_or_default()
    }
}

impl Default for EventTemplate {
    fn default() -> Self {
        Self {
            bytes: [0; MAX_EVENT],
            len: 0,
            holes: Holes::default(),
            usual: 0,
            tells: false,
            generated: None,
            changes: Changes::default(),
            outgrown: false,
        }
    }
}

impl EventTemplate {
    /// Something else was read.
    pub(super) fn forget(&mut self) {
        self.len = 0;
        self.outgrown = false;
    }

    /// Remembers an event, from its first byte to the end of its blank line, whether its numbers count, and how much text of
    /// the model is in it.
    pub(super) fn learn(
        &mut self,
        event: &[u8],
        holes: &Holes,
        numbers: bool,
        generated: Option<i64>,
    ) {
        self.forget();
        self.holes.clear();
        self.usual = 0;
        // A blank line is one before the LF of its CR LF has come.
        let event = match event {
            [head @ .., b'\n'] if head.ends_with(b"\r") => head,
            _ => event,
        };
        let (mut len, mut from) = (0, 0);
        self.generated = generated;
        for hole in holes.as_slice() {
            let (start, end) = (hole.start(), hole.end());
            let texts = matches!(
                hole.kind,
                HoleKind::Text | HoleKind::Generated(_) | HoleKind::Reasoning(_) | HoleKind::Line
            );
            let left_out = texts && hole.len() > MAX_TEXT;
            // A byte of reasoning stays, from which an empty one differs.
            let (kept, kind) = match hole.kind {
                _ if !left_out => (hole.len(), hole.kind),
                HoleKind::Generated(_) => (0, HoleKind::Generated(0)),
                HoleKind::Reasoning(_) => (1, HoleKind::Reasoning(0)),
                kind => (0, kind),
            };
            let kept_to = start.saturating_add(kept);
            if let HoleKind::Generated(escapes) | HoleKind::Reasoning(escapes) = hole.kind
                && left_out
            {
                let text = counted(hole.len(), escapes.into()).saturating_sub(counted(kept, 0));
                self.generated = self.generated.map(|all| all.saturating_sub(text));
            }
            if !self.add(&mut len, event.get(from..kept_to)) {
                return;
            }
            let before = kept_to.saturating_sub(len);
            self.holes.add(start.saturating_sub(before), len, kind);
            from = end;
        }
        if self.add(&mut len, event.get(from..)) {
            self.len = len;
            let tells = |hole: &Hole| matches!(hole.kind, HoleKind::Number(_));
            self.tells = numbers && self.holes.as_slice().iter().any(tells);
        }
    }

    /// Puts bytes behind the first `len`; whether there is room.
    fn add(&mut self, len: &mut usize, bytes: Option<&[u8]>) -> bool {
        let Some(bytes) = bytes else {
            return false;
        };
        let end = len.saturating_add(bytes.len());
        let Some(room) = self.bytes.get_mut(*len..end) else {
            return false;
        };
        room.copy_from_slice(bytes);
        *len = end;
        true
    }

    /// Compares the bytes of an event, from its first on, with the one remembered.
    pub(super) fn compare<'a>(&mut self, bytes: &'a [u8]) -> TemplateMatch<'a> {
        if self.len == 0 || self.outgrown {
            return TemplateMatch::Unlike;
        }
        match self.follow_as_usual(bytes) {
            Some(rest) => TemplateMatch::Alike(rest),
            None => self.follow(bytes).unwrap_or(TemplateMatch::Unlike),
        }
    }

    /// Returns the bytes behind an event that is another in the usual holes alone, which most are: all that stands between them is
    /// the same, so that it need not be looked for where it differs. Nothing where that does not hold; it may be like this
    /// one nevertheless.
    fn follow_as_usual<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        self.changes.clear();
        let known = self.bytes.get(..self.len)?;
        let (mut at, mut rest) = (0_usize, bytes);
        let mut usual = self.usual;
        while usual != 0 {
            let hole = self.holes.as_slice().get(usual.trailing_zeros() as usize)?;
            usual &= usual.wrapping_sub(1);
            let between = known.get(at..hole.start())?;
            let (like, from) = rest.split_at_checked(between.len())?;
            if !same(between, like) {
                return None;
            }
            let was = known.get(hole.start()..hole.end())?;
            let kind = hole_length(hole.kind, was, from, &mut self.changes)?;
            rest = from.get(kind..)?;
            at = hole.end();
        }
        let end = known.get(at..)?;
        let (like, rest) = rest.split_at_checked(end.len())?;
        same(end, like).then_some(rest)
    }

    fn follow<'a>(&mut self, bytes: &'a [u8]) -> Option<TemplateMatch<'a>> {
        self.changes.clear();
        let known = self.bytes.get(..self.len)?;
        let (mut at, mut rest) = (0_usize, bytes);
        let mut holes = (0..).zip(self.holes.as_slice());
        let mut differing = 0_u32;
        loop {
            let want = known.get(at..)?;
            let same = common_prefix(want, rest);
            if same == want.len() {
                self.usual |= differing;
                return Some(TemplateMatch::Alike(rest.get(same..)?));
            }
            if same == rest.len() {
                return Some(TemplateMatch::Open);
            }
            let differs = at.saturating_add(same);
            let (number, hole) = holes.find(|(_, hole)| hole.end() >= differs)?;
            if hole.start() > differs {
                return None;
            }
            differing |= 1_u32.checked_shl(number)?;
            // Up to here both are equal, so this hole begins in both with the same byte.
            let from = rest.get(hole.start().checked_sub(at)?..)?;
            let was = known.get(hole.start()..hole.end())?;
            let kind = hole_length(hole.kind, was, from, &mut self.changes)?;
            rest = from.get(kind..)?;
            if rest.is_empty() {
                return Some(TemplateMatch::Open);
            }
            at = hole.end();
        }
    }

    /// Whether it ends with a CR, behind which an LF may come.
    pub(super) fn ends_with_cr(&self) -> bool {
        let known = self.bytes.get(..self.len);
        known.is_some_and(|known| known.ends_with(b"\r"))
    }

    /// The numbers that are other in the event that was found to be like this one, if such tell any. They are those of the
    /// last event then: one with less is unlike it.
    pub(super) fn changed_numbers(&mut self) -> &[(Slot, u64)] {
        if !self.tells || self.changes.values.count == 0 {
            return &[];
        }
        self.remember_numbers()
    }

    // Of most protocols no event has any.
    #[inline(never)]
    fn remember_numbers(&mut self) -> &[(Slot, u64)] {
        for (slot, value) in self.changes.values.as_slice() {
            let kind = HoleKind::Number(*slot);
            let mut holes = self.holes.as_slice().iter();
            let hole = holes.find(|hole| hole.kind == kind);
            let digits = hole.and_then(|hole| self.bytes.get_mut(hole.start()..hole.end()));
            self.outgrown |= !digits.is_some_and(|digits| write_digits(*value, digits));
        }
        self.changes.values.as_slice()
    }

    /// Returns the length of the model's text in the event that was found to be like this one, in bytes.
    pub(super) fn generated(&self) -> i64 {
        let known = self
            .generated
            .map(|known| known.saturating_add(self.changes.generated));
        known.unwrap_or(0)
    }
}

/// Counts the bytes at the start that may stand in a hole where this `was` before; `None` if none may. Takes a number's
/// value, where it is another, and how much longer a text of the model is.
fn hole_length(kind: HoleKind, was: &[u8], bytes: &[u8], changes: &mut Changes) -> Option<usize> {
    match kind {
        HoleKind::Text | HoleKind::Generated(_) | HoleKind::Reasoning(_) => {
            let (length, unicode) = text_length(bytes)?;
            if length == 0 && matches!(kind, HoleKind::Reasoning(_)) {
                return None;
            }
            if let HoleKind::Generated(escapes) | HoleKind::Reasoning(escapes) = kind {
                let less = counted(was.len(), escapes.into());
                let longer = counted(length, unicode).wrapping_sub(less);
                changes.generated = changes.generated.saturating_add(longer);
            }
            Some(length)
        }
        HoleKind::Line => Some(memchr2(b'\r', b'\n', bytes).unwrap_or(bytes.len())),
        HoleKind::Digits => digits(bytes),
        HoleKind::Number(slot) => {
            let length = digits(bytes)?;
            let number = bytes.get(..length)?;
            // It may go on in the next chunk.
            if length == bytes.len() || same(was, number) {
                return Some(length);
            }
            let value = integer(number).filter(|value| *value <= MAX_COUNT)?;
            // Less may be poorer, which takes more than these numbers to know.
            (value > integer(was)? && changes.values.add(slot, value)).then_some(length)
        }
    }
}

/// Writes a number in place of one with as many digits; whether it has as many.
fn write_digits(value: u64, digits: &mut [u8]) -> bool {
    let mut left = value;
    for digit in digits.iter_mut().rev() {
        *digit = b'0'.wrapping_add((left % 10) as u8);
        left /= 10;
    }
    left == 0 && (digits.first() != Some(&b'0') || digits.len() == 1)
}

/// Returns the length of the text up to its closing quote, or as far as it goes, and its number of `\u`; `None` if what ends it
/// is something else.
fn text_length(bytes: &[u8]) -> Option<(usize, u64)> {
    let mut unicode = 0;
    let length = skip_text(bytes, &mut unicode);
    match bytes.get(length..)? {
        [b'"', ..] => Some((length, unicode)),
        [] | [b'\\'] => Some((bytes.len(), unicode)),
        _ => None,
    }
}

/// Counts the digits at the start; `None` if there are none.
fn digits(bytes: &[u8]) -> Option<usize> {
    Some(skip_digits(bytes)).filter(|digits| *digits > 0)
}

#[cfg(test)]
mod tests;
