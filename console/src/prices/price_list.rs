//! Price lists of others: LiteLLM's price file, the JSON of models.dev, OpenRouter's list of models.
//!
//! Each price is taken as the decimal text that stands there, moved to dollars for a million tokens and never rounded, those
//! for long requests, for classes of service and at times too. What a document cannot say is noted at the model.

mod litellm;
mod models_dev;
mod openrouter;
mod stated;

use trilane::config::document::PricesDocument;

use stated::Members;
pub(crate) use stated::Per;

/// A price list, read.
#[derive(Debug)]
pub struct PriceList {
    /// The name of the list's format, for people.
    pub form: &'static str,
    /// The models of the list that have prices of input and output.
    pub models: Vec<ListPrice>,
    /// The models that were not taken.
    pub unread: Vec<UnreadModel>,
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

/// A model of a price list that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadModel {
    /// The vendor, as of those that were.
    pub vendor: String,
    /// Its name in the list.
    pub name: String,
    /// The reason that it was not taken.
    pub reason: String,
}

/// The price of a model of a list, or the reason that there is none.
type ReadModel = Result<ListPrice, UnreadModel>;

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
            Self::of("OpenRouter's list of models", openrouter::models(data))
        } else if members.values().any(|one| models_dev::is_provider(one)) {
            Self::of("the JSON of models.dev", models_dev::models(&members))
        } else {
            Self::of("LiteLLM's price file", litellm::models(&members))
        };
        if list.models.is_empty() && list.unread.is_empty() {
            return Err(no_list());
        }
        list.models
            .sort_by(|a, b| (&a.vendor, &a.id).cmp(&(&b.vendor, &b.id)));
        Ok(list)
    }

    fn of(form: &'static str, found: Vec<ReadModel>) -> Self {
        let mut list = Self {
            form,
            models: Vec::new(),
            unread: Vec::new(),
        };
        for found in found {
            match found {
                Ok(model) => list.models.push(model),
                Err(unread) => list.unread.push(unread),
            }
        }
        list
    }
}

/// The model with these prices and a note on those that are `left`, or the reason that it was not taken under its name in the list.
fn read_model(
    vendor: String,
    (id, name): (String, String),
    prices: Result<PricesDocument, String>,
    left: &[String],
) -> ReadModel {
    match prices {
        Ok(prices) => Ok(ListPrice {
            vendor,
            id,
            prices,
            note: stated::note(left),
        }),
        Err(reason) => Err(UnreadModel {
            vendor,
            name,
            reason,
        }),
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

#[cfg(test)]
mod tests;
