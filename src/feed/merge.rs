//! Merging a change into the store: the one place that decides which of two records counts.

use crate::keys::codec::Stamp;

/// The terms by which the changes of a page are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MergeContext {
    /// The sync that the page is part of.
    pub kind: SyncKind,
    /// The first epoch of the feed's identity.
    pub base: u64,
    /// Records of an older epoch hold no key: they are tombstones.
    pub watermark: u64,
    /// The epoch of the full sync under way, or of the last one.
    pub epoch: u64,
    /// The version of the feed at the first page of that full sync; `None` before that page.
    pub listed_from: Option<u64>,
    /// Every change up to this version has been given before.
    pub settled: u64,
    /// Tombstones up to this version may have been dropped.
    pub compacted: u64,
}

/// The sync that a page is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyncKind {
    /// It lists what exists.
    Full,
    /// It says what has changed since the last page, or it is an old one that comes again.
    Incremental,
    /// The service has lost versions: what it lists may be what was before.
    Rollback,
}

/// The outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MergeResult {
    /// It is written.
    Taken,
    /// The record stays and counts for the full sync under way.
    Confirmed,
    /// The record says so already.
    Known,
    /// It is older than what is known.
    Stale {
        /// Whether the store has no key: a service that gives it as one that exists contradicts what it
        /// said before.
        missed: bool,
    },
}

impl MergeResult {
    /// Whether the key's record is written.
    pub(super) fn writes(self) -> bool {
        matches!(self, Self::Taken | Self::Confirmed)
    }
}

impl MergeContext {
    /// Whether a record is above the watermark.
    pub(super) fn is_live(&self, stored: Option<Stamp>) -> bool {
        stored.is_some_and(|stamp| stamp.epoch >= self.watermark)
    }

    /// Returns the epoch that the record of a change gets.
    ///
    /// A change that comes between the pages of a full sync counts for it if it is newer than its first page. A key that
    /// was removed before that page stands on no page, so an older change must not keep it.
    pub(super) fn epoch_of(&self, version: u64) -> u64 {
        let newer = self.listed_from.is_some_and(|from| version > from);
        if self.kind == SyncKind::Incremental && !newer {
            self.watermark
        } else {
            self.epoch
        }
    }

    /// Merges a change of this version with the record that stands.
    pub(super) fn merge(&self, stored: Option<Stamp>, version: u64) -> MergeResult {
        let Some(stamp) = stored.filter(|stamp| stamp.epoch >= self.base) else {
            // Nothing stands, or something of another sequence of versions. Up to the version that
            // was settled every key that exists has a record: such a change tells of a key that was
            // removed since.
            let removed_since = version <= self.settled;
            return match self.kind {
                SyncKind::Incremental if removed_since => MergeResult::Stale { missed: true },
                // What a service that was set back has got since is new, if it was never seen here.
                SyncKind::Rollback if removed_since && stored.is_some() => {
                    MergeResult::Stale { missed: false }
                }
                // It may have been removed, and its tombstone dropped.
                SyncKind::Rollback if version <= self.compacted => {
                    MergeResult::Stale { missed: false }
                }
                _ => MergeResult::Taken,
            };
        };
        let live = self.is_live(stored);
        // A service that was set back may well tell of what it has forgotten to remove.
        let missed = !live && self.kind == SyncKind::Incremental;
        if version > stamp.version {
            // The record of a key that the last full sync did not give is a tombstone: it was removed since.
            return if !live && version <= self.settled && self.kind != SyncKind::Full {
                MergeResult::Stale { missed }
            } else {
                MergeResult::Taken
            };
        }
        if self.kind == SyncKind::Full && stamp.epoch < self.epoch {
            // A tombstone that is newer tells of what was removed since: a service that was set back,
            // and is past where it was, does not mean that.
            if live || version == stamp.version {
                MergeResult::Confirmed
            } else {
                MergeResult::Taken
            }
        } else if version < stamp.version || !live {
            MergeResult::Stale { missed }
        } else {
            MergeResult::Known
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (case, what the page is part of, the record's epoch and version, the change's version, what becomes of it)
    type Case = (&'static str, SyncKind, Option<(u64, u64)>, u64, MergeResult);

    #[test]
    fn the_order_of_things() {
        use MergeResult::{Confirmed, Known, Taken};
        use SyncKind::{Full, Incremental, Rollback};
        const STALE: MergeResult = MergeResult::Stale { missed: false };
        const MISSED: MergeResult = MergeResult::Stale { missed: true };
        // The identity began with epoch 10; the last full sync was 20, 30 is under way.
        let (other, dead, live, given) = (9, 15, 20, 30);
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
            ("dead, exists again", Full, Some((dead, 3)), 3, Confirmed),
            ("dead, exists anew", Full, Some((dead, 2)), 3, Taken),
            ("dead, exists as before", Full, Some((dead, 9)), 3, Taken),
            ("of another sequence", Full, Some((other, 99)), 3, Taken),
            ("new", Incremental, None, 101, Taken),
            (
                "removed before it was ever given",
                Incremental,
                None,
                100,
                MISSED,
            ),
            ("changed", Incremental, Some((live, 50)), 51, Taken),
            ("given again", Incremental, Some((live, 50)), 50, Known),
            ("older than known", Incremental, Some((live, 50)), 49, STALE),
            (
                "new after it was removed",
                Incremental,
                Some((dead, 50)),
                101,
                Taken,
            ),
            ("removed since", Incremental, Some((dead, 50)), 60, MISSED),
            (
                "removed since, the same again",
                Incremental,
                Some((dead, 50)),
                50,
                MISSED,
            ),
            (
                "another's, removed since",
                Incremental,
                Some((other, 50)),
                60,
                MISSED,
            ),
            ("new to a service set back", Rollback, None, 60, Taken),
            ("compacted, new in a full sync", Full, None, 30, Taken),
            ("compacted before the rollback", Rollback, None, 30, STALE),
            ("new since the compaction", Rollback, None, 31, Taken),
            ("not new there", Rollback, Some((other, 50)), 60, STALE),
            ("changed there", Rollback, Some((live, 50)), 60, Taken),
            ("lost there", Rollback, Some((live, 50)), 40, STALE),
            ("back from the dead", Rollback, Some((dead, 50)), 60, STALE),
            (
                "never confirmed there",
                Rollback,
                Some((live, 50)),
                50,
                Known,
            ),
        ];
        for (case, kind, stored, version, want) in cases {
            let context = MergeContext {
                kind: *kind,
                base: 10,
                watermark: 20,
                epoch: 30,
                listed_from: None,
                settled: 100,
                compacted: 30,
            };
            let stored = stored.map(|(epoch, version)| Stamp {
                epoch,
                version,
                removed: false,
                disabled: false,
            });
            assert_eq!(context.merge(stored, *version), *want, "{case}");
        }
    }
}
