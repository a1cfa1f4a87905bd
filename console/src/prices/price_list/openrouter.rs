//! OpenRouter's list of models: `pricing` in dollars for a token, as strings, with `overrides` for long prompts and at times.

use serde::Deserialize;
use serde_json::value::RawValue;
use trilane::config::document::{AboveDocument, PriceTimeDocument, PricesDocument};
use trilane::money::Weekdays;

use super::stated::{Members, Per, Stated, above, at_times, search, some, text, whole};
use super::{ReadModel, read_model};

const VENDOR: &str = "openrouter";
const NAMES: [&str; 5] = [
    "prompt",
    "input_cache_read",
    "input_cache_write",
    "input_cache_write_1h",
    "completion",
];
const OVERRIDES: &str = "overrides";
/// Holds for prompts that are longer.
const LENGTH: &str = "min_prompt_tokens";
const DAYS: &str = "utc_days";
const START: &str = "utc_start";
const END: &str = "utc_end";

/// The models that have a `pricing`.
pub fn models(data: &RawValue) -> Vec<ReadModel> {
    #[derive(Deserialize)]
    struct Listed<'a> {
        id: String,
        #[serde(borrow)]
        pricing: Members<'a>,
    }
    let models: Vec<&RawValue> = serde_json::from_str(data.get()).unwrap_or_default();
    let models = models.into_iter().filter_map(|raw| {
        let Listed { id, pricing } = serde_json::from_str(raw.get()).ok()?;
        let stated = Stated::new(&pricing, Per::Token);
        let read = prices(&pricing, &stated);
        let left = stated.left(|_| true);
        Some(read_model(VENDOR.to_owned(), (id.clone(), id), read, &left))
    });
    models.collect()
}

fn prices(pricing: &Members<'_>, stated: &Stated<'_>) -> Result<PricesDocument, String> {
    let mut prices = whole(stated.prices(NAMES)?)?;
    prices.reasoning = stated.of_cache("internal_reasoning")?;
    let price = stated.price_per("web_search", Per::One)?;
    prices.per_call = price.and_then(search);
    if let Some(found) = pricing
        .get(OVERRIDES)
        .and_then(|raw| overrides(raw, &prices))
    {
        let (lengths, times) = found;
        prices.above = some(lengths);
        prices.times = some(times);
        stated.note_read(OVERRIDES);
    }
    Ok(prices)
}

/// The prices for long prompts, or at times, where all of them can be read. The list does not say which hold for a long prompt
/// at such a time.
fn overrides(
    raw: &RawValue,
    prices: &PricesDocument,
) -> Option<(Vec<AboveDocument>, Vec<PriceTimeDocument>)> {
    let sets: Vec<Members<'_>> = serde_json::from_str(raw.get()).ok()?;
    let (mut lengths, mut times) = (Vec::<AboveDocument>::new(), Vec::new());
    for set in &sets {
        let stated = Stated::new(set, Per::Token);
        let own = stated.prices(NAMES).ok()?;
        let conditions = [LENGTH, DAYS, START, END];
        let left = stated.left(|name| !conditions.contains(&name));
        if !left.is_empty() {
            return None;
        }
        let is_there = |name: &str| set.get(name).is_some_and(|raw| raw.get() != "null");
        match (
            is_there(LENGTH),
            conditions.iter().skip(1).any(|name| is_there(name)),
        ) {
            (true, false) => {
                let length = set.get(LENGTH)?.get().parse().ok()?;
                if lengths.iter().any(|of| of.input_tokens == Some(length)) {
                    return None;
                }
                lengths.push(above(length, own, prices));
            }
            (false, true) => {
                let days = match set.get(DAYS) {
                    Some(raw) if raw.get() != "null" => Some(days(raw)?),
                    _ => None,
                };
                let hours = match (set.get(START), set.get(END)) {
                    (Some(start), Some(end)) => Some((time(start)?, time(end)?)),
                    (None, None) => None,
                    _ => return None,
                };
                // To which day the hours after midnight belong is not in the list.
                let is_overnight = hours.as_ref().is_some_and(|(start, end)| start >= end);
                if is_overnight && days.is_some() {
                    return None;
                }
                let hours = hours.map(|(start, end)| vec![format!("{start}-{end}")]);
                times.push(at_times(days, hours, own, prices));
            }
            _ => return None,
        }
    }
    (lengths.is_empty() || times.is_empty()).then_some((lengths, times))
}

/// Days by their names, as a document has them: `saturday` is `sat`.
fn days(raw: &RawValue) -> Option<Vec<String>> {
    const NAMES: [&str; 7] = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    let named: Vec<String> = serde_json::from_str(raw.get()).ok()?;
    let days = named.iter().map(|day| {
        let known = NAMES
            .iter()
            .position(|name| name.eq_ignore_ascii_case(day))?;
        Weekdays::NAMES.get(known).map(|day| (*day).to_owned())
    });
    days.collect()
}

/// A time such as `1630` or `16:30`, as a document has it.
fn time(raw: &RawValue) -> Option<String> {
    let digits = text(raw)?.replace(':', "");
    let is_time = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_digit());
    let (hours, minutes) = digits.split_at_checked(2).filter(|_| is_time)?;
    Some(format!("{hours}:{minutes}"))
}
