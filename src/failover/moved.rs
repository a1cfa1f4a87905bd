//! The conversations that are served elsewhere than at their first account, in shared data that all workers of an Envoy share.
//!
//! A vendor keeps the beginning of a conversation in a cache of the account that answered it, for some minutes after each use. So
//! a conversation that had to move stays where it is for as long, and then returns. Only conversations that have moved are here:
//! at most 64 Ki of them. The number of a conversation chooses its bucket, which is one value; of more in a
//! bucket the one goes that was used longest ago.

use super::states;
use crate::shared_data::{SharedData, update};

/// The number of values.
const BUCKETS: u64 = 1024;
/// The maximum number of conversations in a value.
const IN_BUCKET: usize = 64;
/// Bytes of an entry: the conversation, the account, the time of its last use.
const ENTRY: usize = 24;
/// The part of the time that a move matters for which a use is not written down again.
const NOTED_PART: u64 = 16;

/// The account at which a conversation was answered last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// The account, by its number among those of all sources.
    pub account: u64,
    /// The time of the last answer, in microseconds of the steady clock.
    pub used_us: u64,
}

impl Moved {
    /// Whether the last answer is younger than `life_us` microseconds.
    pub fn is_within(&self, life_us: u64, now_us: u64) -> bool {
        now_us.saturating_sub(self.used_us) < life_us
    }

    /// Whether an answer of this account at this time need not be noted, where that matters for `life_us` microseconds.
    pub fn covers(&self, account: u64, life_us: u64, now_us: u64) -> bool {
        let noted_us = life_us.checked_div(NOTED_PART).unwrap_or_default();
        self.account == account && self.is_within(noted_us, now_us)
    }
}

/// A change of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The conversation.
    pub conversation: u64,
    /// The account that has answered it; `None` for the first one, at which it is at home.
    pub to: Option<u64>,
    /// The time for which that matters, in microseconds.
    pub life_us: u64,
}

/// Finds out where a conversation has moved.
pub fn find(conversation: u64, shared: &impl SharedData) -> Option<Moved> {
    let (bytes, _) = shared.get(&name(conversation));
    let bytes = bytes?;
    let (_, moved) = entries(&bytes).find(|(known, _)| *known == conversation)?;
    Some(moved)
}

/// Notes where a conversation of a source was answered.
pub fn note(change: Move, source: &str, now_us: u64, shared: &impl SharedData) {
    // Where others are always faster, the next answer is noted.
    update(&name(change.conversation), shared, |bytes| {
        // The longest unused stands first.
        let mut kept: Vec<_> = entries(bytes)
            .filter(|(known, _)| *known != change.conversation)
            .collect();
        if let Some(account) = change.to {
            let used_us = now_us;
            kept.push((change.conversation, Moved { account, used_us }));
        }
        let excess = kept.len().saturating_sub(IN_BUCKET);
        let mut value = Vec::with_capacity(kept.len().saturating_mul(ENTRY));
        for (conversation, moved) in kept.iter().skip(excess) {
            for number in [*conversation, moved.account, moved.used_us] {
                value.extend_from_slice(&number.to_le_bytes());
            }
        }
        Some(value)
    });
    if change.to.is_some() {
        states::note_moved(source, now_us, change.life_us, shared);
    }
}

/// The name of a bucket in shared data.
fn name(conversation: u64) -> String {
    let bucket = conversation.checked_rem(BUCKETS).unwrap_or_default();
    format!("trilane/moved/{bucket}")
}

fn entries(bytes: &[u8]) -> impl Iterator<Item = (u64, Moved)> {
    let (entries, _) = bytes.as_chunks::<ENTRY>();
    entries.iter().filter_map(|entry| {
        let (conversation, rest) = entry.split_first_chunk()?;
        let (account, rest) = rest.split_first_chunk()?;
        let moved = Moved {
            account: u64::from_le_bytes(*account),
            used_us: u64::from_le_bytes(*rest.first_chunk()?),
        };
        Some((u64::from_le_bytes(*conversation), moved))
    })
}

#[cfg(test)]
mod tests;
