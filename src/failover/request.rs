//! The attempts of one request at a source with several accounts.

use std::cell::RefCell;
use std::rc::Rc;

use smol_str::SmolStr;

use super::active_keys::KeyMark;
use super::order;
use super::states::{AccountEvent, States};
use crate::config::account::{Account, Accounts, HOP_CLUSTER, MOST_ACCOUNTS};
use crate::config::policy::Source;
use crate::ledger::{AttemptFailure, FailedAttempt};

/// The bounds of one request's attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The maximum number of accounts that the request may be sent to.
    pub attempts: usize,
    /// After when no further one is asked, in microseconds of the steady clock.
    pub until_us: u64,
}

/// The destination of the first attempt of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    /// The Envoy cluster.
    pub cluster: SmolStr,
    /// Whether there may be another attempt after it.
    pub retried: bool,
}

/// The fixed terms of the attempts of a request.
#[derive(Debug)]
pub struct AttemptPlan {
    /// The source.
    pub source: Rc<Source>,
    /// The key.
    pub key: KeyMark,
    /// The conversation, as a number.
    pub affinity: u64,
    /// The request's path without its version, where accounts have paths of their own.
    pub path: Option<Vec<u8>>,
    /// The bounds of the request's attempts.
    pub bounds: Bounds,
}

/// The attempts of one request, shared by its exchange and by the filters that see its attempts.
#[derive(Debug)]
pub struct RequestAttempts {
    plan: AttemptPlan,
    progress: RefCell<AttemptProgress>,
}

/// The progress of a request's attempts.
#[derive(Debug, Default)]
struct AttemptProgress {
    /// The accounts that were asked.
    asked: AccountSet,
    /// The last of them, by its index.
    last: Option<usize>,
    /// The number of attempts at the last of them.
    times: u32,
    /// Whether the last attempt went, or goes, by way of the hop.
    by_hop: bool,
    /// The time of the last attempt, in microseconds of the steady clock.
    asked_us: u64,
    /// The time at which the last byte of the body came, in microseconds of the steady clock; `None` while more is to come.
    whole_us: Option<u64>,
    /// Whether an answer of the first account must be noted.
    note_answer: bool,
    /// Whether the end of an answer to the last attempt must be noted.
    note_end: bool,
    /// Whether the hop would refuse the request, for all that is known.
    hop_is_foreign: bool,
    /// Failed attempts, and attempts that were not made.
    failed: Vec<FailedAttempt>,
}

const _: () = assert!(MOST_ACCOUNTS <= u64::BITS as usize);

/// Accounts of a source: a bit for each index.
#[derive(Debug, Clone, Copy, Default)]
struct AccountSet(u64);

impl AccountSet {
    fn insert(&mut self, index: usize) {
        self.0 |= Self::bit(index);
    }

    /// Whether an account is in it, or has no place in any.
    fn contains(self, index: usize) -> bool {
        let bit = Self::bit(index);
        bit == 0 || self.0 & bit != 0
    }

    fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    fn bit(index: usize) -> u64 {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        1_u64.checked_shl(index).unwrap_or(0)
    }
}

impl RequestAttempts {
    /// Of a request whose first attempt is still to be dispatched.
    pub fn new(plan: AttemptPlan) -> Self {
        Self {
            plan,
            progress: RefCell::default(),
        }
    }

    /// The source.
    pub fn source(&self) -> &Source {
        &self.plan.source
    }

    /// Returns the accounts of the source.
    pub fn accounts(&self) -> Option<&Accounts> {
        self.plan.source.accounts.as_deref()
    }

    /// The path that each account's own base stands before.
    pub fn path(&self) -> Option<&[u8]> {
        self.plan.path.as_deref()
    }

    /// The bounds.
    pub fn bounds(&self) -> Bounds {
        self.plan.bounds
    }

    /// Chooses where the first attempt goes. `has_hop`: the filter there is of this VM, and knows the request.
    pub fn dispatch(&self, states: &States, now_us: u64, has_hop: bool) -> Option<Dispatch> {
        let first = self.next(states, now_us)?;
        let accounts = self.accounts()?;
        let (account, marks) = (accounts.accounts.get(first)?, accounts.marks.get(first)?);
        let retried = self.plan.bounds.attempts > 1 || account.retries > 0;
        let direct = states.has_answered(marks) || !has_hop;
        if direct {
            self.begin(first, false, states, now_us);
            let mut progress = self.progress.try_borrow_mut().ok()?;
            progress.note_answer = !states.knows_no_failure(marks);
            progress.hop_is_foreign = !has_hop;
        }
        let cluster = if direct {
            accounts.clusters.get(first)?.clone()
        } else {
            SmolStr::new_static(HOP_CLUSTER)
        };
        Some(Dispatch { cluster, retried })
    }

    /// The account that would be asked next: the last one again if its connection failed and it is to have another
    /// attempt, else one that was not asked.
    pub fn next(&self, states: &States, now_us: u64) -> Option<usize> {
        let accounts = self.accounts()?;
        let progress = self.progress.try_borrow().ok()?;
        if let Some(last) = progress.last {
            let retries = accounts.accounts.get(last).map_or(0, |it| it.retries);
            let failure = progress.failed.last();
            let broken = failure.is_some_and(|it| it.kind == AttemptFailure::Connection);
            if broken && progress.times <= retries {
                return Some(last);
            }
            if progress.asked.len() >= self.plan.bounds.attempts {
                return None;
            }
        }
        let fresh = |index| !progress.asked.contains(index);
        order::first(accounts, self.plan.affinity, states, now_us, fresh)
    }

    /// An account is asked now.
    pub fn begin(&self, index: usize, by_hop: bool, states: &States, now_us: u64) {
        self.ask(index, by_hop);
        let marks = self.accounts().and_then(|it| it.marks.get(index));
        if let Ok(mut progress) = self.progress.try_borrow_mut() {
            progress.asked_us = now_us;
            progress.note_end = marks.is_some_and(|marks| !states.knows_no_failure(marks));
        }
    }

    /// The last byte of the body has come.
    pub fn end_body(&self, now_us: u64) {
        if let Ok(mut progress) = self.progress.try_borrow_mut() {
            progress.whole_us.get_or_insert(now_us);
        }
    }

    /// Whether all of the body has come.
    pub fn has_whole_body(&self) -> bool {
        self.progress
            .try_borrow()
            .is_ok_and(|it| it.whole_us.is_some())
    }

    /// The event of silence before a response, for the last account: no failure where its client may have
    /// brought that about by its body. Of a body that took its time this holds for as long again: the news of what its account did
    /// meanwhile may still be on its way.
    pub fn silence(&self, now_us: u64) -> AccountEvent {
        let Ok(progress) = self.progress.try_borrow() else {
            return AccountEvent::Interrupted(self.plan.key);
        };
        let is_over = progress.whole_us.is_some_and(|whole_us| {
            now_us.saturating_sub(whole_us) >= whole_us.saturating_sub(progress.asked_us)
        });
        if is_over {
            AccountEvent::Failed
        } else {
            AccountEvent::Interrupted(self.plan.key)
        }
    }

    /// The event of a response that broke off in its middle, for the last account: its client may not have read it.
    pub fn break_off(&self) -> AccountEvent {
        AccountEvent::Interrupted(self.plan.key)
    }

    /// An account is asked.
    pub fn ask(&self, index: usize, by_hop: bool) {
        if let Ok(mut progress) = self.progress.try_borrow_mut() {
            progress.by_hop = by_hop;
            if progress.last == Some(index) {
                progress.times = progress.times.saturating_add(1);
                // It is told once, by how its last attempt ended.
                progress.failed.pop();
            } else {
                progress.asked.insert(index);
                progress.last = Some(index);
                progress.times = 1;
            }
        }
    }

    /// The account with this index.
    pub fn account(&self, index: usize) -> Option<&Account> {
        self.accounts()?.accounts.get(index)
    }

    /// The Envoy cluster of the account with this index.
    pub fn cluster(&self, index: usize) -> Option<&SmolStr> {
        self.accounts()?.clusters.get(index)
    }

    /// The account that was asked last, and its index.
    pub fn last(&self) -> Option<(usize, &Account)> {
        let index = self.progress.try_borrow().ok()?.last?;
        Some((index, self.account(index)?))
    }

    /// Returns the number of accounts that the request was sent to.
    pub fn asked(&self) -> usize {
        self.progress.try_borrow().map_or(0, |it| it.asked.len())
    }

    /// Whether the last attempt goes by way of the hop.
    pub fn by_hop(&self) -> bool {
        self.progress.try_borrow().is_ok_and(|it| it.by_hop)
    }

    /// Whether the account was asked directly, and the hop refuses what comes after.
    pub fn ends_at_foreign_hop(&self) -> bool {
        self.progress
            .try_borrow()
            .is_ok_and(|it| it.hop_is_foreign && !it.by_hop)
    }

    /// Whether an answer of the account that was asked directly must be noted.
    pub fn must_note_answer(&self) -> bool {
        self.progress
            .try_borrow()
            .is_ok_and(|it| it.note_answer && !it.by_hop)
    }

    /// Whether the end of an answer must be noted.
    pub fn must_note_end(&self) -> bool {
        self.progress.try_borrow().is_ok_and(|it| it.note_end)
    }

    /// Records a failed attempt of the account that was asked last, or one that was not made; once for an account.
    pub fn record(&self, failed: FailedAttempt) {
        if let Ok(mut progress) = self.progress.try_borrow_mut()
            && !progress
                .failed
                .iter()
                .any(|known| known.account == failed.account)
        {
            progress.failed.push(failed);
        }
    }

    /// The failed attempts, in their order.
    pub fn failed(&self) -> Vec<FailedAttempt> {
        self.progress
            .try_borrow()
            .map_or_else(|_| Vec::new(), |it| it.failed.clone())
    }
}

#[cfg(test)]
mod tests;
