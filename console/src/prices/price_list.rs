//! Price lists of others: LiteLLM's price file, the JSON of models.dev, OpenRouter's list of models.
//!
//! Each price is taken as the decimal text that stands there, moved to dollars for a million tokens and never rounded, those
//! above lengths of the input too. What a document cannot say is noted at the model.

use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::value::RawValue;
use trilane::config::document::{AboveDocument, PricesDocument};
use trilane::money::Price;

/// A price list, read.
#[derive(Debug)]
pub struct PriceList {
    /// Its form, for people.
    pub form: &'static str,
    /// Its models with prices of input and output.
    pub models: Vec<ListPrice>,
    /// The models that were left out, with the reason.
    pub left_out: Vec<(String, String)>,
}

/// A model of a price list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPrice {
    /// The vendor, in the list's words, but for those that have a preset here.
    pub vendor: String,
    /// The vendor's name of the model.
    pub id: String,
    /// The prices, as a document writes them.
    pub prices: PricesDocument,
    /// The gaps of these prices.
    pub note: Option<String>,
}

/// The members of an object, each as its text.
type Members<'a> = BTreeMap<String, &'a RawValue>;

impl PriceList {
    /// Reads a list in one of the three forms.
    ///
    /// # Errors
    /// It has none of them.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let no_list = || {
            "is no price list: LiteLLM's price file, the JSON of models.dev and OpenRouter's list of models are known"
                .to_owned()
        };
        let members: Members<'_> = serde_json::from_slice(text).map_err(|_| no_list())?;
        let mut list = if let Some(data) = members.get("data") {
            Self::of("OpenRouter's list of models", openrouter(data))
        } else if members.values().any(|one| is_provider(one)) {
            Self::of("the JSON of models.dev", models_dev(&members))
        } else {
            Self::of("LiteLLM's price file", litellm(&members))
        };
        if list.models.is_empty() && list.left_out.is_empty() {
            return Err(no_list());
        }
        list.models
            .sort_by(|a, b| (&a.vendor, &a.id).cmp(&(&b.vendor, &b.id)));
        Ok(list)
    }

    fn of(form: &'static str, found: Vec<(String, Result<ListPrice, String>)>) -> Self {
        let mut list = Self {
            form,
            models: Vec::new(),
            left_out: Vec::new(),
        };
        for (name, found) in found {
            match found {
                Ok(model) => list.models.push(model),
                Err(reason) => list.left_out.push((name, reason)),
            }
        }
        list
    }
}

/// The name of a vendor here, for one that has a preset.
fn vendor(name: &str) -> String {
    match name {
        "google" => "gemini",
        other => other,
    }
    .to_owned()
}

fn members<'a>(raw: &'a RawValue) -> Option<Members<'a>> {
    serde_json::from_str(raw.get()).ok()
}

fn text(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// The unit of a list's prices.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Per {
    Token,
    Million,
}

impl Per {
    /// The price of a million tokens, exactly.
    ///
    /// # Errors
    /// It is no number, or none that a document can have as a price.
    pub(crate) fn price(self, number: &str) -> Result<String, &'static str> {
        let (digits, power) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        // `from_scientific` rounds digits that are too many.
        let exact = Decimal::from_str_exact(digits)
            .and_then(|exact| Decimal::from_scientific(&format!("{exact}e{power}")))
            .map_err(|_| "is no number")?;
        let million = match self {
            Self::Token => exact.checked_mul(Decimal::from(1_000_000)),
            Self::Million => Some(exact),
        };
        let text = million.ok_or("is too large")?.normalize().to_string();
        // A price that depends on something else is stated as -1.
        Price::parse(&text).map(|_| text)
    }
}

/// Prices as they stand in a list: numbers, or numbers in strings.
struct Stated<'a>(&'a Members<'a>, Per);

impl Stated<'_> {
    /// The price of this name; `None` where there is none.
    fn price(&self, name: &str) -> Result<Option<String>, String> {
        let Some(raw) = self.0.get(name).map(|raw| raw.get()) else {
            return Ok(None);
        };
        if raw == "null" {
            return Ok(None);
        }
        let number = raw.trim_matches('"');
        let told = |reason: &str| format!("its price {name}, {number}, {reason}");
        self.1.price(number).map(Some).map_err(told)
    }

    /// The same, where 0 says as often that there is none.
    fn of_cache(&self, name: &str) -> Result<Option<String>, String> {
        Ok(self.price(name)?.filter(|price| price != "0"))
    }

    /// Prices of these names, in the order of input, cached input, cache writes of five minutes and of an hour, output.
    fn prices<S: AsRef<str>>(&self, names: [S; 5]) -> Result<PricesDocument, String> {
        let [input, cache_read, write_5m, write_1h, output] = &names.each_ref().map(AsRef::as_ref);
        Ok(PricesDocument {
            input: self.price(input)?,
            cache_read: self.of_cache(cache_read)?,
            cache_write_5m: self.of_cache(write_5m)?,
            cache_write_1h: self.of_cache(write_1h)?,
            output: self.price(output)?,
            ..PricesDocument::default()
        })
    }
}

/// Refuses what is no price of a model.
fn whole(prices: PricesDocument) -> Result<PricesDocument, String> {
    match (&prices.input, &prices.output) {
        (Some(input), Some(output)) if input == "0" && output == "0" => {
            Err("costs nothing there: say \"free\" in the document where that is so".to_owned())
        }
        (Some(_), Some(_)) => Ok(prices),
        _ => Err("has no price of input and output".to_owned()),
    }
}

/// The prices above a length of the input. A price that the list does not state there is as below, but that of reasoning, which is
/// output.
fn above(input_tokens: u64, stated: PricesDocument, below: &PricesDocument) -> AboveDocument {
    let PricesDocument {
        input,
        cache_read,
        cache_write_5m,
        cache_write_1h,
        output,
        ..
    } = stated;
    let or = |stated: Option<String>, below: &Option<String>| stated.or_else(|| below.clone());
    AboveDocument {
        input_tokens: Some(input_tokens),
        prices: Some(PricesDocument {
            input: or(input, &below.input),
            cache_read: or(cache_read, &below.cache_read),
            cache_write_5m: or(cache_write_5m, &below.cache_write_5m),
            cache_write_1h: or(cache_write_1h, &below.cache_write_1h),
            output: or(output, &below.output),
            input_audio: below.input_audio.clone(),
            output_audio: below.output_audio.clone(),
            output_image: below.output_image.clone(),
            ..PricesDocument::default()
        }),
    }
}

/// Notes the prices that a list has and a document cannot, by the first of these names.
fn note<'a>(members: &Members<'_>, mut left: impl Iterator<Item = &'a String>) -> Option<String> {
    let left = left.find(|name| {
        members
            .get(*name)
            .is_some_and(|raw| !["null", "[]"].contains(&raw.get()))
    });
    left.map(|name| format!("the list has other prices ({name}), which are not counted"))
}

/// LiteLLM's `model_prices_and_context_window.json`: dollars for a token, by `provider/model` or the model alone.
fn litellm(list: &Members<'_>) -> Vec<(String, Result<ListPrice, String>)> {
    const MODES: [&str; 3] = ["chat", "responses", "image_generation"];
    let models = list.iter().filter_map(|(name, raw)| {
        let model = members(raw)?;
        let provider = text(model.get("litellm_provider")?)?;
        if name == "sample_spec" {
            return None;
        }
        let mode = model.get("mode").and_then(|raw| text(raw));
        let is_served = mode.is_none_or(|mode| MODES.contains(&mode.as_str()));
        let stated = Stated(&model, Per::Token);
        let set = |suffix: &str| -> Result<PricesDocument, String> {
            let prices = stated.prices(TOKEN_PRICES.map(|name| format!("{name}{suffix}")))?;
            let mut prices = whole(prices)?;
            if suffix.is_empty() {
                prices.input_audio = stated.of_cache("input_cost_per_audio_token")?;
                prices.output_audio = stated.of_cache("output_cost_per_audio_token")?;
                prices.reasoning = stated.of_cache("output_cost_per_reasoning_token")?;
                prices.output_image = stated.of_cache("output_cost_per_image_token")?;
            }
            let lengths = thousands_above(&model, suffix)
                .into_iter()
                .map(|thousands| {
                    let names = TOKEN_PRICES
                        .map(|name| format!("{name}_above_{thousands}k_tokens{suffix}"));
                    let length = thousands.saturating_mul(1000);
                    Ok(above(length, stated.prices(names)?, &prices))
                });
            let lengths = lengths.collect::<Result<Vec<_>, String>>()?;
            prices.above = (!lengths.is_empty()).then_some(lengths);
            Ok(prices)
        };
        let prices = || {
            if !is_served {
                return Err("is of a kind that the gateway does not serve".to_owned());
            }
            let mut prices = set("")?;
            let tiers = TIERS
                .into_iter()
                .filter_map(|tier| Some((tier.to_owned(), set(&format!("_{tier}")).ok()?)));
            let tiers: BTreeMap<_, _> = tiers.collect();
            prices.tiers = (!tiers.is_empty()).then_some(tiers);
            Ok(prices)
        };
        let id = name.strip_prefix(&format!("{provider}/")).unwrap_or(name);
        let left = model.keys().filter(|name| is_left_of_litellm(name));
        let found = prices().map(|prices| ListPrice {
            vendor: vendor(&provider),
            id: id.to_owned(),
            prices,
            note: note(&model, left),
        });
        Some((name.clone(), found))
    });
    models.collect()
}

/// The classes of service that LiteLLM's names have at their end.
const TIERS: [&str; 2] = ["flex", "priority"];
/// The members of LiteLLM's file with prices of tokens; those above a length, of a class of service or both have it at their end.
const TOKEN_PRICES: [&str; 5] = [
    "input_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
    "cache_creation_input_token_cost_above_1hr",
    "output_cost_per_token",
];

/// The length in a name such as `input_cost_per_token_above_200k_tokens_flex`, in thousands, and what stands behind it.
fn length_of(name: &str) -> Option<(u64, &str)> {
    TOKEN_PRICES.iter().find_map(|price| {
        let length = name.strip_prefix(price)?.strip_prefix("_above_")?;
        let (thousands, suffix) = length.split_once("k_tokens")?;
        Some((thousands.parse().ok()?, suffix))
    })
}

/// The lengths above which LiteLLM's file has prices, in thousands of tokens.
fn thousands_above(model: &Members<'_>, suffix: &str) -> BTreeSet<u64> {
    let there = model.iter().filter(|(_, raw)| raw.get() != "null");
    let lengths = there.filter_map(|(name, _)| length_of(name));
    lengths
        .filter(|(_, behind)| *behind == suffix)
        .map(|(thousands, _)| thousands)
        .collect()
}

/// Whether a member of LiteLLM's file has prices of the served kinds that were not read.
fn is_left_of_litellm(name: &str) -> bool {
    let is_read = length_of(name).is_some_and(|(_, suffix)| {
        suffix.is_empty()
            || TIERS
                .iter()
                .any(|tier| suffix.strip_prefix('_') == Some(tier))
    });
    let by_length = name.contains("_above_") && name.ends_with("_tokens");
    !is_read && (by_length || name == "tiered_pricing" || name == "time_of_use_pricing")
}

fn is_provider(raw: &RawValue) -> bool {
    members(raw).is_some_and(|members| {
        members
            .get("models")
            .is_some_and(|models| models.get().starts_with('{'))
    })
}

/// `api.json` of models.dev: providers, each with models, each with a `cost` in dollars for a million tokens.
fn models_dev(list: &Members<'_>) -> Vec<(String, Result<ListPrice, String>)> {
    const NAMES: [&str; 5] = [
        "input",
        "cache_read",
        "cache_write",
        "cache_write_1h",
        "output",
    ];
    let mut found = Vec::new();
    for (provider, raw) in list {
        let models = members(raw).and_then(|provider| members(provider.get("models").copied()?));
        for (id, raw) in models.into_iter().flatten() {
            let model = members(raw).unwrap_or_default();
            let Some(cost) = model.get("cost").and_then(|cost| members(cost)) else {
                continue;
            };
            let stated = Stated(&cost, Per::Million);
            let (lengths, all_read) = lengths_of_models_dev(&cost);
            let prices = || {
                let mut prices = whole(stated.prices(NAMES)?)?;
                prices.input_audio = stated.of_cache("input_audio")?;
                prices.output_audio = stated.of_cache("output_audio")?;
                prices.reasoning = stated.of_cache("reasoning")?;
                let lengths = lengths.iter().map(|(length, set)| {
                    Ok(above(
                        *length,
                        Stated(set, Per::Million).prices(NAMES)?,
                        &prices,
                    ))
                });
                let lengths = lengths.collect::<Result<Vec<_>, String>>()?;
                prices.above = (!lengths.is_empty()).then_some(lengths);
                Ok(prices)
            };
            let price = prices().map(|prices| ListPrice {
                vendor: vendor(provider),
                id: id.clone(),
                prices,
                note: (!all_read)
                    .then(|| "the list has other prices (tiers), which are not counted".to_owned()),
            });
            found.push((format!("{provider}/{id}"), price));
        }
    }
    found
}

/// The prices of models.dev above lengths of the input, and whether these are all that depend on something: `tiers`, each with
/// its `size`; without them `context_over_200k`, which stands beside them for the readers of old.
fn lengths_of_models_dev<'a>(cost: &Members<'a>) -> (Vec<(u64, Members<'a>)>, bool) {
    #[derive(Deserialize)]
    struct Length {
        r#type: String,
        size: u64,
    }
    let Some(tiers) = cost.get("tiers").filter(|raw| raw.get() != "null") else {
        let over = cost.get("context_over_200k").and_then(|raw| members(raw));
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

/// OpenRouter's list: `pricing` in dollars for a token, as strings.
fn openrouter(data: &RawValue) -> Vec<(String, Result<ListPrice, String>)> {
    const NAMES: [&str; 5] = [
        "prompt",
        "input_cache_read",
        "input_cache_write",
        "input_cache_write_1h",
        "completion",
    ];
    #[derive(Deserialize)]
    struct Listed<'a> {
        id: String,
        #[serde(borrow)]
        pricing: Members<'a>,
    }
    let models: Vec<&RawValue> = serde_json::from_str(data.get()).unwrap_or_default();
    let models = models.into_iter().filter_map(|raw| {
        let Listed { id, pricing } = serde_json::from_str(raw.get()).ok()?;
        let prices = Stated(&pricing, Per::Token).prices(NAMES).and_then(whole);
        let found = prices.map(|prices| ListPrice {
            vendor: "openrouter".to_owned(),
            id: id.clone(),
            prices,
            note: note(&pricing, pricing.keys().filter(|name| *name == "overrides")),
        });
        Some((id, found))
    });
    models.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_line::json_line;

    fn lines(text: &str) -> Vec<String> {
        let list = PriceList::read(text.as_bytes()).unwrap();
        let models = list.models.iter().map(|model| {
            let note = model.note.as_deref().unwrap_or("");
            format!(
                "{} {} {} {note}",
                model.vendor,
                model.id,
                json_line(&model.prices)
            )
        });
        let left_out = list
            .left_out
            .iter()
            .map(|(name, why)| format!("{name}: {why}"));
        models
            .chain(left_out)
            .map(|line| line.trim_end().to_owned())
            .collect()
    }

    #[test]
    fn litellm_is_read_exactly() {
        let text = r#"{
            "sample_spec": {"litellm_provider": "one of", "input_cost_per_token": 0.0},
            "gpt-9": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05,
                "cache_read_input_token_cost": 1.25E-07, "input_cost_per_token_above_272k_tokens": 2.5e-06,
                "input_cost_per_token_flex": 6.25e-07, "output_cost_per_token_flex": 5e-06, "input_cost_per_token_above_272k_tokens_flex": 1.25e-06,
                "output_cost_per_token_above_272k_tokens_flex": 7.5e-06, "input_cost_per_token_above_272k_tokens_batches": 1e-06,
                "input_cost_per_token_above_200k_tokens": null},
            "gemini/gemini-9": {"litellm_provider": "gemini", "input_cost_per_token": 3e-7, "output_cost_per_token": 0.0000025, "cache_read_input_token_cost": 0.0},
            "claude-9": {"litellm_provider": "anthropic", "mode": "chat", "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
                "cache_creation_input_token_cost": 3.75e-06, "cache_creation_input_token_cost_above_1hr": 6e-06,
                "input_cost_per_token_above_200k_tokens": 6e-06, "output_cost_per_token_above_200k_tokens": 2.25e-05,
                "cache_creation_input_token_cost_above_200k_tokens": 7.5e-06, "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 1.2e-05},
            "qwen-9": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06,
                "tiered_pricing": [{"range": [0, 32000], "input_cost_per_token": 1e-06}], "output_cost_per_reasoning_token": 3e-06,
                "input_cost_per_token_above_32k_tokens": 4e-06, "input_cost_per_token_above_128k_tokens": 5e-06},
            "text-embedding-9": {"litellm_provider": "openai", "mode": "embedding", "input_cost_per_token": 1e-08, "output_cost_per_token": 0.0},
            "noise": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": 1.9999999999999999e-07, "output_cost_per_token": 1e-06},
            "free": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0.0},
            "long": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": 1.99999999999999999999999999999999999e-07, "output_cost_per_token": 1e-06},
            "half": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": 1e-06}
        }"#;
        assert_eq!(
            lines(text),
            [
                r#"anthropic claude-9 {"input": "3", "cache_write_5m": "3.75", "cache_write_1h": "6", "output": "15", "above": [{"input_tokens": 200000, "prices": {"input": "6", "cache_write_5m": "7.5", "cache_write_1h": "12", "output": "22.5"}}]}"#,
                r#"gemini gemini-9 {"input": "0.3", "output": "2.5"}"#,
                r#"openai gpt-9 {"input": "1.25", "cache_read": "0.125", "output": "10", "above": [{"input_tokens": 272000, "prices": {"input": "2.5", "cache_read": "0.125", "output": "10"}}], "tiers": {"flex": {"input": "0.625", "output": "5", "above": [{"input_tokens": 272000, "prices": {"input": "1.25", "output": "7.5"}}]}}}"#,
                r#"x qwen-9 {"input": "1", "output": "2", "reasoning": "3", "above": [{"input_tokens": 32000, "prices": {"input": "4", "output": "2"}}, {"input_tokens": 128000, "prices": {"input": "5", "output": "2"}}]} the list has other prices (tiered_pricing), which are not counted"#,
                "free: costs nothing there: say \"free\" in the document where that is so",
                "half: has no price of input and output",
                "long: its price input_cost_per_token, 1.99999999999999999999999999999999999e-07, is no number",
                "noise: its price input_cost_per_token, 1.9999999999999999e-07, has more than 6 fractional digits",
                "text-embedding-9: is of a kind that the gateway does not serve",
            ]
        );
    }

    #[test]
    fn models_dev_and_openrouter_are_read_exactly() {
        let text = r#"{"google": {"id": "google", "models": {
                "gemini-9": {"id": "gemini-9", "cost": {"input": 1.25, "output": 10, "cache_read": 0.31, "context_over_200k": {"input": 2.5}}},
                "unpriced": {"id": "unpriced"}}},
            "openai": {"models": {"gpt-9": {"cost": {"input": 5, "output": 30, "cache_read": 0.5, "context_over_200k": {"input": 10, "output": 45},
                "tiers": [{"input": 10, "output": 45, "cache_read": 1, "tier": {"type": "context", "size": 272000}}, {"input": 1, "tier": {"type": "night", "size": 1}}]}}}},
            "anthropic": {"models": {"claude-9": {"cost": {"input": 3, "output": 15, "cache_read": 0.30, "cache_write": 3.75}}}}}"#;
        assert_eq!(
            lines(text),
            [
                r#"anthropic claude-9 {"input": "3", "cache_read": "0.3", "cache_write_5m": "3.75", "output": "15"}"#,
                r#"gemini gemini-9 {"input": "1.25", "cache_read": "0.31", "output": "10", "above": [{"input_tokens": 200000, "prices": {"input": "2.5", "cache_read": "0.31", "output": "10"}}]}"#,
                r#"openai gpt-9 {"input": "5", "cache_read": "0.5", "output": "30", "above": [{"input_tokens": 272000, "prices": {"input": "10", "cache_read": "1", "output": "45"}}]} the list has other prices (tiers), which are not counted"#,
            ]
        );
        let text = r#"{"data": [{"id": "a/b", "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003", "overrides": [{"min_prompt_tokens": 200000, "prompt": "0.000006"}]}},
            {"id": "auto", "pricing": {"prompt": "-1", "completion": "-1"}}, {"id": "none"}]}"#;
        assert_eq!(
            lines(text),
            [
                r#"openrouter a/b {"input": "3", "cache_read": "0.3", "output": "15"} the list has other prices (overrides), which are not counted"#,
                r#"auto: its price prompt, -1, must be a plain decimal number in a string, such as "1.25""#,
            ]
        );
    }

    #[test]
    fn other_text_is_no_list() {
        for text in [
            "",
            "[]",
            "{}",
            "<html>",
            r#"{"a": 1}"#,
            r#"{"data": 1}"#,
            r#"{"error": {"message": "x"}}"#,
        ] {
            let error = PriceList::read(text.as_bytes()).unwrap_err();
            assert!(error.contains("is no price list"), "{text}: {error}");
        }
    }
}
