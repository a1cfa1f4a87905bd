//! Prices of a model, before any multiplier.

use super::price::Price;
use super::schedule::{RequestTimes, Schedule};
use super::tier::without_prefix;
use crate::usage::{Call, Kind, Usage};

/// The prices of one model.
///
/// A kind of token without a price of its own costs what the broader kind costs that it belongs to;
/// where that has none either, it is free.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prices {
    tokens: [Option<Price>; Kind::ALL.len()],
    image: Option<Price>,
    calls: CallPrices,
    /// For a request that made calls of a kind, however many.
    requests: CallPrices,
    /// By the name of a class of service, a speed or a place: a whole set of prices each, which may have others within.
    tiers: Vec<(String, Self)>,
    /// By the length that the whole input must exceed, the shortest first: a whole set of prices each, which has no others.
    above: Vec<(u64, Self)>,
    /// By when they hold: a whole set of prices each, which has no other times.
    times: Vec<(Schedule, Self)>,
}

/// The prices that sets within others take from around them.
#[derive(Debug, Clone, Copy)]
struct Common {
    image: Option<Price>,
    calls: CallPrices,
    requests: CallPrices,
}

/// Prices by kind of call.
type CallPrices = [Option<Price>; Call::ALL.len()];

impl Prices {
    /// The most classes of service, speeds and places that a model may have prices of their own for.
    pub const MAX_TIERS: usize = 8;
    /// The most lengths of the input above which a model may have prices of their own.
    pub const MAX_ABOVE: usize = 8;
    /// The most times at which a model may have prices of their own.
    pub const MAX_TIMES: usize = 8;

    /// Sets the price per million tokens of a kind.
    pub fn set_tokens(&mut self, kind: Kind, price: Price) {
        if let Some(place) = self.tokens.get_mut(kind as usize) {
            *place = Some(price);
        }
    }

    /// Sets the price per image.
    pub fn set_image(&mut self, price: Price) {
        self.image = Some(price);
    }

    /// Sets the price of one call of a kind.
    pub fn set_call(&mut self, call: Call, price: Price) {
        if let Some(place) = self.calls.get_mut(call as usize) {
            *place = Some(price);
        }
    }

    /// Sets the price of a request that made calls of a kind.
    pub fn set_request(&mut self, call: Call, price: Price) {
        if let Some(place) = self.requests.get_mut(call as usize) {
            *place = Some(price);
        }
    }

    /// These prices, with sets of their own for classes of service, by name. A class without a price for images or calls
    /// takes it from here; for tokens it does not.
    #[must_use]
    pub fn with_tiers(mut self, tiers: Vec<(String, Self)>) -> Self {
        let common = self.common();
        self.tiers = tiers;
        self.tiers
            .iter_mut()
            .for_each(|(_, tier)| tier.fill(common));
        self
    }

    /// These prices, with sets of their own for requests whose whole input is longer than so many tokens. A set without a
    /// price for images or calls takes it from here; for tokens it does not.
    #[must_use]
    pub fn with_above(mut self, mut above: Vec<(u64, Self)>) -> Self {
        above.sort_by_key(|(tokens, _)| *tokens);
        let common = self.common();
        self.above = above;
        self.above.iter_mut().for_each(|(_, set)| set.fill(common));
        self
    }

    /// These prices, with sets of their own for times. A set without a price for images or calls takes it from here; for
    /// tokens it does not.
    #[must_use]
    pub fn with_times(mut self, times: Vec<(Schedule, Self)>) -> Self {
        let common = self.common();
        self.times = times;
        self.times.iter_mut().for_each(|(_, set)| set.fill(common));
        self
    }

    /// Takes over the prices of images and calls, here and in all sets within, where they have none.
    fn fill(&mut self, around: Common) {
        self.image = self.image.or(around.image);
        let own = self.calls.iter_mut().chain(&mut self.requests);
        for (own, common) in own.zip(around.calls.into_iter().chain(around.requests)) {
            *own = own.or(common);
        }
        let common = self.common();
        let tiers = self.tiers.iter_mut().map(|(_, set)| set);
        let above = self.above.iter_mut().map(|(_, set)| set);
        tiers.chain(above).for_each(|set| set.fill(common));
    }

    /// The prices that sets within these take from here.
    fn common(&self) -> Common {
        Common {
            image: self.image,
            calls: self.calls,
            requests: self.requests,
        }
    }

    /// The price per million tokens of a kind; `None` where it is free.
    pub fn tokens(&self, kind: Kind) -> Option<Price> {
        self.own_tokens(kind)
            .or_else(|| self.tokens(broader(kind)?))
    }

    /// The price per image.
    pub fn image(&self) -> Option<Price> {
        self.image
    }

    /// The price of one call of a kind.
    pub fn call(&self, call: Call) -> Option<Price> {
        self.calls.get(call as usize).copied().flatten()
    }

    /// The price of a request that made calls of a kind, however many.
    pub fn request(&self, call: Call) -> Option<Price> {
        self.requests.get(call as usize).copied().flatten()
    }

    /// The prices of a class of service (or speed) that is asked for or reported by this word, in any letter case; `None`
    /// where it has no prices of its own.
    pub fn tier(&self, class: &str) -> Option<&Self> {
        let named = |class: &str| {
            let mut tiers = self.tiers.iter();
            tiers.find(|(name, _)| name.eq_ignore_ascii_case(class))
        };
        let found = named(class).or_else(|| named(without_prefix(class)));
        found.map(|(_, prices)| prices)
    }

    /// The classes of service that have prices of their own, in the order of their names.
    pub fn tiers(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.tiers
            .iter()
            .map(|(name, prices)| (name.as_str(), prices))
    }

    /// The prices of a request by the length of its whole input, cached tokens included: those of the greatest length that
    /// it exceeds, else these.
    pub fn for_input(&self, usage: &Usage) -> &Self {
        if self.above.is_empty() {
            return self;
        }
        let input = usage.input_tokens();
        let exceeded = self.above.iter().rev().find(|(tokens, _)| input > *tokens);
        exceeded.map_or(self, |(_, prices)| prices)
    }

    /// The prices at the time of a request: those of the last schedule that holds, else these.
    pub fn at(&self, times: impl FnOnce() -> RequestTimes) -> &Self {
        if self.times.is_empty() {
            return self;
        }
        let request = times();
        let mut latest = self.times.iter().rev();
        let found = latest.find(|(schedule, _)| schedule.holds(request));
        found.map_or(self, |(_, prices)| prices)
    }

    /// The sets of prices at times, in the document's order.
    pub fn times(&self) -> impl Iterator<Item = (&Schedule, &Self)> {
        self.times
            .iter()
            .map(|(schedule, prices)| (schedule, prices))
    }

    /// These prices, and those at times.
    pub(super) fn at_all_times(&self) -> impl Iterator<Item = &Self> {
        let times = self.times.iter().map(|(_, prices)| prices);
        core::iter::once(self).chain(times)
    }

    /// The sets of prices above lengths of the input, the shortest first.
    pub fn above(&self) -> impl Iterator<Item = (u64, &Self)> {
        self.above.iter().map(|(tokens, prices)| (*tokens, prices))
    }

    /// Whether tokens of a kind cost what input costs, for want of a price nearer to them. What is free lacks none.
    pub fn is_charged_as_input(&self, kind: Kind) -> bool {
        let broader_kinds = core::iter::successors(Some(kind), |kind| broader(*kind));
        let priced = broader_kinds
            .clone()
            .find(|kind| self.own_tokens(*kind).is_some());
        let input = self.own_tokens(Kind::Input);
        priced == Some(Kind::Input) && input.is_some_and(|price| !price.value().is_zero())
    }

    /// Whether tokens that are read from a cache cost what input costs, by these prices or a set of them.
    pub fn lack_cached(&self) -> bool {
        let tiers = self.tiers.iter().map(|(_, set)| set);
        let above = self.above.iter().map(|(_, set)| set);
        let times = self.times.iter().map(|(_, set)| set);
        let mut sets = tiers.chain(above).chain(times);
        self.is_charged_as_input(Kind::CacheRead) || sets.any(Self::lack_cached)
    }

    /// The price of a kind that the document itself gives, without falling back.
    pub fn own_tokens(&self, kind: Kind) -> Option<Price> {
        self.tokens.get(kind as usize).copied().flatten()
    }
}

/// The kind whose price holds for `kind` too, unless it has one of its own.
fn broader(kind: Kind) -> Option<Kind> {
    match kind {
        Kind::Input | Kind::Output => None,
        Kind::CacheWrite1h => Some(Kind::CacheWrite5m),
        Kind::InputImage
        | Kind::InputAudio
        | Kind::CacheRead
        | Kind::CacheWrite5m
        | Kind::ToolUse => Some(Kind::Input),
        Kind::Reasoning | Kind::OutputAudio | Kind::OutputImage => Some(Kind::Output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_without_a_price_costs_what_its_broader_kind_costs() {
        let price = |text| Price::parse(text).unwrap();
        let mut prices = Prices::default();
        assert_eq!(prices.image(), None);
        for kind in Kind::ALL {
            assert_eq!(prices.tokens(kind), None, "{kind:?}: nothing is priced");
        }
        prices.set_tokens(Kind::Input, price("3"));
        prices.set_tokens(Kind::Output, price("15"));
        prices.set_tokens(Kind::CacheRead, price("0.30"));
        prices.set_tokens(Kind::CacheWrite5m, price("3.75"));
        let want = [
            (Kind::Input, "3"),
            (Kind::InputImage, "3"),
            (Kind::InputAudio, "3"),
            (Kind::CacheRead, "0.30"),
            (Kind::CacheWrite5m, "3.75"),
            (Kind::CacheWrite1h, "3.75"),
            (Kind::ToolUse, "3"),
            (Kind::Output, "15"),
            (Kind::Reasoning, "15"),
            (Kind::OutputAudio, "15"),
            (Kind::OutputImage, "15"),
        ];
        for (kind, text) in want {
            assert_eq!(prices.tokens(kind), Some(price(text)), "{kind:?}");
        }
    }

    #[test]
    fn a_tier_is_a_set_of_its_own_but_for_images_and_calls() {
        let price = |text| Price::parse(text).unwrap();
        let mut plain = Prices::default();
        plain.set_tokens(Kind::Input, price("1"));
        plain.set_tokens(Kind::CacheRead, price("0.1"));
        plain.set_tokens(Kind::Output, price("2"));
        plain.set_image(price("0.04"));
        plain.set_call(Call::WebSearch, price("0.01"));
        let mut fast = Prices::default();
        fast.set_tokens(Kind::Input, price("6"));
        let mut flex = fast.clone();
        flex.set_image(price("0.02"));
        let prices = plain.with_tiers(vec![("fast".to_owned(), fast), ("flex".to_owned(), flex)]);
        let shown = |price: Option<Price>| price.map(|price| price.value().to_string());
        // (class of service, input, what was read from a cache, output, an image, a search, a run of code)
        let cases = [
            (None, ["1", "0.1", "2", "0.04", "0.01", "-"]),
            (Some("fast"), ["6", "6", "-", "0.04", "0.01", "-"]),
            (Some("flex"), ["6", "6", "-", "0.02", "0.01", "-"]),
        ];
        for (class, want) in cases {
            let prices = class.map_or(&prices, |class| prices.tier(class).unwrap());
            let got = [
                prices.tokens(Kind::Input),
                prices.tokens(Kind::CacheRead),
                prices.tokens(Kind::Output),
                prices.image(),
                prices.call(Call::WebSearch),
                prices.call(Call::CodeExecution),
            ];
            let got = got.map(|price| shown(price).unwrap_or_else(|| "-".to_owned()));
            assert_eq!(got, want, "{class:?}");
        }
        let names: Vec<&str> = prices.tiers().map(|(name, _)| name).collect();
        assert_eq!(names, ["fast", "flex"]);
    }

    #[test]
    fn the_whole_input_decides_above_which_length_a_request_is() {
        use Kind::*;
        let price = |text: &str| Price::parse(text).unwrap();
        let set = |input: &str| {
            let mut prices = Prices::default();
            prices.set_tokens(Input, price(input));
            prices
        };
        let mut plain = set("1");
        plain.set_call(Call::WebSearch, price("0.01"));
        plain.set_image(price("0.04"));
        let flex = set("3").with_above(vec![(50, set("4"))]);
        let prices = plain
            .with_above(vec![(200, set("9")), (100, set("2"))])
            .with_tiers(vec![("flex".to_owned(), flex)]);
        // (case, class of service, the tokens, the price of input)
        type Case<'a> = (&'a str, Option<&'a str>, &'a [(Kind, u64)], &'a str);
        let cases: [Case<'_>; 10] = [
            ("nothing", None, &[], "1"),
            ("at the length", None, &[(Input, 100)], "1"),
            ("one more", None, &[(Input, 101)], "2"),
            ("cached counts", None, &[(Input, 1), (CacheRead, 100)], "2"),
            (
                "every kind of input counts",
                None,
                &[
                    (InputImage, 21),
                    (InputAudio, 20),
                    (CacheWrite5m, 20),
                    (CacheWrite1h, 20),
                    (ToolUse, 20),
                ],
                "2",
            ),
            ("output does not", None, &[(Input, 100), (Output, 900)], "1"),
            ("at the next", None, &[(Input, 200)], "2"),
            (
                "beyond all",
                None,
                &[(Input, u64::MAX), (CacheRead, 9)],
                "9",
            ),
            (
                "a class at its own length",
                Some("flex"),
                &[(Input, 50)],
                "3",
            ),
            ("above its own", Some("flex"), &[(Input, 101)], "4"),
        ];
        for (case, class, tokens, want) in cases {
            let mut usage = Usage::default();
            for (kind, count) in tokens {
                usage.set(*kind, *count);
            }
            let of_class = class.map_or(&prices, |class| prices.tier(class).unwrap());
            let found = of_class.for_input(&usage);
            assert_eq!(found.tokens(Input), Some(price(want)), "{case}");
            assert_eq!(found.image(), Some(price("0.04")), "{case}: images");
            let search = found.call(Call::WebSearch);
            assert_eq!(search, Some(price("0.01")), "{case}: calls");
        }
        let lengths: Vec<u64> = prices.above().map(|(tokens, _)| tokens).collect();
        assert_eq!(lengths, [100, 200]);
    }
}
