//! Leader election: which of several roots of one Envoy loads the configuration.
//!
//! One root at a time is the leader. It holds a lease: the value [`LOADER`], changed by compare-and-swap alone, so of
//! several candidates that find it free one acquires it. Candidates have a rank (`Rank`), and one of a higher rank
//! acquires the lease at once, from whoever holds it:
//!
//! - The singleton outranks every filter: where there is one, the filters' own loaders are followers.
//! - Among filters the one whose plugin configuration came later outranks the others ([`Candidate::enter`]). Envoy
//!   keeps a root that was replaced as long as its streams live, and it goes on ticking. It must not hold the
//!   newer one up, and must not bring its own document back.
//! - Roots with one and the same plugin configuration, one for each thread, are peers.
//!
//! **To enter is not to lead.** Envoy configures every root once more beforehand, in a VM that it
//! throws away, also where it then refuses the configuration. Such a root never ticks, so it never acquires the lease:
//! all that it leaves is a term that nobody uses.
//!
//! # When a lease expires
//!
//! The leader changes the value with each of its ticks. The lease has expired when the value stops changing, which each
//! candidate observes for itself, as in Kubernetes' leader election: no moment is written down, none is compared with
//! another VM's clock, and setting a clock forward or back expires nothing and blocks nothing. A candidate adds up the
//! time between its own observations, by a steady clock, and of each pause no more than a third of the lease's
//! duration. So after a pause of the whole process, in which nobody could tick, it must observe several times more,
//! and meanwhile all others tick too.
//!
//! A peer acquires an expired lease at once. A candidate of a lower rank waits for three durations. As a newer
//! configuration has a root on every thread, with a tick at least three times a duration, one of those is
//! faster; a root that was replaced leads again only where the newer configuration is gone.

use sha2::{Digest, Sha256};

use crate::config::snapshot::{LOADER, ORDER};
use crate::shared_data::SharedData;

/// A version that no value has: by it a value is set only where there is none.
const ABSENT: u32 = u32::MAX;
/// The maximum number of retries of the compare-and-swap of a term after conflicts.
const RETRIES: u32 = 1000;
/// The number of durations that a candidate of a lower rank waits.
const LOWER_RANK_DURATIONS: u64 = 3;
/// The minimum number of observations until a lease has expired.
const OBSERVATIONS: u64 = 3;
/// The duration of a lease that cannot be read, in milliseconds: another release wrote it.
const UNKNOWN_DURATION_MS: u64 = 10_000;
/// The longest duration that any lease has, whatever it says, in milliseconds: three of the longest ticks.
const MAX_DURATION_MS: u64 = 180_000;

/// The kind of a root that could load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoaderRole {
    /// A filter, which loads where nobody of a higher rank does.
    Fallback,
    /// The singleton.
    Singleton,
}

/// A root that could load.
#[derive(Debug)]
pub struct Candidate {
    rank: Rank,
    /// The digest of its plugin configuration, and of the release that reads it.
    configuration: [u8; 32],
    /// This root, unlike any other.
    id: u64,
    /// The duration of the candidate's lease without renewal, in milliseconds: several ticks.
    duration_ms: u64,
    observation: Option<Observation>,
}

/// The order of candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    role: LoaderRole,
    /// Counts plugin configurations as they come.
    term: u64,
}

/// The state of another's lease, as a candidate has observed it.
#[derive(Debug)]
struct Observation {
    value: Vec<u8>,
    observed_ms: u64,
    /// For how long it has not changed.
    unchanged_ms: u64,
}

/// The result of an attempt to hold the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acquisition {
    /// Another root holds it.
    Denied,
    /// This root holds it, as before.
    Renewed,
    /// This root holds it from now on. Another may have published since it last did.
    Acquired,
}

/// The lease as it stands in shared data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LeaseRecord {
    rank: Rank,
    holder: u64,
    /// Grows with each renewal.
    renewals: u64,
    duration_ms: u64,
    configuration: [u8; 32],
}

impl Candidate {
    /// Enters the election, with a plugin configuration that came just now. If it is the one that came last, its
    /// rank is the same; any other outranks all before, also one that there was before: what
    /// is configured later wins, not what is in it.
    ///
    /// `id` is a number that no other root has.
    pub fn enter(
        role: LoaderRole,
        configuration: &[u8],
        id: u64,
        duration_ms: u64,
        shared: &impl SharedData,
    ) -> Self {
        let mut digest = Sha256::new();
        // The release counts as well: another one is newer with the same configuration.
        digest.update([role as u8]);
        digest.update(env!("CARGO_PKG_VERSION"));
        digest.update(configuration);
        let configuration = digest.finalize().into();
        let term = draw_term(&configuration, shared);
        Self {
            rank: Rank { role, term },
            configuration,
            id,
            duration_ms: duration_ms.min(MAX_DURATION_MS),
            observation: None,
        }
    }

    /// Acquires the lease, or renews it; `now_ms` is of a steady clock, whose zero does not matter.
    pub fn acquire_or_renew(&mut self, now_ms: u64, shared: &impl SharedData) -> Acquisition {
        if let Some((term, configuration)) = last_entered(shared).1
            && configuration == self.configuration
        {
            // It came again and Envoy kept this root, without telling it.
            self.rank.term = self.rank.term.max(term);
        }
        let (value, version) = shared.get(LOADER);
        let value = value.unwrap_or_default();
        let lease = LeaseRecord::decode(&value);
        if let Some(lease) = &lease
            && lease.configuration == self.configuration
        {
            self.rank.term = self.rank.term.max(lease.rank.term);
        }
        let held = lease.is_some_and(|lease| lease.holder == self.id);
        if !held && !self.may_acquire(&value, lease.as_ref(), now_ms) {
            return Acquisition::Denied;
        }
        self.observation = None;
        let renewals = lease.map_or(0, |lease| lease.renewals);
        let own = self.lease(renewals.wrapping_add(1));
        // Without a version, setting would be unconditional and two VMs could both think they won.
        let version = Some(version.unwrap_or(ABSENT));
        if shared.set(LOADER, &own, version).is_err() {
            Acquisition::Denied
        } else if held {
            Acquisition::Renewed
        } else {
            Acquisition::Acquired
        }
    }

    fn may_acquire(&mut self, value: &[u8], lease: Option<&LeaseRecord>, now_ms: u64) -> bool {
        if value.is_empty() {
            return true;
        }
        let (duration_ms, wait_ms) = match lease {
            Some(lease) if lease.rank < self.rank => return true,
            // There is one singleton alive, so another of the same rank was before it and is gone.
            Some(lease) if lease.rank == self.rank => match self.rank.role {
                LoaderRole::Singleton => return true,
                LoaderRole::Fallback => (lease.duration_ms, lease.duration_ms),
            },
            Some(lease) => (
                lease.duration_ms,
                lease.duration_ms.saturating_mul(LOWER_RANK_DURATIONS),
            ),
            None => (
                UNKNOWN_DURATION_MS,
                UNKNOWN_DURATION_MS.saturating_mul(LOWER_RANK_DURATIONS),
            ),
        };
        self.unchanged_ms(value, duration_ms, now_ms) >= wait_ms
    }

    /// For how long the lease has not been renewed, as far as this root has observed.
    fn unchanged_ms(&mut self, value: &[u8], duration_ms: u64, now_ms: u64) -> u64 {
        match &mut self.observation {
            Some(observation) if observation.value == value => {
                let pause = now_ms.saturating_sub(observation.observed_ms);
                let counts = pause.min(duration_ms.div_ceil(OBSERVATIONS));
                observation.unchanged_ms = observation.unchanged_ms.saturating_add(counts);
                observation.observed_ms = now_ms;
                observation.unchanged_ms
            }
            _ => {
                self.observation = Some(Observation {
                    value: value.to_vec(),
                    observed_ms: now_ms,
                    unchanged_ms: 0,
                });
                0
            }
        }
    }

    fn lease(&self, renewals: u64) -> Vec<u8> {
        let lease = LeaseRecord {
            rank: self.rank,
            holder: self.id,
            renewals,
            duration_ms: self.duration_ms,
            configuration: self.configuration,
        };
        lease.encode()
    }
}

impl LeaseRecord {
    /// The format that this release writes and reads.
    const FORMAT: u8 = 1;

    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![Self::FORMAT, self.rank.role as u8];
        for number in [self.rank.term, self.holder, self.renewals, self.duration_ms] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.configuration);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[format, role], rest) = bytes.split_first_chunk::<2>()?;
        let role = [LoaderRole::Fallback, LoaderRole::Singleton]
            .into_iter()
            .find(|known| *known as u8 == role)?;
        let (term, rest) = number(rest)?;
        let (holder, rest) = number(rest)?;
        let (renewals, rest) = number(rest)?;
        let (duration_ms, rest) = number(rest)?;
        let configuration = rest.try_into().ok()?;
        (format == Self::FORMAT).then_some(Self {
            rank: Rank { role, term },
            holder,
            renewals,
            duration_ms: duration_ms.min(MAX_DURATION_MS),
            configuration,
        })
    }
}

/// The version of [`ORDER`], and the term and the digest of the plugin configuration that came last.
fn last_entered(shared: &impl SharedData) -> (Option<u32>, Option<(u64, [u8; 32])>) {
    let (value, version) = shared.get(ORDER);
    let entered = value.as_deref().and_then(|value| {
        let (term, configuration) = number(value)?;
        Some((term, configuration.try_into().ok()?))
    });
    (version, entered)
}

/// The term of a plugin configuration that came just now.
fn draw_term(configuration: &[u8; 32], shared: &impl SharedData) -> u64 {
    let mut term = 0;
    for _ in 0..RETRIES {
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
