//! What becomes of a change: the one place where the order of things is decided.

use super::record::Stamp;

/// What the changes of a page are judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bench {
    /// How far the page is trusted.
    pub trust: Trust,
    /// The first epoch of the feed's identity.
    pub base: u64,
    /// Records of an older epoch are void.
    pub floor: u64,
    /// The epoch of the full reading under way, or of the last one.
    pub epoch: u64,
    /// Every change up to this version has been given before.
    pub settled: u64,
}

/// How far a page is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// It is of a full reading: what it lists is what exists.
    Full,
    /// It goes on from where the reading is, or it is an old one that comes again.
    Further,
    /// The service has lost versions: what it lists may be what was before.
    SetBack,
}

/// What becomes of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is written.
    Taken,
    /// The record stays and counts for the full reading under way.
    Confirmed,
    /// The record says so already.
    Known,
    /// It is older than what is known.
    Stale {
        /// Whether nothing counts that stands for the key: a service that tells of it as of one that
        /// exists contradicts what it said before.
        missed: bool,
    },
}

impl Bench {
    /// Whether a record counts.
    pub(super) fn is_live(&self, stored: Option<Stamp>) -> bool {
        stored.is_some_and(|stamp| stamp.epoch >= self.floor)
    }

    /// Judges a change of this version by the record that stands.
    pub(super) fn judge(&self, stored: Option<Stamp>, version: u64) -> Verdict {
        let Some(stamp) = stored.filter(|stamp| stamp.epoch >= self.base) else {
            // Nothing stands, or something of another sequence of versions. Up to the version that
            // was settled every key that exists has a record: such a change tells of a key that was
            // removed since.
            let removed_since = version <= self.settled;
            return match self.trust {
                Trust::Further if removed_since => Verdict::Stale { missed: true },
                // What a service that was set back has got since is new, if it was never seen here.
                Trust::SetBack if removed_since && stored.is_some() => {
                    Verdict::Stale { missed: false }
                }
                _ => Verdict::Taken,
            };
        };
        let live = self.is_live(stored);
        // A service that was set back may well tell of what it has forgotten to remove.
        let missed = !live && self.trust == Trust::Further;
        if version > stamp.version {
            // The record of a key that a full reading did not give is void: it was removed since.
            return if !live && version <= self.settled && self.trust != Trust::Full {
                Verdict::Stale { missed }
            } else {
                Verdict::Taken
            };
        }
        if self.trust == Trust::Full && stamp.epoch < self.epoch {
            // A void record that is newer tells of what was removed since: a service that was set back,
            // and is past where it was, does not mean that.
            if live || version == stamp.version {
                Verdict::Confirmed
            } else {
                Verdict::Taken
            }
        } else if version < stamp.version || !live {
            Verdict::Stale { missed }
        } else {
            Verdict::Known
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (case, trust, the record's epoch and version, the change's version, what becomes of it)
    type Case = (&'static str, Trust, Option<(u64, u64)>, u64, Verdict);

    #[test]
    fn the_order_of_things() {
        use Trust::{Full, Further, SetBack};
        use Verdict::{Confirmed, Known, Taken};
        const STALE: Verdict = Verdict::Stale { missed: false };
        const MISSED: Verdict = Verdict::Stale { missed: true };
        // The identity began with epoch 10; the last complete reading was 20, 30 is under way.
        let (other, void, live, given) = (9, 15, 20, 30);
        let cases: &[Case] = &[
            ("listed first", Full, None, 3, Taken),
            ("listed again, newer", Full, Some((live, 2)), 3, Taken),
            ("listed again", Full, Some((live, 3)), 3, Confirmed),
            ("listed as it was", Full, Some((live, 9)), 3, Confirmed),
            ("listed twice", Full, Some((given, 3)), 3, Known),
            (
                "listed twice, older later",
                Full,
                Some((given, 4)),
                3,
                STALE,
            ),
            (
                "listed twice, newer later",
                Full,
                Some((given, 2)),
                3,
                Taken,
            ),
            ("void, exists again", Full, Some((void, 3)), 3, Confirmed),
            ("void, exists anew", Full, Some((void, 2)), 3, Taken),
            ("void, exists as before", Full, Some((void, 9)), 3, Taken),
            ("of another sequence", Full, Some((other, 99)), 3, Taken),
            ("new", Further, None, 101, Taken),
            (
                "removed before it was ever given",
                Further,
                None,
                100,
                MISSED,
            ),
            ("changed", Further, Some((live, 50)), 51, Taken),
            ("given again", Further, Some((live, 50)), 50, Known),
            ("older than known", Further, Some((live, 50)), 49, STALE),
            (
                "new after it was removed",
                Further,
                Some((void, 50)),
                101,
                Taken,
            ),
            ("removed since", Further, Some((void, 50)), 60, MISSED),
            (
                "removed since, the same again",
                Further,
                Some((void, 50)),
                50,
                MISSED,
            ),
            (
                "another's, removed since",
                Further,
                Some((other, 50)),
                60,
                MISSED,
            ),
            ("new to a service set back", SetBack, None, 60, Taken),
            ("not new there", SetBack, Some((other, 50)), 60, STALE),
            ("changed there", SetBack, Some((live, 50)), 60, Taken),
            ("lost there", SetBack, Some((live, 50)), 40, STALE),
            ("back from the dead", SetBack, Some((void, 50)), 60, STALE),
            (
                "never confirmed there",
                SetBack,
                Some((live, 50)),
                50,
                Known,
            ),
        ];
        for (case, trust, stored, version, want) in cases {
            let bench = Bench {
                trust: *trust,
                base: 10,
                floor: 20,
                epoch: 30,
                settled: 100,
            };
            let stored = stored.map(|(epoch, version)| Stamp {
                epoch,
                version,
                removed: false,
                disabled: false,
            });
            assert_eq!(bench.judge(stored, *version), *want, "{case}");
        }
    }
}
