//! Holdings of requests under way: a slot each, and what they are expected to cost. They give it back when
//! they end, however they end.
//!
//! A VM that dies gives nothing back. So each VM has one lease for all that its requests hold of a subject: it renews
//! the lease as long as it lives, and an expired lease does not count.

use super::bytes::RecordReader;
use crate::money::Amount;

/// The duration of a lease without renewal, in milliseconds.
pub const LEASE_MS: u64 = 30_000;
/// The interval at which a VM renews its leases, in milliseconds.
pub const RENEWAL_MS: u64 = 10_000;

/// The holdings of requests under way of one subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// Slots of concurrent requests.
    pub slots: u32,
    /// Money of the budget, reserved for what they are expected to cost.
    pub reserved: Amount,
}

impl Held {
    /// Nothing.
    pub const NOTHING: Self = Self {
        slots: 0,
        reserved: Amount::ZERO,
    };

    /// With what another holds.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            slots: self.slots.saturating_add(other.slots),
            reserved: self.reserved.plus(other.reserved),
        }
    }

    /// Without what was given back.
    #[must_use]
    pub fn less(self, returned: Self) -> Self {
        Self {
            slots: self.slots.saturating_sub(returned.slots),
            reserved: self.reserved.less(returned.reserved),
        }
    }
}

/// The holdings of one VM's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The VM: a number that no other has.
    pub holder: u64,
    /// The holdings of its requests.
    pub held: Held,
    /// Until when, in milliseconds of the steady clock.
    pub until_ms: u64,
}

/// The leases of one subject.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leases(Vec<Lease>);

impl Leases {
    /// Drops expired leases, by the steady clock, and any that would last longer than a lease can.
    pub fn expire(&mut self, now_ms: u64) {
        let latest = now_ms.saturating_add(LEASE_MS);
        self.0.retain(|lease| {
            lease.until_ms > now_ms && lease.until_ms <= latest.saturating_add(1000)
        });
    }

    /// Sums the holdings of others than `holder`.
    pub fn held_by_others(&self, holder: u64) -> Held {
        let others = self.0.iter().filter(|lease| lease.holder != holder);
        others.fold(Held::NOTHING, |sum, lease| sum.plus(lease.held))
    }

    /// Sums all holdings.
    pub fn held_by_all(&self) -> Held {
        let all = self.0.iter();
        all.fold(Held::NOTHING, |sum, lease| sum.plus(lease.held))
    }

    /// Records what `holder` holds now.
    pub fn set(&mut self, holder: u64, held: Held, now_ms: u64) {
        self.0.retain(|lease| lease.holder != holder);
        if held != Held::NOTHING {
            self.0.push(Lease {
                holder,
                held,
                until_ms: now_ms.saturating_add(LEASE_MS),
            });
        }
    }

    /// Appends their encoding.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        for lease in &self.0 {
            bytes.extend_from_slice(&lease.holder.to_le_bytes());
            bytes.extend_from_slice(&lease.held.slots.to_le_bytes());
            bytes.extend_from_slice(&lease.held.reserved.to_bytes());
            bytes.extend_from_slice(&lease.until_ms.to_le_bytes());
        }
    }

    /// Decodes leases to the end of a record.
    pub(super) fn decode(reader: &mut RecordReader<'_>) -> Option<Self> {
        let mut leases = Self::default();
        while !reader.0.is_empty() {
            leases.0.push(Lease {
                holder: reader.u64()?,
                held: Held {
                    slots: reader.u32()?,
                    reserved: Amount::from_bytes(reader.array()?),
                },
                until_ms: reader.u64()?,
            });
        }
        Some(leases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(slots: u32, reserved: &str) -> Held {
        let reserved = Amount::parse(reserved).unwrap();
        Held { slots, reserved }
    }

    #[test]
    fn leases_run_out_unless_they_are_renewed() {
        let now = 1_790_000_000_000;
        let mut leases = Leases::default();
        leases.set(1, held(2, "0.5"), now);
        leases.set(2, held(3, "0.25"), now);
        leases.set(1, held(4, "0"), now + 10_000);
        leases.set(4, held(0, "1"), now);
        assert_eq!(leases.held_by_others(3), held(7, "1.25"));
        assert_eq!(leases.held_by_others(1), held(3, "1.25"));
        assert_eq!(leases.held_by_all(), held(7, "1.25"));
        leases.expire(now + LEASE_MS - 1);
        assert_eq!(leases.held_by_others(3), held(7, "1.25"));
        leases.expire(now + LEASE_MS);
        assert_eq!(leases.held_by_all(), held(4, "0"), "two were not renewed");
        leases.set(1, Held::NOTHING, now + LEASE_MS);
        assert_eq!(leases, Leases::default(), "all given back");
    }

    #[test]
    fn a_clock_that_was_set_back_keeps_nothing_for_long() {
        let now = 1_790_000_000_000;
        let mut leases = Leases::default();
        leases.set(1, held(2, "1"), now);
        leases.expire(now - 500);
        assert_eq!(leases.held_by_all(), held(2, "1"), "a little");
        leases.expire(now - 3_600_000);
        assert_eq!(leases.held_by_all(), Held::NOTHING, "an hour");
    }

    #[test]
    fn nothing_is_given_back_twice_and_no_sum_overflows() {
        assert_eq!(held(1, "1").less(held(2, "0.4")), held(0, "0.6"));
        assert_eq!(held(1, "1").less(held(0, "3")), held(1, "0"));
        let most = Held {
            slots: u32::MAX,
            reserved: Amount::GREATEST,
        };
        assert_eq!(most.plus(held(1, "1")), most);
    }
}
