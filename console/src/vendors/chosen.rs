//! The models that a document gets: what the vendor lists, under the names of the document, with prices.

use serde::Serialize;
use serde_json::json;
use trilane::config::document::PricesDocument;
use trilane::config::{Document, compile};
use trilane::protocol::Protocol;
use utoipa::ToSchema;

use super::listed::ListedModel;
use super::unserved;
use super::vendor::Vendor;
use crate::json_line::json_line;
use crate::language::translated;
use crate::prices::{PriceCatalogue, one_line};

/// A model for the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenModel {
    /// The id of the model in the document.
    pub id: String,
    /// The vendor's name of it, where that is another.
    pub upstream: Option<String>,
    /// The display name.
    pub display_name: Option<String>,
    /// The moment from which the vendor has it (RFC 3339).
    pub created_at: Option<String>,
    /// The known price of the model.
    pub pricing: ModelPricing,
}

/// The known price of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelPricing {
    /// The prices are known.
    Known {
        /// The prices, as the document's field has them.
        prices: Box<PricesDocument>,
        /// Their source.
        from: PriceSource,
    },
    /// It costs nothing.
    Free,
    /// Nothing is known.
    Unknown,
}

/// The source of prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceSource {
    /// The catalogue.
    Catalogue,
    /// The vendor's own list of models.
    Vendor,
    /// The operator, or the document as it is.
    Operator,
}

impl ModelPricing {
    /// The prices, where there are any.
    pub fn prices(&self) -> Option<&PricesDocument> {
        match self {
            Self::Known { prices, .. } => Some(prices),
            Self::Free | Self::Unknown => None,
        }
    }

    /// The source of the prices, where there are any.
    pub fn source(&self) -> Option<PriceSource> {
        match self {
            Self::Known { from, .. } => Some(*from),
            Self::Free | Self::Unknown => None,
        }
    }
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

    /// Writes it for people: id and price.
    pub fn line(&self) -> String {
        let price = match &self.pricing {
            ModelPricing::Known {
                prices,
                from: PriceSource::Vendor,
            } => format!("{}, as the vendor lists it", one_line(prices)),
            ModelPricing::Known { prices, .. } => one_line(prices),
            ModelPricing::Free => "free".to_owned(),
            ModelPricing::Unknown => "no known price".to_owned(),
        };
        format!("{} ({price})", self.id)
    }

    /// Writes it as an element of the document's `models`, on one line.
    pub fn json(&self) -> String {
        let text = |text: &String| json!(text).to_string();
        let mut members = vec![("id", text(&self.id))];
        let display_name = self.display_name.as_ref();
        members.extend(display_name.map(|name| ("display_name", text(name))));
        let created_at = self.created_at.as_ref();
        members.extend(created_at.map(|moment| ("created_at", text(moment))));
        members.extend(self.upstream.as_ref().map(|name| ("upstream", text(name))));
        match &self.pricing {
            ModelPricing::Known { prices, .. } => members.push(("prices", json_line(prices))),
            ModelPricing::Free => members.push(("free", "true".to_owned())),
            ModelPricing::Unknown => {}
        }
        let members = members
            .into_iter()
            .map(|(name, value)| format!("\"{name}\": {value}"));
        format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
    }
}

/// A vendor's list, as a document can have it.
#[derive(Debug, Default)]
pub struct Offer {
    /// The models under the names of the document, each once, in the order of the list.
    pub models: Vec<ChosenModel>,
    /// The models that no document can serve.
    pub left_out: Vec<LeftOut>,
}

/// A model of a vendor's list that is not offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct LeftOut {
    /// The vendor's name of it.
    pub id: String,
    /// The reason that the model is not offered, for people.
    pub reason: String,
}

impl Offer {
    /// Finds names and prices of a vendor's models.
    pub fn of(vendor: &Vendor, listed: Vec<ListedModel>, catalogue: &PriceCatalogue) -> Self {
        let mut offer = Self::default();
        for listed in listed {
            let id = listed.id.clone();
            let own = folded(vendor.protocol, &id);
            let taken = offer.models.iter().any(|model| model.id == own);
            let reason = match unserved::reason(vendor.protocol, &listed) {
                Some(reason) => translated(reason).into_owned(),
                None if taken => t!("another name of {model}", model = own),
                None => match chosen(vendor, own, listed, catalogue) {
                    Some(model) => {
                        offer.models.push(model);
                        continue;
                    }
                    None => t!("a name that no document can have").into_owned(),
                },
            };
            offer.left_out.push(LeftOut { id, reason });
        }
        offer
    }

    /// The models that are taken unless somebody says otherwise: those with a price, or all if there is none. Of more than
    /// [`MOST_USUAL`] none is: who wants so many says so.
    pub fn usual(&self) -> Vec<ChosenModel> {
        let priced = self.models.iter().filter(|model| model.is_priced());
        let priced: Vec<_> = priced.cloned().collect();
        let usual = if priced.is_empty() {
            self.models.clone()
        } else {
            priced
        };
        if usual.len() > MOST_USUAL {
            return Vec::new();
        }
        usual
    }
}

/// The most models that are taken without a choice by name.
pub const MOST_USUAL: usize = 30;

/// A model under its name in the document. `None`: no document can have it.
fn chosen(
    vendor: &Vendor,
    own: String,
    listed: ListedModel,
    catalogue: &PriceCatalogue,
) -> Option<ChosenModel> {
    let id = listed.id;
    let stated = listed.prices.filter(|_| vendor.preset.states_prices);
    let pricing = match (catalogue.find(vendor.protocol, &id), stated) {
        (Some(found), _) => ModelPricing::Known {
            prices: Box::new(found.prices.clone()),
            from: PriceSource::Catalogue,
        },
        (None, Some(prices)) => ModelPricing::Known {
            prices: Box::new(prices),
            from: PriceSource::Vendor,
        },
        (None, None) => ModelPricing::Unknown,
    };
    let mut model = ChosenModel {
        upstream: (own != id).then_some(id),
        display_name: listed.display_name.filter(|name| *name != own),
        created_at: listed.created_at,
        id: own,
        pricing,
    };
    if !is_good(vendor.protocol, &model) {
        model.display_name = None;
    }
    is_good(vendor.protocol, &model).then_some(model)
}

fn folded(protocol: Protocol, name: &str) -> String {
    protocol.name_rule().fold(name).into_owned()
}

/// Whether the gateway takes the model in a document.
fn is_good(protocol: Protocol, model: &ChosenModel) -> bool {
    let text = format!(
        r#"{{"groups":[{{"id":"g","protocol":"{protocol}","multiplier":"1","cluster":"c","models":[{}]}}],"keys":[]}}"#,
        model.json()
    );
    Document::parse(text.as_bytes()).is_ok_and(|document| compile(&document).is_ok())
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
        let names = names.map(ListedModel::named).to_vec();
        let Offer { models, left_out } = Offer::of(&anthropic, names, &PriceCatalogue::embedded());
        let shown: Vec<String> = models.iter().map(ChosenModel::line).collect();
        assert_eq!(
            shown,
            [
                "claude-opus-4-5 (input 5, cached 0.5, output 25)",
                "claude-new-9 (no known price)"
            ]
        );
        assert_eq!(
            models[0].json(),
            r#"{"id": "claude-opus-4-5", "upstream": "claude-opus-4-5-20251101", "prices": {"input": "5", "cache_read": "0.5", "cache_write_5m": "6.25", "cache_write_1h": "10", "output": "25"}}"#
        );
        assert_eq!(models[1].json(), r#"{"id": "claude-new-9"}"#);
        let left_out: Vec<_> = left_out
            .iter()
            .map(|it| (it.id.as_str(), it.reason.as_str()))
            .collect();
        assert_eq!(
            left_out,
            [
                ("claude-opus-4-5", "another name of claude-opus-4-5"),
                ("not a name", "a name that no document can have")
            ]
        );
    }

    #[test]
    fn of_many_none_is_taken_unasked() {
        let preset = VendorPreset::named("openai").unwrap();
        let openai = Vendor::new(preset, None, None, None).unwrap();
        for (models, taken) in [(1, 1), (MOST_USUAL, MOST_USUAL), (MOST_USUAL + 1, 0)] {
            let names = (0..models).map(|number| ListedModel::named(&format!("m{number}")));
            let offer = Offer::of(&openai, names.collect(), &PriceCatalogue::default());
            assert_eq!(offer.usual().len(), taken, "{models} models");
        }
    }
}
