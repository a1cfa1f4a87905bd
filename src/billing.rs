//! Exact charges: tokens × price × multiplier, never rounded.

use core::fmt;

use rust_decimal::{Decimal, RoundingStrategy};

use crate::config::Multiplier;
use crate::decimal::{product, sum};
use crate::model::Prices;
use crate::usage::{Kind, Usage};

/// An exact amount in the document's currency, not negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Charge(Decimal);

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
    Some(Charge(product(total, multiplier.value())?.normalize()))
}

/// What there is of each kind, where there is any.
fn used(usage: &Usage) -> impl Iterator<Item = (Kind, u64)> {
    let counts = Kind::ALL.into_iter().map(|kind| (kind, usage.tokens(kind)));
    counts.filter(|(_, count)| *count > 0)
}

impl Charge {
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
        ];
        for (case, usage, prices, multiplier, want) in cases {
            let multiplier = Multiplier::parse(multiplier).unwrap();
            let got = charge(usage, prices, multiplier).map(|charge| charge.to_string());
            assert_eq!(got.as_deref(), Some(want), "{case}");
        }
    }

    #[test]
    fn beyond_all_measure_is_no_charge_rather_than_a_rounded_one() {
        let prices = prices(&[(Kind::Input, "999999.999999")], None);
        let usage = usage(&[(Kind::Input, u64::MAX)], 0);
        assert_eq!(charge(&usage, &prices, Multiplier::ONE), None);
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
        /// Prices in millionths, a multiplier in ten-thousandths, tokens and images.
        fn bill()(
            prices in prop::array::uniform12(0u64..100_000_000),
            used in prop::array::uniform12(0u64..20_000_000),
            multiplier in 0u64..1_000_000,
        ) -> ([u64; 12], [u64; 12], u64) {
            (prices, used, multiplier)
        }
    }

    /// A number of `places` fractional digits, written out.
    fn written(units: u64, places: u32) -> String {
        let one = 10u64.pow(places);
        let width = places as usize;
        format!("{}.{:0width$}", units / one, units % one)
    }

    proptest! {
        #[test]
        fn a_charge_is_what_integers_say_and_the_sum_of_its_parts((rates, used, factor) in bill()) {
            let multiplier = Multiplier::parse(&written(factor, 4)).unwrap();
            let mut prices = Prices::default();
            let (mut all, mut parts, mut want) = (Usage::default(), Decimal::ZERO, 0u128);
            for (kind, (rate, tokens)) in Kind::ALL.into_iter().zip(rates.into_iter().zip(used)) {
                prices.set_tokens(kind, Price::parse(&written(rate, 6)).unwrap());
                all.set(kind, tokens);
                // In units of 10^-16: a price's six places, the multiplier's four, per million.
                want += u128::from(rate) * u128::from(tokens) * u128::from(factor);
            }
            prices.set_image(Price::parse(&written(rates[11], 6)).unwrap());
            all.images = used[11] % 100;
            want += u128::from(rates[11]) * u128::from(all.images) * u128::from(factor) * 1_000_000;
            let whole = charge(&all, &prices, multiplier).unwrap();
            prop_assert_eq!(whole.value(), Decimal::from_i128_with_scale(want as i128, 16));
            for kind in Kind::ALL {
                let mut part = Usage::default();
                part.set(kind, all.tokens(kind));
                parts += charge(&part, &prices, multiplier).unwrap().value();
            }
            let mut part = Usage::default();
            part.images = all.images;
            parts += charge(&part, &prices, multiplier).unwrap().value();
            prop_assert_eq!(whole.value(), parts);
        }
    }
}
