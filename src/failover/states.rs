//! State of a source's accounts that all workers of an Envoy share, in shared data: one value for each source.
//!
//! A value begins with the [`ActiveKeys`] of the source, 32 bytes, the time until when conversations may be [moved](super::moved),
//! 8 bytes, and the number of accounts that are known, 8 bytes. Then there are
//! entries of 52 bytes, one for each of these accounts: its id, the way in which it has answered, the terms of its ejection, all by their [`Marks`]; then
//! failures, ejections, the end of the last ejection, interruptions, the key behind them. An entry whose way or terms are
//! others than the document's says nothing of them. Behind them there are entries of the same form for
//! models that accounts are at a limit with: the id is that of account and model, and the account's stands in the place of the way. Keys and accounts are in one value, so that whoever counts an
//! interruption and whoever writes down a key see each other, whichever worker they are of.

use std::hash::{DefaultHasher, Hasher};

use super::active_keys::{ACTIVE_KEYS, ActiveKeys, KeyMark};
use super::ejection::{Ejection, InterruptedKeys};
use crate::config::account::{Accounts, Marks};
use crate::host::{Clocks, Stats};
use crate::ledger::AttemptFailure;
use crate::metrics::{EjectionStats, tell_ejection};
use crate::shared_data::{SharedData, update};

/// Bytes of an entry.
const ENTRY: usize = 52;

/// The maximum number of models that accounts of a source are known to be at a limit with. Of more, those go whose time ends
/// first.
const MOST_LIMITED: usize = 64;

/// The time for which it is known longer than it matters that a conversation has moved, in microseconds.
const MOVED_SLACK_US: u64 = 1_000_000;

/// The known state of a source's accounts and of the keys that use it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct States {
    keys: ActiveKeys,
    /// Until when a conversation of the source may be elsewhere than at its first account, in microseconds of the steady clock.
    moved_until_us: u64,
    /// Whole entries of accounts, as the value has them.
    accounts: Vec<u8>,
    /// Whole entries of models that accounts are at a limit with.
    limited: Vec<u8>,
}

/// A model, by its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelMark(u64);

impl ModelMark {
    /// Of the model with this id. All workers agree.
    pub fn of(id: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(id.as_bytes());
        Self(hasher.finish())
    }

    /// The hash.
    pub fn number(self) -> u64 {
        self.0
    }

    /// The number by which it is known together with an account.
    fn with(self, marks: &Marks) -> u64 {
        self.0 ^ marks.id.rotate_left(32)
    }
}

/// The known state of one account, as its entry has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AccountState {
    id: u64,
    /// The way in which it has answered; 0 for none.
    answered: u64,
    terms: u64,
    ejection: Ejection,
}

/// The outcome of an attempt, as far as its account is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountEvent {
    /// The account answered, if only to say what is wrong with the request.
    Answered,
    /// The response came to its end.
    Finished,
    /// The attempt failed.
    Failed,
    /// The attempt failed in a way that the client with this key can bring about.
    Interrupted(KeyMark),
    /// The account is at its limit with a model, and its vendor asks to be left alone for so many seconds, or does not say.
    Limited(ModelMark, Option<u64>),
    /// Nothing could be sent to the account: it has no cluster, no address or no credential.
    NotReady,
}

impl AccountEvent {
    /// Returns the outcome for the account of an attempt that ended in this way.
    pub fn of(failure: AttemptFailure) -> Self {
        match failure {
            AttemptFailure::Request | AttemptFailure::NoModel => Self::Answered,
            AttemptFailure::NoHost | AttemptFailure::NoCredential => Self::NotReady,
            _ => Self::Failed,
        }
    }
}

impl AccountState {
    fn new(marks: &Marks) -> Self {
        Self {
            id: marks.id,
            answered: 0,
            terms: marks.terms,
            ejection: Ejection::default(),
        }
    }

    fn read(bytes: &[u8; ENTRY]) -> Option<Self> {
        let (id, rest) = bytes.split_first_chunk()?;
        let (answered, rest) = rest.split_first_chunk()?;
        let (terms, rest) = rest.split_first_chunk()?;
        let (failures, rest) = rest.split_first_chunk()?;
        let (ejections, rest) = rest.split_first_chunk()?;
        let (until_us, rest) = rest.split_first_chunk()?;
        let (interruptions, rest) = rest.split_first_chunk()?;
        Some(Self {
            id: u64::from_le_bytes(*id),
            answered: u64::from_le_bytes(*answered),
            terms: u64::from_le_bytes(*terms),
            ejection: Ejection {
                failures: u32::from_le_bytes(*failures),
                ejections: u32::from_le_bytes(*ejections),
                until_us: u64::from_le_bytes(*until_us),
                interruptions: u32::from_le_bytes(*interruptions),
                interrupted: InterruptedKeys::of(u64::from_le_bytes(*rest.first_chunk()?)),
            },
        })
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        for number in [self.id, self.answered, self.terms] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let Ejection {
            failures,
            ejections,
            until_us,
            interruptions,
            interrupted,
        } = self.ejection;
        bytes.extend_from_slice(&failures.to_le_bytes());
        bytes.extend_from_slice(&ejections.to_le_bytes());
        bytes.extend_from_slice(&until_us.to_le_bytes());
        bytes.extend_from_slice(&interruptions.to_le_bytes());
        bytes.extend_from_slice(&interrupted.number().to_le_bytes());
    }
}

impl States {
    /// Of a value. What is no entry is left out: nothing is known of that account then.
    fn new(value: &[u8]) -> Self {
        let read = || {
            let (keys, rest) = value.split_first_chunk::<ACTIVE_KEYS>()?;
            let (moved_until_us, rest) = rest.split_first_chunk()?;
            let (count, rest) = rest.split_first_chunk()?;
            let (entries, _) = rest.as_chunks::<ENTRY>();
            let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
            let (accounts, limited) = entries.split_at_checked(count)?;
            Some(Self {
                keys: ActiveKeys::read(keys),
                moved_until_us: u64::from_le_bytes(*moved_until_us),
                accounts: accounts.as_flattened().to_vec(),
                limited: limited.as_flattened().to_vec(),
            })
        };
        read().unwrap_or_default()
    }

    /// The value.
    fn to_bytes(&self) -> Vec<u8> {
        let entries = self.accounts.len().saturating_add(self.limited.len());
        let head = ACTIVE_KEYS.saturating_add(size_of::<[u64; 2]>());
        let mut bytes = Vec::with_capacity(head.saturating_add(entries));
        self.keys.write(&mut bytes);
        bytes.extend_from_slice(&self.moved_until_us.to_le_bytes());
        let count = self.accounts.len() / ENTRY;
        bytes.extend_from_slice(&(count as u64).to_le_bytes());
        bytes.extend_from_slice(&self.accounts);
        bytes.extend_from_slice(&self.limited);
        bytes
    }

    /// Whether a use of the source by this key need not be noted.
    pub fn know_use(&self, key: KeyMark, now_us: u64) -> bool {
        self.keys.know(key, now_us)
    }

    /// Whether a conversation of the source may be elsewhere than at its first account.
    pub fn may_have_moved(&self, now_us: u64) -> bool {
        now_us < self.moved_until_us
    }

    /// Whether some account is set aside, for all requests or for those to a model.
    pub fn set_some_aside(&self, now_us: u64) -> bool {
        let mut entries = self.entries().chain(entries(&self.limited));
        entries.any(|entry| entry.ejection.is_in_force(now_us))
    }

    fn entries(&self) -> impl Iterator<Item = AccountState> {
        entries(&self.accounts)
    }

    /// Whether an account is at its limit with a model.
    fn is_limited(&self, marks: &Marks, model: Option<ModelMark>, now_us: u64) -> bool {
        let Some(model) = model.filter(|_| !self.limited.is_empty()) else {
            return false;
        };
        let id = model.with(marks);
        entries(&self.limited).any(|entry| {
            entry.id == id && entry.terms == marks.terms && entry.ejection.is_in_force(now_us)
        })
    }

    /// The end of the last time that an account is at its limit with any model, as far as it is known.
    fn limit_ends(&self, marks: &Marks) -> Option<u64> {
        let own = entries(&self.limited)
            .filter(|entry| entry.answered == marks.id && entry.terms == marks.terms);
        own.map(|entry| entry.ejection.until_us).max()
    }

    /// The limits with models after this one.
    fn limited_after(
        &self,
        model: ModelMark,
        seconds: Option<u64>,
        marks: &Marks,
        source: &Accounts,
        now_us: u64,
    ) -> Vec<u8> {
        let id = model.with(marks);
        let is_kept = |entry: &AccountState| {
            let lasting = u64::from(source.failover.set_aside_max_seconds);
            let forgotten_us = lasting.saturating_mul(1_000_000);
            let is_of_source = source.marks.iter().any(|marks| marks.id == entry.answered);
            let is_lasting = now_us < entry.ejection.until_us.saturating_add(forgotten_us);
            is_of_source && (is_lasting || !entry.ejection.is_forgotten())
        };
        let mut limited: Vec<AccountState> = entries(&self.limited).filter(is_kept).collect();
        let known = limited.iter().position(|entry| entry.id == id);
        let mut entry = known
            .map(|known| limited.swap_remove(known))
            .filter(|entry| entry.terms == marks.terms)
            .unwrap_or_else(|| AccountState {
                id,
                answered: marks.id,
                ..AccountState::new(marks)
            });
        match seconds {
            Some(seconds @ 1..) => {
                entry
                    .ejection
                    .on_told_wait(seconds, &source.failover, now_us);
            }
            // It may be asked again at once: one that goes on so counts as failing.
            Some(0) | None => entry.ejection.on_failure(&source.failover, now_us),
        }
        limited.push(entry);
        limited.sort_by_key(|entry| core::cmp::Reverse(entry.ejection.until_us));
        limited.truncate(MOST_LIMITED);
        let mut bytes = Vec::with_capacity(limited.len().saturating_mul(ENTRY));
        for entry in &limited {
            entry.write(&mut bytes);
        }
        bytes
    }

    fn entry(&self, marks: &Marks) -> Option<AccountState> {
        self.entries().find(|entry| entry.id == marks.id)
    }

    /// Returns the ejection of an account, where it was counted under these terms.
    fn ejection(&self, marks: &Marks) -> Option<Ejection> {
        let entry = self.entry(marks)?;
        (entry.terms == marks.terms).then_some(entry.ejection)
    }

    /// Whether an account is ejected.
    pub fn is_ejected(&self, marks: &Marks, now_us: u64) -> bool {
        self.ejection(marks)
            .is_some_and(|ejection| ejection.is_in_force(now_us))
    }

    /// Whether an account is set aside for a request to this model, or to none.
    pub fn is_set_aside(&self, marks: &Marks, model: Option<ModelMark>, now_us: u64) -> bool {
        self.is_ejected(marks, now_us) || self.is_limited(marks, model, now_us)
    }

    /// Whether an account has answered, reached as it is now.
    pub fn has_answered(&self, marks: &Marks) -> bool {
        self.entry(marks)
            .is_some_and(|entry| entry.answered == marks.way)
    }

    /// Whether an answer of this account would change nothing.
    pub fn knows_no_failure(&self, marks: &Marks) -> bool {
        let ejection = self.ejection(marks).unwrap_or_default();
        self.has_answered(marks) && ejection.is_forgotten()
    }

    /// Returns the end of the last ejection of an account, past or to come, under any terms; `None` where there was none.
    fn ejection_ends(&self, marks: &Marks) -> Option<u64> {
        let entry = self.entry(marks);
        let ejection = entry.map(|entry| entry.ejection.until_us);
        let ends = ejection.max(self.limit_ends(marks));
        ends.filter(|until_us| *until_us > 0)
    }

    /// Until when an account is ejected, or at its limit with a model, in seconds since the Unix epoch; 0 for one that is not.
    fn ejected_until_s(&self, marks: &Marks, clocks: &impl Clocks) -> u64 {
        let now_us = clocks.steady_us();
        let ejection = self.ejection(marks).map(|ejection| ejection.until_us);
        let until_us = ejection.max(self.limit_ends(marks));
        let left_us = until_us.and_then(|until_us| until_us.checked_sub(now_us));
        let until_us = left_us.map_or(0, |left_us| clocks.wall_us().saturating_add(left_us));
        until_us.div_ceil(1_000_000)
    }

    /// The same with an event taken in, less what is known of accounts that the source does not have.
    #[must_use]
    fn after(&self, event: AccountEvent, marks: &Marks, source: &Accounts, now_us: u64) -> Self {
        if let AccountEvent::Limited(model, seconds) = event {
            return Self {
                limited: self.limited_after(model, seconds, marks, source, now_us),
                ..self.clone()
            };
        }
        let known = self.entry(marks);
        let under_these = known.filter(|entry| entry.terms == marks.terms);
        let mut entry = under_these.unwrap_or_else(|| AccountState {
            answered: known.map_or(0, |entry| entry.answered),
            ..AccountState::new(marks)
        });
        match event {
            AccountEvent::Answered => {
                entry.answered = marks.way;
                entry.ejection.on_answer();
            }
            AccountEvent::Finished => entry.ejection.on_end(),
            AccountEvent::Failed => entry.ejection.on_failure(&source.failover, now_us),
            AccountEvent::Interrupted(key) if self.keys.is_only(key, now_us) => {
                entry.ejection.on_failure(&source.failover, now_us);
            }
            AccountEvent::Interrupted(key) => {
                entry
                    .ejection
                    .on_interruption(key, &source.failover, now_us);
            }
            // Of one model.
            AccountEvent::Limited(..) => {}
            AccountEvent::NotReady => {
                entry.answered = 0;
                entry.ejection.on_failure(&source.failover, now_us);
            }
        }
        let mut accounts = Vec::with_capacity(self.accounts.len().saturating_add(ENTRY));
        let is_of_source = |id| source.marks.iter().any(|marks| marks.id == id);
        for other in self.entries().filter(|other| is_of_source(other.id)) {
            let is_new = other.id == marks.id;
            if is_new { &entry } else { &other }.write(&mut accounts);
        }
        if known.is_none() {
            entry.write(&mut accounts);
        }
        Self {
            keys: self.keys,
            moved_until_us: self.moved_until_us,
            accounts,
            limited: self.limited.clone(),
        }
    }
}

fn entries(bytes: &[u8]) -> impl Iterator<Item = AccountState> {
    let (entries, _) = bytes.as_chunks();
    entries.iter().filter_map(AccountState::read)
}

/// The name of a source's value in shared data.
fn name(source: &str) -> String {
    format!("trilane/accounts/{source}")
}

/// Reads the known state of a source's accounts.
pub fn read(source: &str, shared: &impl SharedData) -> States {
    let (bytes, _) = shared.get(&name(source));
    States::new(&bytes.unwrap_or_default())
}

/// Notes that a key uses a source.
pub fn note_use(source: &str, key: KeyMark, host: &(impl SharedData + Clocks)) {
    let now_us = host.steady_us();
    // Where others are always faster, its next request is noted.
    update(&name(source), host, |bytes| {
        let states = States::new(bytes);
        if states.know_use(key, now_us) {
            return None;
        }
        let keys = states.keys.after(key, now_us);
        Some(States { keys, ..states }.to_bytes())
    });
}

/// Notes that a conversation of a source has moved, which matters for so many microseconds from now.
pub fn note_moved(source: &str, now_us: u64, life_us: u64, shared: &impl SharedData) {
    let until_us = now_us.saturating_add(life_us);
    update(&name(source), shared, |bytes| {
        let states = States::new(bytes);
        if states.moved_until_us >= until_us {
            return None;
        }
        let states = States {
            // Not each of many is written down.
            moved_until_us: until_us.saturating_add(MOVED_SLACK_US),
            ..states
        };
        Some(states.to_bytes())
    });
}

/// Notes what became of an attempt at the account with this index, and tells operators of its ejection.
pub fn note(
    event: AccountEvent,
    source: &str,
    accounts: &Accounts,
    index: usize,
    host: &(impl SharedData + Clocks + Stats),
) {
    let (Some(account), Some(marks)) = (accounts.accounts.get(index), accounts.marks.get(index))
    else {
        return;
    };
    let now_us = host.steady_us();
    let mut ejected_until_s = None;
    // What others wrote meanwhile is as good: the next failure counts again.
    let is_changed = update(&name(source), host, |bytes| {
        let before = States::new(bytes);
        let after = before.after(event, marks, accounts, now_us);
        let is_told = after.ejection_ends(marks) != before.ejection_ends(marks);
        ejected_until_s = is_told.then(|| after.ejected_until_s(marks, host));
        (after != before).then(|| after.to_bytes())
    });
    if let (true, Some(until_s)) = (is_changed, ejected_until_s) {
        tell_ejection(source, &account.id, until_s, host);
    }
}

/// Tells operators of every account of a source until when it is ejected. An ejection may be over, or void.
pub fn tell_ejections(
    source: &str,
    accounts: &Accounts,
    stats: &mut EjectionStats,
    host: &(impl SharedData + Clocks + Stats),
) {
    let states = read(source, host);
    for (account, marks) in accounts.accounts.iter().zip(&accounts.marks) {
        stats.tell(
            source,
            &account.id,
            states.ejected_until_s(marks, host),
            host,
        );
    }
}

#[cfg(test)]
mod tests;
