//! The last event, as a pattern for the next. Most events of a stream differ from the one before only in text
//! that nobody reads and in numbers: those are told by comparing them, which takes much less than reading them.

use super::numbers::{Numbers, integer};
use super::picker::counted;
use super::places::{Free, Place, Places};
use super::table::Slot;
use crate::text::{common_prefix, same, text_end};
use memchr::memchr2;

/// The longest event that is remembered, in bytes.
pub(super) const MAX_EVENT: usize = 512;
/// How many of its numbers may differ.
const MAX_VALUES: usize = 8;
/// The longest text that is remembered with it. Those that are longer are hardly ever the same.
const MAX_TEXT: usize = MAX_EVENT / 2;

/// The last event, where in it something else may stand, and what was known after it.
///
/// Whatever equals it but for these places is read with the same result, but for the numbers. That holds as long as
/// nothing else is read in between.
pub(super) struct Pattern {
    bytes: [u8; MAX_EVENT],
    /// None: nothing is remembered.
    len: usize,
    places: Places,
    /// Those of them in which events like it were others: bit n stands for place n.
    usual: u32,
    /// All numbers known after it; nothing if it told none.
    numbers: Option<Numbers>,
    /// How much text of the model is in it, as it is remembered; nothing if that did not count.
    generated: Option<i64>,
    /// What of the event that was compared with it is other.
    others: Others,
}

/// What is other in an event.
#[derive(Default)]
struct Others {
    values: Values,
    /// How much more text of the model is in it.
    generated: i64,
}

impl Others {
    fn clear(&mut self) {
        self.values.clear();
        self.generated = 0;
    }
}

/// What bytes at the start of an event are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Likeness<'a> {
    /// An event like the one remembered, and what comes behind it.
    Alike(&'a [u8]),
    /// Something else.
    Unlike,
    /// As yet either.
    Open,
}

/// Some numbers of an event.
#[derive(Default)]
struct Values {
    list: [(Slot, u64); MAX_VALUES],
    count: usize,
}

impl Values {
    fn clear(&mut self) {
        self.count = 0;
    }

    /// Whether there was room for it.
    fn add(&mut self, slot: Slot, value: u64) -> bool {
        let Some(place) = self.list.get_mut(self.count) else {
            return false;
        };
        *place = (slot, value);
        self.count = self.count.saturating_add(1);
        true
    }

    fn as_slice(&self) -> &[(Slot, u64)] {
        self.list.get(..self.count).unwrap_or_default()
    }
}

impl Default for Pattern {
    fn default() -> Self {
        Self {
            bytes: [0; MAX_EVENT],
            len: 0,
            places: Places::default(),
            usual: 0,
            numbers: None,
            generated: None,
            others: Others::default(),
        }
    }
}

impl Pattern {
    /// Something else was read.
    pub(super) fn forget(&mut self) {
        self.len = 0;
    }

    /// Remembers an event, from its first byte to the end of its blank line, all numbers known after it, and how much text of
    /// the model is in it.
    pub(super) fn learn(
        &mut self,
        event: &[u8],
        places: &Places,
        numbers: Option<&Numbers>,
        generated: Option<i64>,
    ) {
        self.forget();
        self.places.clear();
        self.usual = 0;
        // A blank line is one before the LF of its CR LF has come.
        let event = match event {
            [head @ .., b'\n'] if head.ends_with(b"\r") => head,
            _ => event,
        };
        let (mut len, mut from) = (0, 0);
        self.generated = generated;
        for place in places.as_slice() {
            let (start, end) = (place.start(), place.end());
            let texts = matches!(place.free, Free::Text | Free::Generated(_) | Free::Line);
            let left_out = texts && place.len() > MAX_TEXT;
            let kept_to = if left_out { start } else { end };
            let free = match place.free {
                Free::Generated(escapes) if left_out => {
                    let text = counted(place.len(), escapes.into());
                    self.generated = self.generated.map(|all| all.saturating_sub(text));
                    Free::Generated(0)
                }
                free => free,
            };
            if !self.add(&mut len, event.get(from..kept_to)) {
                return;
            }
            let before = kept_to.saturating_sub(len);
            self.places.add(start.saturating_sub(before), len, free);
            from = end;
        }
        if self.add(&mut len, event.get(from..)) {
            self.len = len;
            let tells = |place: &Place| matches!(place.free, Free::Number(_));
            let tells = self.places.as_slice().iter().any(tells);
            self.numbers = numbers.filter(|_| tells).copied();
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

    /// What the bytes of an event, from its first on, are.
    pub(super) fn compare<'a>(&mut self, bytes: &'a [u8]) -> Likeness<'a> {
        if self.len == 0 {
            return Likeness::Unlike;
        }
        match self.follow_as_usual(bytes) {
            Some(rest) => Likeness::Alike(rest),
            None => self.follow(bytes).unwrap_or(Likeness::Unlike),
        }
    }

    /// What comes behind an event that is another in the usual places alone, which most are: what stands between them is
    /// the same, so that it need not be looked for where it differs. Nothing where that does not hold; it may be like this
    /// one nevertheless.
    fn follow_as_usual<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        self.others.clear();
        let known = self.bytes.get(..self.len)?;
        let (mut at, mut rest) = (0_usize, bytes);
        let mut usual = self.usual;
        while usual != 0 {
            let place = self
                .places
                .as_slice()
                .get(usual.trailing_zeros() as usize)?;
            usual &= usual.wrapping_sub(1);
            let between = known.get(at..place.start())?;
            let (like, from) = rest.split_at_checked(between.len())?;
            if !same(between, like) {
                return None;
            }
            let was = known.get(place.start()..place.end())?;
            let free = free_length(place.free, was, from, &mut self.others)?;
            rest = from.get(free..)?;
            at = place.end();
        }
        let end = known.get(at..)?;
        let (like, rest) = rest.split_at_checked(end.len())?;
        same(end, like).then_some(rest)
    }

    fn follow<'a>(&mut self, bytes: &'a [u8]) -> Option<Likeness<'a>> {
        self.others.clear();
        let known = self.bytes.get(..self.len)?;
        let (mut at, mut rest) = (0_usize, bytes);
        let mut places = (0..).zip(self.places.as_slice());
        let mut differing = 0_u32;
        loop {
            let want = known.get(at..)?;
            let same = common_prefix(want, rest);
            if same == want.len() {
                self.usual |= differing;
                return Some(Likeness::Alike(rest.get(same..)?));
            }
            if same == rest.len() {
                return Some(Likeness::Open);
            }
            let differs = at.saturating_add(same);
            let (number, place) = places.find(|(_, place)| place.end() >= differs)?;
            if place.start() > differs {
                return None;
            }
            differing |= 1_u32.checked_shl(number)?;
            // Up to here both are equal, so this place begins in both with the same byte.
            let from = rest.get(place.start().checked_sub(at)?..)?;
            let was = known.get(place.start()..place.end())?;
            let free = free_length(place.free, was, from, &mut self.others)?;
            rest = from.get(free..)?;
            if rest.is_empty() {
                return Some(Likeness::Open);
            }
            at = place.end();
        }
    }

    /// Whether it ends with a CR, behind which an LF may come.
    pub(super) fn ends_with_cr(&self) -> bool {
        let known = self.bytes.get(..self.len);
        known.is_some_and(|known| known.ends_with(b"\r"))
    }

    /// The numbers that are known after the event that was found to be like this one; nothing if such tell none.
    pub(super) fn numbers(&self) -> Option<Numbers> {
        let mut numbers = self.numbers?;
        for (slot, value) in self.others.values.as_slice() {
            numbers.set(*slot, *value);
        }
        Some(numbers)
    }

    /// How much text of the model is in the event that was found to be like this one.
    pub(super) fn generated(&self) -> i64 {
        let known = self
            .generated
            .map(|known| known.saturating_add(self.others.generated));
        known.unwrap_or(0)
    }
}

/// How many of the bytes at the start may stand in a place where this `was` before; nothing if none may. Takes a number's
/// value, where it is another, and how much longer a text of the model is.
fn free_length(free: Free, was: &[u8], bytes: &[u8], others: &mut Others) -> Option<usize> {
    match free {
        Free::Text => text_end(bytes).map(|(end, _)| end),
        Free::Generated(escapes) => {
            let (end, more_escapes) = text_end(bytes)?;
            let more = counted(end, more_escapes);
            let less = counted(was.len(), escapes.into());
            let longer = more.saturating_sub(less);
            others.generated = others.generated.saturating_add(longer);
            Some(end)
        }
        Free::Line => Some(memchr2(b'\r', b'\n', bytes).unwrap_or(bytes.len())),
        Free::Digits => digits(bytes),
        Free::Number(slot) => {
            let length = digits(bytes)?;
            let number = bytes.get(..length)?;
            (same(was, number) || others.values.add(slot, integer(number)?)).then_some(length)
        }
    }
}

/// How many digits stand at the start; nothing if none does.
fn digits(bytes: &[u8]) -> Option<usize> {
    let digits = bytes.iter().position(|byte| !byte.is_ascii_digit());
    Some(digits.unwrap_or(bytes.len())).filter(|digits| *digits > 0)
}

#[cfg(test)]
mod tests;
