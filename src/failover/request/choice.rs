//! The choice of a request's next account.
//!
//! | the request | goes to |
//! |---|---|
//! | of a conversation that has [moved](super::super::moved) | the account that answered it last, while the vendor's cache of it lives |
//! | that names what a vendor keeps for an account | accounts with the label of the conversation's own, where accounts have labels |
//! | any other | the first source that fits it, there the first account in the conversation's [order](super::super::order) |
//!
//! An account that is set aside is asked only where no other is left.

use super::super::order;
use super::super::states::States;
use super::{AccountPlace, AttemptProgress, ReadStates, RequestAttempts, STATE_LIFE_US};
use crate::config::account::Account;
use crate::config::policy::Source;
use crate::ledger::AttemptFailure;

/// The accounts that may have what a request names.
#[derive(Debug, Clone, Copy)]
struct StateOwners<'a> {
    /// The conversation's own account.
    own: AccountPlace,
    /// Its label.
    label: Option<&'a str>,
}

impl RequestAttempts {
    /// The account that would be asked next: the last one again if its connection failed and it is to have another
    /// attempt, or if it refused the option that the gateway had put in, else one that was not asked.
    pub fn next(&self, states: ReadStates<'_>, now_us: u64) -> Option<AccountPlace> {
        let progress = self.progress.try_borrow().ok()?;
        if let Some(last) = progress.asked.last().copied() {
            let retries = self.account(last).map_or(0, |it| it.retries);
            let failure = progress.failed.last();
            let broken = failure.is_some_and(|it| it.kind == AttemptFailure::Connection);
            if progress.asks_again || (broken && progress.times <= retries) {
                return Some(last);
            }
            if progress.asked.len() >= self.plan.bounds.attempts {
                return None;
            }
        }
        let owners = self.state_owners(&progress, now_us);
        let may = |place| {
            let is_new = !progress.asked.contains(&place) && !progress.full.contains(&place);
            is_new && self.may_own(owners, place)
        };
        if let Some(stay) = self.stay(states, now_us)
            && may(stay)
            && progress.fits(stay.source)
        {
            return Some(stay);
        }
        let mut ejected = None;
        for (source, planned) in self.plan.sources.iter().enumerate() {
            let place = |account| AccountPlace { source, account };
            let accounts = planned.source.accounts.as_deref();
            let Some(accounts) = accounts.filter(|_| progress.fits(source)) else {
                continue;
            };
            let of_source = states(&planned.source.group);
            match order::first(
                accounts,
                self.plan.affinity,
                &of_source,
                self.plan.model,
                now_us,
                self.under_way(source),
                |account| may(place(account)),
            ) {
                Some((account, false)) => return Some(place(account)),
                Some((account, true)) => ejected = ejected.or(Some(place(account))),
                None => {}
            }
        }
        // A past failure makes no client wait.
        ejected
    }

    /// Whether the next attempt waits for the end of the body: one after a failed one, and one that may go elsewhere for what is
    /// in the body.
    pub fn awaits_body(&self, states: ReadStates<'_>, now_us: u64) -> bool {
        let is_other_better = || {
            let next = self.next(states, now_us)?;
            Some(self.may_wait(next, states, now_us))
        };
        !self.has_whole_body() && (self.asked() > 0 || is_other_better().unwrap_or(false))
    }

    /// Whether the end of the body may bring another account in the place of the one that would be asked: one of the source
    /// that the conversation has moved to; or, where that one is set aside, one of another source or with another label.
    pub(super) fn may_wait(&self, next: AccountPlace, states: ReadStates<'_>, now_us: u64) -> bool {
        let depends = self.plan.sources.len() > 1 || self.have_states;
        if !depends || self.has_whole_body() {
            return false;
        }
        let stays_elsewhere = || {
            let stay = self.stay(states, now_us);
            stay.is_some_and(|stay| stay != next)
        };
        self.is_set_aside(next, states, now_us) || stays_elsewhere()
    }

    /// The requests under way at the accounts of a source, where the least busy comes first.
    fn under_way(&self, source: usize) -> &[u32] {
        let known = self.under_way.get(source);
        known.map_or(&[], Vec::as_slice)
    }

    /// The account that the conversation has moved to, while the vendor's cache of it lives and the account is not set aside.
    fn stay(&self, states: ReadStates<'_>, now_us: u64) -> Option<AccountPlace> {
        let (place, moved) = self.moved?;
        let stays = moved.is_within(self.cache_life_us(), now_us)
            && !self.is_set_aside(place, states, now_us);
        stays.then_some(place)
    }

    fn is_set_aside(&self, place: AccountPlace, states: ReadStates<'_>, now_us: u64) -> bool {
        let marks = self.marks(place).zip(self.source(place));
        marks.is_some_and(|(marks, source)| {
            states(&source.group).is_set_aside(marks, self.plan.model, now_us)
        })
    }

    /// Whether a conversation that is answered here has moved: its first account is set aside, or it was here before. One that
    /// fails now and then loses no conversation.
    pub(super) fn is_moved(
        &self,
        place: AccountPlace,
        states: ReadStates<'_>,
        now_us: u64,
    ) -> bool {
        if !self.under_way.is_empty() {
            return false;
        }
        let stays = self.moved.is_some_and(|(moved, _)| moved == place);
        // Mostly none is set aside, and nothing more is to be found out.
        let is_quiet = || {
            let source = self.plan.sources.first();
            source.is_none_or(|first| !states(&first.source.group).set_some_aside(now_us))
        };
        if !stays && is_quiet() {
            return false;
        }
        let others = self.first().filter(|first| *first != place);
        others.is_some_and(|first| stays || self.is_set_aside(first, states, now_us))
    }

    /// The account that the conversation asks first where none is set aside.
    fn first(&self) -> Option<AccountPlace> {
        let accounts = self.plan.sources.first()?.source.accounts.as_deref()?;
        let states = States::default();
        let (account, _) =
            order::first(accounts, self.plan.affinity, &states, None, 0, &[], |_| {
                true
            })?;
        Some(AccountPlace { source: 0, account })
    }

    /// The accounts that may have what the request names; `None` where that makes no difference. Where the body is not known,
    /// it may name something.
    fn state_owners(&self, progress: &AttemptProgress, now_us: u64) -> Option<StateOwners<'_>> {
        if !self.have_states || (progress.whole_us.is_some() && !progress.body.holds_state) {
            return None;
        }
        let moved = self
            .moved
            .filter(|(_, moved)| moved.is_within(STATE_LIFE_US, now_us));
        let own = moved.map(|(place, _)| place).or_else(|| self.first())?;
        let label = self.account(own)?.state.as_deref();
        Some(StateOwners { own, label })
    }

    fn may_own(&self, owners: Option<StateOwners<'_>>, place: AccountPlace) -> bool {
        let Some(StateOwners { own, label }) = owners else {
            return true;
        };
        let has_label = || {
            let account = self.account(place);
            label.is_some() && account.is_some_and(|account| account.state.as_deref() == label)
        };
        place == own || has_label()
    }

    /// The accounts that the request may go to, or has gone to.
    pub fn eligible(&self, now_us: u64) -> impl Iterator<Item = (&Source, &Account)> {
        let may_be = self.progress.try_borrow().map_or_else(
            |_| Vec::new(),
            |progress| {
                let owners = self.state_owners(&progress, now_us);
                let places = self.places().filter(|place| progress.fits(place.source));
                places
                    .filter(|place| self.may_own(owners, *place))
                    .collect()
            },
        );
        may_be.into_iter().filter_map(|place| {
            let source: &Source = self.source(place)?;
            Some((source, self.account(place)?))
        })
    }

    /// The accounts of all sources, in the document's order.
    pub(super) fn places(&self) -> impl Iterator<Item = AccountPlace> {
        let sources = self.plan.sources.iter().enumerate();
        sources.flat_map(|(source, planned)| {
            let accounts = planned.source.accounts.iter();
            let count = accounts.map(|accounts| accounts.accounts.len()).sum();
            (0..count).map(move |account| AccountPlace { source, account })
        })
    }
}

#[cfg(test)]
mod tests;
