//! Counting in shared data: what several workers do at the same time comes out as if one had done it
//! after the other.

use std::cell::RefCell;
use std::rc::Rc;

use hashbrown::HashMap;

use super::counters::{Limit, Reserved};
use super::figures::{Figures, Gauge, Purse};
use super::{Count, Estimate, Now, Scope, Subject, Window};
use crate::money::Amount;
use crate::shared_data::SharedData;
use met::Met;
use stroke::{Overtaken, change, look};

mod met;
mod stroke;

/// Leave to forward a request; [`Limiter::settle`] takes it back.
#[derive(Debug)]
#[must_use]
pub struct Grant(Vec<Entered>);

/// A subject whose counters a request is in.
#[derive(Debug)]
struct Entered {
    subject: Subject,
    reserved: Reserved,
}

/// Why a request may not be forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// A limit is used up.
    Full {
        /// Whose.
        scope: Scope,
        /// Which.
        limit: Limit,
        /// How long until it would let the request pass, in microseconds.
        wait_us: u64,
    },
    /// The counters could not be changed: others were always faster.
    Contended,
}

/// What a request has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    /// Input tokens.
    pub input: Count,
    /// Output tokens.
    pub output: Count,
    /// What they cost.
    pub charge: Option<Amount>,
}

/// What was spent of a budget, all told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Of whose budget.
    pub scope: Scope,
    /// In the current day.
    pub in_day: Amount,
    /// In the current month.
    pub in_month: Amount,
}

/// What became of a request's counting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settled {
    /// What is spent of the budgets now.
    pub spent: Vec<Spent>,
    /// Whether counters could not be changed, so that what was used is not in them.
    pub lost: bool,
}

/// How often a change is tried that others keep overtaking: before a request is refused for it, and
/// before what it used is given up for lost. One try takes some microseconds.
const TRIES_TO_ADMIT: u32 = 100;
const TRIES_TO_SETTLE: u32 = 10_000;

/// The counting side of one VM.
#[derive(Debug)]
pub struct Limiter {
    /// The number of this VM, under which it holds slots.
    holder: u64,
    /// How many slots it holds, by the name of the subject.
    held: RefCell<HashMap<Rc<str>, u32>>,
}

impl Limiter {
    /// For the VM with the number `holder`, which no other VM has.
    pub fn new(holder: u64) -> Self {
        Self {
            holder,
            held: RefCell::default(),
        }
    }

    /// Lets a request through, if none of its subjects' limits keeps it out.
    ///
    /// # Errors
    /// What keeps it out: of several limits the hardest, and how long any of them does. Nothing is
    /// counted then.
    pub fn admit(
        &self,
        subjects: &[Subject],
        estimate: Estimate,
        shared: &impl SharedData,
        now: Now,
    ) -> Result<Grant, Refused> {
        // Whom the second would refuse is better not counted for the first at all, not even for the
        // moment until that is taken back: somebody else may come in it.
        let later = subjects.get(1..).unwrap_or_default();
        if let Some(met) = self.hardest(later, estimate, shared, now) {
            let all = self.hardest(subjects, estimate, shared, now);
            return Err(all.unwrap_or(met).refused());
        }
        let mut grant = Grant(Vec::with_capacity(subjects.len()));
        for subject in subjects {
            let held = self.held(subject);
            let mut met = None;
            let entered = change(&subject.name, TRIES_TO_ADMIT, shared, |counters| {
                let limits = &subject.limits;
                counters.advance(limits, now);
                met = counters.meets(limits, estimate, (self.holder, held), now);
                if met.is_some() {
                    return None;
                }
                let slots = (self.holder, held.saturating_add(1));
                Some(counters.enter(limits, estimate, slots, now))
            });
            if let Ok(Some(reserved)) = entered {
                if subject.lends_slots() {
                    self.count(subject, held.saturating_add(1));
                }
                let subject = subject.clone();
                grant.0.push(Entered { subject, reserved });
                continue;
            }
            self.withdraw(grant, shared, now);
            let met = met.map(|full| Met {
                scope: subject.scope,
                full,
            });
            let full = self.hardest(subjects, estimate, shared, now).or(met);
            return Err(full.map_or(Refused::Contended, |met| met.refused()));
        }
        Ok(grant)
    }

    /// What keeps a request out, all subjects taken together.
    fn hardest(
        &self,
        subjects: &[Subject],
        estimate: Estimate,
        shared: &impl SharedData,
        now: Now,
    ) -> Option<Met> {
        let met = subjects.iter().filter_map(|subject| {
            let counters = look(subject, shared, now);
            let held = (self.holder, self.held(subject));
            let full = counters.meets(&subject.limits, estimate, held, now)?;
            let scope = subject.scope;
            Some(Met { scope, full })
        });
        met.reduce(Met::and)
    }

    /// Undoes an admission: nothing was forwarded.
    fn withdraw(&self, grant: Grant, shared: &impl SharedData, now: Now) {
        for Entered { subject, reserved } in grant.0 {
            let held = self.give_back(&subject);
            let _ = change(&subject.name, TRIES_TO_SETTLE, shared, |counters| {
                counters.catch_up(&subject.limits, now);
                counters.withdraw(reserved);
                if let Some(held) = held {
                    counters.hold((self.holder, held), now);
                }
                Some(())
            });
        }
    }

    /// A request that was let through is over: counts what it used in place of what was estimated, and
    /// gives its slots back.
    pub fn settle(&self, grant: Grant, used: Used, shared: &impl SharedData, now: Now) -> Settled {
        let mut settled = Settled::default();
        for Entered { subject, reserved } in grant.0 {
            let held = self.give_back(&subject);
            let limits = &subject.limits;
            let changed = change(&subject.name, TRIES_TO_SETTLE, shared, |counters| {
                counters.catch_up(limits, now);
                counters.settle(limits, reserved, [used.input, used.output]);
                if let (Some(charge), true) = (used.charge, limits.budget.is_set()) {
                    counters.charge(charge);
                }
                if let Some(held) = held {
                    counters.hold((self.holder, held), now);
                }
                Some(counters.spending())
            });
            match changed {
                Ok(Some(spending)) if limits.budget.is_set() => settled.spent.push(Spent {
                    scope: subject.scope,
                    in_day: spending.of(Window::Day),
                    in_month: spending.of(Window::Month),
                }),
                Ok(_) => {}
                Err(Overtaken) => settled.lost = true,
            }
        }
        settled
    }

    /// What is left of the limits of `subjects`, the tighter for each.
    pub fn figures(&self, subjects: &[Subject], shared: &impl SharedData, now: Now) -> Figures {
        let mut tightest = Figures {
            at_us: now.wall_us,
            ..Figures::default()
        };
        for subject in subjects {
            let counters = look(subject, shared, now);
            let figures = counters.figures(&subject.limits, now);
            for (tightest, own) in [
                (&mut tightest.requests, figures.requests),
                (&mut tightest.input_tokens, figures.input_tokens),
                (&mut tightest.output_tokens, figures.output_tokens),
            ] {
                *tightest = Gauge::tighter(*tightest, own);
            }
            for (tightest, own) in tightest.budgets.iter_mut().zip(figures.budgets) {
                *tightest = Purse::tighter(*tightest, own);
            }
        }
        tightest
    }

    /// Renews the leases of the slots that this VM holds; to be called every
    /// [`RENEWAL_MS`](super::lease::RENEWAL_MS).
    pub fn renew(&self, shared: &impl SharedData, now: Now) {
        let held: Vec<(Rc<str>, u32)> = self.held.try_borrow().map_or_else(
            |_| Vec::new(),
            |held| {
                held.iter()
                    .map(|(name, count)| (Rc::clone(name), *count))
                    .collect()
            },
        );
        for (name, count) in held {
            let _ = change(&name, TRIES_TO_SETTLE, shared, |counters| {
                counters.hold((self.holder, count), now);
                Some(())
            });
        }
    }

    fn held(&self, subject: &Subject) -> u32 {
        let held = self.held.try_borrow();
        held.ok()
            .and_then(|held| held.get(&subject.name).copied())
            .unwrap_or_default()
    }

    /// Takes back the slot of a request that took one when it came, whatever limits hold now; gives
    /// how many this VM holds then.
    fn give_back(&self, subject: &Subject) -> Option<u32> {
        if !subject.lends_slots() {
            return None;
        }
        let held = self.held(subject).saturating_sub(1);
        self.count(subject, held);
        Some(held)
    }

    /// Notes how many slots this VM holds of a subject.
    fn count(&self, subject: &Subject, slots: u32) {
        let Ok(mut held) = self.held.try_borrow_mut() else {
            return;
        };
        if slots == 0 {
            held.remove(&subject.name);
        } else {
            held.insert(Rc::clone(&subject.name), slots);
        }
    }
}

#[cfg(test)]
mod tests;
