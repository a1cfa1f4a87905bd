//! The models that a document gets: what the vendor lists, under the names of the document, with prices.

use serde_json::json;
use trilane::config::{Document, compile};
use trilane::model::name::NameRule;
use trilane::protocol::Protocol;

use super::listed::{ListedModel, StatedPrices};
use super::vendor::Vendor;
use crate::json_line::json_line;
use crate::prices::{PriceCatalogue, one_line};

/// A model for the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenModel {
    /// Its id in the document.
    pub id: String,
    /// The vendor's name of it, where that is another.
    pub upstream: Option<String>,
    /// Its name for people.
    pub display_name: Option<String>,
    /// What is known of its price.
    pub pricing: ModelPricing,
}

/// What is known of a model's price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelPricing {
    /// The catalogue's prices.
    Catalogue {
        /// As the value of the document's field.
        text: String,
        /// For people.
        shown: String,
    },
    /// Those that somebody has given, with all their kinds.
    Given {
        /// As the value of the document's field.
        text: String,
        /// For people.
        shown: String,
    },
    /// Those in the vendor's own list.
    Stated {
        /// The price of input.
        input: String,
        /// The price of output.
        output: String,
    },
    /// The operator's.
    Own {
        /// The price of input.
        input: String,
        /// The price of output.
        output: String,
    },
    /// It costs nothing.
    Free,
    /// Nothing is known.
    Unknown,
}

impl ChosenModel {
    /// Whether a budget can count it.
    pub fn is_priced(&self) -> bool {
        self.pricing != ModelPricing::Unknown
    }

    /// Whether a name on the command line means it.
    pub fn is_named(&self, protocol: Protocol, name: &str) -> bool {
        self.upstream.as_deref() == Some(name) || self.id == folded(protocol, name)
    }

    /// It for people: id and price.
    pub fn line(&self) -> String {
        let price = match &self.pricing {
            ModelPricing::Catalogue { shown, .. } | ModelPricing::Given { shown, .. } => {
                shown.clone()
            }
            ModelPricing::Stated { input, output } => {
                format!("input {input}, output {output}, as the vendor lists it")
            }
            ModelPricing::Own { input, output } => format!("input {input}, output {output}"),
            ModelPricing::Free => "free".to_owned(),
            ModelPricing::Unknown => "no known price".to_owned(),
        };
        format!("{} ({price})", self.id)
    }

    /// It as an element of the document's `models`, on one line.
    pub fn json(&self) -> String {
        let text = |text: &String| json!(text).to_string();
        let mut members = vec![("id", text(&self.id))];
        let display_name = self.display_name.as_ref();
        members.extend(display_name.map(|name| ("display_name", text(name))));
        members.extend(self.upstream.as_ref().map(|name| ("upstream", text(name))));
        match &self.pricing {
            ModelPricing::Catalogue { text, .. } | ModelPricing::Given { text, .. } => {
                members.push(("prices", text.clone()));
            }
            ModelPricing::Stated { input, output } | ModelPricing::Own { input, output } => {
                let prices = json!({"input": input, "output": output});
                members.push(("prices", json_line(&prices)));
            }
            ModelPricing::Free => members.push(("free", "true".to_owned())),
            ModelPricing::Unknown => {}
        }
        let members = members
            .into_iter()
            .map(|(name, value)| format!("\"{name}\": {value}"));
        format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
    }
}

/// The vendor's models under the names of the document, each once, those that no document can name left out.
pub fn offer(
    vendor: &Vendor,
    listed: Vec<ListedModel>,
    catalogue: &PriceCatalogue,
) -> Vec<ChosenModel> {
    let mut offered: Vec<ChosenModel> = Vec::new();
    for ListedModel {
        id,
        display_name,
        prices,
    } in listed
    {
        let own = folded(vendor.protocol, &id);
        if offered.iter().any(|model| model.id == own) {
            continue;
        }
        let found = catalogue.find(vendor.protocol, &id);
        let stated = prices.filter(|_| vendor.preset.states_prices);
        let pricing = match (found, stated) {
            (Some(found), _) => ModelPricing::Catalogue {
                text: json_line(&found.prices),
                shown: one_line(&found.prices),
            },
            (None, Some(StatedPrices { input, output })) => ModelPricing::Stated { input, output },
            (None, None) => ModelPricing::Unknown,
        };
        let mut model = ChosenModel {
            upstream: (own != id).then_some(id),
            id: own,
            display_name,
            pricing,
        };
        model.display_name = model.display_name.take().filter(|name| *name != model.id);
        if !is_good(vendor.protocol, &model) {
            model.display_name = None;
        }
        if is_good(vendor.protocol, &model) {
            offered.push(model);
        }
    }
    offered
}

fn folded(protocol: Protocol, name: &str) -> String {
    let rule = match protocol {
        Protocol::A => NameRule::A,
        Protocol::B => NameRule::B,
        Protocol::C => NameRule::C,
    };
    rule.fold(name).into_owned()
}

/// Whether the gateway takes the model in a document.
fn is_good(protocol: Protocol, model: &ChosenModel) -> bool {
    let text = format!(
        r#"{{"groups":[{{"id":"g","protocol":"{protocol}","multiplier":"1","cluster":"c","models":[{}]}}],"keys":[]}}"#,
        model.json()
    );
    Document::parse(text.as_bytes()).is_ok_and(|document| compile(&document).is_ok())
}

/// Of what a vendor offers, what is taken unless somebody says otherwise: the models with a price, or all if there is none.
pub fn usual(offered: Vec<ChosenModel>) -> Vec<ChosenModel> {
    let priced = offered.iter().filter(|model| model.is_priced());
    let priced: Vec<_> = priced.cloned().collect();
    if priced.is_empty() { offered } else { priced }
}

#[cfg(test)]
mod tests {
    use super::super::vendor::VendorPreset;
    use super::*;

    #[test]
    fn names_are_those_of_the_document() {
        let preset = VendorPreset::named("anthropic").unwrap();
        let anthropic = Vendor::new(preset, None, None, None).unwrap();
        let names = [
            "claude-opus-4-5-20251101",
            "claude-opus-4-5",
            "claude-new-9",
            "not a name",
        ];
        let offered = offer(
            &anthropic,
            names.map(ListedModel::named).to_vec(),
            &PriceCatalogue::embedded(),
        );
        let shown: Vec<String> = offered.iter().map(ChosenModel::line).collect();
        assert_eq!(
            shown,
            [
                "claude-opus-4-5 (input 5, output 25)",
                "claude-new-9 (no known price)"
            ]
        );
        assert_eq!(
            offered[0].json(),
            r#"{"id": "claude-opus-4-5", "upstream": "claude-opus-4-5-20251101", "prices": {"input": "5", "cache_read": "0.5", "cache_write_5m": "6.25", "cache_write_1h": "10", "output": "25"}}"#
        );
        assert_eq!(offered[1].json(), r#"{"id": "claude-new-9"}"#);
    }
}
