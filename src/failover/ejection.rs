//! The rules for the ejection of an account, and for its duration.
//!
//! | event | not ejected | ejected |
//! |---|---|---|
//! | the account answers | its failures are forgotten | nothing changes |
//! | it answers to the end | its interruptions too | nothing changes |
//! | an attempt fails | one failure more; with `failures` of them in a row it is ejected | nothing changes |
//! | one is interrupted, another key being in use | the same, once interruptions of two keys are known; until then none of them counts | nothing changes |
//! | one is interrupted, no other key being in use | as if it failed | nothing changes |
//!
//! An *interruption* is a failure that a client can bring about: by a body that it does not end, by a response that it does
//! not read. A key alone must not take an account away from all others by that. An answer's beginning says nothing of
//! whether the account breaks off later, so its end alone speaks against interruptions.
//!
//! A vendor may ask by its 429 to be left alone for a while: then it is, for `set_aside_max_seconds` at the most, however many
//! failures there were. A 429 concerns one model of the account.
//!
//! The first ejection lasts `set_aside_seconds`, each further one longer by as much, up to six times as long. For each
//! such time that an account was not ejected, one of its ejections is forgotten.

use super::active_keys::KeyMark;
use crate::config::account::Failover;

/// The maximum length of an ejection, as a multiple of the first.
const LONGEST: u32 = 6;

/// The known failures of one account, and its ejection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ejection {
    /// Failures in a row, but for interruptions.
    pub failures: u32,
    /// Ejections in a row.
    pub ejections: u32,
    /// The end of the last ejection, in microseconds of the steady clock.
    pub until_us: u64,
    /// Interruptions in a row.
    pub interruptions: u32,
    /// The keys behind them.
    pub interrupted: InterruptedKeys,
}

/// The keys whose requests were interrupted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum InterruptedKeys {
    /// No key: there were no interruptions.
    #[default]
    None,
    /// This one alone.
    One(u64),
    /// Two or more.
    Several,
}

impl InterruptedKeys {
    fn with(self, key: KeyMark) -> Self {
        match self {
            Self::None => Self::One(key.number()),
            Self::One(known) if known == key.number() => self,
            Self::One(_) | Self::Several => Self::Several,
        }
    }

    /// Returns the number that stands for the keys in shared data.
    pub fn number(self) -> u64 {
        match self {
            Self::None => 0,
            Self::One(key) => key,
            Self::Several => u64::MAX,
        }
    }

    /// Of such a number.
    pub fn of(number: u64) -> Self {
        match number {
            0 => Self::None,
            u64::MAX => Self::Several,
            key => Self::One(key),
        }
    }
}

impl Ejection {
    /// Whether the account is ejected.
    pub fn is_in_force(&self, now_us: u64) -> bool {
        now_us < self.until_us
    }

    /// Whether nothing speaks against the account, as far as an answer could change that.
    pub fn is_forgotten(&self) -> bool {
        self.failures == 0 && self.interruptions == 0
    }

    /// The account has begun to answer.
    pub fn on_answer(&mut self) {
        self.failures = 0;
    }

    /// The account has answered to the end.
    pub fn on_end(&mut self) {
        self.interruptions = 0;
        self.interrupted = InterruptedKeys::None;
    }

    /// An attempt has failed.
    pub fn on_failure(&mut self, terms: &Failover, now_us: u64) {
        if !self.is_in_force(now_us) {
            self.failures = self.failures.saturating_add(1);
            self.eject_if_due(terms, now_us);
        }
    }

    /// The vendor asks to be left alone for so many seconds.
    pub fn on_told_wait(&mut self, seconds: u64, terms: &Failover, now_us: u64) {
        let seconds = seconds.clamp(1, u64::from(terms.set_aside_max_seconds));
        let until_us = now_us.saturating_add(seconds.saturating_mul(1_000_000));
        self.until_us = self.until_us.max(until_us);
    }

    /// An attempt of this key was interrupted, while other keys were in use.
    pub fn on_interruption(&mut self, key: KeyMark, terms: &Failover, now_us: u64) {
        if !self.is_in_force(now_us) {
            self.interruptions = self.interruptions.saturating_add(1);
            self.interrupted = self.interrupted.with(key);
            self.eject_if_due(terms, now_us);
        }
    }

    /// Returns the number of failures in a row that count towards an ejection.
    fn counted(&self) -> u32 {
        match self.interrupted {
            InterruptedKeys::Several => self.failures.saturating_add(self.interruptions),
            InterruptedKeys::None | InterruptedKeys::One(_) => self.failures,
        }
    }

    fn eject_if_due(&mut self, terms: &Failover, now_us: u64) {
        if self.counted() < terms.failures {
            return;
        }
        let step_us = u64::from(terms.set_aside_seconds).saturating_mul(1_000_000);
        let free_us = now_us.saturating_sub(self.until_us);
        let forgotten = free_us.checked_div(step_us).unwrap_or_default();
        let forgotten = u32::try_from(forgotten).unwrap_or(u32::MAX);
        let before = self.ejections.saturating_sub(forgotten);
        self.ejections = before.saturating_add(1).min(LONGEST);
        self.on_answer();
        self.on_end();
        let lasts_us = step_us.saturating_mul(u64::from(self.ejections));
        self.until_us = now_us.saturating_add(lasts_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ejections_begin_grow_and_shrink() {
        const S: u64 = 1_000_000;
        let terms = |failures| Failover {
            failures,
            set_aside_seconds: 10,
            ..Failover::default()
        };
        // (case, failures that eject, events: when in seconds, whether it is a failure; until when it is ejected)
        type Case = (&'static str, u32, &'static [(u64, bool)], u64);
        let cases: &[Case] = &[
            ("none", 1, &[], 0),
            ("an answer", 1, &[(100, false)], 0),
            ("one failure", 1, &[(100, true)], 110),
            (
                "failures of one moment",
                1,
                &[(100, true), (101, true)],
                110,
            ),
            (
                "an answer does not end it",
                1,
                &[(100, true), (101, false)],
                110,
            ),
            ("too few", 3, &[(100, true), (101, true)], 0),
            ("enough", 3, &[(100, true), (101, true), (102, true)], 112),
            (
                "not in a row",
                3,
                &[
                    (100, true),
                    (101, true),
                    (102, false),
                    (103, true),
                    (104, true),
                ],
                0,
            ),
            ("again", 1, &[(100, true), (110, true)], 130),
            ("again, a little later", 1, &[(100, true), (119, true)], 139),
            ("again, much later", 1, &[(100, true), (120, true)], 130),
            (
                "one of two is forgotten",
                1,
                &[(100, true), (110, true), (140, true)],
                160,
            ),
            (
                "at most six times as long",
                1,
                &[
                    (100, true),
                    (110, true),
                    (130, true),
                    (160, true),
                    (200, true),
                    (250, true),
                    (310, true),
                    (370, true),
                ],
                430,
            ),
        ];
        for (case, failures, events, until) in cases {
            let mut ejection = Ejection::default();
            for (at, failure) in *events {
                if *failure {
                    ejection.on_failure(&terms(*failures), at * S);
                } else {
                    ejection.on_answer();
                }
            }
            assert_eq!(ejection.until_us, until * S, "{case}");
            assert!(!ejection.is_in_force(until * S), "{case}: over");
            assert!(*until == 0 || ejection.is_in_force(until * S - 1), "{case}");
        }
    }

    #[test]
    fn interruptions_count_from_two_keys() {
        use Step::{Answer, End, Fail, Interrupt};
        const S: u64 = 1_000_000;
        #[derive(Debug, Clone, Copy)]
        enum Step {
            Answer,
            End,
            Fail,
            Interrupt(&'static str),
        }
        // (case, failures that eject, events, after how many of them it is ejected)
        let cases: &[(&str, u32, &[Step], Option<usize>)] = &[
            ("one key, often", 1, &[Interrupt("a"); 50], None),
            ("two keys", 1, &[Interrupt("a"), Interrupt("b")], Some(2)),
            (
                "two keys, one of them often",
                1,
                &[Interrupt("a"), Interrupt("a"), Interrupt("b")],
                Some(3),
            ),
            ("a failure between", 1, &[Interrupt("a"), Fail], Some(2)),
            ("three, of one key", 3, &[Interrupt("a"); 9], None),
            (
                "three, of two keys",
                3,
                &[Interrupt("a"), Interrupt("a"), Interrupt("b")],
                Some(3),
            ),
            (
                "three, the second key first",
                3,
                &[Interrupt("b"), Interrupt("a"), Interrupt("a")],
                Some(3),
            ),
            (
                "a failure and one key",
                3,
                &[Fail, Interrupt("a"), Interrupt("a"), Fail],
                None,
            ),
            (
                "failures and one key",
                3,
                &[Fail, Interrupt("a"), Fail, Fail],
                Some(4),
            ),
            (
                "a failure and two keys",
                3,
                &[Fail, Interrupt("a"), Interrupt("b")],
                Some(3),
            ),
            (
                "an answer begins between",
                1,
                &[Interrupt("a"), Answer, Interrupt("b")],
                Some(3),
            ),
            (
                "an answer ends between",
                1,
                &[Interrupt("a"), End, Interrupt("b")],
                None,
            ),
            (
                "failures are wiped out by an answer's beginning",
                2,
                &[Fail, End, Fail],
                Some(3),
            ),
        ];
        for (case, failures, steps, want) in cases {
            let terms = Failover {
                failures: *failures,
                ..Failover::default()
            };
            let mut ejection = Ejection::default();
            let mut after = None;
            for (at, step) in steps.iter().enumerate() {
                match step {
                    Answer => ejection.on_answer(),
                    End => ejection.on_end(),
                    Fail => ejection.on_failure(&terms, 100 * S),
                    Interrupt(key) => ejection.on_interruption(KeyMark::of(key), &terms, 100 * S),
                }
                if ejection.is_in_force(100 * S) {
                    after.get_or_insert(at + 1);
                }
            }
            assert_eq!(after, *want, "{case}");
            if after.is_some() {
                assert!(ejection.is_forgotten(), "{case}: the next one begins anew");
            }
        }
    }
}
