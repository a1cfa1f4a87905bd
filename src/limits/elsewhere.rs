//! Spend of a budget elsewhere: on other Envoys, and on this one before its process began.
//!
//! A spend feed tells it. The loader writes a record for each subject, which replaces the one before; a limiter reads it with
//! each admission and adds what this process has counted itself. So nothing is counted twice and nothing is forgotten,
//! whatever restarts.

use std::rc::Rc;

use super::budget::{Budget, SpentElsewhere};
use super::bytes::RecordReader;
use super::period::{Period, Window};
use crate::money::Amount;
use crate::shared_data::SharedData;

/// The name of the number of this process, in text, which its ledger lines have: by it their charges are known to be in the
/// counters of this process.
pub const INSTANCE: &str = "trilane/instance";
/// The name of what says that the records of a spend feed are all there.
pub const COMPLETE: &str = "trilane/spend/1";
/// The longest number of a process.
const LONGEST_INSTANCE: usize = 64;
/// The format of a record.
const FORMAT: u8 = 1;
/// The most periods in a record: yesterday, today and tomorrow of some clock, and the months.
pub const MOST_PERIODS: usize = 8;

/// The statement of a spend feed on one subject.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FleetSpend {
    /// Its budget, where the feed gives it: that of a member, an owner or a team.
    pub budget: Option<Budget>,
    /// The amounts spent elsewhere.
    pub elsewhere: SpentElsewhere,
}

impl FleetSpend {
    /// The bytes of its record.
    pub fn encode(&self) -> Vec<u8> {
        let budget = self.budget.unwrap_or_default();
        let amounts = [budget.per_day, budget.per_month];
        let mut present = 0_u8;
        for (bit, amount) in amounts.iter().enumerate() {
            present |= u8::from(amount.is_some()) << bit;
        }
        let mut bytes = vec![FORMAT, present];
        for amount in amounts.into_iter().flatten() {
            bytes.extend_from_slice(&amount.to_bytes());
        }
        for (period, amount) in &self.elsewhere.0 {
            bytes.push(match period.window() {
                Window::Day => 0,
                Window::Month => 1,
            });
            bytes.extend_from_slice(&period.number().to_le_bytes());
            bytes.extend_from_slice(&amount.to_bytes());
        }
        bytes
    }

    /// Decodes a record; `None` where the bytes are none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = RecordReader(bytes);
        let (FORMAT, present) = (reader.u8()?, reader.u8()?) else {
            return None;
        };
        if present > 3 {
            return None;
        }
        let mut amount = |bit: u8| {
            if present & bit == 0 {
                return Some(None);
            }
            Some(Some(Amount::from_bytes(reader.array()?)))
        };
        let budget = Budget {
            per_day: amount(1)?,
            per_month: amount(2)?,
            spent: None,
        };
        let mut elsewhere = SpentElsewhere::default();
        while !reader.0.is_empty() {
            let (kind, number) = (reader.u8()?, reader.i32()?);
            let period = match kind {
                0 => Period::Day(number),
                1 => Period::Month(number),
                _ => return None,
            };
            elsewhere
                .0
                .push((period, Amount::from_bytes(reader.array()?)));
        }
        Some(Self {
            budget: budget.is_set().then_some(budget),
            elsewhere,
        })
    }
}

/// The number of this process; `None` before it is drawn.
pub fn instance(shared: &impl SharedData) -> Option<Rc<str>> {
    let bytes = shared.get(INSTANCE).0?;
    let text = core::str::from_utf8(&bytes).ok()?;
    let is_one = |text: &str| {
        (1..=LONGEST_INSTANCE).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    is_one(text).then(|| Rc::from(text))
}

/// Whether the records of a spend feed are all there.
pub fn is_complete(shared: &impl SharedData) -> bool {
    shared.get(COMPLETE).0.is_some_and(|value| value == [1])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn amount() -> impl Strategy<Value = Amount> {
        any::<[u8; 16]>().prop_map(Amount::from_bytes)
    }

    fn period() -> impl Strategy<Value = Period> {
        (any::<bool>(), any::<i32>()).prop_map(|(is_day, number)| {
            if is_day {
                Period::Day(number)
            } else {
                Period::Month(number)
            }
        })
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn a_record_survives_the_round_trip(
            per_day in proptest::option::of(amount()),
            per_month in proptest::option::of(amount()),
            periods in proptest::collection::vec((period(), amount()), 0..6),
        ) {
            let budget = Budget { per_day, per_month, spent: None };
            let told = FleetSpend {
                budget: budget.is_set().then_some(budget),
                elsewhere: SpentElsewhere(periods),
            };
            let bytes = told.encode();
            prop_assert_eq!(FleetSpend::decode(&bytes), Some(told.clone()));
            // What is cut in a period, or before them, is none; what ends with one is another record.
            let head = 2 + 16 * (usize::from(per_day.is_some()) + usize::from(per_month.is_some()));
            for cut in 0..bytes.len() {
                let whole = cut >= head && (cut - head) % 21 == 0;
                prop_assert_eq!(FleetSpend::decode(&bytes[..cut]).is_some(), whole, "{}", cut);
            }
        }
    }

    #[test]
    fn what_is_no_record() {
        for (case, bytes) in [
            ("nothing", &[][..]),
            ("another format", &[2, 0]),
            ("an amount of a later release", &[1, 4]),
            (
                "a period of a later release",
                &[[1, 0, 7].as_slice(), &[0; 20]].concat(),
            ),
        ] {
            assert_eq!(FleetSpend::decode(bytes), None, "{case}");
        }
    }

    #[test]
    fn what_is_the_number_of_a_process() {
        use crate::shared_data::fake::FakeSharedData;
        let shared = FakeSharedData::default();
        assert_eq!(instance(&shared), None);
        for (text, good) in [
            ("", false),
            ("0a", true),
            ("\"", false),
            (&"a".repeat(65), false),
        ] {
            shared.set(INSTANCE, text.as_bytes(), None).unwrap();
            assert_eq!(instance(&shared).as_deref() == Some(text), good, "{text}");
        }
    }
}
