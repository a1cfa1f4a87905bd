//! The key of a request in its record.

use std::rc::Rc;

use smol_str::SmolStr;

use super::request::{AuthenticatedCaller, RefusedKey};

/// The facts of a known key that a record has; none where the request had no such key.
#[derive(Debug, Default)]
pub(super) struct RecordedKey {
    pub id: Option<SmolStr>,
    /// The place that it came in, where its group does not read it there.
    pub found_in: Option<&'static str>,
    pub owner: Option<SmolStr>,
    pub team: Option<SmolStr>,
    pub counts_as: Option<Rc<str>>,
    /// The id of its group.
    pub group: Option<SmolStr>,
    /// The currency of the policy's prices.
    pub currency: Option<Rc<str>>,
}

impl RecordedKey {
    /// Of a caller, or of a key that is refused.
    pub(super) fn of(
        caller: Option<AuthenticatedCaller>,
        refused: Option<Box<RefusedKey>>,
    ) -> Self {
        match (caller, refused) {
            (Some(caller), _) => Self {
                id: Some(caller.key),
                found_in: None,
                owner: caller.owner,
                team: caller.team,
                counts_as: caller.counts_as,
                group: Some(caller.group.id.clone()),
                currency: caller.currency,
            },
            (None, Some(refused)) => Self {
                id: Some(refused.id),
                found_in: refused.found_in,
                owner: refused.owner,
                team: refused.team,
                counts_as: None,
                group: Some(refused.group),
                currency: refused.currency,
            },
            (None, None) => Self::default(),
        }
    }
}
