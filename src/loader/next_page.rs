//! The moment at which the next page of a feed is requested.

use crate::host::CallId;

/// The moment at which the next page is requested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum NextPage {
    /// With the next poll.
    #[default]
    WithPoll,
    /// At the first moment that the pace allows: the feed has more.
    AtPace,
    /// After the response to this call.
    Awaited(CallId),
}

impl NextPage {
    /// Whether the feed has more pages; `None` while a page is awaited, which will tell.
    pub(super) fn more(self) -> Option<bool> {
        (!self.is_awaiting()).then_some(self == Self::AtPace)
    }

    /// Whether a page is awaited.
    pub(super) fn is_awaiting(self) -> bool {
        matches!(self, Self::Awaited(_))
    }

    /// Whether this call is the one awaited.
    pub(super) fn awaits(self, call: CallId) -> bool {
        self == Self::Awaited(call)
    }

    /// The response that is awaited will not be used.
    pub(super) fn drop_call(&mut self) {
        if self.is_awaiting() {
            *self = Self::WithPoll;
        }
    }
}
