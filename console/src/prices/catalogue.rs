//! The catalogue: prices of models as their vendors' pages state them, and which pages these are.

use std::collections::BTreeMap;

use serde::Deserialize;
use trilane::config::document::PricesDocument;
use trilane::model::name::NameRule;
use trilane::protocol::Protocol;

/// The catalogue that the command carries in itself.
const EMBEDDED: &str = include_str!("../../prices/catalogue.json");

/// Prices of models, by protocol and name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceCatalogue {
    /// The currency of all its prices.
    pub currency: String,
    /// The pages that the prices were read on, by a name of their own.
    pages: BTreeMap<String, SourcePage>,
    /// The models.
    models: Vec<CatalogueModel>,
}

/// A page of a vendor with prices.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourcePage {
    /// The vendor, such as `openai`.
    pub vendor: String,
    /// The page's address.
    pub url: String,
    /// The day on which it was read, `YYYY-MM-DD`.
    pub read: String,
    /// What the copy that was read is, which may be older than the day.
    pub as_stored: String,
}

/// A model with its prices.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueModel {
    /// The vendor's name of it.
    pub id: String,
    /// The protocols that the vendor serves it by, such as `A`.
    pub protocols: Vec<String>,
    /// The name of the page.
    page: String,
    /// The prices, as a document writes them.
    pub prices: PricesDocument,
    /// What these prices leave out.
    pub note: Option<String>,
}

impl PriceCatalogue {
    /// The one that the command carries.
    pub fn embedded() -> Self {
        // A test reads it; without it no model would be known.
        serde_json::from_str(EMBEDDED).unwrap_or_default()
    }

    /// The models, each with its page, in the catalogue's order.
    pub fn models(&self) -> impl Iterator<Item = (&CatalogueModel, &SourcePage)> {
        let models = self.models.iter();
        models.filter_map(|model| Some((model, self.pages.get(&model.page)?)))
    }

    /// The model that a protocol's requests mean by a name.
    pub fn find(&self, protocol: Protocol, name: &str) -> Option<&CatalogueModel> {
        let rule = match protocol {
            Protocol::A => NameRule::A,
            Protocol::B => NameRule::B,
            Protocol::C => NameRule::C,
        };
        let name = rule.fold(name);
        self.of(protocol).find(|model| model.id == name)
    }

    /// The models of a protocol.
    pub fn of(&self, protocol: Protocol) -> impl Iterator<Item = &CatalogueModel> {
        self.models
            .iter()
            .filter(move |model| model.serves(protocol))
    }
}

impl CatalogueModel {
    /// Whether the vendor serves it by a protocol.
    fn serves(&self, protocol: Protocol) -> bool {
        self.protocols
            .iter()
            .any(|name| *name == protocol.to_string())
    }

    /// Its prices as the value of a document's field `prices`, on one line.
    pub fn prices_text(&self) -> String {
        // Texts only, into memory: it cannot fail.
        serde_json::to_string(&self.prices).unwrap_or_default()
    }
}

/// The protocol of a name in a document.
pub fn protocol_named(name: &str) -> Option<Protocol> {
    [Protocol::A, Protocol::B, Protocol::C]
        .into_iter()
        .find(|protocol| protocol.to_string() == name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;
    use trilane::config::{Document, compile};

    use super::*;

    fn read() -> PriceCatalogue {
        serde_json::from_str(EMBEDDED).unwrap()
    }

    #[test]
    fn every_model_compiles_to_prices_without_a_warning() {
        let catalogue = read();
        assert!(catalogue.models().count() >= 20, "they are lost");
        for (model, _) in catalogue.models() {
            assert!(!model.protocols.is_empty(), "{}", model.id);
            for name in &model.protocols {
                assert!(protocol_named(name).is_some(), "{}", model.id);
                let document = json!({
                    "currency": catalogue.currency,
                    "groups": [{"id": "g", "protocol": name, "multiplier": "1", "cluster": "c", "models": [
                        {"id": model.id, "prices": model.prices}
                    ]}],
                    "keys": []
                });
                let document = Document::parse(document.to_string().as_bytes()).unwrap();
                let compiled = compile(&document).unwrap();
                assert_eq!(compiled.warnings, [], "{}", model.id);
            }
        }
    }

    #[test]
    fn every_model_has_a_page_of_its_vendor_that_was_read_on_a_day() {
        let catalogue = read();
        let hosts = [
            ("anthropic", "https://platform.claude.com/"),
            ("deepseek", "https://api-docs.deepseek.com/"),
            ("google", "https://ai.google.dev/"),
            ("openai", "https://developers.openai.com/"),
        ];
        let mut used = HashSet::new();
        for model in &catalogue.models {
            let page = &catalogue.pages[&model.page];
            used.insert(&model.page);
            let host = hosts.iter().find(|(vendor, _)| *vendor == page.vendor);
            assert!(page.url.starts_with(host.unwrap().1), "{}", page.url);
            assert!(!page.as_stored.is_empty(), "{}", page.url);
            let day: Vec<usize> = page.read.split('-').map(str::len).collect();
            assert_eq!(day, [4, 2, 2], "{}", page.url);
            let digits = |b: u8| b.is_ascii_digit() || b == b'-';
            assert!(page.read.bytes().all(digits), "{}", page.url);
        }
        assert_eq!(used.len(), catalogue.pages.len(), "a page without a model");
    }

    #[test]
    fn a_name_means_one_model() {
        let catalogue = read();
        let mut seen = HashSet::new();
        for model in &catalogue.models {
            for protocol in &model.protocols {
                assert!(seen.insert((protocol, &model.id)), "{}", model.id);
                let protocol = protocol_named(protocol).unwrap();
                let found = catalogue.find(protocol, &model.id).unwrap();
                assert_eq!(found.id, model.id, "its id is canonical");
            }
        }
        for (case, protocol, name, want) in [
            (
                "dated",
                Protocol::B,
                "claude-opus-4-5-20251101",
                Some("claude-opus-4-5"),
            ),
            (
                "dotted",
                Protocol::B,
                "claude-sonnet-5.5[1m]",
                Some("claude-sonnet-5-5"),
            ),
            (
                "prefixed",
                Protocol::C,
                "models/gemini-3.6-flash",
                Some("gemini-3.6-flash"),
            ),
            ("another product", Protocol::B, "claude-opus-4-6-fast", None),
            ("A is exact", Protocol::A, "gpt-6-luna-2026-09-22", None),
            ("another protocol", Protocol::A, "claude-opus-4-5", None),
        ] {
            let found = catalogue
                .find(protocol, name)
                .map(|model| model.id.as_str());
            assert_eq!(found, want, "{case}");
        }
    }
}
