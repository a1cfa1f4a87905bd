//! Exact charges: tokens, images and calls, each × price, times a multiplier, never rounded.

use core::fmt;

use rust_decimal::{Decimal, RoundingStrategy};

use super::decimal::{product, sum};
use super::multiplier::Multiplier;
use super::price::Price;
use super::prices::Prices;
use crate::usage::{Call, Kind, Usage};

/// An exact amount in the document's currency, not negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Charge(Decimal);

impl Charge {
    /// The list price of usage, by `prices`.
    ///
    /// `None` where the exact amount has more digits than the type holds, which takes usage beyond
    /// anything a model can do; a rounded amount is never given.
    pub fn of(usage: &Usage, prices: &Prices) -> Option<Self> {
        let tokens = |kind: &'static Kind| (usage.tokens(*kind), || prices.tokens(*kind));
        let mut total = plus_costs(Decimal::ZERO, Kind::ALL.iter().map(tokens))?;
        // Prices are per million: six more places.
        let places = total.scale().checked_add(6)?;
        total.set_scale(places).ok()?;
        total = plus_costs(total, [(usage.images, || prices.image())])?;
        for call in &Call::ALL {
            let calls = usage.calls(*call);
            if calls > 0 {
                let costs = [(calls, prices.call(*call)), (1, prices.request(*call))];
                total = plus_costs(total, costs.map(|(count, price)| (count, move || price)))?;
            }
        }
        Some(Self(total))
    }

    /// The list price of one call that has a price of its own.
    pub fn of_call(price: Price) -> Self {
        Self(price.value())
    }

    /// This list price times a multiplier, without trailing zeros; `None` where it has more digits than the type holds.
    pub fn times(self, multiplier: Multiplier) -> Option<Self> {
        product(self.0, multiplier.value()).map(|amount| Self(amount.normalize()))
    }

    /// The sum; `None` where it has more digits than the type holds.
    pub fn plus(self, other: Self) -> Option<Self> {
        sum(self.0, other.0).map(Self)
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

/// Adds counts, each times its price, to a total. What has no price is free.
fn plus_costs(
    mut total: Decimal,
    counts: impl IntoIterator<Item = (u64, impl FnOnce() -> Option<Price>)>,
) -> Option<Decimal> {
    for (count, price) in counts {
        if count > 0
            && let Some(price) = price()
        {
            total = sum(total, product(price.value(), Decimal::from(count))?)?;
        }
    }
    Some(total)
}

/// All digits, no exponent, no trailing zeros.
impl fmt::Display for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.normalize().fmt(f)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::money) fn prices(of: &[(Kind, &str)], image: Option<&str>) -> Prices {
        let mut prices = Prices::default();
        for (kind, text) in of {
            prices.set_tokens(*kind, Price::parse(text).unwrap());
        }
        if let Some(text) = image {
            prices.set_image(Price::parse(text).unwrap());
        }
        prices
    }

    pub(in crate::money) fn usage(of: &[(Kind, u64)], images: u64) -> Usage {
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
            let list = Charge::of(usage, prices).unwrap();
            let got = list.times(multiplier).map(|charge| charge.to_string());
            assert_eq!(got.as_deref(), Some(want), "{case}");
        }
    }

    #[test]
    fn beyond_all_measure_is_no_charge_rather_than_a_rounded_one() {
        let prices = prices(&[(Kind::Input, "999999.999999")], None);
        let usage = usage(&[(Kind::Input, u64::MAX)], 0);
        assert_eq!(Charge::of(&usage, &prices), None);
    }

    #[test]
    fn a_call_with_a_price_of_its_own() {
        let multiplier = Multiplier::parse("0.5").unwrap();
        let call = Charge::of_call(Price::parse("0.04").unwrap())
            .times(multiplier)
            .unwrap();
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
}
