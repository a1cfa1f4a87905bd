//! Who loads the configuration, where several roots of one Envoy could.
//!
//! One root at a time does. The value [`LOADER`] says which, and is changed by
//! compare-and-swap alone, so of several that find it free one gets it. There is an order among roots
//! (`Standing`), and whoever is greater takes the place at once, unasked:
//!
//! - The singleton is greater than every filter: where there is one, the filters' own loaders stand back.
//! - Among filters the greater is the one whose plugin configuration came later ([`Claimant::enter`]). Envoy
//!   keeps a root that was replaced as long as its streams live, and it goes on ticking. It must not hold the
//!   newer one up, and must not bring its own document back.
//! - Roots with one and the same plugin configuration, one for each thread, are peers.
//!
//! **To have entered is not to load.** Envoy configures every root once more beforehand, in a VM that it
//! throws away, also where it then refuses the configuration. Such a root never ticks, so it never claims:
//! it leaves nothing but a number that was passed over.
//!
//! # When the place is free
//!
//! Whoever loads changes the value with each of its ticks. The place is free when it has stopped doing so,
//! and that a claimant finds out by watching: no moment is written down, none is compared with another
//! VM's clock, and a clock that is put forward or back frees nothing and blocks nothing. A claimant counts
//! the time between its own looks, by a steady clock, and of each pause no more than a third of the time
//! that the loader's word holds. So after a pause of the whole process, in which nobody could tick, it
//! must look several times more, and meanwhile all others tick too.
//!
//! A peer takes the place when the loader's time is over. A lesser root waits for three times as long. As a
//! newer configuration has a root on every thread, with a tick at least three times in that time, one of those is
//! there before it; a root that was replaced loads again only where the newer configuration is gone.

use sha2::{Digest, Sha256};

use super::snapshot::{EARLIER_LEASE, LOADER, ORDER};
use crate::shared_data::SharedData;

/// A version that no value has: by it a value is set only where there is none.
const ABSENT: u32 = u32::MAX;
/// How often a root tries to enter while others do.
const TRIES: u32 = 1000;
/// How much longer a lesser root waits than a peer.
const LESSER: u64 = 3;
/// How many looks it takes at least until the place counts as free.
const LOOKS: u64 = 3;
/// How long the word of a loader holds that cannot be read, in milliseconds: it is of another release.
const UNKNOWN_MS: u64 = 10_000;
/// The longest that any word is believed to hold, in milliseconds: three of the longest ticks.
const LONGEST_MS: u64 = 180_000;

/// Whose job loading is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A filter's, where nobody greater does it.
    Fallback,
    /// The singleton's, always.
    Singleton,
}

/// A root that could load.
#[derive(Debug)]
pub struct Claimant {
    standing: Standing,
    /// The digest of its plugin configuration, and of what reads it.
    configuration: [u8; 32],
    /// Itself, unlike any other root.
    holder: u64,
    /// How long its word holds without renewal, in milliseconds: several ticks.
    lasts_ms: u64,
    watch: Option<Watch>,
}

/// Where a root stands among the others: the greater one loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Standing {
    role: Role,
    /// Counts plugin configurations as they come.
    term: u64,
}

/// What was seen of another loader.
#[derive(Debug)]
struct Watch {
    value: Vec<u8>,
    looked_ms: u64,
    /// For how long it has not changed.
    silent_ms: u64,
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Another root loads.
    Denied,
    /// We load, as before.
    Renewed,
    /// We load from now on. Another root may have published since we last did.
    Taken,
}

/// The root that loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Loader {
    standing: Standing,
    holder: u64,
    /// Grows with each renewal.
    beat: u64,
    lasts_ms: u64,
    configuration: [u8; 32],
}

impl Claimant {
    /// Enters the order of roots, with a plugin configuration that came just now. One that is the last that
    /// came is the same again; any other is newer than all before, also one that there was before: what
    /// is configured later wins, not what is in it.
    pub fn enter(
        role: Role,
        configuration: &[u8],
        holder: u64,
        lasts_ms: u64,
        shared: &impl SharedData,
    ) -> Self {
        let mut digest = Sha256::new();
        // What reads it counts as well: another release of the filter is newer with the same configuration.
        digest.update([role as u8]);
        digest.update(env!("CARGO_PKG_VERSION"));
        digest.update(configuration);
        let configuration = digest.finalize().into();
        let term = draw_term(&configuration, shared);
        Self {
            standing: Standing { role, term },
            configuration,
            holder,
            lasts_ms: lasts_ms.min(LONGEST_MS),
            watch: None,
        }
    }

    /// Claims the place, or keeps it; `now_ms` is of a steady clock, whose zero does not matter.
    pub fn claim(&mut self, now_ms: u64, shared: &impl SharedData) -> Claim {
        if let Some((term, configuration)) = last_entered(shared).1
            && configuration == self.configuration
        {
            // It came again, and this root was not told: Envoy has kept it.
            self.standing.term = self.standing.term.max(term);
        }
        let (value, version) = shared.get(LOADER);
        let value = value.unwrap_or_default();
        let loader = Loader::decode(&value);
        if let Some(loader) = &loader
            && loader.configuration == self.configuration
        {
            self.standing.term = self.standing.term.max(loader.standing.term);
        }
        let ours = loader.is_some_and(|loader| loader.holder == self.holder);
        if !ours && !self.may_take(&value, loader.as_ref(), now_ms) {
            return Claim::Denied;
        }
        self.watch = None;
        let beat = loader.map_or(0, |loader| loader.beat);
        let own = self.word(beat.wrapping_add(1));
        // Without a version, setting would be unconditional and two VMs could both think they won.
        let version = Some(version.unwrap_or(ABSENT));
        if shared.set(LOADER, &own, version).is_err() {
            Claim::Denied
        } else if ours {
            Claim::Renewed
        } else {
            Claim::Taken
        }
    }

    fn may_take(&mut self, value: &[u8], loader: Option<&Loader>, now_ms: u64) -> bool {
        if value.is_empty() {
            return true;
        }
        let (lasts_ms, wait_ms) = match loader {
            Some(loader) if loader.standing < self.standing => return true,
            // There is one singleton alive, so another one that was before it is none any more.
            Some(loader) if loader.standing == self.standing => match self.standing.role {
                Role::Singleton => return true,
                Role::Fallback => (loader.lasts_ms, loader.lasts_ms),
            },
            Some(loader) => (loader.lasts_ms, loader.lasts_ms.saturating_mul(LESSER)),
            None => (UNKNOWN_MS, UNKNOWN_MS.saturating_mul(LESSER)),
        };
        self.silent_ms(value, lasts_ms, now_ms) >= wait_ms
    }

    /// For how long the loader has said nothing, as far as this root has watched.
    fn silent_ms(&mut self, value: &[u8], lasts_ms: u64, now_ms: u64) -> u64 {
        match &mut self.watch {
            Some(watch) if watch.value == value => {
                let pause = now_ms.saturating_sub(watch.looked_ms);
                let counts = pause.min(lasts_ms.div_ceil(LOOKS));
                watch.silent_ms = watch.silent_ms.saturating_add(counts);
                watch.looked_ms = now_ms;
                watch.silent_ms
            }
            _ => {
                self.watch = Some(Watch {
                    value: value.to_vec(),
                    looked_ms: now_ms,
                    silent_ms: 0,
                });
                0
            }
        }
    }

    /// Keeps filters of earlier releases from loading, which know nothing of this order; `wall_ms` is in
    /// milliseconds since the Unix epoch, as they count. To be called with each renewal.
    pub fn hold_off_earlier(&self, wall_ms: u64, shared: &impl SharedData) {
        let end = wall_ms.saturating_add(self.lasts_ms);
        let value = [self.holder.to_le_bytes(), end.to_le_bytes()].concat();
        let _ = shared.set(EARLIER_LEASE, &value, None);
    }

    fn word(&self, beat: u64) -> Vec<u8> {
        let loader = Loader {
            standing: self.standing,
            holder: self.holder,
            beat,
            lasts_ms: self.lasts_ms,
            configuration: self.configuration,
        };
        loader.encode()
    }
}

impl Loader {
    /// The format that this release writes and reads.
    const FORMAT: u8 = 1;

    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![Self::FORMAT, self.standing.role as u8];
        for number in [self.standing.term, self.holder, self.beat, self.lasts_ms] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.configuration);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[format, role], rest) = bytes.split_first_chunk::<2>()?;
        let role = [Role::Fallback, Role::Singleton]
            .into_iter()
            .find(|known| *known as u8 == role)?;
        let (term, rest) = number(rest)?;
        let (holder, rest) = number(rest)?;
        let (beat, rest) = number(rest)?;
        let (lasts_ms, rest) = number(rest)?;
        let configuration = rest.try_into().ok()?;
        (format == Self::FORMAT).then_some(Self {
            standing: Standing { role, term },
            holder,
            beat,
            lasts_ms: lasts_ms.min(LONGEST_MS),
            configuration,
        })
    }
}

/// The version of the order, and the plugin configuration that came last, with its number.
fn last_entered(shared: &impl SharedData) -> (Option<u32>, Option<(u64, [u8; 32])>) {
    let (value, version) = shared.get(ORDER);
    let entered = value.as_deref().and_then(|value| {
        let (term, configuration) = number(value)?;
        Some((term, configuration.try_into().ok()?))
    });
    (version, entered)
}

/// The number of a plugin configuration that came just now.
fn draw_term(configuration: &[u8; 32], shared: &impl SharedData) -> u64 {
    let mut term = 0;
    for _ in 0..TRIES {
        let (version, last) = last_entered(shared);
        let (last_term, last_configuration) = last.unwrap_or_default();
        if last.is_some() && last_configuration == *configuration {
            return last_term;
        }
        term = last_term.saturating_add(1);
        let value = [&term.to_le_bytes()[..], configuration].concat();
        let version = Some(version.unwrap_or(ABSENT));
        if shared.set(ORDER, &value, version).is_ok() {
            break;
        }
    }
    term
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*number), rest))
}

#[cfg(test)]
mod tests;
