//! Whether the gateway makes a Chat Completions stream report its usage.

use crate::config::policy::Source;
use crate::usage::Wire;

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
