//! The models that the command line selects, and notes on their prices.

use std::collections::BTreeMap;

use trilane::config::{some_of, suggestion};
use trilane_console::vendors::{ChosenModel, LeftOut, ModelPricing, Offer, OwnPrice, Vendor};

use crate::terminal::{printable, say};

/// The word for all models on the command line.
const ALL: &str = "all";

/// The most names that a line shows.
const SHOWN: usize = 10;

/// The models that the command line names: by default [the usual ones](Offer::usual), and says which are not among them.
///
/// # Errors
/// A model that the vendor does not list, or none is named of many.
pub fn select(
    vendor: &Vendor,
    offer: &Offer,
    names: &[String],
) -> Result<Vec<ChosenModel>, String> {
    let offered = &offer.models;
    let group = &vendor.group;
    if names.is_empty() {
        let usual = offer.usual();
        if usual.is_empty() && !offered.is_empty() {
            return Err(format!(
                "{group} lists {} models: name those that you want with --models ID,ID, or take them with --models all",
                offered.len()
            ));
        }
        let others = offered.iter().filter(|model| !usual.contains(model));
        let others: Vec<&str> = others.map(|model| model.id.as_str()).collect();
        if !others.is_empty() {
            say(&format!(
                "note: {group}: not taken, for they have no known price: {}. Take them with --models, and say their prices \
                 with --price",
                some_of(&others, SHOWN)
            ));
        }
        return Ok(usual);
    }
    if names == [ALL] {
        return Ok(offered.clone());
    }
    let mut chosen: Vec<ChosenModel> = Vec::new();
    for name in names {
        let named = |model: &&ChosenModel| model.is_named(vendor.protocol, name);
        let Some(model) = offered.iter().find(named) else {
            if let Some(left_out) = offer.left_out.iter().find(|other| other.id == *name) {
                return Err(format!(
                    "{group}: {name} cannot be taken: {}",
                    left_out.reason
                ));
            }
            let ids = offered.iter().map(|model| model.id.as_str());
            return Err(format!(
                "{group} lists no model {name}{}",
                suggestion(name, ids)
            ));
        };
        if !chosen.contains(model) {
            chosen.push(model.clone());
        }
    }
    Ok(chosen)
}

/// Says which models of a vendor's list no document can serve, by reason.
pub fn tell_left_out(vendor: &Vendor, left_out: &[LeftOut]) {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for LeftOut { id, reason } in left_out {
        by_reason.entry(reason).or_default().push(id);
    }
    for (reason, names) in by_reason {
        let text = format!(
            "note: {}: left out: {}: {reason}",
            vendor.group,
            some_of(&names, SHOWN)
        );
        say(&printable(&text));
    }
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
        model.pricing = ModelPricing::given(own.prices.clone());
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
    use trilane_console::prices::PriceCatalogue;
    use trilane_console::vendors::ListedModel;

    use super::super::vendor_arg::VendorArg;
    use super::*;

    fn vendor(name: &str) -> Vendor {
        let VendorArg { preset, url } = VendorArg::parse(name).unwrap();
        Vendor::new(preset, url.as_deref(), None, None).unwrap()
    }

    #[test]
    fn what_is_taken() {
        let openai = vendor("openai");
        let names = ["gpt-6-luna", "o9", "text-embedding-3-small", "tts-1"];
        let listed = names.map(ListedModel::named).to_vec();
        let offer = Offer::of(&openai, listed, &PriceCatalogue::embedded());
        let ids = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let chosen = select(&openai, &offer, &names);
            chosen.map(|chosen| chosen.into_iter().map(|model| model.id).collect::<Vec<_>>())
        };
        assert_eq!(ids(&[]).unwrap(), ["gpt-6-luna"], "those with a price");
        assert_eq!(
            ids(&["all"]).unwrap(),
            ["gpt-6-luna", "o9", "text-embedding-3-small"]
        );
        assert_eq!(
            ids(&["o9", "gpt-6-luna", "o9"]).unwrap(),
            ["o9", "gpt-6-luna"]
        );
        let error = ids(&["gpt-6-lunar"]).unwrap_err();
        assert!(
            error.contains("openai lists no model gpt-6-lunar; did you mean \"gpt-6-luna\"?"),
            "{error}"
        );
        let error = ids(&["tts-1"]).unwrap_err();
        assert!(error.contains("for speech"), "{error}");
        let local = vendor("compatible=http://127.0.0.1:1/v1");
        let listed = ["llama3.2:3b", "qwen"].map(ListedModel::named).to_vec();
        let offer = Offer::of(&local, listed, &PriceCatalogue::embedded());
        let mut chosen = select(&local, &offer, &[]).unwrap();
        assert_eq!(chosen.len(), 2, "none has a price");
        let own = OwnPrice::parse("qwen=1/0.1/2").unwrap();
        price(&local, &mut chosen, &[own], true).unwrap();
        let json: Vec<String> = chosen.iter().map(ChosenModel::json).collect();
        assert_eq!(
            json,
            [
                r#"{"id": "llama3.2:3b", "free": true}"#,
                r#"{"id": "qwen", "prices": {"input": "1", "cache_read": "0.1", "output": "2"}}"#
            ]
        );
        let other = OwnPrice::parse("nope=1/1/2").unwrap();
        assert!(price(&local, &mut chosen, &[other], false).is_err());
        let many: Vec<_> = (0..40)
            .map(|n| ListedModel::named(&format!("m{n}")))
            .collect();
        let many = Offer::of(&local, many, &PriceCatalogue::embedded());
        let error = select(&local, &many, &[]).unwrap_err();
        assert!(error.contains("lists 40 models: name those"), "{error}");
        let all = select(&local, &many, &["all".to_owned()]).unwrap();
        assert_eq!(all.len(), 40);
    }
}
