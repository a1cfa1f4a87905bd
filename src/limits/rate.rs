//! Limits by the minute.
//!
//! The Generic Cell Rate Algorithm of ITU-T Recommendation I.371 (Annex A) in its continuous-state
//! leaky-bucket form: what is used fills a bucket that drains steadily, a whole limit each minute,
//! and what does not fit is rejected. So there is no window that begins with the minute: a whole limit may
//! be used at once, and from then on as much as has drained.
//!
//! The bucket holds units used, not time, so a limit can change without losing what was counted.

use super::bytes::RecordReader;

/// A quantity that is counted by the minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rate {
    /// Requests that went to a source.
    Requests,
    /// Tokens that models read, cached or not.
    InputTokens,
    /// Tokens that models wrote, their reasoning included.
    OutputTokens,
}

impl Rate {
    /// All of them, in the order in which records hold them.
    pub const ALL: [Self; 3] = [Self::Requests, Self::InputTokens, Self::OutputTokens];

    /// Returns the name in metrics and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
        }
    }
}

/// Parts of one unit in a bucket: microseconds of a minute, so that what drains in a microsecond is
/// a whole number for every limit.
const UNIT: u64 = 60_000_000;

/// By how much the clock readings of two VMs may seem to differ, in microseconds: each reads its clock
/// before it changes a record, and another may change it in between. What differs by more is no moment of
/// this clock.
const SKEW_US: u64 = 1_000_000;

/// The usage of one rate that has not drained yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bucket {
    /// The fill level, in parts of a unit.
    level: u64,
    /// Until when it has been drained, in microseconds of the steady clock.
    at_us: u64,
    /// The limit that it last drained for, in units a minute.
    limit: u32,
    /// The number of times that the bucket has drained to empty.
    emptied: u32,
}

/// A request's reservation in a bucket, to be settled when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    units: u64,
    /// The number of times that the bucket had drained to empty by then.
    emptied: u32,
}

impl Share {
    /// Returns the number of units that are reserved.
    pub(super) fn units(self) -> u64 {
        self.units
    }
}

impl Bucket {
    /// Drained at `limit` a minute until now, by the steady clock. A record from a time that this process's clock cannot
    /// have shown drains nothing, and makes no request wait longer.
    #[must_use]
    pub fn drained(self, limit: u32, now_us: u64) -> Self {
        Self { limit, ..self }.caught_up(now_us)
    }

    /// The same at the limit that it drained for last: a settlement may know an older one.
    #[must_use]
    pub fn caught_up(self, now_us: u64) -> Self {
        if self.ahead_us(now_us) > SKEW_US {
            let at_us = now_us;
            return Self { at_us, ..self };
        }
        // Time that another VM has drained already, with a later reading of the clock, must not drain again.
        let at_us = now_us.max(self.at_us);
        let elapsed = at_us.saturating_sub(self.at_us);
        let drained = elapsed.saturating_mul(u64::from(self.limit));
        let level = self.level.saturating_sub(drained);
        let runs_empty = level == 0 && self.level > 0;
        Self {
            level,
            at_us,
            emptied: self.emptied.wrapping_add(u32::from(runs_empty)),
            ..self
        }
    }

    /// For how long it has been drained beyond `now_us`, in microseconds.
    fn ahead_us(self, now_us: u64) -> u64 {
        self.at_us.saturating_sub(now_us)
    }

    /// Returns the time until `cost` would fit, in microseconds; 0 where it fits now. A cost beyond the limit
    /// would never fit: it must be cut to the limit before.
    pub fn wait_us(self, limit: u32, cost: u64, now_us: u64) -> u64 {
        let wanted = self.level.saturating_add(cost.saturating_mul(UNIT));
        self.until_drained_us(wanted.saturating_sub(room(limit)), limit, now_us)
    }

    /// With `cost` in it.
    #[must_use]
    pub fn filled(self, cost: u64) -> Self {
        let level = self.level.saturating_add(cost.saturating_mul(UNIT));
        Self { level, ..self }
    }

    /// With `cost` taken out again, as far as it has not drained.
    #[must_use]
    fn refunded(self, cost: u64) -> Self {
        let level = self.level.saturating_sub(cost.saturating_mul(UNIT));
        Self { level, ..self }
    }

    /// With `units` in it, which [`settled`](Self::settled) corrects.
    #[must_use]
    pub fn with_share(self, units: u64) -> (Self, Share) {
        let emptied = self.emptied;
        (self.filled(units), Share { units, emptied })
    }

    /// With what was `used` in the place of a share of it.
    #[must_use]
    pub fn settled(self, share: Share, used: u64) -> Self {
        if used >= share.units {
            self.filled(used.saturating_sub(share.units))
        } else if self.emptied == share.emptied {
            self.refunded(share.units.saturating_sub(used))
        } else {
            // The share has drained since then: what is in the bucket now is of others.
            self
        }
    }

    /// Returns the number of units that fit now.
    pub fn remaining(self, limit: u32) -> u64 {
        let free = room(limit).saturating_sub(self.level);
        free.checked_div(UNIT).unwrap_or_default()
    }

    /// Returns the time until the bucket is empty, in microseconds.
    pub fn reset_us(self, limit: u32, now_us: u64) -> u64 {
        self.until_drained_us(self.level, limit, now_us)
    }

    /// Returns the time until `parts` of the content have drained, in microseconds.
    fn until_drained_us(self, parts: u64, limit: u32, now_us: u64) -> u64 {
        match parts.div_ceil(u64::from(limit.max(1))) {
            0 => 0,
            wait => wait.saturating_add(self.ahead_us(now_us)),
        }
    }

    /// Appends its encoding.
    pub(super) fn encode(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.level.to_le_bytes());
        bytes.extend_from_slice(&self.at_us.to_le_bytes());
        bytes.extend_from_slice(&self.limit.to_le_bytes());
        bytes.extend_from_slice(&self.emptied.to_le_bytes());
    }

    /// Decodes a bucket.
    pub(super) fn decode(reader: &mut RecordReader<'_>) -> Option<Self> {
        Some(Self {
            level: reader.u64()?,
            at_us: reader.u64()?,
            limit: reader.u32()?,
            emptied: reader.u32()?,
        })
    }
}

/// Returns the capacity of a bucket of `limit` units, in parts of a unit.
fn room(limit: u32) -> u64 {
    u64::from(limit).saturating_mul(UNIT)
}

#[cfg(test)]
mod tests;
