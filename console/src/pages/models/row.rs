//! A model in a line: its prices and its health.

use rust_decimal::Decimal;

use crate::cases::model_health::{HealthState, ModelHealth};
use crate::cases::priced_models::PricedModel;
use crate::pages::text;
use crate::text::path_with;
use crate::vendors::api_style;

/// The decimal places that a price is shown with; the exact one is seen on hovering.
const PLACES: u32 = 4;

/// A price: as it is shown, and exact.
pub struct ShownPrice {
    /// The price, rounded.
    pub text: String,
    /// The exact price; empty where the text is exact.
    pub exact: String,
}

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
    pub input: Option<ShownPrice>,
    pub cached: Option<ShownPrice>,
    pub output: Option<ShownPrice>,
    /// Other prices, one in a line.
    pub others: Vec<String>,
    /// Remarks about the prices.
    pub notes: Vec<&'static str>,
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
        || "Not asked".to_owned(),
        |percent| format!("{percent} % good"),
    );
    (kind, text)
}

fn shown(currency: &str, exact: &str) -> ShownPrice {
    let whole = text::amount(currency, exact);
    let rounded = exact
        .parse::<Decimal>()
        .ok()
        .filter(|price| price.scale() > PLACES);
    let Some(rounded) = rounded.map(|price| price.round_dp(PLACES).normalize()) else {
        return ShownPrice {
            text: whole,
            exact: String::new(),
        };
    };
    ShownPrice {
        // Never 0 for what costs something.
        text: if rounded.is_zero() {
            format!("< {}", text::amount(currency, "0.0001"))
        } else {
            format!("≈ {}", text::amount(currency, &rounded.to_string()))
        },
        exact: whole,
    }
}

impl ModelRow {
    /// Of a model with prices in this currency.
    pub fn of(model: &PricedModel, currency: &str) -> Self {
        let price = |name: &str| model.prices.get(name).map(|exact| shown(currency, exact));
        let main = ["input", "cache_read", "output"];
        let others = model.prices.iter();
        let others = others.filter(|(name, _)| !main.contains(&name.as_str()));
        let others = others.map(|(name, exact)| {
            let name = name.replace(['_', '.'], " ");
            format!("{name} {}", text::amount(currency, exact))
        });
        let mut notes = Vec::new();
        if model.is_image {
            notes.push("makes images");
        }
        if model.free {
            notes.push("free");
        } else if model.prices.is_empty() {
            notes.push("no price: keys under a budget may not use it");
        }
        if model.has_other_prices {
            notes.push("other prices for long requests, at times, for classes of service, or at another source");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_rounded_and_exact() {
        for (exact, text, hover) in [
            ("0.25", "$0.25", ""),
            ("0", "$0.00", ""),
            ("1.23456", "≈ $1.2346", "$1.23456"),
            ("0.99999", "≈ $1.00", "$0.99999"),
            ("0.00001", "< $0.0001", "$0.00001"),
        ] {
            let price = shown("USD", exact);
            assert_eq!((price.text.as_str(), price.exact.as_str()), (text, hover));
        }
    }
}
