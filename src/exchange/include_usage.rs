//! Whether the gateway makes a Chat Completions stream report its usage.

use super::environment::AccountStates;
use super::route::Route;
use crate::config::policy::Source;
use crate::failover::WayMark;
use crate::usage::Wire;

/// Whether the account that a request is sent to may refuse to be asked for the usage of its stream, so that it would be asked
/// once more without that. Only Envoy's own accounts can be.
pub(super) fn may_be_refused(
    route: &Route,
    wire: Option<Wire>,
    accounts: &impl AccountStates,
) -> bool {
    let is_unknown = |source: &Source| {
        let marks = source.accounts.iter().flat_map(|it| &it.marks);
        let mut ways = marks.map(WayMark::of_account);
        IncludeUsage::of(source, wire).is_wanted()
            && ways.any(|way| accounts.takes_usage_option(way).is_none())
    };
    wire == Some(Wire::Chat) && accounts.has_hop() && route.candidates().any(is_unknown)
}

/// Whether a body is to be made to ask for the usage of its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum IncludeUsage {
    /// It goes as it is; also where all has been done.
    #[default]
    No,
    /// If its model has prices, or is not known when the bytes must be released.
    IfPriced,
    /// For any model.
    Always,
}

impl IncludeUsage {
    /// Returns the choice of the source's group, for a response that reports usage in the form `wire`; without one, the choice
    /// by whether anything there has a price.
    pub(super) fn of(source: &Source, wire: Option<Wire>) -> Self {
        match source.include_usage {
            _ if wire != Some(Wire::Chat) => Self::No,
            Some(true) => Self::Always,
            None if source.catalog.has_prices() => Self::IfPriced,
            Some(false) | None => Self::No,
        }
    }

    /// Whether the body is still to be made to ask.
    pub(super) fn is_wanted(self) -> bool {
        self != Self::No
    }

    /// The model turned out to have no prices.
    pub(super) fn drop_if_unpriced(&mut self) {
        if *self == Self::IfPriced {
            *self = Self::No;
        }
    }
}
