//! A reader's copy of the published policy, compiled anew only when the generation changes.

use std::rc::Rc;

use super::snapshot::{self, InForce};
use crate::shared_data::{SharedData, is_fresh};

/// The published policy as one VM knows it.
#[derive(Debug, Default)]
pub struct SnapshotCache {
    generation: Option<u64>,
    in_force: Option<Rc<InForce>>,
    error: Option<String>,
    /// The time of the last read of the generation, in microseconds of a steady clock.
    read_us: u64,
    /// The number of reads of the generation.
    readings: u64,
}

impl SnapshotCache {
    /// The policy in effect at a moment of a steady clock, or ten milliseconds before it at the most. Where there is none
    /// yet, the generation is read each time.
    pub fn at(&mut self, now_us: u64, shared: &impl SharedData) -> Option<Rc<InForce>> {
        if is_fresh(self.read_us, now_us)
            && let Some(in_force) = &self.in_force
        {
            return Some(Rc::clone(in_force));
        }
        self.read_us = now_us;
        self.refresh(shared)
    }

    /// The policy in effect now. One small read where nothing has changed.
    ///
    /// A snapshot that cannot be read leaves the last valid policy in effect.
    pub fn refresh(&mut self, shared: &impl SharedData) -> Option<Rc<InForce>> {
        self.readings = self.readings.wrapping_add(1);
        let generation = shared
            .get(snapshot::GENERATION)
            .0
            .and_then(|bytes| snapshot::decode_generation(&bytes));
        if generation.is_some() && generation != self.generation {
            self.generation = generation;
            let bytes = shared.get(snapshot::POLICY).0.unwrap_or_default();
            match InForce::read(bytes) {
                Ok(in_force) => self.in_force = Some(Rc::new(in_force)),
                Err(reason) => self.error = Some(reason),
            }
        }
        self.in_force.clone()
    }

    /// A number that is another after each reading of the generation: what was read beside one is as old as it is.
    pub fn reading(&self) -> u64 {
        self.readings
    }

    /// Takes the reason why the last snapshot could not be read, which is given once.
    pub fn take_error(&mut self) -> Option<String> {
        self.error.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Document;
    use crate::shared_data::FRESH_US;
    use crate::shared_data::fake::FakeSharedData;

    fn publish(shared: &FakeSharedData, generation: u64, policy: &[u8]) {
        shared.set(snapshot::POLICY, policy, None).unwrap();
        let bytes = generation.to_le_bytes();
        shared.set(snapshot::GENERATION, &bytes, None).unwrap();
    }

    fn good(window: u64) -> Vec<u8> {
        let text = format!(
            r#"{{"inspect_window": {window}, "groups": [{{"id": "g", "protocol": "A", "multiplier": "1", "cluster": "c"}}]}}"#
        );
        let document = Document::parse(text.as_bytes()).unwrap();
        let snapshot = snapshot::Snapshot {
            document,
            ..snapshot::Snapshot::default()
        };
        snapshot.encode()
    }

    #[test]
    fn the_generation_is_read_again_after_a_while() {
        let shared = FakeSharedData::default();
        let mut cache = SnapshotCache::default();
        let window = |cache: &mut SnapshotCache, now| {
            cache.at(now, &shared).map(|f| f.policy.inspect_window)
        };
        let start = 1_800_000_000_000_000;
        assert_eq!(window(&mut cache, start), None, "nothing published");
        publish(&shared, 1, &good(1024));
        assert_eq!(window(&mut cache, start), Some(1024), "until there is one");
        publish(&shared, 2, &good(2048));
        let cases = [
            ("at once", start, 1024),
            ("a moment before", start + FRESH_US - 1, 1024),
            ("after a while", start + FRESH_US, 2048),
        ];
        for (case, now, want) in cases {
            assert_eq!(window(&mut cache, now), Some(want), "{case}");
        }
        publish(&shared, 3, &good(4096));
        assert_eq!(window(&mut cache, start), Some(4096), "a clock put back");
    }

    #[test]
    fn the_last_valid_policy_stays() {
        let shared = FakeSharedData::default();
        let mut cache = SnapshotCache::default();
        let window =
            |cache: &mut SnapshotCache| cache.refresh(&shared).map(|f| f.policy.inspect_window);
        assert_eq!(window(&mut cache), None, "nothing published");
        publish(&shared, 1, &good(2048));
        assert_eq!(window(&mut cache), Some(2048), "first");
        publish(&shared, 1, &good(4096));
        assert_eq!(
            window(&mut cache),
            Some(2048),
            "the generation has not changed"
        );
        publish(&shared, 2, b"{\"format\":1}");
        assert_eq!(window(&mut cache), Some(2048), "unreadable");
        assert!(cache.take_error().is_some(), "said once");
        assert!(cache.take_error().is_none(), "and only once");
        publish(&shared, 3, &good(4096));
        assert_eq!(window(&mut cache), Some(4096), "good again");
    }
}
