//! The limits that a document gives a key or a group, and their encoding in a key's record.

use super::budget::{Budget, SpentBy};
use super::bytes::RecordReader;
use super::lease::Held;
use super::rate::Rate;
use crate::money::Amount;

/// Limits of one key or group. `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    per_minute: [Option<u32>; Rate::ALL.len()],
    /// The maximum number of requests under way at a time.
    pub concurrent_requests: Option<u32>,
    /// The money that the requests may cost.
    pub budget: Budget,
}

impl Limits {
    /// The greatest rate that a document may write, and number of concurrent requests.
    pub const MAX: u32 = 1_000_000_000;

    /// The units of `rate` a minute.
    pub fn per_minute(&self, rate: Rate) -> Option<u32> {
        self.per_minute.get(rate as usize).copied().flatten()
    }

    /// Sets the units of `rate` a minute.
    pub fn set_per_minute(&mut self, rate: Rate, limit: Option<u32>) {
        if let Some(place) = self.per_minute.get_mut(rate as usize) {
            *place = limit;
        }
    }

    /// Whether anything is limited by the minute.
    pub fn has_rates(&self) -> bool {
        self.per_minute.iter().any(Option::is_some)
    }

    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        !self.has_rates() && self.concurrent_requests.is_none() && !self.budget.is_set()
    }

    /// Whether requests hold something while they are under way: a slot, or money.
    pub fn lends(&self) -> bool {
        self.concurrent_requests.is_some() || self.budget.is_set()
    }

    /// The holdings of a request that is expected to cost `charge`.
    pub(super) fn held(&self, charge: Amount) -> Held {
        Held {
            slots: u32::from(self.concurrent_requests.is_some()),
            reserved: self.budget.reservation(charge),
        }
    }

    /// Whether the end of a request changes what is counted: of requests a minute one is one, however it ends.
    pub fn count_ends(&self) -> bool {
        let tokens = [Rate::InputTokens, Rate::OutputTokens];
        self.lends()
            || tokens
                .into_iter()
                .any(|rate| self.per_minute(rate).is_some())
    }

    /// Appends the encoding: a byte of flags for those that are set, then their values.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let counts = self.per_minute.iter().copied();
        let counts: Vec<Option<u32>> = counts.chain([self.concurrent_requests]).collect();
        let amounts = [self.budget.per_day, self.budget.per_month];
        let mut present = 0_u8;
        let there = counts.iter().map(Option::is_some);
        let there = there.chain(amounts.iter().map(Option::is_some));
        for (bit, there) in there.chain([self.budget.spent.is_some()]).enumerate() {
            present |= u8::from(there) << bit;
        }
        bytes.push(present);
        for count in counts.into_iter().flatten() {
            bytes.extend_from_slice(&count.to_le_bytes());
        }
        for amount in amounts.into_iter().flatten() {
            bytes.extend_from_slice(&amount.to_bytes());
        }
        if let Some(spent) = self.budget.spent {
            bytes.extend_from_slice(&spent.at.to_le_bytes());
            bytes.extend_from_slice(&spent.in_day.to_bytes());
            bytes.extend_from_slice(&spent.in_month.to_bytes());
        }
    }

    /// Decodes limits; returns them and the bytes behind them, or `None` where the bytes encode none.
    pub fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let mut reader = RecordReader(bytes);
        let present = reader.u8()?;
        if present >> 7 != 0 {
            return None;
        }
        let has = |bit: u32| present & 1_u8.wrapping_shl(bit) != 0;
        let mut limits = Self::default();
        for (bit, rate) in (0..).zip(Rate::ALL) {
            if has(bit) {
                limits.set_per_minute(rate, Some(reader.u32()?));
            }
        }
        if has(3) {
            limits.concurrent_requests = Some(reader.u32()?);
        }
        if has(4) {
            limits.budget.per_day = Some(Amount::from_bytes(reader.array()?));
        }
        if has(5) {
            limits.budget.per_month = Some(Amount::from_bytes(reader.array()?));
        }
        if has(6) {
            limits.budget.spent = Some(SpentBy {
                at: i64::from_le_bytes(reader.array()?),
                in_day: Amount::from_bytes(reader.array()?),
                in_month: Amount::from_bytes(reader.array()?),
            });
        }
        Some((limits, reader.0))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn amount()(bytes in any::<[u8; 16]>()) -> Amount { Amount::from_bytes(bytes) }
    }

    prop_compose! {
        fn spent()(at in any::<i64>(), in_day in amount(), in_month in amount()) -> SpentBy {
            SpentBy { at, in_day, in_month }
        }
    }

    prop_compose! {
        /// Any limits.
        pub(crate) fn limits()(
            per_minute in any::<[Option<u32>; 3]>(),
            concurrent_requests in any::<Option<u32>>(),
            per_day in proptest::option::of(amount()),
            per_month in proptest::option::of(amount()),
            spent in proptest::option::of(spent()),
        ) -> Limits {
            Limits { per_minute, concurrent_requests, budget: Budget { per_day, per_month, spent } }
        }
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn limits_survive_the_round_trip(limits in limits(), rest in any::<[u8; 3]>()) {
            let mut bytes = Vec::new();
            limits.encode(&mut bytes);
            let len = bytes.len();
            bytes.extend_from_slice(&rest);
            prop_assert_eq!(Limits::decode(&bytes), Some((limits, rest.as_slice())));
            for cut in 0..len {
                prop_assert_eq!(Limits::decode(&bytes[..cut]), None, "{}", cut);
            }
        }
    }

    #[test]
    fn what_is_limited_at_all() {
        let mut rate = Limits::default();
        rate.set_per_minute(Rate::OutputTokens, Some(1));
        let slots = Limits {
            concurrent_requests: Some(1),
            ..Limits::default()
        };
        let [mut day, mut month] = [Limits::default(); 2];
        day.budget.per_day = Some(Amount::ZERO);
        month.budget.per_month = Some(Amount::ZERO);
        // (limits, whether there are any, whether there are rates)
        let cases = [
            (Limits::default(), false, false),
            (rate, true, true),
            (slots, true, false),
            (day, true, false),
            (month, true, false),
        ];
        for (limits, any, rates) in cases {
            assert_eq!(!limits.is_unlimited(), any, "{limits:?}");
            assert_eq!(limits.has_rates(), rates, "{limits:?}");
        }
    }

    #[test]
    fn limits_of_a_later_release_are_not_guessed() {
        assert_eq!(Limits::decode(&[0x80]), None);
        assert_eq!(Limits::decode(&[0]), Some((Limits::default(), &[][..])));
    }
}
