//! The worker's view of the policy, shared by its streams.

use std::cell::RefCell;
use std::rc::Rc;

use super::host::Host;
use crate::config::snapshot::InForce;
use crate::config::view::View;

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
