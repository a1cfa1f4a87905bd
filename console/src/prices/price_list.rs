//! Price lists of others: LiteLLM's price file, the JSON of models.dev, OpenRouter's list of models.
//!
//! Each price is taken as the decimal text that stands there, moved to dollars for a million tokens and never rounded. What a
//! document cannot say, such as prices beyond a length of the prompt, is noted at the model.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::value::RawValue;
use trilane::config::document::PricesDocument;
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
    fn prices(&self, names: [&str; 5]) -> Result<PricesDocument, String> {
        let [input, cache_read, write_5m, write_1h, output] = names;
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

/// Notes the prices that a list has beyond those that were read.
fn note(members: &Members<'_>) -> Option<String> {
    let beyond = ["above", "over"];
    let mut left = members.keys().filter(|name| {
        let mut words = name.split('_');
        words.any(|word| beyond.contains(&word))
            && !name.contains("1hr")
            && members.get(*name).is_some_and(|raw| raw.get() != "null")
    });
    left.next().map(|name| {
        format!("the list has other prices for long prompts ({name}), which are not counted")
    })
}

/// LiteLLM's `model_prices_and_context_window.json`: dollars for a token, by `provider/model` or the model alone.
fn litellm(list: &Members<'_>) -> Vec<(String, Result<ListPrice, String>)> {
    const MODES: [&str; 3] = ["chat", "responses", "image_generation"];
    const NAMES: [&str; 5] = [
        "input_cost_per_token",
        "cache_read_input_token_cost",
        "cache_creation_input_token_cost",
        "cache_creation_input_token_cost_above_1hr",
        "output_cost_per_token",
    ];
    let models = list.iter().filter_map(|(name, raw)| {
        let model = members(raw)?;
        let provider = text(model.get("litellm_provider")?)?;
        if name == "sample_spec" {
            return None;
        }
        let mode = model.get("mode").and_then(|raw| text(raw));
        let is_served = mode.is_none_or(|mode| MODES.contains(&mode.as_str()));
        let stated = Stated(&model, Per::Token);
        let prices = || {
            if !is_served {
                return Err("is of a kind that the gateway does not serve".to_owned());
            }
            let mut prices = whole(stated.prices(NAMES)?)?;
            prices.input_audio = stated.of_cache("input_cost_per_audio_token")?;
            prices.output_audio = stated.of_cache("output_cost_per_audio_token")?;
            prices.reasoning = stated.of_cache("output_cost_per_reasoning_token")?;
            prices.output_image = stated.of_cache("output_cost_per_image_token")?;
            let mut tiers = BTreeMap::new();
            for tier in ["flex", "priority"] {
                let names = NAMES.map(|name| format!("{name}_{tier}"));
                let names: [&str; 5] = core::array::from_fn(|at| names.get(at).map_or("", |it| it));
                if let Ok(prices) = whole(stated.prices(names)?) {
                    tiers.insert(tier.to_owned(), prices);
                }
            }
            prices.tiers = (!tiers.is_empty()).then_some(tiers);
            Ok(prices)
        };
        let id = name.strip_prefix(&format!("{provider}/")).unwrap_or(name);
        let found = prices().map(|prices| ListPrice {
            vendor: vendor(&provider),
            id: id.to_owned(),
            prices,
            note: note(&model),
        });
        Some((name.clone(), found))
    });
    models.collect()
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
            let prices = || {
                let mut prices = whole(stated.prices(NAMES)?)?;
                prices.input_audio = stated.of_cache("input_audio")?;
                prices.output_audio = stated.of_cache("output_audio")?;
                prices.reasoning = stated.of_cache("reasoning")?;
                Ok(prices)
            };
            let price = prices().map(|prices| ListPrice {
                vendor: vendor(provider),
                id: id.clone(),
                prices,
                note: note(&cost),
            });
            found.push((format!("{provider}/{id}"), price));
        }
    }
    found
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
            note: note(&pricing),
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
                "input_cost_per_token_flex": 6.25e-07, "output_cost_per_token_flex": 5e-06},
            "gemini/gemini-9": {"litellm_provider": "gemini", "input_cost_per_token": 3e-7, "output_cost_per_token": 0.0000025, "cache_read_input_token_cost": 0.0},
            "claude-9": {"litellm_provider": "anthropic", "mode": "chat", "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
                "cache_creation_input_token_cost": 3.75e-06, "cache_creation_input_token_cost_above_1hr": 6e-06},
            "text-embedding-9": {"litellm_provider": "openai", "mode": "embedding", "input_cost_per_token": 1e-08, "output_cost_per_token": 0.0},
            "noise": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": 1.9999999999999999e-07, "output_cost_per_token": 1e-06},
            "free": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0.0},
            "long": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": 1.99999999999999999999999999999999999e-07, "output_cost_per_token": 1e-06},
            "half": {"litellm_provider": "x", "mode": "chat", "input_cost_per_token": 1e-06}
        }"#;
        assert_eq!(
            lines(text),
            [
                r#"anthropic claude-9 {"input": "3", "cache_write_5m": "3.75", "cache_write_1h": "6", "output": "15"}"#,
                r#"gemini gemini-9 {"input": "0.3", "output": "2.5"}"#,
                r#"openai gpt-9 {"input": "1.25", "cache_read": "0.125", "output": "10", "tiers": {"flex": {"input": "0.625", "output": "5"}}} the list has other prices for long prompts (input_cost_per_token_above_272k_tokens), which are not counted"#,
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
            "anthropic": {"models": {"claude-9": {"cost": {"input": 3, "output": 15, "cache_read": 0.30, "cache_write": 3.75}}}}}"#;
        assert_eq!(
            lines(text),
            [
                r#"anthropic claude-9 {"input": "3", "cache_read": "0.3", "cache_write_5m": "3.75", "output": "15"}"#,
                r#"gemini gemini-9 {"input": "1.25", "cache_read": "0.31", "output": "10"} the list has other prices for long prompts (context_over_200k), which are not counted"#,
            ]
        );
        let text = r#"{"data": [{"id": "a/b", "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003"}},
            {"id": "auto", "pricing": {"prompt": "-1", "completion": "-1"}}, {"id": "none"}]}"#;
        assert_eq!(
            lines(text),
            [
                r#"openrouter a/b {"input": "3", "cache_read": "0.3", "output": "15"}"#,
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
