//! The bill of one answer: what several models used, each at its own prices, and what no price covers.

use super::charge::Charge;
use super::gap::{Gap, Uncovered};
use super::multiplier::Multiplier;
use super::prices::Prices;
use super::tier::is_ordinary;
use crate::usage::{Call, Kind, Usage};

/// What one model used, and at which class of service.
#[derive(Debug, Clone, Copy)]
pub struct PricedUsage<'a> {
    /// The model's prices.
    pub prices: &'a Prices,
    /// What it used.
    pub usage: &'a Usage,
    /// The class of service that the answer reports, in the protocol's words.
    pub tier: Option<&'a str>,
    /// The speed that the answer reports, where the protocol has one beside the class of service.
    pub speed: Option<&'a str>,
}

/// What several models used for one answer, in money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bill {
    /// What it costs; `None` where the exact amount has more digits than the type holds.
    pub charge: Option<Charge>,
    /// What was used and no price covers.
    pub uncovered: Uncovered,
}

/// What all items cost together, times the final `multiplier`, and what of it no price covers. Nothing at all costs 0.
///
/// An item is charged at the prices of the reported speed, if the model has prices for it, else at those of the reported
/// class of service, else at the model's own.
pub fn bill<'a>(items: impl IntoIterator<Item = PricedUsage<'a>>, multiplier: Multiplier) -> Bill {
    let mut uncovered = Uncovered::default();
    let mut charge = Some(Charge::default());
    for item in items {
        let prices = applicable(&item, &mut uncovered);
        note_gaps(item.usage, prices, &mut uncovered);
        let own = Charge::of(item.usage, prices, multiplier);
        charge = charge.and_then(|charge| charge.plus(own?));
    }
    Bill { charge, uncovered }
}

/// The prices of an item's class of service.
fn applicable<'a>(item: &PricedUsage<'a>, uncovered: &mut Uncovered) -> &'a Prices {
    let reported = [(item.speed, Gap::Speed), (item.tier, Gap::Tier)];
    let mut found = None;
    for (class, gap) in reported {
        let Some(class) = class.filter(|class| !is_ordinary(class)) else {
            continue;
        };
        match item.prices.tier(class).filter(|_| found.is_none()) {
            Some(prices) => found = Some(prices),
            // Of a speed and a class of service that are both out of the ordinary, one set of prices covers one.
            None => uncovered.insert(gap),
        }
    }
    found.unwrap_or(item.prices)
}

/// Notes what was used beside tokens and has no price.
fn note_gaps(usage: &Usage, prices: &Prices, uncovered: &mut Uncovered) {
    for call in Call::ALL {
        if usage.calls(call) > 0 && prices.call(call).is_none() {
            uncovered.insert(Gap::Call(call));
        }
    }
    let in_tokens = [Kind::OutputImage, Kind::Output]
        .into_iter()
        .any(|kind| usage.tokens(kind) > 0 && prices.tokens(kind).is_some());
    if usage.images > 0 && prices.image().is_none() && !in_tokens {
        uncovered.insert(Gap::Image);
    }
}

#[cfg(test)]
mod tests;
