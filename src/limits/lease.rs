//! Concurrent requests: each takes a slot, and gives it back when it ends, however it ends.
//!
//! A VM that dies gives nothing back. So each VM has one lease for all the slots that it holds of a subject: it renews
//! the lease as long as it lives, and an expired lease does not count.

use super::bytes::RecordReader;

/// How long a lease lasts without renewal, in milliseconds.
pub const LEASE_MS: u64 = 30_000;
/// How often a VM renews its leases, in milliseconds.
pub const RENEWAL_MS: u64 = 10_000;

/// The slots that one VM holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The VM: a number that no other has.
    pub holder: u64,
    /// How many slots it holds.
    pub slots: u32,
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

    /// How many slots others than `holder` hold.
    pub fn held_by_others(&self, holder: u64) -> u64 {
        let others = self.0.iter().filter(|lease| lease.holder != holder);
        others.map(|lease| u64::from(lease.slots)).sum()
    }

    /// Records how many slots `holder` holds now.
    pub fn set(&mut self, holder: u64, slots: u32, now_ms: u64) {
        self.0.retain(|lease| lease.holder != holder);
        if slots > 0 {
            self.0.push(Lease {
                holder,
                slots,
                until_ms: now_ms.saturating_add(LEASE_MS),
            });
        }
    }

    /// Appends their encoding.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        for lease in &self.0 {
            bytes.extend_from_slice(&lease.holder.to_le_bytes());
            bytes.extend_from_slice(&lease.slots.to_le_bytes());
            bytes.extend_from_slice(&lease.until_ms.to_le_bytes());
        }
    }

    /// Decodes leases to the end of a record.
    pub(super) fn decode(reader: &mut RecordReader<'_>) -> Option<Self> {
        let mut leases = Self::default();
        while !reader.0.is_empty() {
            leases.0.push(Lease {
                holder: reader.u64()?,
                slots: reader.u32()?,
                until_ms: reader.u64()?,
            });
        }
        Some(leases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_run_out_unless_they_are_renewed() {
        let now = 1_790_000_000_000;
        let mut leases = Leases::default();
        leases.set(1, 2, now);
        leases.set(2, 3, now);
        leases.set(1, 4, now + 10_000);
        assert_eq!(leases.held_by_others(3), 7);
        assert_eq!(leases.held_by_others(1), 3);
        leases.expire(now + LEASE_MS - 1);
        assert_eq!(leases.held_by_others(3), 7);
        leases.expire(now + LEASE_MS);
        assert_eq!(leases.held_by_others(3), 4, "the second was not renewed");
        leases.set(1, 0, now + LEASE_MS);
        assert_eq!(leases, Leases::default(), "all given back");
    }

    #[test]
    fn a_clock_that_was_set_back_keeps_no_slot_for_long() {
        let now = 1_790_000_000_000;
        let mut leases = Leases::default();
        leases.set(1, 2, now);
        leases.expire(now - 500);
        assert_eq!(leases.held_by_others(3), 2, "a little");
        leases.expire(now - 3_600_000);
        assert_eq!(leases.held_by_others(3), 0, "an hour");
    }
}
