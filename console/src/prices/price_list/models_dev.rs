//! `api.json` of models.dev: providers, each with models, each with a `cost` in dollars for a million tokens.

use serde::Deserialize;
use serde_json::value::RawValue;
use trilane::config::document::{AboveDocument, PricesDocument};

use super::stated::{Members, Per, Stated, above, members, some, whole};
use super::{ReadModel, read_model, vendor};

const NAMES: [&str; 5] = [
    "input",
    "cache_read",
    "cache_write",
    "cache_write_1h",
    "output",
];
const TIERS: &str = "tiers";
/// Stands beside `tiers` for the readers of old.
const OVER_200K: &str = "context_over_200k";

/// Whether this is a provider with models.
pub fn is_provider(raw: &RawValue) -> bool {
    members(raw).is_some_and(|members| {
        members
            .get("models")
            .is_some_and(|models| models.get().starts_with('{'))
    })
}

/// The models that have a `cost`.
pub fn models(list: &Members<'_>) -> Vec<ReadModel> {
    let mut found = Vec::new();
    for (provider, raw) in list {
        let models = members(raw).and_then(|provider| members(provider.get("models").copied()?));
        for (id, raw) in models.into_iter().flatten() {
            let model = members(raw).unwrap_or_default();
            let Some(cost) = model.get("cost").and_then(|cost| members(cost)) else {
                continue;
            };
            let stated = Stated::new(&cost, Per::Million);
            let read = prices(&cost, &stated);
            let names = (id.clone(), format!("{provider}/{id}"));
            let left = stated.left(|_| true);
            found.push(read_model(vendor(provider), names, read, &left));
        }
    }
    found
}

fn prices(cost: &Members<'_>, stated: &Stated<'_>) -> Result<PricesDocument, String> {
    let mut prices = whole(stated.prices(NAMES)?)?;
    prices.input_audio = stated.of_cache("input_audio")?;
    prices.output_audio = stated.of_cache("output_audio")?;
    prices.reasoning = stated.of_cache("reasoning")?;
    let (lengths, all_read) = lengths(cost);
    let lengths = lengths.iter().map(|(length, set)| {
        let set = Stated::new(set, Per::Million).prices(NAMES)?;
        Ok(above(*length, set, &prices))
    });
    let lengths = lengths.collect::<Result<Vec<AboveDocument>, String>>()?;
    prices.above = some(lengths);
    if all_read {
        stated.note_read(TIERS);
    }
    stated.note_read(OVER_200K);
    Ok(prices)
}

/// The prices above lengths of the input, and whether these are all that depend on something: `tiers`, each with its `size`;
/// without them the ones over 200 000.
fn lengths<'a>(cost: &Members<'a>) -> (Vec<(u64, Members<'a>)>, bool) {
    #[derive(Deserialize)]
    struct Length {
        r#type: String,
        size: u64,
    }
    let Some(tiers) = cost.get(TIERS).filter(|raw| raw.get() != "null") else {
        let over = cost.get(OVER_200K).and_then(|raw| members(raw));
        return (over.map(|set| (200_000, set)).into_iter().collect(), true);
    };
    let tiers: Vec<&RawValue> = serde_json::from_str(tiers.get()).unwrap_or_default();
    let lengths = tiers.iter().filter_map(|raw| {
        let set = members(raw)?;
        let length: Length = serde_json::from_str(set.get("tier")?.get()).ok()?;
        (length.r#type == "context").then_some((length.size, set))
    });
    let lengths: Vec<_> = lengths.collect();
    let all_read = lengths.len() == tiers.len();
    (lengths, all_read)
}
