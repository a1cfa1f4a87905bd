//! In which order a conversation asks the accounts of a source.
//!
//! Accounts that are not ejected come first, of these the smaller priority. Within a priority the order is that of
//! weighted rendezvous hashing (Schindelhauer and Schomaker, 2005): each account draws a number from the hash of the
//! conversation and its own id, and the smallest comes first. So an account that is ejected, added or removed moves
//! its own conversations and no others, and accounts get shares by their weights.

use core::cmp::Ordering;

use super::states::{ModelMark, States};
use crate::config::account::{Account, Accounts, Marks};

/// Bits behind the point of a logarithm.
const FRACTION: u32 = 32;

/// An account's place in the order: the smaller, the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AccountRank {
    ejected: bool,
    priority: u32,
    /// The requests under way, divided by the weight; the same for all where that does not decide.
    load: u64,
    draw: Draw,
    index: usize,
}

/// An account's draw for a conversation: its number's negative logarithm, which is distributed exponentially, divided
/// by the account's weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Draw {
    number: u64,
    weight: u64,
}

impl Draw {
    fn new(affinity: u64, marks: &Marks, weight: u32) -> Self {
        Self {
            number: mix(affinity ^ marks.id),
            weight: u64::from(weight.max(1)),
        }
    }
}

impl Ord for Draw {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_number = other.number.cmp(&self.number);
        if self.weight == other.weight {
            return by_number;
        }
        // A logarithm has 39 bits and a weight 10.
        let left = negative_log2(self.number).saturating_mul(other.weight);
        let right = negative_log2(other.number).saturating_mul(self.weight);
        left.cmp(&right).then(by_number)
    }
}

impl PartialOrd for Draw {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl AccountRank {
    fn key(&self) -> (bool, u32, u64, Draw, usize) {
        (
            self.ejected,
            self.priority,
            self.load,
            self.draw,
            self.index,
        )
    }
}

/// The account that a conversation asks first, of those that `may` be asked; and whether it is ejected, as all of them are then.
/// `under_way` has the requests under way of each, where the least busy comes first; else nothing.
pub(super) fn first(
    accounts: &Accounts,
    affinity: u64,
    states: &States,
    model: Option<ModelMark>,
    now_us: u64,
    under_way: &[u32],
    may: impl Fn(usize) -> bool,
) -> Option<(usize, bool)> {
    let members = accounts.accounts.iter().zip(&accounts.marks).enumerate();
    members
        .filter(|(index, _)| may(*index))
        .map(|(index, (account, marks))| {
            let ejected = states.is_set_aside(marks, model, now_us);
            let under_way = under_way.get(index).copied().unwrap_or_default();
            AccountRank {
                load: load(under_way, account.weight),
                ..place(affinity, index, account, marks, ejected)
            }
        })
        .min_by_key(AccountRank::key)
        .map(|place| (place.index, place.ejected))
}

/// The load of an account with so many requests under way.
fn load(under_way: u32, weight: u32) -> u64 {
    let requests = u64::from(under_way).saturating_mul(1000);
    requests.checked_div(u64::from(weight)).unwrap_or_default()
}

fn place(
    affinity: u64,
    index: usize,
    account: &Account,
    marks: &Marks,
    ejected: bool,
) -> AccountRank {
    AccountRank {
        ejected,
        priority: account.priority,
        load: 0,
        draw: Draw::new(affinity, marks, account.weight),
        index,
    }
}

/// A number whose bits all depend on all bits of `value` (the finalizer of SplitMix64, Steele et al., 2014).
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// `-log2(value / 2^64)` with [`FRACTION`] bits behind the point, by repeated squaring.
fn negative_log2(value: u64) -> u64 {
    let value = value.max(1);
    let zeros = value.leading_zeros();
    // In [1, 2) with 31 bits behind the point.
    let mut mantissa = (value << zeros) >> 32;
    let mut fraction = 0_u64;
    for _ in 0..FRACTION {
        mantissa = mantissa.wrapping_mul(mantissa) >> 31;
        let over = mantissa >> 32;
        mantissa >>= over;
        fraction = (fraction << 1) | over;
    }
    (u64::from(zeros).saturating_add(1) << FRACTION).saturating_sub(fraction)
}

#[cfg(test)]
mod tests;
