//! A model in a line: its prices and its health.

use std::borrow::Cow;

use crate::cases::model_health::{HealthState, ModelHealth};
use crate::cases::priced_models::PricedModel;
use crate::language::translated;
use crate::pages::{ShownAmount, text};
use crate::text::path_with;
use crate::vendors::api_style;

/// A model in a line.
pub struct ModelRow {
    /// The id.
    pub id: String,
    /// The name for people; empty where it is the id.
    pub name: String,
    /// The style of the API that serves it.
    pub style: &'static str,
    /// The letter of the protocol, for the colour of the style.
    pub protocol: &'static str,
    /// The group by which it is used.
    pub group: String,
    /// The prices of input, cached input and output.
    pub input: Option<ShownAmount>,
    pub cached: Option<ShownAmount>,
    pub output: Option<ShownAmount>,
    /// Other prices, one in a line.
    pub others: Vec<String>,
    /// Remarks about the prices.
    pub notes: Vec<Cow<'static, str>>,
    /// The health: its kind for the eye, and a text.
    pub health: (&'static str, String),
    /// The path of how to call it.
    pub path: String,
}

/// Describes the health of a model.
pub fn health(of: ModelHealth) -> (&'static str, String) {
    let kind = match of.state {
        HealthState::Good => "good",
        HealthState::SomeFail => "warn",
        HealthState::Fails => "bad",
        HealthState::Unknown => "off",
    };
    let text = of.good_percent.map_or_else(
        || t!("No requests").into_owned(),
        |percent| t!("{percent} % good", percent = percent),
    );
    (kind, text)
}

/// A part of the name of a price in words: `per_call`, `web_search`.
fn price_word(name: &str) -> String {
    match name {
        "cache_write_5m" => t!("cache write 5m").into_owned(),
        "cache_write_1h" => t!("cache write 1h").into_owned(),
        "per_call" => t!("per call").into_owned(),
        "per_request" => t!("per request").into_owned(),
        name => translated(&name.replace('_', " ")).into_owned(),
    }
}

impl ModelRow {
    /// Of a model with prices in this currency.
    pub fn of(model: &PricedModel, currency: &str) -> Self {
        let price = |name: &str| {
            model
                .prices
                .get(name)
                .map(|exact| ShownAmount::price(currency, exact))
        };
        let main = ["input", "cache_read", "output"];
        let others = model.prices.iter();
        let others = others.filter(|(name, _)| !main.contains(&name.as_str()));
        let others = others.map(|(name, exact)| {
            let words: Vec<String> = name.split('.').map(price_word).collect();
            format!("{} {}", words.join(" "), text::amount(currency, exact))
        });
        let mut notes = Vec::new();
        if model.is_image {
            notes.push(t!("makes images"));
        }
        if model.free {
            notes.push(t!("free"));
        } else if model.prices.is_empty() {
            notes.push(t!("no price: keys under a budget may not use it"));
        }
        if model.has_other_prices {
            notes.push(t!("other prices for long requests, certain times or service tiers, or from another source"));
        }
        Self {
            id: model.model.id.clone(),
            name: model.name.clone().unwrap_or_default(),
            style: api_style(model.model.protocol),
            protocol: model.model.protocol,
            group: model.group.clone(),
            input: price("input"),
            cached: price("cache_read").or_else(|| price("input")),
            output: price("output"),
            others: others.collect(),
            notes,
            health: health(model.health),
            path: format!(
                "{}#call",
                path_with(
                    "/models",
                    &[
                        ("model", &model.model.id),
                        ("group", &model.group),
                        ("style", model.model.protocol)
                    ]
                )
            ),
        }
    }
}
