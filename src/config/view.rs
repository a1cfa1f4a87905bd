//! A reader's view of the published policy, rebuilt only when the generation changes.

use std::rc::Rc;

use super::snapshot::{self, InForce};
use crate::shared_data::SharedData;

/// What one VM knows of the published policy.
#[derive(Debug, Default)]
pub struct View {
    generation: Option<u64>,
    in_force: Option<Rc<InForce>>,
    complaint: Option<String>,
}

impl View {
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
        snapshot::encode(&Document::parse(text.as_bytes()).unwrap(), 1, None)
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
