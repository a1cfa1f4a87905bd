//! A reader's view of the published policy, rebuilt only when the generation changes.

use std::rc::Rc;

use super::snapshot::{self, InForce};
use crate::shared_data::SharedData;

/// How long a policy may be taken for the one in force without looking again, in microseconds.
///
/// A look is a call that Envoy answers through the VM's own allocator, as dear as two or three others. A worker that has
/// less than a hundred requests a second looks for each of them.
const LOOK_EVERY_US: u64 = 10_000;

/// What one VM knows of the published policy.
#[derive(Debug, Default)]
pub struct View {
    generation: Option<u64>,
    in_force: Option<Rc<InForce>>,
    complaint: Option<String>,
    /// When it was looked at last, in microseconds of a steady clock.
    looked_us: u64,
}

impl View {
    /// The policy in force at a moment of a steady clock, or ten milliseconds before it at the most. Where there is none
    /// yet, it is looked for each time.
    pub fn at(&mut self, now_us: u64, shared: &impl SharedData) -> Option<Rc<InForce>> {
        // A clock that was put back must not keep anybody waiting.
        let fresh = now_us
            .checked_sub(self.looked_us)
            .is_some_and(|since| since < LOOK_EVERY_US);
        if fresh && let Some(in_force) = &self.in_force {
            return Some(Rc::clone(in_force));
        }
        self.looked_us = now_us;
        self.refresh(shared)
    }

    /// The policy in force now. One small read where nothing has changed.
    ///
    /// A snapshot that cannot be read leaves the last good policy in force.
    pub fn refresh(&mut self, shared: &impl SharedData) -> Option<Rc<InForce>> {
        let generation = shared
            .get(snapshot::GENERATION)
            .0
            .and_then(|bytes| snapshot::decode_generation(&bytes));
        if generation.is_some() && generation != self.generation {
            self.generation = generation;
            let bytes = shared.get(snapshot::POLICY).0.unwrap_or_default();
            match snapshot::decode(&bytes) {
                Ok(in_force) => self.in_force = Some(Rc::new(in_force)),
                Err(reason) => self.complaint = Some(reason),
            }
        }
        self.in_force.clone()
    }

    /// Why the last snapshot could not be read, said once.
    pub fn take_complaint(&mut self) -> Option<String> {
        self.complaint.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Document;
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
        snapshot::encode(&document, snapshot::Edition::default(), None)
    }

    #[test]
    fn it_is_looked_at_again_after_a_while() {
        let shared = FakeSharedData::default();
        let mut view = View::default();
        let window = |view: &mut View, now| view.at(now, &shared).map(|f| f.policy.inspect_window);
        let start = 1_800_000_000_000_000;
        assert_eq!(window(&mut view, start), None, "nothing published");
        publish(&shared, 1, &good(1024));
        assert_eq!(window(&mut view, start), Some(1024), "until there is one");
        publish(&shared, 2, &good(2048));
        let cases = [
            ("at once", start, 1024),
            ("a moment before", start + LOOK_EVERY_US - 1, 1024),
            ("after a while", start + LOOK_EVERY_US, 2048),
        ];
        for (case, now, want) in cases {
            assert_eq!(window(&mut view, now), Some(want), "{case}");
        }
        publish(&shared, 3, &good(4096));
        assert_eq!(window(&mut view, start), Some(4096), "a clock put back");
    }

    #[test]
    fn the_last_good_policy_stays() {
        let shared = FakeSharedData::default();
        let mut view = View::default();
        let window = |view: &mut View| view.refresh(&shared).map(|f| f.policy.inspect_window);
        assert_eq!(window(&mut view), None, "nothing published");
        publish(&shared, 1, &good(2048));
        assert_eq!(window(&mut view), Some(2048), "first");
        publish(&shared, 1, &good(4096));
        assert_eq!(
            window(&mut view),
            Some(2048),
            "the generation has not changed"
        );
        publish(&shared, 2, b"{\"format\":1}");
        assert_eq!(window(&mut view), Some(2048), "unreadable");
        assert!(view.take_complaint().is_some(), "said once");
        assert!(view.take_complaint().is_none(), "and only once");
        publish(&shared, 3, &good(4096));
        assert_eq!(window(&mut view), Some(4096), "good again");
    }
}
