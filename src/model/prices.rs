//! What a model costs, before any multiplier.

use rust_decimal::Decimal;

use crate::decimal::{self, Fault};
use crate::usage::{Call, Kind};

/// A price in the document's currency: per million tokens, per image, or per call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Price(Decimal);

impl Price {
    /// The greatest price; beyond it a slip of the pen is likelier.
    pub const MAX: u32 = 1_000_000;
    /// Fractional digits that a document may write.
    pub const PLACES: usize = 6;

    /// Reads a price as a document writes it, such as `1.25`.
    ///
    /// # Errors
    /// The reason, where the text is no plain decimal number with at most six fractional digits
    /// between 0 and [`Price::MAX`].
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        match decimal::bounded(text, Self::PLACES, Self::MAX) {
            Ok(value) => Ok(Self(value)),
            Err(Fault::NotPlain) => {
                Err("must be a plain decimal number in a string, such as \"1.25\"")
            }
            Err(Fault::TooManyPlaces) => Err("has more than 6 fractional digits"),
            Err(Fault::OutOfRange) => Err("is out of range (at most 1000000)"),
        }
    }

    /// The exact value.
    pub fn value(self) -> Decimal {
        self.0
    }
}

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

    /// These prices, and others for classes of service, by their names. What a class says nothing of is as here for
    /// images and calls, but not for tokens.
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

/// Words for ordinary service, which is what a model's own prices are for.
const ORDINARY: [&str; 9] = [
    "",
    "auto",
    "default",
    "on_demand",
    "service_tier_unspecified",
    "standard",
    "standard_only",
    "traffic_type_unspecified",
    "unspecified",
];

/// Whether this word, in any letter case, means ordinary service, at a model's own prices.
pub fn is_ordinary(class: &str) -> bool {
    ORDINARY.iter().any(|word| word.eq_ignore_ascii_case(class))
}

/// Protocol C says `ON_DEMAND_PRIORITY` and `ON_DEMAND_FLEX` for what the others call `priority` and `flex`.
fn without_prefix(class: &str) -> &str {
    const PREFIX: &str = "on_demand_";
    match class.split_at_checked(PREFIX.len()) {
        Some((prefix, rest)) if prefix.eq_ignore_ascii_case(PREFIX) => rest,
        _ => class,
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
    fn words_for_classes_of_service() {
        let mut tier = Prices::default();
        tier.set_tokens(Kind::Input, Price::parse("6").unwrap());
        let prices = Prices::default().with_tiers(vec![("priority".to_owned(), tier)]);
        // (word, whether it is ordinary service, whether it has prices here)
        let cases = [
            ("default", true, false),
            ("standard", true, false),
            ("standard_only", true, false),
            ("auto", true, false),
            ("Default", true, false),
            ("", true, false),
            ("ON_DEMAND", true, false),
            ("TRAFFIC_TYPE_UNSPECIFIED", true, false),
            ("priority", false, true),
            ("PRIORITY", false, true),
            ("ON_DEMAND_PRIORITY", false, true),
            ("on_demand_priority", false, true),
            ("ON_DEMAND_FLEX", false, false),
            ("flex", false, false),
            ("fast", false, false),
            ("priority ", false, false),
            ("PROVISIONED_THROUGHPUT", false, false),
            ("on_demand\u{e9}", false, false),
        ];
        for (word, ordinary, priced) in cases {
            assert_eq!(is_ordinary(word), ordinary, "{word:?}");
            assert_eq!(prices.tier(word).is_some(), priced, "{word:?}");
        }
    }
}
