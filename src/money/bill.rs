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
/// class of service, else at the model's own; in each case at those for the length of its input.
pub fn bill<'a>(items: impl IntoIterator<Item = PricedUsage<'a>>, multiplier: Multiplier) -> Bill {
    let mut uncovered = Uncovered::default();
    let mut charge = Some(Charge::default());
    // One model may have made the images whose tokens another one's numbers have.
    let (mut unpriced_images, mut image_tokens) = (false, false);
    for item in items {
        let prices = applicable(&item, &mut uncovered);
        note_calls(item.usage, prices, &mut uncovered);
        unpriced_images |= item.usage.images > 0 && prices.image().is_none();
        image_tokens |= has_priced_output(item.usage, prices);
        let own = Charge::of(item.usage, prices, multiplier);
        charge = charge.and_then(|charge| charge.plus(own?));
    }
    if unpriced_images && !image_tokens {
        uncovered.insert(Gap::Image);
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
    found.unwrap_or(item.prices).for_input(item.usage)
}

/// Notes calls that have no price.
fn note_calls(usage: &Usage, prices: &Prices, uncovered: &mut Uncovered) {
    for call in &Call::ALL {
        if usage.calls(*call) > 0 && prices.call(*call).is_none() {
            uncovered.insert(Gap::Call(*call));
        }
    }
}

/// Whether there are tokens of output that may stand for images.
fn has_priced_output(usage: &Usage, prices: &Prices) -> bool {
    [Kind::OutputImage, Kind::Output]
        .into_iter()
        .any(|kind| usage.tokens(kind) > 0 && prices.tokens(kind).is_some())
}

#[cfg(test)]
mod tests;
