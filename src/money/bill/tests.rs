use proptest::prelude::*;
use rust_decimal::Decimal;

use super::*;
use crate::money::Multiplier;
use crate::money::Price;
use crate::money::charge::tests::{prices, usage};

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
        let item = PricedUsage {
            prices: &priced,
            usage: &used,
            tier,
            speed,
            inference_geo: None,
        };
        let bill = bill([item]);
        assert_eq!(shown(&bill).as_deref(), Some(want), "{case}");
        assert!(bill.uncovered.names().eq(gaps.iter().copied()), "{case}");
        assert_eq!(bill.uncovered.is_empty(), gaps.is_empty(), "{case}");
    }
}

#[test]
fn a_request_that_searched_costs_once() {
    use Kind::*;
    let price = |text| Price::parse(text).unwrap();
    let mut once = prices(&[(Input, "1")], None);
    once.set_request(Call::WebSearch, price("0.035"));
    once.set_request(Call::MapsSearch, price("0.025"));
    let mut both = once.clone();
    both.set_call(Call::WebSearch, price("0.01"));
    let tier = once
        .clone()
        .with_tiers(vec![("flex".to_owned(), prices(&[(Input, "2")], None))]);
    // (case, prices, class of service, searches of the web and of maps, the charge, what is not covered)
    type Case<'a> = (
        &'a str,
        &'a Prices,
        Option<&'a str>,
        [u64; 2],
        &'a str,
        &'a str,
    );
    let cases: [Case<'_>; 7] = [
        ("none", &once, None, [0, 0], "1", ""),
        ("one", &once, None, [1, 0], "1.035", ""),
        ("several", &once, None, [7, 0], "1.035", ""),
        ("of two kinds", &once, None, [7, 3], "1.06", ""),
        ("and by the search", &both, None, [3, 0], "1.065", ""),
        (
            "in a class of service",
            &tier,
            Some("flex"),
            [3, 0],
            "2.035",
            "",
        ),
        (
            "without a price",
            &prices(&[(Input, "1")], None),
            None,
            [3, 0],
            "1",
            "web_search",
        ),
    ];
    for (case, prices, tier, [web, maps], want, gaps) in cases {
        let mut used = usage(&[(Input, 1_000_000)], 0);
        used.set_calls(Call::WebSearch, web);
        used.set_calls(Call::MapsSearch, maps);
        let item = PricedUsage {
            prices,
            usage: &used,
            tier,
            speed: None,
            inference_geo: None,
        };
        let bill = bill([item]);
        assert_eq!(shown(&bill).as_deref(), Some(want), "{case}");
        let got: Vec<_> = bill.uncovered.names().collect();
        assert_eq!(got.join(" "), gaps, "{case}");
    }
}

#[test]
fn a_set_of_prices_covers_several_words() {
    use Kind::*;
    let set = |price: &str, within: &[(&str, Prices)]| {
        let within = within
            .iter()
            .map(|(name, prices)| ((*name).to_owned(), prices.clone()));
        prices(&[(Input, price)], None).with_tiers(within.collect())
    };
    let model = set(
        "1",
        &[
            ("fast", set("6", &[("us", set("7", &[]))])),
            ("us", set("2", &[("priority", set("5", &[]))])),
            ("priority", set("4", &[])),
        ],
    );
    let used = usage(&[(Input, 1_000_000)], 0);
    // (speed, class of service, place, the charge, what is not covered)
    type Case<'a> = (
        Option<&'a str>,
        Option<&'a str>,
        Option<&'a str>,
        &'a str,
        &'a str,
    );
    let cases: [Case<'_>; 11] = [
        (None, None, Some("global"), "1", ""),
        (None, None, Some("not_available"), "1", ""),
        (None, None, Some("US"), "2", ""),
        (None, None, Some("eu"), "1", "inference_geo"),
        (Some("fast"), None, None, "6", ""),
        (Some("fast"), None, Some("us"), "7", ""),
        (Some("fast"), None, Some("eu"), "6", "inference_geo"),
        (None, Some("priority"), Some("us"), "5", ""),
        (Some("fast"), Some("priority"), Some("us"), "7", "tier"),
        (Some("fast"), Some("priority"), None, "6", "tier"),
        (Some("slow"), Some("flex"), Some("us"), "2", "tier speed"),
    ];
    for (speed, tier, inference_geo, want, gaps) in cases {
        let item = PricedUsage {
            prices: &model,
            usage: &used,
            tier,
            speed,
            inference_geo,
        };
        let bill = bill([item]);
        let case = format!("{speed:?} {tier:?} {inference_geo:?}");
        assert_eq!(shown(&bill).as_deref(), Some(want), "{case}");
        let got: Vec<_> = bill.uncovered.names().collect();
        assert_eq!(got.join(" "), gaps, "{case}");
    }
}

#[test]
fn a_whole_request_is_charged_by_the_length_of_its_input() {
    use Kind::*;
    let set = |input: &str, cached: &str, output: &str| {
        prices(
            &[(Input, input), (CacheRead, cached), (Output, output)],
            None,
        )
    };
    let flex = set("1", "0.1", "5").with_above(vec![(272_000, set("2", "0.2", "7.5"))]);
    let priority = set("4", "0.4", "20");
    let model = set("2", "0.2", "10")
        .with_above(vec![(272_000, set("4", "0.4", "15"))])
        .with_tiers(vec![
            ("flex".to_owned(), flex),
            ("priority".to_owned(), priority),
        ]);
    // (input, read from a cache, output, class of service, the charge as Python's Decimal has it)
    let cases = [
        (272_000, 0, 1_000, None, "0.554"),
        (272_001, 0, 1_000, None, "1.103004"),
        (2_000, 270_000, 1_000, None, "0.068"),
        (2_001, 270_000, 1_000, None, "0.131004"),
        (0, 1_000_000, 0, None, "0.4"),
        (272_000, 0, 1_000, Some("flex"), "0.277"),
        (272_001, 0, 1_000, Some("flex"), "0.551502"),
        (272_001, 0, 1_000, Some("priority"), "1.108004"),
        (0, 0, 500_000, None, "5"),
    ];
    for (input, cached, output, tier, want) in cases {
        let used = usage(&[(Input, input), (CacheRead, cached), (Output, output)], 0);
        let item = PricedUsage {
            prices: &model,
            usage: &used,
            tier,
            speed: None,
            inference_geo: None,
        };
        let bill = bill([item]);
        let case = format!("{input} + {cached}, {output}, {tier:?}");
        assert_eq!(shown(&bill).as_deref(), Some(want), "{case}");
        assert!(bill.uncovered.is_empty(), "{case}");
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
    let cached = prices(&[(Input, "1"), (CacheRead, "0"), (CacheWrite5m, "2")], None);
    let free_input = prices(&[(Input, "0"), (Output, "1")], None);
    let all_cached = usage(&[(CacheRead, 1), (CacheWrite5m, 1), (CacheWrite1h, 1)], 0);
    // (case, usage, prices, what is not covered)
    let cases: [(&str, Usage, &Prices, &[&str]); 18] = [
        (
            "cached, at the price of input",
            all_cached,
            &input,
            &["cache_read", "cache_write"],
        ),
        (
            "read from the cache",
            usage(&[(CacheRead, 1)], 0),
            &input,
            &["cache_read"],
        ),
        (
            "written for an hour",
            usage(&[(CacheWrite1h, 1)], 0),
            &input,
            &["cache_write"],
        ),
        ("cached, at its prices", all_cached, &cached, &[]),
        ("cached, where input is free", all_cached, &free_input, &[]),
        ("cached, where input has no price", all_cached, &output, &[]),
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
            "an image, tokens with a price, none used",
            usage(&[], 1),
            &output,
            &["image"],
        ),
        (
            "an image, tokens of input",
            usage(&[(Input, 9)], 1),
            &input,
            &["image"],
        ),
    ];
    for (case, usage, prices, want) in cases {
        let item = PricedUsage {
            prices,
            usage: &usage,
            tier: None,
            speed: None,
            inference_geo: None,
        };
        let got = bill([item]).uncovered;
        assert!(got.names().eq(want.iter().copied()), "{case}: {got:?}");
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
    let item = |prices, usage, tier| PricedUsage {
        prices,
        usage,
        tier,
        speed: None,
        inference_geo: None,
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
        let bill = bill(items);
        let twice = |list: Charge| list.times(Multiplier::parse("2").unwrap());
        let got = bill.list.and_then(twice).map(|charge| charge.to_string());
        assert_eq!(got.as_deref(), want, "{case}");
        let got: Vec<_> = bill.uncovered.names().collect();
        assert_eq!(got.join(" "), gaps, "{case}");
    }
}

fn shown(bill: &Bill) -> Option<String> {
    bill.list.map(|list| list.to_string())
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
        let whole = Charge::of(&all, &prices).and_then(|list| list.times(multiplier)).unwrap();
        prop_assert_eq!(whole.value(), Decimal::from_i128_with_scale(want as i128, 16));
        for (position, thing) in all_things() {
            let mut part = Usage::default();
            thing.put(count(position, thing), &mut part);
            parts += Charge::of(&part, &prices).and_then(|list| list.times(multiplier)).unwrap().value();
        }
        prop_assert_eq!(whole.value(), parts);
        // On one bill in two items, at the model's own prices or at those of a class of service.
        let owner = Prices::default().with_tiers(vec![("flex".to_owned(), prices.clone())]);
        let (prices, tier) = if tier { (&owner, Some("flex")) } else { (&prices, None) };
        let items = halves.each_ref().map(|usage| PricedUsage { prices, usage, tier, speed: None, inference_geo: None });
        let bill = bill(items);
        prop_assert_eq!(bill.list.and_then(|list| list.times(multiplier)), Some(whole));
        prop_assert!(bill.uncovered.is_empty());
    }
}
