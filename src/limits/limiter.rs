//! Reservation and settlement: what several workers count at the same time adds up as if one had done it after the other.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use hashbrown::HashMap;

use super::budget::CalendarSpending;
use super::count::Count;
use super::counters::{Counters, ReservedShares};
use super::elsewhere::{self, FleetSpend};
use super::estimate::Estimate;
use super::figures::{Figures, SubjectFigures};
use super::lease::Held;
use super::now::Now;
use super::period::Window;
use super::store::{VersionedCounters, load, update};
use super::subject::{Subject, SubjectKind};
use super::violation::LimitViolation;
use crate::money::Amount;
use crate::shared_data::{Conflict, SharedData};

/// An admitted request's share of its limits, until [`Limiter::settle`] takes it.
#[derive(Debug)]
#[must_use]
pub struct Reservation {
    subjects: Box<[SubjectReservation]>,
    /// The time at which the reservation was made.
    at: Now,
}

/// A request's share of one subject's limits.
#[derive(Debug)]
struct SubjectReservation {
    subject: Subject,
    shares: ReservedShares,
    /// The holdings of the request while it is under way.
    held: Held,
    /// The counters at that moment, this request included.
    counters: Counters,
}

impl Reservation {
    /// The subject that has a budget, of several the first.
    pub fn budgeted(&self) -> Option<SubjectKind> {
        budgeted(self.subjects.iter().map(|reserved| &reserved.subject))
    }

    /// The rest of the limits that may be told to the key's holder, as far as the admission knows it: a request that was
    /// admitted since is not in it. The time is one of the steady clock, in microseconds.
    pub fn figures(&self, steady_us: u64) -> Figures {
        let elapsed_us = steady_us.saturating_sub(self.at.steady_us);
        let now = Now {
            wall_us: self.at.wall_us.saturating_add(elapsed_us),
            steady_us,
        };
        let figures = self.subjects.iter().map(|reserved| {
            let mut counters = reserved.counters.clone();
            counters.advance(&reserved.subject.limits, now);
            counters
                .figures(&reserved.subject, now)
                .for_holder(reserved.subject.scope)
        });
        tightest(figures, now)
    }
}

/// Of each limit of several subjects the one that leaves least.
fn tightest(figures: impl Iterator<Item = Figures>, now: Now) -> Figures {
    figures.reduce(Figures::tighter).unwrap_or(Figures {
        at_us: now.wall_us,
        ..Figures::default()
    })
}

/// The first of the subjects that has a budget.
fn budgeted<'a>(mut subjects: impl Iterator<Item = &'a Subject>) -> Option<SubjectKind> {
    let found = subjects.find(|subject| subject.limits.budget.is_set());
    found.map(|subject| subject.scope)
}

/// The reason why a request may not be forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmitError {
    /// A limit does not allow it.
    Violation(LimitViolation),
    /// The counters could not be changed: other workers won every round.
    Conflict,
    /// A spend feed says what is spent elsewhere, and has not said it yet.
    SpendUnknown,
    /// A budget cannot count the request: it names a model without a price.
    Unpriced(SubjectKind),
}

impl From<Conflict> for AdmitError {
    fn from(_: Conflict) -> Self {
        Self::Conflict
    }
}

/// The usage of a request, in tokens and money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Consumption {
    /// Input tokens.
    pub input: Count,
    /// Output tokens.
    pub output: Count,
    /// The cost of the request.
    pub charge: Option<Amount>,
}

/// The amounts spent of a budget, this request included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetSpent {
    /// Of whose budget.
    pub scope: SubjectKind,
    /// In the current day.
    pub in_day: Amount,
    /// In the current month.
    pub in_month: Amount,
}

/// The result of the settlement of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settlement {
    /// The amounts spent of the budgets now.
    pub spent: Vec<BudgetSpent>,
    /// Whether counters could not be changed, so that what was used is not in them.
    pub lost: bool,
    /// The number of this process, where a spend feed must know that the charge is in its counters.
    pub instance: Option<Rc<str>>,
}

/// Rounds of the retry loop before a request is rejected for conflicts, and before what it used is given up for lost. A
/// round takes some microseconds.
const ADMIT_ROUNDS: u32 = 100;
const SETTLE_ROUNDS: u32 = 10_000;

/// The counting side of one VM.
#[derive(Debug)]
pub struct Limiter {
    /// The number of this VM, under which its requests hold what they hold.
    holder: u64,
    /// The holdings of its requests, by the name of the subject.
    held: RefCell<HashMap<Rc<str>, Held>>,
    /// Whether a spend feed has told everything once. That stays so as long as the process lives.
    told: Cell<bool>,
    /// The number of this process.
    instance: OnceCell<Rc<str>>,
}

impl Limiter {
    /// For the VM with the number `holder`, which no other VM has.
    pub fn new(holder: u64) -> Self {
        Self {
            holder,
            held: RefCell::default(),
            told: Cell::new(false),
            instance: OnceCell::new(),
        }
    }

    /// Admits a request that the limits of all its subjects allow, and reserves its estimate.
    ///
    /// # Errors
    /// The hardest of all violated limits, and how long until none is violated. Nothing is reserved then.
    pub fn admit(
        &self,
        subjects: &[Subject],
        estimate: Estimate,
        shared: &impl SharedData,
        now: Now,
    ) -> Result<Reservation, AdmitError> {
        let subjects = &*self.resolve(subjects, shared)?;
        if estimate.unpriced
            && let Some(scope) = budgeted(subjects.iter())
        {
            return Err(AdmitError::Unpriced(scope));
        }
        // Later subjects are checked first, so a rejected request never reserves quota of the first, not even for a
        // moment in which another request may need it. Unless somebody is faster, their counters are as they were then
        // when their turn comes.
        let later = subjects.get(1..).unwrap_or_default();
        let seen: Vec<_> = later.iter().map(|it| load(it, shared, now)).collect();
        let violations = later
            .iter()
            .zip(&seen)
            .filter_map(|(subject, seen)| self.violation(subject, &seen.counters, estimate, now));
        if let Some(violation) = violations.reduce(LimitViolation::and) {
            let of_all = self.hardest_violation(subjects, estimate, shared, now);
            return Err(AdmitError::Violation(of_all.unwrap_or(violation)));
        }
        let mut reserved = Vec::with_capacity(subjects.len());
        let seen = core::iter::once(None).chain(seen.into_iter().map(Some));
        for (subject, seen) in subjects.iter().zip(seen) {
            match self.reserve(subject, estimate, seen, shared, now) {
                Ok(share) => reserved.push(share),
                Err(error) => {
                    self.refund(reserved, shared, now);
                    let of_all = self.hardest_violation(subjects, estimate, shared, now);
                    return Err(of_all.map_or(error, AdmitError::Violation));
                }
            }
        }
        Ok(Reservation {
            subjects: reserved.into_boxed_slice(),
            at: now,
        })
    }

    /// The subjects with what a spend feed says of them, without those that it does not limit.
    fn resolve<'a>(
        &self,
        subjects: &'a [Subject],
        shared: &impl SharedData,
    ) -> Result<Cow<'a, [Subject]>, AdmitError> {
        if !subjects.iter().any(|subject| subject.is_told) {
            return Ok(Cow::Borrowed(subjects));
        }
        let mut resolved = Vec::with_capacity(subjects.len());
        for subject in subjects {
            if !subject.is_told {
                resolved.push(subject.clone());
                continue;
            }
            let told = match shared.get(&subject.told_name()).0 {
                Some(record) => FleetSpend::decode(&record).ok_or(AdmitError::SpendUnknown)?,
                // Of a subject without spend the feed says nothing.
                None if self.is_told(shared) => FleetSpend::default(),
                None => return Err(AdmitError::SpendUnknown),
            };
            resolved.extend(subject.resolved(told));
        }
        Ok(Cow::Owned(resolved))
    }

    /// Whether one of the subjects has a budget, as far as that is known: one that was not told yet may have.
    pub fn has_budget(&self, subjects: &[Subject], shared: &impl SharedData) -> bool {
        let resolved = self.resolve(subjects, shared);
        resolved.map_or(true, |subjects| budgeted(subjects.iter()).is_some())
    }

    /// Whether a spend feed has told everything once.
    fn is_told(&self, shared: &impl SharedData) -> bool {
        if !self.told.get() {
            self.told.set(elsewhere::is_complete(shared));
        }
        self.told.get()
    }

    /// The number of this process.
    fn instance(&self, shared: &impl SharedData) -> Option<Rc<str>> {
        if let Some(known) = self.instance.get() {
            return Some(Rc::clone(known));
        }
        let read = elsewhere::instance(shared)?;
        Some(Rc::clone(self.instance.get_or_init(|| read)))
    }

    /// Reserves what a request needs of one subject's limits, if they allow it.
    fn reserve(
        &self,
        subject: &Subject,
        estimate: Estimate,
        seen: Option<VersionedCounters>,
        shared: &impl SharedData,
        now: Now,
    ) -> Result<SubjectReservation, AdmitError> {
        let limits = &subject.limits;
        let before = self.held(subject);
        let own = limits.held(estimate.charge);
        let held = before.plus(own);
        let reserve = |counters: &mut Counters| {
            counters.advance(limits, now);
            match counters.violation(subject, estimate, (self.holder, before), now) {
                Some(violation) => Err(AdmitError::Violation(violation)),
                None => {
                    let shares = counters.reserve(limits, estimate, (self.holder, held), now);
                    Ok((shares, counters.without_leases()))
                }
            }
        };
        let (shares, counters) = update(&subject.name, ADMIT_ROUNDS, seen, shared, reserve)?;
        if limits.lends() {
            self.set_held(subject, held);
        }
        let subject = subject.clone();
        Ok(SubjectReservation {
            subject,
            shares,
            held: own,
            counters,
        })
    }

    /// Returns the number of requests under way of a subject whose concurrent requests are limited.
    pub fn under_way(&self, subject: &Subject, shared: &impl SharedData, now: Now) -> u32 {
        load(subject, shared, now).counters.under_way()
    }

    /// Raises what a request has reserved of its budgets to what it is expected to cost, now that more of it is known.
    ///
    /// # Errors
    /// The budget that does not allow it. What is reserved then is still to be settled.
    pub fn extend(
        &self,
        reservation: &mut Reservation,
        charge: Amount,
        shared: &impl SharedData,
        now: Now,
    ) -> Result<(), AdmitError> {
        for reserved in &mut reservation.subjects {
            let SubjectReservation { subject, held, .. } = reserved;
            let limits = &subject.limits;
            let wanted = limits.held(charge).reserved;
            if wanted <= held.reserved {
                continue;
            }
            let of_all = self.held(subject);
            let others = of_all.less(*held);
            let raised = Held {
                reserved: others.reserved.plus(wanted),
                ..of_all
            };
            update(&subject.name, ADMIT_ROUNDS, None, shared, |counters| {
                counters.advance(limits, now);
                let beside = counters.held_by_others(self.holder).plus(others).reserved;
                if let Some(violation) = counters.budget_violation(subject, charge, beside, now) {
                    return Err(AdmitError::Violation(violation));
                }
                counters.hold((self.holder, raised), now);
                Ok(())
            })?;
            self.set_held(subject, raised);
            held.reserved = wanted;
        }
        Ok(())
    }

    /// The violation of all subjects' limits together.
    fn hardest_violation(
        &self,
        subjects: &[Subject],
        estimate: Estimate,
        shared: &impl SharedData,
        now: Now,
    ) -> Option<LimitViolation> {
        let violations = subjects.iter().filter_map(|subject| {
            let counters = load(subject, shared, now).counters;
            self.violation(subject, &counters, estimate, now)
        });
        violations.reduce(LimitViolation::and)
    }

    /// The violation of one subject's limits, given its counters as they are now.
    fn violation(
        &self,
        subject: &Subject,
        counters: &Counters,
        estimate: Estimate,
        now: Now,
    ) -> Option<LimitViolation> {
        let held = (self.holder, self.held(subject));
        counters.violation(subject, estimate, held, now)
    }

    /// Undoes what was reserved: nothing was forwarded.
    fn refund(&self, reserved: Vec<SubjectReservation>, shared: &impl SharedData, now: Now) {
        for SubjectReservation {
            subject,
            shares,
            held,
            ..
        } in reserved
        {
            // Shares that cannot be refunded drain within a minute, the rest runs out with its lease.
            let _ = self.release(&subject, held, shared, now, |counters| {
                counters.refund(shares);
            });
        }
    }

    /// Settles a request that is over: counts what it used in place of its estimate, and gives its slots back.
    pub fn settle(
        &self,
        reservation: Reservation,
        used: Consumption,
        shared: &impl SharedData,
        now: Now,
    ) -> Settlement {
        let mut settlement = Settlement::default();
        for SubjectReservation {
            subject,
            shares,
            held,
            ..
        } in reservation.subjects
        {
            let limits = &subject.limits;
            if !limits.count_ends() {
                continue;
            }
            let has_budget = limits.budget.is_set();
            if has_budget && subject.is_told && settlement.instance.is_none() {
                settlement.instance = self.instance(shared);
            }
            let settled = self.release(&subject, held, shared, now, |counters| {
                counters.settle(limits, shares, [used.input, used.output]);
                if let Some(charge) = used.charge.filter(|_| has_budget) {
                    counters.charge(charge);
                }
            });
            match settled {
                Ok(spending) if has_budget => {
                    let spending = spending.with(&subject.elsewhere);
                    settlement.spent.push(BudgetSpent {
                        scope: subject.scope,
                        in_day: spending.of(Window::Day),
                        in_month: spending.of(Window::Month),
                    });
                }
                Ok(_) => {}
                Err(Conflict) => settlement.lost = true,
            }
        }
        settlement
    }

    /// Ends what a request holds of one subject: `close` counts what became of its shares.
    fn release(
        &self,
        subject: &Subject,
        own: Held,
        shared: &impl SharedData,
        now: Now,
        close: impl Fn(&mut Counters),
    ) -> Result<CalendarSpending, Conflict> {
        let held = self.give_back(subject, own);
        update(&subject.name, SETTLE_ROUNDS, None, shared, |counters| {
            counters.catch_up(&subject.limits, now);
            close(counters);
            if let Some(held) = held {
                counters.hold((self.holder, held), now);
            }
            Ok(counters.spending())
        })
    }

    /// The rest of the limits of `subjects` that may be told to the key's holder, the tighter for each.
    pub fn figures(&self, subjects: &[Subject], shared: &impl SharedData, now: Now) -> Figures {
        // Of what is not known nothing is left to tell.
        let subjects = self.resolve(subjects, shared).unwrap_or_default();
        let figures = subjects.iter().map(|subject| {
            let counters = load(subject, shared, now).counters;
            counters.figures(subject, now).for_holder(subject.scope)
        });
        tightest(figures, now)
    }

    /// Returns the remainder of the limits of each of `subjects` that has any.
    ///
    /// # Errors
    /// The spend elsewhere is not known.
    pub fn figures_of_each(
        &self,
        subjects: &[Subject],
        shared: &impl SharedData,
        now: Now,
    ) -> Result<Vec<SubjectFigures>, AdmitError> {
        let subjects = self.resolve(subjects, shared)?;
        let figures = subjects.iter().map(|subject| {
            let counters = load(subject, shared, now).counters;
            SubjectFigures {
                scope: subject.scope,
                limits: subject.limits,
                figures: counters.figures(subject, now),
                reserved: counters.reserved(),
            }
        });
        Ok(figures.collect())
    }

    /// Renews the leases of what this VM's requests hold; to be called every
    /// [`RENEWAL_MS`](super::lease::RENEWAL_MS).
    pub fn renew(&self, shared: &impl SharedData, now: Now) {
        let held: Vec<(Rc<str>, Held)> = self.held.try_borrow().map_or_else(
            |_| Vec::new(),
            |held| {
                held.iter()
                    .map(|(name, held)| (Rc::clone(name), *held))
                    .collect()
            },
        );
        for (name, held) in held {
            let _ = update(&name, SETTLE_ROUNDS, None, shared, |counters| {
                counters.hold((self.holder, held), now);
                Ok::<_, Conflict>(())
            });
        }
    }

    /// The holdings of this VM's requests of a subject.
    fn held(&self, subject: &Subject) -> Held {
        let held = self.held.try_borrow();
        held.ok()
            .and_then(|held| held.get(&subject.name).copied())
            .unwrap_or_default()
    }

    /// Gives back what a request took when it came, whatever limits hold now; returns what this VM's requests still hold,
    /// where a lease may have to be changed.
    fn give_back(&self, subject: &Subject, own: Held) -> Option<Held> {
        if own == Held::NOTHING {
            return None;
        }
        let held = self.held(subject).less(own);
        self.set_held(subject, held);
        Some(held)
    }

    /// Notes what this VM's requests hold of a subject.
    fn set_held(&self, subject: &Subject, now: Held) {
        let Ok(mut held) = self.held.try_borrow_mut() else {
            return;
        };
        if now == Held::NOTHING {
            held.remove(&subject.name);
        } else {
            held.insert(Rc::clone(&subject.name), now);
        }
    }
}

#[cfg(test)]
mod tests;
