//! The catalogue: prices of models as their vendors' pages state them, and which pages these are.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use trilane::config::document::PricesDocument;
use trilane::money::Price;
use trilane::protocol::Protocol;

use super::price_line::lines;
use super::price_list::ListPrice;

/// The catalogue that the command carries in itself.
const EMBEDDED: &str = include_str!("../../prices/catalogue.json");
/// The currency of all catalogues and lists.
const CURRENCY: &str = "USD";

/// Prices of models, by protocol and name.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourcePage {
    /// The vendor, such as `openai`.
    pub vendor: String,
    /// The page's address.
    pub url: String,
    /// The day on which it was read, `YYYY-MM-DD`.
    pub read: String,
    /// The description of the copy that was read, which may be older than the day.
    pub as_stored: String,
}

/// A model with its prices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The costs that these prices leave out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl PriceCatalogue {
    /// The one that the command carries.
    pub fn embedded() -> Self {
        // A test reads it; without it no model would be known.
        serde_json::from_str(EMBEDDED).unwrap_or_default()
    }

    /// An empty one, in the currency of the catalogue.
    pub fn empty() -> Self {
        Self {
            currency: CURRENCY.to_owned(),
            ..Self::default()
        }
    }

    /// Reads a catalogue of the operator's.
    ///
    /// # Errors
    /// The fault, and its place.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let catalogue: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if catalogue.currency != CURRENCY {
            return Err(format!("its currency must be in {CURRENCY}"));
        }
        for (number, model) in catalogue.models.iter().enumerate() {
            let at = format!("models[{number}]");
            if !catalogue.pages.contains_key(&model.page) {
                return Err(format!("{at}.page: there is no page {}", model.page));
            }
            for (of, price) in lines(&model.prices) {
                Price::parse(&price).map_err(|why| format!("{at}.prices.{of}: {why}"))?;
            }
        }
        Ok(catalogue)
    }

    /// Both, where each model of this one stands in place of the other's.
    #[must_use]
    pub fn over(mut self, under: Self) -> Self {
        let others = under.models.into_iter().filter(|model| !self.has(model));
        let others: Vec<_> = others.collect();
        self.models.extend(others);
        for (name, page) in under.pages {
            self.pages.entry(name).or_insert(page);
        }
        let used: BTreeSet<&String> = self.models.iter().map(|model| &model.page).collect();
        self.pages.retain(|name, _| used.contains(name));
        self
    }

    /// Whether it has prices for all that another's model stands for.
    fn has(&self, other: &CatalogueModel) -> bool {
        let protocols = other.protocols.iter();
        protocols
            .filter_map(|name| protocol_named(name))
            .all(|protocol| self.of(protocol).any(|model| model.id == other.id))
    }

    /// A catalogue of a list's models, which were read on a page. Of names that mean one model the first is taken.
    pub fn of_list(models: &[ListPrice], url: &str, read: &str, form: &str) -> Self {
        let mut catalogue = Self::empty();
        for model in models {
            let protocols = protocols_of(&model.vendor);
            let page = format!("{}, {url}", model.vendor);
            let taken = protocols.iter().map(|protocol| CatalogueModel {
                id: protocol.name_rule().fold(&model.id).into_owned(),
                protocols: vec![protocol.to_string()],
                page: page.clone(),
                prices: model.prices.clone(),
                note: model.note.clone(),
            });
            for model in taken {
                if !catalogue.has(&model) {
                    catalogue.models.push(model);
                }
            }
            catalogue.pages.entry(page).or_insert_with(|| SourcePage {
                vendor: model.vendor.clone(),
                url: url.to_owned(),
                read: read.to_owned(),
                as_stored: form.to_owned(),
            });
        }
        catalogue
    }

    /// The models, each with its page, in the catalogue's order.
    pub fn models(&self) -> impl Iterator<Item = (&CatalogueModel, &SourcePage)> {
        let models = self.models.iter();
        models.filter_map(|model| Some((model, self.pages.get(&model.page)?)))
    }

    /// The model that a protocol's requests mean by a name.
    pub fn find(&self, protocol: Protocol, name: &str) -> Option<&CatalogueModel> {
        let name = protocol.name_rule().fold(name);
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

    /// Writes the prices as the value of a document's field `prices`, on one line.
    pub fn prices_text(&self) -> String {
        // Texts only, into memory: it cannot fail.
        serde_json::to_string(&self.prices).unwrap_or_default()
    }
}

/// The protocols by which a vendor of a price list serves its models here. All but these few speak as OpenAI does.
fn protocols_of(vendor: &str) -> &'static [Protocol] {
    match vendor {
        "anthropic" => &[Protocol::B],
        "gemini" => &[Protocol::C],
        "deepseek" => &[Protocol::A, Protocol::B],
        _ => &[Protocol::A],
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
