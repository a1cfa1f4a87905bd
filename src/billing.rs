//! Exact charges: tokens, images and calls, each × price × multiplier, never rounded.

use core::fmt;

use rust_decimal::{Decimal, RoundingStrategy};

use crate::config::Multiplier;
use crate::decimal::{product, sum};
use crate::model::prices::is_ordinary;
use crate::model::{Price, Prices};
use crate::usage::{Call, Kind, Usage};

/// An exact amount in the document's currency, not negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Charge(Decimal);

/// What one model used, and at which class of service.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
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

/// Something that an answer reports and no price covers, so that the charge may be less than what it cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gap {
    /// A class of service: it was charged at the model's own prices.
    Tier,
    /// A speed: likewise.
    Speed,
    /// Calls of this kind.
    Call(Call),
    /// Images that were made, and that no output tokens stand for.
    Image,
    /// Another model, which the source does not list: it was charged at the prices of the one that was asked for.
    Model,
}

/// A set of [`Gap`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Uncovered(u8);

/// What all items cost together, times the final `multiplier`, and what of it no price covers. Nothing at all costs 0.
///
/// An item is charged at the prices of the reported speed, if the model has prices for it, else at those of the reported
/// class of service, else at the model's own.
pub fn bill<'a>(items: impl IntoIterator<Item = Item<'a>>, multiplier: Multiplier) -> Bill {
    let mut uncovered = Uncovered::default();
    let mut total = Some(Decimal::ZERO);
    for item in items {
        let prices = applicable(&item, &mut uncovered);
        note_gaps(item.usage, prices, &mut uncovered);
        let cost = charge(item.usage, prices, multiplier);
        total = total.and_then(|total| sum(total, cost?.value()));
    }
    Bill {
        charge: total.map(|total| Charge(total.normalize())),
        uncovered,
    }
}

/// The prices of an item's class of service.
fn applicable<'a>(item: &Item<'a>, uncovered: &mut Uncovered) -> &'a Prices {
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

impl Gap {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Tier,
        Self::Speed,
        Self::Call(Call::WebSearch),
        Self::Call(Call::CodeExecution),
        Self::Call(Call::FileSearch),
        Self::Call(Call::MapsSearch),
        Self::Image,
        Self::Model,
    ];

    /// The name in metrics and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tier => "tier",
            Self::Speed => "speed",
            Self::Call(call) => call.name(),
            Self::Image => "image",
            Self::Model => "model",
        }
    }

    fn bit(self) -> u8 {
        match self {
            Self::Tier => 1,
            Self::Speed => 1 << 1,
            Self::Image => 1 << 2,
            Self::Call(Call::WebSearch) => 1 << 3,
            Self::Call(Call::CodeExecution) => 1 << 4,
            Self::Call(Call::FileSearch) => 1 << 5,
            Self::Call(Call::MapsSearch) => 1 << 6,
            Self::Model => 1 << 7,
        }
    }
}

impl Uncovered {
    /// Adds one.
    pub fn insert(&mut self, gap: Gap) {
        self.0 |= gap.bit();
    }

    /// Whether this one is among them.
    pub fn contains(self, gap: Gap) -> bool {
        self.0 & gap.bit() != 0
    }

    /// Whether everything is covered.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those that there are, in the order of [`Gap::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Gap> {
        Gap::ALL.into_iter().filter(move |gap| self.contains(*gap))
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.iter().map(Gap::name)
    }
}

/// What one call costs that has a price of its own, times the final `multiplier`.
pub fn call_charge(price: Price, multiplier: Multiplier) -> Option<Charge> {
    let cost = product(price.value(), multiplier.value())?;
    Some(Charge(cost.normalize()))
}

/// What usage costs by `prices`, times the final `multiplier`.
///
/// `None` where the exact amount has more digits than the type holds, which takes usage beyond
/// anything a model can do; a rounded amount is never given.
pub fn charge(usage: &Usage, prices: &Prices, multiplier: Multiplier) -> Option<Charge> {
    let mut total = Decimal::ZERO;
    for (kind, count) in used(usage) {
        if let Some(price) = prices.tokens(kind) {
            total = sum(total, product(price.value(), Decimal::from(count))?)?;
        }
    }
    // Prices are per million: six more places.
    total = product(total, Decimal::try_new(1, 6).ok()?)?;
    if let Some(price) = prices.image().filter(|_| usage.images > 0) {
        let cost = product(price.value(), Decimal::from(usage.images))?;
        total = sum(total, cost)?;
    }
    for call in Call::ALL {
        if let Some(price) = prices.call(call).filter(|_| usage.calls(call) > 0) {
            let cost = product(price.value(), Decimal::from(usage.calls(call)))?;
            total = sum(total, cost)?;
        }
    }
    Some(Charge(product(total, multiplier.value())?.normalize()))
}

/// What there is of each kind, where there is any.
fn used(usage: &Usage) -> impl Iterator<Item = (Kind, u64)> {
    let counts = Kind::ALL.into_iter().map(|kind| (kind, usage.tokens(kind)));
    counts.filter(|(_, count)| *count > 0)
}

impl Charge {
    /// This and that; `None` where the sum has more digits than the type holds.
    pub fn plus(self, other: Self) -> Option<Self> {
        sum(self.0, other.0).map(|total| Self(total.normalize()))
    }

    /// The exact value.
    pub fn value(self) -> Decimal {
        self.0
    }

    /// In units of 10^-9, rounded half up, for a counter that adds integers. Not for billing.
    pub fn nanos(self) -> u64 {
        let rounded = product(self.0, Decimal::from(1_000_000_000))
            .map(|nanos| nanos.round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero));
        rounded
            .and_then(|nanos| u64::try_from(nanos).ok())
            .unwrap_or(u64::MAX)
    }
}

/// All digits, no exponent, no trailing zeros.
impl fmt::Display for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.normalize().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Price;
    use proptest::prelude::*;

    fn prices(of: &[(Kind, &str)], image: Option<&str>) -> Prices {
        let mut prices = Prices::default();
        for (kind, text) in of {
            prices.set_tokens(*kind, Price::parse(text).unwrap());
        }
        if let Some(text) = image {
            prices.set_image(Price::parse(text).unwrap());
        }
        prices
    }

    fn usage(of: &[(Kind, u64)], images: u64) -> Usage {
        let mut usage = Usage::default();
        usage.images = images;
        for (kind, tokens) in of {
            usage.set(*kind, *tokens);
        }
        usage
    }

    #[test]
    fn charges() {
        use Kind::*;
        let opus = prices(
            &[
                (Input, "5"),
                (Output, "25"),
                (CacheRead, "0.5"),
                (CacheWrite5m, "6.25"),
                (CacheWrite1h, "10"),
            ],
            None,
        );
        let message = usage(
            &[
                (Input, 210),
                (CacheRead, 1024),
                (CacheWrite5m, 200),
                (CacheWrite1h, 100),
                (Output, 56),
            ],
            0,
        );
        let mut with_calls = opus.clone();
        with_calls.set_call(Call::WebSearch, Price::parse("0.01").unwrap());
        with_calls.set_call(Call::CodeExecution, Price::parse("0.03").unwrap());
        with_calls.set_call(Call::FileSearch, Price::parse("7").unwrap());
        let mut searched = usage(&[(Input, 1000)], 0);
        searched.set_calls(Call::WebSearch, 3);
        searched.set_calls(Call::CodeExecution, 1);
        searched.set_calls(Call::MapsSearch, 9);
        let cases = [
            // 210*5 + 1024*0.5 + 200*6.25 + 100*10 + 56*25 = 5212 per million
            ("a message", &message, &opus, "1", "0.005212"),
            ("twice that", &message, &opus, "2.0000", "0.010424"),
            ("four places", &message, &opus, "0.3333", "0.0017371596"),
            ("nothing used", &Usage::default(), &opus, "1", "0"),
            (
                "one token of the cheapest",
                &usage(&[(Input, 1)], 0),
                &prices(&[(Input, "0.000001")], None),
                "0.0001",
                "0.0000000000000001",
            ),
            (
                "images",
                &usage(&[], 3),
                &prices(&[], Some("0.04")),
                "0.2",
                "0.024",
            ),
            (
                "reasoning costs what output costs",
                &usage(&[(Output, 1), (Reasoning, 2)], 0),
                &prices(&[(Output, "10")], None),
                "1",
                "0.00003",
            ),
            (
                "what has no price is free",
                &usage(&[(Input, 1_000_000), (Output, 1_000_000)], 5),
                &prices(&[(Output, "10")], None),
                "1",
                "10",
            ),
            ("free of charge", &message, &opus, "0", "0"),
            (
                "calls, each at its price",
                &searched,
                &with_calls,
                "2",
                // (1000*5 per million + 3*0.01 + 1*0.03) * 2; maps have no price
                "0.13",
            ),
        ];
        for (case, usage, prices, multiplier, want) in cases {
            let multiplier = Multiplier::parse(multiplier).unwrap();
            let got = charge(usage, prices, multiplier).map(|charge| charge.to_string());
            assert_eq!(got.as_deref(), Some(want), "{case}");
        }
    }

    #[test]
    fn bills_by_class_of_service() {
        use Kind::*;
        let tier = |price: &str| prices(&[(Input, price)], None);
        let mut plain = prices(&[(Input, "1"), (Output, "1")], None);
        plain.set_call(Call::WebSearch, Price::parse("0.5").unwrap());
        let tiers = [("fast", "6"), ("flex", "0.5"), ("priority", "2")];
        let tiers = tiers.map(|(name, price)| (name.to_owned(), tier(price)));
        let priced = plain.clone().with_tiers(tiers.into());
        let mut used = usage(&[(Input, 1_000_000)], 0);
        used.set_calls(Call::WebSearch, 2);
        // (case, class of service, speed, the charge, what is not covered)
        type Case<'a> = (
            &'a str,
            Option<&'a str>,
            Option<&'a str>,
            &'a str,
            &'a [&'a str],
        );
        let cases: [Case<'_>; 15] = [
            ("nothing reported", None, None, "2", &[]),
            ("ordinary", Some("default"), Some("standard"), "2", &[]),
            ("ordinary on C", Some("ON_DEMAND"), None, "2", &[]),
            ("asked, not served", Some("auto"), None, "2", &[]),
            ("dearer", Some("priority"), None, "3", &[]),
            ("dearer on C", Some("ON_DEMAND_PRIORITY"), None, "3", &[]),
            ("cheaper", Some("flex"), None, "1.5", &[]),
            ("fast", None, Some("fast"), "7", &[]),
            (
                "fast, ordinary class",
                Some("standard"),
                Some("fast"),
                "7",
                &[],
            ),
            (
                "ordinary speed",
                Some("priority"),
                Some("standard"),
                "3",
                &[],
            ),
            (
                "fast and priority",
                Some("priority"),
                Some("fast"),
                "7",
                &["tier"],
            ),
            ("of no price", Some("scale"), None, "2", &["tier"]),
            ("a speed of no price", None, Some("faster"), "2", &["speed"]),
            (
                "a speed of no price, a class of one",
                Some("flex"),
                Some("faster"),
                "1.5",
                &["speed"],
            ),
            (
                "neither",
                Some("scale"),
                Some("faster"),
                "2",
                &["tier", "speed"],
            ),
        ];
        for (case, tier, speed, want, gaps) in cases {
            let item = Item {
                prices: &priced,
                usage: &used,
                tier,
                speed,
            };
            let bill = bill([item], Multiplier::ONE);
            assert_eq!(shown(&bill).as_deref(), Some(want), "{case}");
            assert!(bill.uncovered.names().eq(gaps.iter().copied()), "{case}");
            assert_eq!(bill.uncovered.is_empty(), gaps.is_empty(), "{case}");
        }
    }

    #[test]
    fn what_no_price_covers() {
        use Kind::*;
        let mut all_calls = usage(&[(Input, 1)], 0);
        for call in Call::ALL {
            all_calls.set_calls(call, 1);
        }
        let mut some = prices(&[], None);
        some.set_call(Call::FileSearch, Price::parse("0").unwrap());
        let none = prices(&[], None);
        let piece = prices(&[], Some("0"));
        let output = prices(&[(Output, "1")], None);
        let pictures = prices(&[(OutputImage, "1")], None);
        let input = prices(&[(Input, "1")], None);
        // (case, usage, prices, what is not covered)
        let cases: [(&str, Usage, &Prices, &[&str]); 11] = [
            ("nothing", usage(&[], 0), &none, &[]),
            (
                "tokens without a price",
                usage(&[(Output, 1)], 0),
                &none,
                &[],
            ),
            (
                "calls",
                all_calls,
                &none,
                &["web_search", "code_execution", "file_search", "maps_search"],
            ),
            (
                "calls, one of them for nothing",
                all_calls,
                &some,
                &["web_search", "code_execution", "maps_search"],
            ),
            ("an image", usage(&[], 1), &none, &["image"]),
            ("an image for nothing", usage(&[], 1), &piece, &[]),
            (
                "an image, tokens that cost nothing",
                usage(&[(Output, 9)], 1),
                &none,
                &["image"],
            ),
            ("an image in tokens", usage(&[(Output, 9)], 1), &output, &[]),
            (
                "an image in tokens told apart",
                usage(&[(OutputImage, 9)], 1),
                &pictures,
                &[],
            ),
            (
                "told apart, at the price of output",
                usage(&[(OutputImage, 9)], 1),
                &output,
                &[],
            ),
            (
                "an image, tokens of input",
                usage(&[(Input, 9)], 1),
                &input,
                &["image"],
            ),
        ];
        for (case, usage, prices, want) in cases {
            let item = Item {
                prices,
                usage: &usage,
                tier: None,
                speed: None,
            };
            let got = bill([item], Multiplier::ONE).uncovered;
            assert!(got.names().eq(want.iter().copied()), "{case}: {got:?}");
        }
        let mut bits = 0;
        for gap in Gap::ALL {
            assert_eq!(bits & gap.bit(), 0, "{gap:?} has a bit of its own");
            bits |= gap.bit();
        }
    }

    #[test]
    fn several_models_on_one_bill() {
        use Kind::*;
        let (cheap, dear) = (prices(&[(Input, "1")], None), prices(&[(Input, "7")], None));
        let (much, great) = (
            usage(&[(Input, 500_000)], 0),
            usage(&[(Input, u64::MAX)], 0),
        );
        let beyond = prices(&[(Input, "999999.999999")], None);
        let item = |prices, usage, tier| Item {
            prices,
            usage,
            tier,
            speed: None,
        };
        let cases = [
            ("none", vec![], Some("0"), ""),
            ("one", vec![item(&cheap, &much, None)], Some("1"), ""),
            (
                "two",
                vec![item(&cheap, &much, None), item(&dear, &much, Some("scale"))],
                Some("8"),
                "tier",
            ),
            (
                "one of them beyond all measure",
                vec![
                    item(&beyond, &great, Some("scale")),
                    item(&dear, &much, None),
                ],
                None,
                "tier",
            ),
        ];
        for (case, items, want, gaps) in cases {
            let bill = bill(items, Multiplier::parse("2").unwrap());
            assert_eq!(shown(&bill).as_deref(), want, "{case}");
            let got: Vec<_> = bill.uncovered.names().collect();
            assert_eq!(got.join(" "), gaps, "{case}");
        }
    }

    fn shown(bill: &Bill) -> Option<String> {
        bill.charge.map(|charge| charge.to_string())
    }

    #[test]
    fn beyond_all_measure_is_no_charge_rather_than_a_rounded_one() {
        let prices = prices(&[(Kind::Input, "999999.999999")], None);
        let usage = usage(&[(Kind::Input, u64::MAX)], 0);
        assert_eq!(charge(&usage, &prices, Multiplier::ONE), None);
    }

    #[test]
    fn a_call_with_a_price_of_its_own() {
        let multiplier = Multiplier::parse("0.5").unwrap();
        let call = call_charge(Price::parse("0.04").unwrap(), multiplier).unwrap();
        let more = Charge(Decimal::from_str_exact("0.005").unwrap());
        assert_eq!(call.to_string(), "0.02");
        assert_eq!(call.plus(more).unwrap().to_string(), "0.025");
        let most = Charge(Decimal::MAX);
        assert_eq!(most.plus(most), None, "more digits than there are");
    }

    #[test]
    fn nanos_are_rounded_half_up() {
        let nanos = |text: &str| Charge(Decimal::from_str_exact(text).unwrap()).nanos();
        let cases = [
            ("0", 0),
            ("1", 1_000_000_000),
            ("0.0000000014", 1),
            ("0.0000000015", 2),
            ("0.00000000049", 0),
            ("99999999999999999999", u64::MAX),
        ];
        for (text, want) in cases {
            assert_eq!(nanos(text), want, "{text}");
        }
    }

    prop_compose! {
        /// Prices in millionths, a multiplier in ten-thousandths, tokens, images and calls.
        fn used_and_paid()(
            prices in prop::array::uniform16(0u64..100_000_000),
            used in prop::array::uniform16(0u64..20_000_000),
            multiplier in 0u64..1_000_000,
        ) -> ([u64; 16], [u64; 16], u64) {
            (prices, used, multiplier)
        }
    }

    /// A number of `places` fractional digits, written out.
    fn written(units: u64, places: u32) -> String {
        let one = 10u64.pow(places);
        let width = places as usize;
        format!("{}.{:0width$}", units / one, units % one)
    }

    /// Everything that has a price: each kind of token, images, each kind of call.
    fn all_things() -> impl Iterator<Item = (usize, Thing)> {
        let tokens = Kind::ALL.into_iter().map(Thing::Tokens);
        let calls = Call::ALL.into_iter().map(Thing::Calls);
        tokens.chain([Thing::Images]).chain(calls).enumerate()
    }

    #[derive(Clone, Copy)]
    enum Thing {
        Tokens(Kind),
        Images,
        Calls(Call),
    }

    impl Thing {
        fn put(self, count: u64, usage: &mut Usage) {
            match self {
                Self::Tokens(kind) => usage.set(kind, count),
                Self::Images => usage.images = count,
                Self::Calls(call) => usage.set_calls(call, count),
            }
        }

        fn price(self, price: Price, prices: &mut Prices) {
            match self {
                Self::Tokens(kind) => prices.set_tokens(kind, price),
                Self::Images => prices.set_image(price),
                Self::Calls(call) => prices.set_call(call, price),
            }
        }
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn a_bill_is_what_integers_say_and_the_sum_of_its_parts(
            (rates, used, factor) in used_and_paid(),
            split in 0u64..=100,
            tier in any::<bool>(),
        ) {
            let multiplier = Multiplier::parse(&written(factor, 4)).unwrap();
            let mut prices = Prices::default();
            let (mut all, mut parts, mut want) = (Usage::default(), Decimal::ZERO, 0u128);
            let mut halves = [Usage::default(), Usage::default()];
            let count = |position: usize, thing: Thing| match thing {
                Thing::Tokens(_) => used[position],
                Thing::Images | Thing::Calls(_) => used[position] % 100,
            };
            for (position, thing) in all_things() {
                let (rate, count) = (rates[position], count(position, thing));
                thing.price(Price::parse(&written(rate, 6)).unwrap(), &mut prices);
                thing.put(count, &mut all);
                let first = count * split / 100;
                thing.put(first, &mut halves[0]);
                thing.put(count - first, &mut halves[1]);
                // In units of 10^-16: a price's six places, the multiplier's four, per million of tokens.
                let per = if matches!(thing, Thing::Tokens(_)) { 1 } else { 1_000_000 };
                want += u128::from(rate) * u128::from(count) * u128::from(factor) * per;
            }
            let whole = charge(&all, &prices, multiplier).unwrap();
            prop_assert_eq!(whole.value(), Decimal::from_i128_with_scale(want as i128, 16));
            for (position, thing) in all_things() {
                let mut part = Usage::default();
                thing.put(count(position, thing), &mut part);
                parts += charge(&part, &prices, multiplier).unwrap().value();
            }
            prop_assert_eq!(whole.value(), parts);
            // On one bill in two items, at the model's own prices or at those of a class of service.
            let owner = Prices::default().with_tiers(vec![("flex".to_owned(), prices.clone())]);
            let (prices, tier) = if tier { (&owner, Some("flex")) } else { (&prices, None) };
            let items = halves.each_ref().map(|usage| Item { prices, usage, tier, speed: None });
            let bill = bill(items, multiplier);
            prop_assert_eq!(bill.charge, Some(whole));
            prop_assert!(bill.uncovered.is_empty());
        }
    }
}
