//! What a model costs, before any multiplier.

use super::price::Price;
use super::tier::without_prefix;
use crate::usage::{Call, Kind};

/// The prices of one model.
///
/// A kind of token without a price of its own costs what the broader kind costs that it belongs to;
/// where that has none either, it is free.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prices {
    tokens: [Option<Price>; Kind::ALL.len()],
    image: Option<Price>,
    calls: [Option<Price>; Call::ALL.len()],
    /// By the name of a class of service: a whole set of prices each, which has none itself.
    tiers: Vec<(String, Self)>,
}

impl Prices {
    /// The most classes of service that a model may have prices of their own for.
    pub const MAX_TIERS: usize = 8;

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

    /// These prices, with sets of their own for classes of service, by name. A class without a price for images or calls
    /// takes it from here; for tokens it does not.
    #[must_use]
    pub fn with_tiers(mut self, tiers: Vec<(String, Self)>) -> Self {
        self.tiers = tiers;
        for (_, tier) in &mut self.tiers {
            tier.image = tier.image.or(self.image);
            for (own, common) in tier.calls.iter_mut().zip(self.calls) {
                *own = own.or(common);
            }
        }
        self
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
}
