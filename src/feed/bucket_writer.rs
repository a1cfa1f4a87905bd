//! Merging changes into a bucket, which is read and written once for all of them.

use super::merge::{MergeContext, MergeResult};
use super::page::Change;
use crate::keys::codec::{Stamp, encode_fed};
use crate::keys::{Unreadable, bucket};
use crate::shared_data::SharedData;

/// The maximum number of writes of a bucket that a loader which has just lost its lease writes at the same time.
const ATTEMPTS: u32 = 8;

/// The result of a change, and the state of the key's record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Merged {
    pub result: MergeResult,
    /// The record that stood.
    pub before: Option<Stamp>,
    /// Whether there is a key now, and whether it is enabled. Of a record that was written only.
    pub live: bool,
    pub enabled: bool,
}

/// Changes of a bucket, merged.
#[derive(Debug)]
pub(super) struct MergedChanges<'a> {
    /// One of each change, in their order.
    pub merged: &'a [Merged],
    /// Whether records are gone, or changes were not written: a full sync brings them back.
    pub lost: bool,
}

/// Writes buckets. It holds the memory for it, which is used again and again.
#[derive(Debug, Default)]
pub(super) struct BucketWriter {
    name: String,
    record: Vec<u8>,
    bucket: Vec<u8>,
    next: Vec<u8>,
    merged: Vec<Merged>,
}

impl BucketWriter {
    /// Merges these changes into `bucket`, which is theirs.
    pub(super) fn merge(
        &mut self,
        bucket: u16,
        context: &MergeContext,
        changes: &[Change<'_>],
        shared: &impl SharedData,
    ) -> MergedChanges<'_> {
        bucket::write_name(bucket, &mut self.name);
        let mut lost = false;
        for _ in 0..ATTEMPTS {
            let (stored, version) = shared.get(&self.name);
            self.bucket = stored.unwrap_or_default();
            self.merged.clear();
            for change in changes {
                lost |= self.merge_one(context, change).is_err();
            }
            let is_written = self.merged.iter().any(|merged| merged.result.writes());
            if !is_written || shared.set(&self.name, &self.bucket, version).is_ok() {
                return MergedChanges {
                    merged: &self.merged,
                    lost,
                };
            }
        }
        // Somebody else writes all the time: what is missed now comes with a full sync.
        for merged in &mut self.merged {
            merged.result = MergeResult::Known;
        }
        MergedChanges {
            merged: &self.merged,
            lost: true,
        }
    }

    /// Puts what a change says into the bucket, if it is to be written.
    ///
    /// # Errors
    /// [`Unreadable`]: others' records are gone with the bucket; the change was merged into an empty one.
    fn merge_one(&mut self, context: &MergeContext, change: &Change<'_>) -> Result<(), Unreadable> {
        let found = bucket::find(&self.bucket, &change.digest);
        let outcome = found.map(|_| ());
        let (slot, old) = match found {
            Ok(slot) => (slot, self.bucket.as_slice()),
            Err(Unreadable) => (None, Default::default()),
        };
        let before = slot.and_then(|slot| Stamp::peek(slot.record));
        let result = context.merge(before, change.version);
        let (live, enabled) = match result {
            MergeResult::Taken => {
                let terms = change.terms.as_ref();
                let epoch = context.epoch_of(change.version);
                encode_fed(epoch, change.version, terms, &mut self.record);
                (terms.is_some(), terms.is_some_and(|terms| !terms.disabled))
            }
            MergeResult::Confirmed => {
                self.record.clear();
                let record = slot.map_or(&[][..], |slot| slot.record);
                self.record.extend_from_slice(record);
                Stamp::confirm(context.epoch, &mut self.record);
                (
                    before.is_some_and(|stamp| !stamp.removed),
                    before.is_some_and(Stamp::is_enabled),
                )
            }
            MergeResult::Known | MergeResult::Stale { .. } => (false, false),
        };
        if result.writes() {
            bucket::put(old, slot, &change.digest, &self.record, &mut self.next);
            core::mem::swap(&mut self.bucket, &mut self.next);
        }
        self.merged.push(Merged {
            result,
            before,
            live,
            enabled,
        });
        outcome
    }

    /// Drops records of a bucket that are not to be kept. One in which somebody else writes at the same time stays as it is.
    pub(super) fn retain(
        &mut self,
        bucket: u16,
        keep: impl Fn(&[u8]) -> bool,
        shared: &impl SharedData,
    ) {
        bucket::write_name(bucket, &mut self.name);
        let (Some(old), version) = shared.get(&self.name) else {
            return;
        };
        if bucket::retain(&old, keep, &mut self.next).is_ok_and(|dropped| dropped > 0) {
            let _ = shared.set(&self.name, &self.next, version);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::feed::merge::SyncKind;
    use crate::keys::{KeyDigest, KeyTerms};
    use crate::shared_data::Conflict;
    use crate::shared_data::fake::FakeSharedData;

    /// Shared data that others write first so many times.
    #[derive(Default)]
    struct ContendedSharedData {
        shared: FakeSharedData,
        conflicts: Cell<u32>,
        reads: Cell<u32>,
    }

    impl SharedData for ContendedSharedData {
        fn get(&self, name: &str) -> (Option<Vec<u8>>, Option<u32>) {
            self.reads.set(self.reads.get() + 1);
            self.shared.get(name)
        }

        fn set(&self, name: &str, value: &[u8], version: Option<u32>) -> Result<(), Conflict> {
            if let Some(left) = self.conflicts.get().checked_sub(1) {
                self.conflicts.set(left);
                return Err(Conflict);
            }
            self.shared.set(name, value, version)
        }
    }

    fn context() -> MergeContext {
        MergeContext {
            kind: SyncKind::Full,
            base: 1,
            watermark: 1,
            epoch: 1,
            listed_from: None,
            settled: 0,
            compacted: 0,
        }
    }

    /// Keys with these versions; 0 is a removal of version 9.
    fn changes(versions: &[u64]) -> Vec<Change<'static>> {
        let terms = KeyTerms {
            id: "k",
            group: "g",
            ..KeyTerms::default()
        };
        let numbered = versions.iter().enumerate();
        numbered
            .map(|(number, version)| Change {
                digest: KeyDigest::of(&number.to_le_bytes()),
                version: if *version == 0 { 9 } else { *version },
                terms: (*version != 0).then_some(terms),
            })
            .collect()
    }

    #[test]
    fn changes_of_one_bucket() {
        use MergeResult::{Known, Taken};
        // (case, the keys' versions, how often others write first; what becomes of each, reads, writes, whether something is lost)
        type Case<'a> = (&'a str, &'a [u64], u32, &'a [MergeResult], u32, usize, bool);
        let cases: &[Case<'_>] = &[
            ("one", &[3], 0, &[Taken], 1, 1, false),
            ("three", &[3, 1, 2], 0, &[Taken; 3], 1, 1, false),
            ("with a removal", &[3, 0], 0, &[Taken; 2], 1, 1, false),
            ("written by others", &[3, 1], 7, &[Taken; 2], 8, 1, false),
            (
                "written by others all the time",
                &[3, 1],
                8,
                &[Known; 2],
                8,
                0,
                true,
            ),
        ];
        for (case, versions, conflicts, results, reads, writes, lost) in cases {
            let (shared, changes) = (ContendedSharedData::default(), changes(versions));
            shared.conflicts.set(*conflicts);
            let mut writer = BucketWriter::default();
            let merged = writer.merge(7, &context(), &changes, &shared);
            let got: Vec<_> = merged.merged.iter().map(|merged| merged.result).collect();
            assert_eq!(got, *results, "{case}");
            assert_eq!(merged.lost, *lost, "{case}: lost");
            assert_eq!(shared.reads.get(), *reads, "{case}: reads");
            assert_eq!(
                shared.shared.written.borrow().len(),
                *writes,
                "{case}: writes"
            );
            let stored = shared.shared.get("trilane/feed/0007").0.unwrap_or_default();
            for (change, result) in changes.iter().zip(*results) {
                let slot = bucket::find(&stored, &change.digest).unwrap();
                let stamp = slot.and_then(|slot| Stamp::peek(slot.record));
                let got = stamp.map(|stamp| (stamp.version, stamp.removed));
                let want = (*result == Taken).then_some((change.version, change.terms.is_none()));
                assert_eq!(got, want, "{case}: {change:?}");
            }
        }
    }

    #[test]
    fn what_changes_nothing_is_not_written() {
        let (shared, changes) = (ContendedSharedData::default(), changes(&[3, 1]));
        let mut writer = BucketWriter::default();
        for (case, writes) in [("first", 1), ("again", 1)] {
            let merged = writer.merge(7, &context(), &changes, &shared);
            assert!(!merged.lost, "{case}");
            assert_eq!(shared.shared.written.borrow().len(), writes, "{case}");
        }
    }

    #[test]
    fn a_bucket_that_cannot_be_read() {
        let (shared, changes) = (ContendedSharedData::default(), changes(&[3, 1]));
        shared
            .shared
            .set("trilane/feed/0007", b"\xffno bucket", None)
            .unwrap();
        let mut writer = BucketWriter::default();
        let merged = writer.merge(7, &context(), &changes, &shared);
        assert!(merged.lost, "others' records");
        assert!(
            merged
                .merged
                .iter()
                .all(|merged| merged.result == MergeResult::Taken)
        );
    }
}
