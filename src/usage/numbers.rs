//! The numbers of one usage object, by slot, and how a total is split into its parts.

use super::cost;

/// The place of a number among those of its table.
pub(super) type Slot = u8;

/// The number of slots: the most that any table needs.
pub(super) const SLOTS: usize = 56;

/// A set of slots: bit n is slot n.
pub(super) type SlotSet = u64;

/// The greatest number that is taken for a count. No answer has as many tokens; one that claims to is not believed.
pub(super) const MAX_COUNT: u64 = 1_000_000_000;

/// Numbers that were reported, and which were.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    values: [u64; SLOTS],
    present: SlotSet,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            values: [0; SLOTS],
            present: 0,
        }
    }
}

impl Numbers {
    pub(super) fn get(&self, slot: Slot) -> Option<u64> {
        let value = *self.values.get(usize::from(slot))?;
        (self.present & bit(slot) != 0).then_some(value)
    }

    /// The number, zero if it was not reported.
    pub(super) fn or_zero(&self, slot: Slot) -> u64 {
        self.get(slot).unwrap_or(0)
    }

    pub(super) fn set(&mut self, slot: Slot, value: u64) {
        if let Some(place) = self.values.get_mut(usize::from(slot)) {
            *place = value;
            self.present |= bit(slot);
        }
    }

    pub(super) fn add(&mut self, slot: Slot, more: u64) {
        self.set(slot, self.or_zero(slot).saturating_add(more));
    }

    pub(super) fn forget(&mut self, slot: Slot) {
        self.present &= !bit(slot);
    }

    pub(super) fn clear(&mut self) {
        self.present = 0;
    }

    /// Forgets all but these.
    pub(super) fn clear_but(&mut self, kept: SlotSet) {
        self.present &= kept;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// The numbers that were reported.
    pub(super) fn present(&self) -> SlotSet {
        self.present
    }

    /// The sum of those of these that were reported.
    pub(super) fn sum(&self, of: SlotSet) -> u64 {
        slots(self.present & of).fold(0, |sum: u64, slot| sum.saturating_add(self.or_zero(slot)))
    }

    /// Whether any of these was reported.
    pub(super) fn any(&self, slots: &[Slot]) -> bool {
        slots.iter().any(|slot| self.get(*slot).is_some())
    }

    /// A total split into parts that it contains, and what is left of it.
    ///
    /// The parts are cut, first come first served, so that the sum is the total, whatever was reported;
    /// where no total was, it is the sum.
    pub(super) fn split<const PARTS: usize>(
        &self,
        total: Slot,
        parts: [Slot; PARTS],
    ) -> (u64, [u64; PARTS]) {
        split(self.get(total), parts.map(|slot| self.or_zero(slot)))
    }
}

/// The same of any numbers.
pub(super) fn split<const PARTS: usize>(
    total: Option<u64>,
    parts: [u64; PARTS],
) -> (u64, [u64; PARTS]) {
    let sum = || {
        parts
            .iter()
            .fold(0, |sum: u64, part| sum.saturating_add(*part))
    };
    let mut rest = total.unwrap_or_else(sum);
    let parts = parts.map(|part| {
        let part = part.min(rest);
        rest = rest.saturating_sub(part);
        part
    });
    (rest, parts)
}

/// The value of a plain integer: no sign, fraction, exponent or leading zero, and no more than 64 bits.
pub(super) fn integer(word: &[u8]) -> Option<u64> {
    if let Some((value, [])) = short_integer(word) {
        return Some(value);
    }
    if matches!(word, [] | [b'0', ..]) {
        return None;
    }
    word.iter().try_fold(0u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| byte.wrapping_sub(b'0'))?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// The value of a number that is written with a fraction or an exponent and is whole all the same; nothing of any other.
pub(super) fn whole(word: &[u8]) -> Option<u64> {
    if !matches!(word, [b'1'..=b'9', ..] | [b'0', b'.' | b'e' | b'E', ..]) {
        return None;
    }
    integer(cost::amount(core::str::from_utf8(word).ok()?)?.as_bytes())
}

/// The number of digits that always fit into 64 bits.
const SHORT: usize = 19;

/// The value of the digits at the start, if that is a plain integer of a length that is easy to read, and what comes
/// after them.
pub(super) fn short_integer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (mut value, mut rest) = (0_u64, bytes);
    while let [byte @ b'0'..=b'9', tail @ ..] = rest {
        let digit = u64::from(byte.wrapping_sub(b'0'));
        value = value.wrapping_mul(10).wrapping_add(digit);
        rest = tail;
    }
    match (bytes.len().saturating_sub(rest.len()), bytes) {
        (0, _) | (2.., [b'0', ..]) => None,
        (digits, _) => (digits <= SHORT).then_some((value, rest)),
    }
}

/// The bit of a slot in a set of them; none for a slot beyond all.
pub(super) const fn bit(slot: Slot) -> SlotSet {
    match 1_u64.checked_shl(slot as u32) {
        Some(bit) => bit,
        None => 0,
    }
}

/// The slots of a set, in their order.
pub(super) fn slots(set: SlotSet) -> impl Iterator<Item = Slot> {
    let mut left = set;
    core::iter::from_fn(move || {
        let slot = (left != 0).then(|| left.trailing_zeros() as Slot)?;
        left &= left.wrapping_sub(1);
        Some(slot)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_always_sum_to_the_total() {
        // (total, parts) and what must come out: what is left, and the parts.
        let cases = [
            (Some(100), [Some(60), Some(30)], (10, [60, 30])),
            (Some(100), [None, None], (100, [0, 0])),
            (Some(100), [Some(101), Some(5)], (0, [100, 0])),
            (Some(100), [Some(60), Some(60)], (0, [60, 40])),
            (Some(0), [Some(1), Some(1)], (0, [0, 0])),
            (None, [Some(7), Some(8)], (0, [7, 8])),
            (None, [None, None], (0, [0, 0])),
            (None, [Some(u64::MAX), Some(1)], (0, [u64::MAX, 0])),
        ];
        for (total, parts, want) in cases {
            let mut numbers = Numbers::default();
            for (slot, value) in (0..).zip([total, parts[0], parts[1]]) {
                if let Some(value) = value {
                    numbers.set(slot, value);
                }
            }
            assert_eq!(numbers.split(0, [1, 2]), want, "{total:?} {parts:?}");
        }
    }

    #[test]
    fn integers_are_what_they_say() {
        let nines = "9".repeat(25);
        let written = (1..=25).map(|digits| nines[..digits].to_owned());
        let edges = [0, 7, 10, u64::MAX / 10, u64::MAX - 1, u64::MAX].map(|edge| edge.to_string());
        let others = [
            "",
            "00",
            "01",
            "-1",
            "+1",
            "1.0",
            "1e2",
            " 1",
            "1 ",
            "x",
            "18446744073709551616",
            "10000000000000000000",
            "18446744073709551610",
            "99999999999999999999x",
        ];
        for word in written.chain(edges).chain(others.map(str::to_owned)) {
            // What the standard library takes beside that: a sign and leading zeros.
            let value = word.parse::<u64>().ok();
            let want = value.filter(|value| value.to_string() == word);
            assert_eq!(integer(word.as_bytes()), want, "{word}");
            for after in ["", ",", "x", " 5"] {
                let bytes = format!("{word}{after}");
                let digits = bytes.bytes().take_while(u8::is_ascii_digit).count();
                let number = integer(&bytes.as_bytes()[..digits]).filter(|_| digits <= SHORT);
                let want = number.map(|number| (number, &bytes.as_bytes()[digits..]));
                assert_eq!(short_integer(bytes.as_bytes()), want, "{bytes}");
            }
        }
    }

    #[test]
    fn whole_numbers_by_any_spelling() {
        for (word, want) in [
            ("12.0", Some(12)),
            ("12.000", Some(12)),
            ("1.2e1", Some(12)),
            ("12E0", Some(12)),
            ("120e-1", Some(12)),
            ("0.0", Some(0)),
            ("12", Some(12)),
            ("12.5", None),
            ("1e-1", None),
            ("-12.0", None),
            ("-0", None),
            ("1e99", None),
            (".5", None),
            ("007.0", None),
            ("12.0x", None),
            ("", None),
        ] {
            assert_eq!(whole(word.as_bytes()), want, "{word}");
        }
    }

    #[test]
    fn sets_of_slots() {
        let mut numbers = Numbers::default();
        for (slot, value) in [(0, 1), (7, 20), (55, 300)] {
            numbers.set(slot, value);
        }
        assert_eq!(numbers.present(), 1 | 1 << 7 | 1 << 55);
        assert!(slots(numbers.present()).eq([0, 7, 55]));
        assert!(slots(0).next().is_none());
        // (set, sum)
        let cases = [
            (0, 0),
            (SlotSet::MAX, 321),
            (1 << 7 | 1 << 8, 20),
            (1 << 3, 0),
        ];
        for (set, want) in cases {
            assert_eq!(numbers.sum(set), want, "{set:b}");
        }
        numbers.set(1, u64::MAX);
        assert_eq!(numbers.sum(SlotSet::MAX), u64::MAX);
        numbers.clear_but(bit(7));
        assert_eq!(numbers.get(7), Some(20));
        assert_eq!(numbers.get(0), None);
        numbers.clear();
        assert!(numbers.is_empty());
    }

    #[test]
    fn slots_out_of_range_hold_nothing() {
        let mut numbers = Numbers::default();
        for slot in [SLOTS as Slot, 63, 64, 255] {
            numbers.set(slot, 1);
            assert_eq!(numbers.get(slot), None, "slot {slot}");
        }
        assert!(numbers.is_empty());
    }
}
