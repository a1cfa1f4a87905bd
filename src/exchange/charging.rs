//! What an exchange costs: the bill over all models that were at work on it.

use super::facts::Facts;
use crate::billing::{Bill, Item, bill};
use crate::model::{Model, Prices};
use crate::routing::Route;
use crate::usage::Reading;

/// The bill; `None` where the model has no prices, or nothing is known to have been used.
///
/// What another model used, such as one that a tool asked for advice, is charged at that model's own prices.
pub(super) fn bill_of(facts: &Facts, reading: &Reading) -> Option<Bill> {
    let route = facts.route.as_ref()?;
    let own = facts.model.as_ref()?.prices.as_ref()?;
    let main = reading.usage.as_ref().map(|usage| Item {
        prices: own,
        usage,
        tier: reading.service_tier.as_deref(),
        speed: reading.speed.as_deref(),
    });
    let others = reading.others.iter().map(|(name, usage)| Item {
        prices: prices_of(route, name).unwrap_or(own),
        usage,
        tier: None,
        speed: None,
    });
    let mut items = main.into_iter().chain(others).peekable();
    items.peek()?;
    Some(bill(items, route.multiplier))
}

/// The prices of the model that the upstream calls `name`.
fn prices_of<'a>(route: &'a Route, name: &str) -> Option<&'a Prices> {
    let catalog = &route.source.catalog;
    let renamed = |model: &&std::rc::Rc<Model>| model.upstream.as_deref() == Some(name);
    let model = catalog.models().iter().find(renamed);
    model.or_else(|| catalog.find(name))?.prices.as_ref()
}
