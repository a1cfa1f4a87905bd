//! LiteLLM's `model_prices_and_context_window.json`: dollars for a token, by `provider/model` or the model alone.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;
use trilane::config::document::{
    AboveDocument, PerCallDocument, PriceTimeDocument, PricesDocument,
};
use trilane::money::Weekdays;

use super::stated::{Members, Per, Stated, above, at_times, members, search, some, text, whole};
use super::{ReadModel, read_model, vendor};

/// The kinds of models that the gateway serves.
const MODES: [&str; 4] = ["chat", "responses", "embedding", IMAGES];
const IMAGES: &str = "image_generation";
/// The classes of service that names have at their end, and how a document names them.
const TIERS: [(&str, &str); 3] = [
    ("_flex", "flex"),
    ("_priority", "priority"),
    ("_batches", "batch"),
];
/// The members with prices of tokens; those above a length, of a class of service or both have it at their end.
const TOKEN_PRICES: [&str; 5] = [
    "input_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
    "cache_creation_input_token_cost_above_1hr",
    "output_cost_per_token",
];

/// The models of the file.
pub fn models(list: &Members<'_>) -> Vec<ReadModel> {
    let models = list.iter().filter_map(|(name, raw)| {
        let model = members(raw)?;
        let provider = text(model.get("litellm_provider")?)?;
        (name != "sample_spec").then(|| read(name, &provider, &model))
    });
    models.collect()
}

fn read(name: &str, provider: &str, model: &Members<'_>) -> ReadModel {
    let stated = Stated::new(model, Per::Token);
    let read = prices(model, &stated);
    let id = name.strip_prefix(&format!("{provider}/")).unwrap_or(name);
    let names = (id.to_owned(), name.to_owned());
    read_model(vendor(provider), names, read, &stated.left(is_price))
}

/// Whether a member states a price, or what one depends on.
fn is_price(name: &str) -> bool {
    let parts = ["cost", "pric", "multiplier", "peak"];
    parts.iter().any(|part| name.contains(part))
}

fn prices(model: &Members<'_>, stated: &Stated<'_>) -> Result<PricesDocument, String> {
    let mode = model.get("mode").and_then(|raw| text(raw));
    if mode.as_deref().is_some_and(|mode| !MODES.contains(&mode)) {
        return Err("is of a kind that the gateway does not serve".to_owned());
    }
    let mut own = PricesDocument::default();
    if mode.as_deref() == Some(IMAGES) {
        own.image = stated.price_per("output_cost_per_image", Per::One)?;
    }
    let mut prices = match ranges(model, stated) {
        Some(prices) => prices,
        None => set(model, stated, "", own)?,
    };
    prices.per_call = per_call(model, stated);
    let tiers = TIERS.into_iter().filter_map(|(suffix, tier)| {
        let set = |stated: &Stated<'_>| set(model, stated, suffix, PricesDocument::default());
        Some((tier.to_owned(), stated.all_or_none(set)?))
    });
    let tiers: BTreeMap<_, _> = tiers.collect();
    // Which prices hold for a long request, or a class of service, at such a time is not in the file.
    if prices.above.is_none() && tiers.is_empty() {
        prices.times = peak(model, stated, &prices);
    }
    prices.tiers = (!tiers.is_empty()).then_some(tiers);
    Ok(prices)
}

/// The prices whose names have this at their end, beside those that are known already.
fn set(
    model: &Members<'_>,
    stated: &Stated<'_>,
    suffix: &str,
    known: PricesDocument,
) -> Result<PricesDocument, String> {
    let tokens = stated.prices(TOKEN_PRICES.map(|name| format!("{name}{suffix}")))?;
    let mut prices = whole(PricesDocument {
        image: known.image,
        ..tokens
    })?;
    let other = |name: &str| stated.of_cache(&format!("{name}{suffix}"));
    prices.input_image = other("input_cost_per_image_token")?;
    prices.input_audio = other("input_cost_per_audio_token")?;
    prices.output_audio = other("output_cost_per_audio_token")?;
    prices.reasoning = other("output_cost_per_reasoning_token")?;
    prices.output_image = other("output_cost_per_image_token")?;
    let lengths = thousands_above(model, suffix).into_iter().map(|thousands| {
        let names = TOKEN_PRICES.map(|name| format!("{name}_above_{thousands}k_tokens{suffix}"));
        let length = thousands.saturating_mul(1000);
        Ok(above(length, stated.prices(names)?, &prices))
    });
    prices.above = some(lengths.collect::<Result<Vec<AboveDocument>, String>>()?);
    Ok(prices)
}

/// The length in a name such as `input_cost_per_token_above_200k_tokens_flex`, in thousands, and what stands behind it.
fn length_of(name: &str) -> Option<(u64, &str)> {
    TOKEN_PRICES.iter().find_map(|price| {
        let length = name.strip_prefix(price)?.strip_prefix("_above_")?;
        let (thousands, suffix) = length.split_once("k_tokens")?;
        Some((thousands.parse().ok()?, suffix))
    })
}

/// The lengths above which there are prices, in thousands of tokens.
fn thousands_above(model: &Members<'_>, suffix: &str) -> BTreeSet<u64> {
    let there = model.iter().filter(|(_, raw)| raw.get() != "null");
    let lengths = there.filter_map(|(name, _)| length_of(name));
    lengths
        .filter(|(_, behind)| *behind == suffix)
        .map(|(thousands, _)| thousands)
        .collect()
}

/// The prices of a model that has none but by ranges of the input's length, `tiered_pricing`: those of the first range, and
/// those above the beginning of each other one. Ranges must follow each other from 0 on.
fn ranges(model: &Members<'_>, stated: &Stated<'_>) -> Option<PricesDocument> {
    const RANGES: &str = "tiered_pricing";
    let flat = TOKEN_PRICES.iter().any(|name| model.contains_key(*name));
    let ranges: Vec<&RawValue> = serde_json::from_str(model.get(RANGES)?.get()).ok()?;
    let mut prices: Option<PricesDocument> = None;
    let mut lengths = Vec::new();
    let mut expected = 0;
    for range in ranges.iter().filter(|_| !flat) {
        let range = members(range)?;
        let [from, until]: [u64; 2] = whole_numbers(range.get("range")?)?;
        if from != expected {
            return None;
        }
        expected = until;
        let own = Stated::new(&range, Per::Token);
        let set = own.prices(TOKEN_PRICES).and_then(whole).ok()?;
        let reasoning = own.of_cache("output_cost_per_reasoning_token").ok()?;
        if !own.left(is_price).is_empty() {
            return None;
        }
        match &prices {
            Some(first) => {
                let mut longer = above(from, set, first);
                if let Some(prices) = &mut longer.prices {
                    prices.reasoning = reasoning;
                }
                lengths.push(longer);
            }
            None => prices = Some(PricesDocument { reasoning, ..set }),
        }
    }
    let prices = prices?;
    stated.note_read(RANGES);
    Some(PricesDocument {
        above: some(lengths),
        ..prices
    })
}

/// Two whole numbers, which may be written as `32e3` or `32000.0`.
fn whole_numbers(raw: &RawValue) -> Option<[u64; 2]> {
    let numbers: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
    let [from, until] = numbers.as_slice() else {
        return None;
    };
    let number = |raw: &RawValue| {
        let number = rust_decimal::Decimal::from_scientific(raw.get());
        let number = number.or_else(|_| raw.get().parse()).ok()?.normalize();
        (number.scale() == 0)
            .then(|| u64::try_from(number).ok())
            .flatten()
    };
    Some([number(from)?, number(until)?])
}

/// The price of a search, where it is the same for each size of its context.
fn per_call(model: &Members<'_>, stated: &Stated<'_>) -> Option<PerCallDocument> {
    const SEARCH: &str = "search_context_cost_per_query";
    let raw = model.get(SEARCH).filter(|raw| raw.get() != "null")?;
    let price = match members(raw) {
        None => Per::One.price(raw.get().trim_matches('"')).ok()?,
        Some(sizes) => {
            let prices = sizes
                .values()
                .map(|raw| Per::One.price(raw.get().trim_matches('"')));
            let prices: BTreeSet<String> = prices.collect::<Result<_, _>>().ok()?;
            let mut prices = prices.into_iter();
            let only = prices.next()?;
            prices.next().is_none().then_some(only)?
        }
    };
    stated.note_read(SEARCH);
    search(price)
}

/// The prices at peak hours, `time_of_use_pricing`, where they are stated by UTC: a set for the windows on the same days.
fn peak(
    model: &Members<'_>,
    stated: &Stated<'_>,
    otherwise: &PricesDocument,
) -> Option<Vec<PriceTimeDocument>> {
    const TIMES: &str = "time_of_use_pricing";
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct TimeOfUse<'a> {
        timezone: String,
        peak_windows: Vec<Window>,
        #[serde(borrow)]
        peak_rates: Members<'a>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Window {
        /// From 1 on, as ISO 8601 counts them.
        weekdays: Option<Vec<usize>>,
        start_hour: u32,
        end_hour: u32,
    }
    let read: TimeOfUse<'_> = serde_json::from_str(model.get(TIMES)?.get()).ok()?;
    let rates = Stated::new(&read.peak_rates, Per::Token);
    let set = rates.prices(TOKEN_PRICES).ok()?;
    if read.timezone != "UTC" || !rates.left(|_| true).is_empty() {
        return None;
    }
    let mut windows: Vec<(Option<Vec<String>>, Vec<String>)> = Vec::new();
    for Window {
        weekdays,
        start_hour,
        end_hour,
    } in read.peak_windows
    {
        // To which day the hours after midnight belong is not in the file.
        if start_hour >= end_hour || end_hour > 24 {
            return None;
        }
        let hours = format!("{start_hour:02}:00-{end_hour:02}:00");
        let named = |day: usize| {
            let day = Weekdays::NAMES.get(day.checked_sub(1)?)?;
            Some((*day).to_owned())
        };
        let days = match weekdays {
            Some(days) => Some(days.into_iter().map(named).collect::<Option<Vec<_>>>()?),
            None => None,
        };
        match windows.iter_mut().find(|(of, _)| *of == days) {
            Some((_, all)) => all.push(hours),
            None => windows.push((days, vec![hours])),
        }
    }
    let times = windows
        .into_iter()
        .map(|(days, hours)| at_times(days, Some(hours), set.clone(), otherwise));
    let times = some(times.collect());
    if times.is_some() {
        stated.note_read(TIMES);
    }
    times
}
