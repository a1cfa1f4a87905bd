//! The numbers of one usage object, by slot, and how a total is split into its parts.

use super::table::Slot;

/// How many slots there are: the most that any table needs.
pub(super) const SLOTS: usize = 24;

/// Numbers that were reported, and which were.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Numbers {
    values: [u64; SLOTS],
    /// Bit n: slot n was reported.
    present: u32,
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

    pub(super) fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// Whether any of these was reported.
    pub(super) fn any(&self, slots: &[Slot]) -> bool {
        slots.iter().any(|slot| self.get(*slot).is_some())
    }

    /// Takes over what the other has.
    pub(super) fn update(&mut self, other: &Self) {
        for slot in (0..).take(SLOTS) {
            if let Some(value) = other.get(slot) {
                self.set(slot, value);
            }
        }
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
        let parts = parts.map(|slot| self.or_zero(slot));
        let mut rest = self
            .get(total)
            .unwrap_or_else(|| parts.iter().fold(0, |sum, part| sum.saturating_add(*part)));
        let parts = parts.map(|part| {
            let part = part.min(rest);
            rest = rest.saturating_sub(part);
            part
        });
        (rest, parts)
    }
}

fn bit(slot: Slot) -> u32 {
    1u32.checked_shl(u32::from(slot)).unwrap_or(0)
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
    fn slots_out_of_range_hold_nothing() {
        let mut numbers = Numbers::default();
        for slot in [SLOTS as Slot, 31, 32, 255] {
            numbers.set(slot, 1);
            assert_eq!(numbers.get(slot), None, "slot {slot}");
        }
        assert!(numbers.is_empty());
    }
}
