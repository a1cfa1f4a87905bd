//! A document's prices beside those of the catalogue.

use serde::Serialize;
use trilane::config::Document;
use trilane::config::document::{GroupDocument, ModelDocument};
use trilane::money::Price;
use trilane_console::prices::{CatalogueModel, PriceCatalogue, PriceLines, lines, protocol_named};

/// The result of a comparison for a model of a document.
#[derive(Debug, Serialize)]
pub struct ComparedModel {
    /// The id of the model's group.
    pub group: String,
    /// The id of the model.
    pub model: String,
    /// The relation of the model's prices to the catalogue: see [`PriceStanding`].
    pub prices: PriceStanding,
    /// The prices that differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<PriceDifference>,
}

/// The relation of a model's prices to the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PriceStanding {
    /// The prices are as the catalogue states them, and perhaps more that it does not state.
    Same,
    /// The catalogue states others.
    Different,
    /// The model has prices, and the catalogue does not know it.
    Unknown,
    /// The model has no prices.
    Unpriced,
    /// The model is free.
    Free,
}

/// A price that differs.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct PriceDifference {
    /// The name of the price, such as `input` or `tiers.flex.output`.
    pub of: String,
    /// The document's, where it has one.
    pub document: Option<String>,
    /// The catalogue's.
    pub catalogue: String,
}

impl PriceStanding {
    /// Returns the word for it, as JSON has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Different => "different",
            Self::Unknown => "unknown",
            Self::Unpriced => "unpriced",
            Self::Free => "free",
        }
    }
}

/// Compares every model of every source group.
pub fn compare(document: &Document, catalogue: &PriceCatalogue) -> Vec<ComparedModel> {
    let groups = document.groups.iter().flatten();
    let mut compared = Vec::new();
    for group in groups {
        let models = group.models.iter().flatten();
        compared.extend(models.filter_map(|model| of_model(group, model, catalogue)));
    }
    compared
}

/// `None` for a model of a Mixed group, which has no prices of its own.
fn of_model(
    group: &GroupDocument,
    model: &ModelDocument,
    catalogue: &PriceCatalogue,
) -> Option<ComparedModel> {
    let protocol = protocol_named(group.protocol.as_deref()?)?;
    let id = model.id.clone()?;
    let known = catalogue.find(protocol, model.upstream.as_deref().unwrap_or(&id));
    let (prices, differences) = match (&model.prices, known) {
        (None, _) if model.free == Some(true) => (PriceStanding::Free, Vec::new()),
        (None, _) => (PriceStanding::Unpriced, Vec::new()),
        (Some(_), None) => (PriceStanding::Unknown, Vec::new()),
        (Some(own), Some(known)) => match differences(&lines(own), known) {
            none if none.is_empty() => (PriceStanding::Same, none),
            found => (PriceStanding::Different, found),
        },
    };
    Some(ComparedModel {
        group: group.id.clone()?,
        model: id,
        prices,
        differences,
    })
}

/// Lists the prices that the catalogue states otherwise. Prices that it does not state, such as those of calls, are left out.
fn differences(own: &PriceLines, known: &CatalogueModel) -> Vec<PriceDifference> {
    let known = lines(&known.prices).into_iter();
    let differing = known.filter_map(|(of, known)| {
        let own = own.get(&of);
        // Compared as numbers: 0.50 is 0.5.
        let same = own.is_some_and(|own| Price::parse(own) == Price::parse(&known));
        (!same).then(|| PriceDifference {
            document: own.cloned(),
            catalogue: known,
            of,
        })
    });
    differing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standings() {
        let text = r#"{"groups": [
            {"id": "b", "protocol": "B", "models": [
                {"id": "claude-opus-4-8", "prices": {"input": "5.00", "cache_read": "0.50", "cache_write_5m": "6.25", "cache_write_1h": "10", "output": "25"}},
                {"id": "mine", "upstream": "claude-haiku-4-5-20251001", "prices": {"input": "2", "cache_read": "0.1", "cache_write_5m": "1.25", "output": "5", "per_call": {"web_search": "0.01"}}},
                {"id": "nobody-knows", "prices": {"input": "1", "output": "1"}},
                {"id": "claude-opus-4-7"},
                {"id": "claude-opus-4-6", "free": true}
            ]},
            {"id": "x", "protocol": "Mixed", "models": [{"id": "claude-opus-4-8", "entry": "vb_messages"}]}
        ]}"#;
        let document = Document::parse(text.as_bytes());
        // Without keys it is not valid, and yet it can be read.
        let document = document.unwrap_or_else(|_| serde_json::from_str(text).unwrap());
        let compared = compare(&document, &PriceCatalogue::embedded());
        let standings: Vec<_> = compared
            .iter()
            .map(|model| (model.model.as_str(), model.prices))
            .collect();
        let want = [
            ("claude-opus-4-8", PriceStanding::Same),
            ("mine", PriceStanding::Different),
            ("nobody-knows", PriceStanding::Unknown),
            ("claude-opus-4-7", PriceStanding::Unpriced),
            ("claude-opus-4-6", PriceStanding::Free),
        ];
        assert_eq!(standings, want);
        let difference = |of: &str, document: Option<&str>, catalogue: &str| PriceDifference {
            of: of.to_owned(),
            document: document.map(str::to_owned),
            catalogue: catalogue.to_owned(),
        };
        let want = [
            difference("cache_write_1h", None, "2"),
            difference("input", Some("2"), "1"),
        ];
        assert_eq!(compared[1].differences, want);
    }
}
