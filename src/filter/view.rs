//! What a worker knows of what is published: the policy, seen once for all its streams, and the key records.

use std::cell::RefCell;
use std::rc::Rc;

use super::host::{self, Host};
use crate::auth::World;
use crate::config::feed::bucket;
use crate::config::record::KeyDigest;
use crate::config::shared::SharedData;
use crate::config::snapshot::InForce;
use crate::config::view::View;
use crate::exchange::Clock;

/// One view for all streams of a VM.
#[derive(Debug, Default)]
pub(super) struct SharedView(RefCell<View>);

impl SharedView {
    /// The policy in force now.
    pub(super) fn refresh(&self) -> Option<Rc<InForce>> {
        // Held for this call only, which calls nothing that could come back here.
        let mut view = self.0.try_borrow_mut().ok()?;
        let in_force = view.refresh(&Host);
        if let Some(complaint) = view.take_complaint() {
            log::error!("the last good policy stays in force: {complaint}");
        }
        in_force
    }
}

impl World for SharedView {
    fn key_record(&self, digest: &KeyDigest) -> Option<Vec<u8>> {
        // Envoy gives a cleared value as absent with a version; both mean that there is no key.
        Host.get(&digest.shared_name()).0
    }

    fn fed_record(&self, digest: &KeyDigest) -> Option<Vec<u8>> {
        bucket::record(digest, &Host)
    }

    fn now(&self) -> i64 {
        i64::try_from(host::now_ms() / 1000).unwrap_or(i64::MAX)
    }

    fn in_force_again(&self) -> Option<Rc<InForce>> {
        self.refresh()
    }
}

impl Clock for SharedView {
    fn now_us(&self) -> u64 {
        host::now_us()
    }
}
