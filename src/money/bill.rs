//! The bill of one answer: what several models used, each at its own prices, and what no price covers.

use super::charge::Charge;
use super::gap::{Gap, Uncovered};
use super::prices::Prices;
use super::tier::is_ordinary;
use crate::usage::{Call, Kind, Usage};

/// The usage of one model, with its prices and class of service.
#[derive(Debug, Clone, Copy)]
pub struct PricedUsage<'a> {
    /// The model's prices.
    pub prices: &'a Prices,
    /// The usage of the model.
    pub usage: &'a Usage,
    /// The class of service that the answer reports, in the protocol's words.
    pub tier: Option<&'a str>,
    /// The speed that the answer reports, where the protocol has one beside the class of service.
    pub speed: Option<&'a str>,
    /// The place where the model ran, by the answer's word.
    pub inference_geo: Option<&'a str>,
}

impl<'a> PricedUsage<'a> {
    /// The prices of these that the item is charged at, and what of it these do not cover.
    ///
    /// They are those of as many of the words for speed, class of service and place as there are prices for: a set of prices
    /// may have others within it. Of sets for as many words the speed's comes first, then that of the class of service.
    /// In each case they are those for the length of the input.
    pub fn applicable(&self) -> (&'a Prices, Uncovered) {
        let words = [
            (self.speed, Gap::Speed),
            (self.tier, Gap::Tier),
            (self.inference_geo, Gap::InferenceGeo),
        ];
        let named = words.map(|(word, gap)| (word.filter(|word| !is_ordinary(word)), gap));
        let mut uncovered = Uncovered::default();
        let mut prices = self.prices;
        if named.iter().any(|(word, _)| word.is_some()) {
            let left;
            (prices, left) = narrowest(prices, named);
            for (_, gap) in left.into_iter().filter(|(word, _)| word.is_some()) {
                uncovered.insert(gap);
            }
        }
        (prices.for_input(self.usage), uncovered)
    }
}

/// Tells which of the words of a request for a class of service, a speed and a place no price covers, at some time.
pub fn unpriced(
    prices: &Prices,
    tier: Option<&str>,
    speed: Option<&str>,
    inference_geo: Option<&str>,
) -> Uncovered {
    // Most requests ask for nothing by name.
    if tier.or(speed).or(inference_geo).is_none() {
        return Uncovered::default();
    }
    let nothing = Usage::default();
    let mut uncovered = Uncovered::default();
    for prices in prices.at_all_times() {
        let asked = PricedUsage {
            prices,
            usage: &nothing,
            tier,
            speed,
            inference_geo,
        };
        uncovered.add(asked.applicable().1);
    }
    uncovered
}

/// The words that decide the class of service, each with what it is where no price covers it.
type Named<'a> = [(Option<&'a str>, Gap); 3];

/// The set of prices that covers the most of these words, and the words that it does not cover.
fn narrowest<'a, 'b>(prices: &'a Prices, named: Named<'b>) -> (&'a Prices, Named<'b>) {
    let left = |named: &Named<'_>| named.iter().filter(|(word, _)| word.is_some()).count();
    let mut best = (prices, named);
    for position in 0..named.len() {
        let mut rest = named;
        let word = rest.get_mut(position).and_then(|(word, _)| word.take());
        // Sets within sets are as deep as there are words: each has one word less to look for.
        let Some(within) = word.and_then(|word| prices.tier(word)) else {
            continue;
        };
        let found = narrowest(within, rest);
        if left(&found.1) < left(&best.1) {
            best = found;
        }
    }
    best
}

/// The cost of one answer, over the usage of several models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bill {
    /// The cost by the prices, before any multiplier; `None` where the exact amount has more digits than the type holds.
    pub list: Option<Charge>,
    /// The usage that no price covers.
    pub uncovered: Uncovered,
}

/// Adds up the cost of all items by their prices, and the usage that no price covers. Nothing at all costs 0.
///
/// Each item is charged at its [applicable](PricedUsage::applicable) prices.
pub fn bill<'a>(items: impl IntoIterator<Item = PricedUsage<'a>>) -> Bill {
    let mut uncovered = Uncovered::default();
    let mut list = Some(Charge::default());
    // One model may have made the images whose tokens another one's numbers have.
    let (mut unpriced_images, mut image_tokens) = (false, false);
    for item in items {
        let (prices, left) = item.applicable();
        uncovered.add(left);
        note_calls(item.usage, prices, &mut uncovered);
        note_cached(item.usage, prices, &mut uncovered);
        unpriced_images |= item.usage.images > 0 && prices.image().is_none();
        image_tokens |= has_priced_output(item.usage, prices);
        let own = Charge::of(item.usage, prices);
        list = list.and_then(|list| list.plus(own?));
    }
    if unpriced_images && !image_tokens {
        uncovered.insert(Gap::Image);
    }
    Bill { list, uncovered }
}

/// Notes calls that have no price.
fn note_calls(usage: &Usage, prices: &Prices, uncovered: &mut Uncovered) {
    for call in &Call::ALL {
        let price = || prices.call(*call).or(prices.request(*call));
        if usage.calls(*call) > 0 && price().is_none() {
            uncovered.insert(Gap::Call(*call));
        }
    }
}

/// Notes cached tokens that are charged as input, because they have no price of their own.
fn note_cached(usage: &Usage, prices: &Prices, uncovered: &mut Uncovered) {
    let cached = [
        (Kind::CacheRead, Gap::CacheRead),
        (Kind::CacheWrite5m, Gap::CacheWrite),
        (Kind::CacheWrite1h, Gap::CacheWrite),
    ];
    for (kind, gap) in cached {
        if usage.tokens(kind) > 0 && prices.is_charged_as_input(kind) {
            uncovered.insert(gap);
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
