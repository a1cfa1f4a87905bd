//! Which models the command line takes, and what it says of their prices.

use trilane::config::suggestion;
use trilane_console::vendors::{ChosenModel, ModelPricing, OwnPrice, Vendor, usual};

/// The word for all models on the command line.
const ALL: &str = "all";

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
        return Ok(usual(offered));
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
    use trilane_console::prices::PriceCatalogue;
    use trilane_console::vendors::{ListedModel, offer};

    use super::super::vendor_arg::VendorArg;
    use super::*;

    fn vendor(name: &str) -> Vendor {
        let VendorArg { preset, url } = VendorArg::parse(name).unwrap();
        Vendor::new(preset, url.as_deref(), None, None).unwrap()
    }

    #[test]
    fn what_is_taken() {
        let openai = vendor("openai");
        let names = ["gpt-6-luna", "text-embedding-3-small", "o9"];
        let offered = offer(
            &openai,
            names.map(ListedModel::named).to_vec(),
            &PriceCatalogue::embedded(),
        );
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
            ["llama3.2:3b", "qwen"].map(ListedModel::named).to_vec(),
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
