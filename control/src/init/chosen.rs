//! The models that the document gets: what the vendor lists, under the names of the document, with prices.

use serde_json::json;
use trilane::config::suggestion;
use trilane::model::name::NameRule;
use trilane::protocol::Protocol;

use super::listed::{ListedModel, StatedPrices};
use super::own_price::OwnPrice;
use super::vendor::Vendor;
use crate::document;
use crate::json_line::json_line;
use crate::prices::{PriceCatalogue, one_line};

/// The word for all models on the command line.
const ALL: &str = "all";

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
    /// The catalogue's prices: as the value of the document's field, and for people.
    Catalogue { text: String, shown: String },
    /// Those in the vendor's own list.
    Stated { input: String, output: String },
    /// The operator's.
    Own { input: String, output: String },
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
    fn is_named(&self, protocol: Protocol, name: &str) -> bool {
        self.upstream.as_deref() == Some(name) || self.id == folded(protocol, name)
    }

    /// It for people: id and price.
    pub fn line(&self) -> String {
        let price = match &self.pricing {
            ModelPricing::Catalogue { shown, .. } => shown.clone(),
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
            ModelPricing::Catalogue { text, .. } => members.push(("prices", text.clone())),
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
    document::judge(text.as_bytes()).is_ok()
}

/// The models that the command line names: by default those with a price, or all if there is none.
///
/// # Errors
/// A model that the vendor does not list.
pub fn select(
    vendor: &Vendor,
    offered: Vec<ChosenModel>,
    names: &[String],
) -> Result<Vec<ChosenModel>, String> {
    if names.is_empty() {
        let priced: Vec<_> = offered
            .iter()
            .filter(|model| model.is_priced())
            .cloned()
            .collect();
        return Ok(if priced.is_empty() { offered } else { priced });
    }
    if names == [ALL] {
        return Ok(offered);
    }
    let mut chosen: Vec<ChosenModel> = Vec::new();
    for name in names {
        let named = |model: &&ChosenModel| model.is_named(vendor.protocol, name);
        let Some(model) = offered.iter().find(named) else {
            let ids = offered.iter().map(|model| model.id.as_str());
            return Err(format!(
                "{} lists no model {name}{}",
                vendor.group,
                suggestion(name, ids)
            ));
        };
        if !chosen.contains(model) {
            chosen.push(model.clone());
        }
    }
    Ok(chosen)
}

/// Puts in what the operator knows of prices. The catalogue's are kept, unless the operator names another.
///
/// # Errors
/// A price for a model that is not among these.
pub fn price(
    vendor: &Vendor,
    chosen: &mut [ChosenModel],
    prices: &[OwnPrice],
    free: bool,
) -> Result<(), String> {
    for own in prices {
        let named = |model: &&mut ChosenModel| model.is_named(vendor.protocol, &own.model);
        let Some(model) = chosen.iter_mut().find(named) else {
            return Err(format!(
                "--price {}: {} has no such model among those that are taken",
                own.model, vendor.group
            ));
        };
        model.pricing = ModelPricing::Own {
            input: own.input.clone(),
            output: own.output.clone(),
        };
    }
    if free {
        for model in chosen.iter_mut().filter(|model| !model.is_priced()) {
            model.pricing = ModelPricing::Free;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::vendor::VendorArg;
    use super::*;

    fn vendor(name: &str) -> Vendor {
        let VendorArg { preset, url } = VendorArg::parse(name).unwrap();
        Vendor::new(preset, url.as_deref(), None, None).unwrap()
    }

    fn listed(ids: &[&str]) -> Vec<ListedModel> {
        let model = |id: &&str| ListedModel {
            id: (*id).to_owned(),
            display_name: None,
            prices: None,
        };
        ids.iter().map(model).collect()
    }

    #[test]
    fn names_are_those_of_the_document() {
        let anthropic = vendor("anthropic");
        let names = [
            "claude-opus-4-5-20251101",
            "claude-opus-4-5",
            "claude-new-9",
            "not a name",
        ];
        let offered = offer(&anthropic, listed(&names), &PriceCatalogue::embedded());
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

    #[test]
    fn what_is_taken() {
        let openai = vendor("openai");
        let names = ["gpt-6-luna", "text-embedding-3-small", "o9"];
        let offered = offer(&openai, listed(&names), &PriceCatalogue::embedded());
        let ids = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let chosen = select(&openai, offered.clone(), &names);
            chosen.map(|chosen| chosen.into_iter().map(|model| model.id).collect::<Vec<_>>())
        };
        assert_eq!(ids(&[]).unwrap(), ["gpt-6-luna"], "those with a price");
        assert_eq!(ids(&["all"]).unwrap(), names);
        assert_eq!(
            ids(&["o9", "gpt-6-luna", "o9"]).unwrap(),
            ["o9", "gpt-6-luna"]
        );
        let error = ids(&["gpt-6-lunar"]).unwrap_err();
        assert!(
            error.contains("openai lists no model gpt-6-lunar; did you mean \"gpt-6-luna\"?"),
            "{error}"
        );
        let local = vendor("compatible=http://127.0.0.1:1/v1");
        let offered = offer(
            &local,
            listed(&["llama3.2:3b", "qwen"]),
            &PriceCatalogue::embedded(),
        );
        let mut chosen = select(&local, offered, &[]).unwrap();
        assert_eq!(chosen.len(), 2, "none has a price");
        let own = OwnPrice::parse("qwen=1/2").unwrap();
        price(&local, &mut chosen, &[own], true).unwrap();
        let json: Vec<String> = chosen.iter().map(ChosenModel::json).collect();
        assert_eq!(
            json,
            [
                r#"{"id": "llama3.2:3b", "free": true}"#,
                r#"{"id": "qwen", "prices": {"input": "1", "output": "2"}}"#
            ]
        );
        let other = OwnPrice::parse("nope=1/2").unwrap();
        assert!(price(&local, &mut chosen, &[other], false).is_err());
    }
}
