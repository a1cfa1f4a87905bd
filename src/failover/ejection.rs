//! When an account is ejected, and for how long.
//!
//! | event | not ejected | ejected |
//! |---|---|---|
//! | the account answers | its failures are forgotten | nothing changes |
//! | an attempt fails | one failure more; with `failures` of them in a row it is ejected | nothing changes |
//!
//! The first ejection lasts `set_aside_seconds`, each further one longer by as much, up to six times as long. For each
//! such time that an account was not ejected, one of its ejections is forgotten.

use crate::config::account::Failover;

/// How many times as long as the first an ejection lasts at most.
const LONGEST: u32 = 6;

/// What is known of one account's failures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ejection {
    /// Failures in a row.
    pub failures: u32,
    /// Ejections in a row.
    pub ejections: u32,
    /// When the last ejection ends, in microseconds of the steady clock.
    pub until_us: u64,
}

impl Ejection {
    /// Whether the account is ejected.
    pub fn is_in_force(&self, now_us: u64) -> bool {
        now_us < self.until_us
    }

    /// The account has answered.
    pub fn on_answer(&mut self) {
        self.failures = 0;
    }

    /// An attempt has failed.
    pub fn on_failure(&mut self, terms: &Failover, now_us: u64) {
        if self.is_in_force(now_us) {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures < terms.failures {
            return;
        }
        let step_us = u64::from(terms.set_aside_seconds).saturating_mul(1_000_000);
        let free_us = now_us.saturating_sub(self.until_us);
        let forgotten = free_us.checked_div(step_us).unwrap_or_default();
        let forgotten = u32::try_from(forgotten).unwrap_or(u32::MAX);
        let before = self.ejections.saturating_sub(forgotten);
        self.ejections = before.saturating_add(1).min(LONGEST);
        self.failures = 0;
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
            ..Failover::default_for(2)
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
}
