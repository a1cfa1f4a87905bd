//! What an exchange costs: the bill over all models that were at work on it, and over a call that has a price of its own.

use std::rc::Rc;

use super::facts::Facts;
use super::route::Route;
use crate::billing::{Bill, Charge, Gap, Item, bill, call_charge};
use crate::ledger::UsageStatus;
use crate::model::Model;
use crate::protocol::Endpoint;
use crate::usage::Reading;

/// The bill; `None` where nothing that was used has a price.
///
/// What another model used, such as one that a tool asked for advice, is charged at that model's own prices. A class of
/// service that the answer does not tell is the one that was asked for.
pub(super) fn bill_of(facts: &Facts, reading: &Reading, status: UsageStatus) -> Option<Bill> {
    let route = facts.route.as_ref()?;
    let usage = models_bill(facts, route, reading);
    let call = call_of(facts, route).filter(|_| status.is_of_an_answer());
    let Some(call) = call else { return usage };
    let Some(usage) = usage else {
        return Some(Bill {
            charge: Some(call),
            uncovered: Default::default(),
        });
    };
    Some(Bill {
        charge: usage.charge.and_then(|charge| charge.plus(call)),
        ..usage
    })
}

/// What the models used.
fn models_bill(facts: &Facts, route: &Route, reading: &Reading) -> Option<Bill> {
    let asked = facts.model.as_ref()?;
    let own = answering(facts, route, reading).unwrap_or(asked);
    let own = own.prices.as_ref().or(asked.prices.as_ref())?;
    let main = reading.usage.as_ref().map(|usage| Item {
        prices: own,
        usage,
        tier: reading.service_tier.as_deref().or(facts.service_tier()),
        speed: reading.speed.as_deref().or(facts.speed()),
    });
    let mut strange = false;
    let others = reading.others.iter().filter_map(|(name, usage)| {
        let only_tool = match facts.tool_models() {
            [only] => Some(only),
            _ => None,
        };
        let prices = match listed(route, name).or(only_tool) {
            // One without prices costs nothing.
            Some(model) => model.prices.as_ref()?,
            None => {
                strange = true;
                own
            }
        };
        Some(Item {
            prices,
            usage,
            tier: None,
            speed: None,
        })
    });
    let mut items = main.into_iter().chain(others).peekable();
    items.peek()?;
    let mut bill = bill(items, route.multiplier);
    if strange {
        bill.uncovered.insert(Gap::Model);
    }
    Some(bill)
}

/// The model that answered in the place of the one that was asked, where the request names it as one that may.
fn answering<'a>(facts: &Facts, route: &'a Route, reading: &Reading) -> Option<&'a Rc<Model>> {
    let model = listed(route, reading.response_model.as_deref()?)?;
    let named = facts.tool_models().iter().any(|named| named.id == model.id);
    named.then_some(model)
}

/// What a method of protocol C costs by the call.
fn call_of(facts: &Facts, route: &Route) -> Option<Charge> {
    let Some(Endpoint::Generate { method, .. }) = &facts.endpoint else {
        return None;
    };
    call_charge(route.source.method_price(method)?, route.multiplier)
}

/// The model that the upstream calls `name`.
fn listed<'a>(route: &'a Route, name: &str) -> Option<&'a Rc<Model>> {
    let catalog = &route.source.catalog;
    let mut models = catalog.models().iter();
    let renamed = models.find(|model| model.upstream.as_deref() == Some(name));
    renamed.or_else(|| catalog.find(name))
}
