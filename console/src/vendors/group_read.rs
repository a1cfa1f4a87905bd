//! The reverse of [`VendorGroup::text`]: a vendor with its models, from a group of a document.

use serde_json::Value;
use trilane::config::document::PricesDocument;
use trilane::protocol::Protocol;

use super::chosen::{ChosenModel, ModelPricing, PriceSource};
use super::group_text::VendorGroup;
use super::mixed_group::MixedSource;
use super::vendor::{PRESETS, Vendor, VendorPreset};
use crate::prices::protocol_named;

impl VendorGroup {
    /// A group that is just what [`text`](Self::text) makes of a vendor. `None`: it has more, which that would lose.
    pub fn read(group: &Value) -> Option<Self> {
        let id = text(group, "id")?;
        let protocol = protocol_named(&text(group, "protocol")?)?;
        let [account] = group.get("accounts")?.as_array()?.as_slice() else {
            return None;
        };
        let url = text(account, "url")?;
        let models = group.get("models")?.as_array()?.iter().map(model);
        let models = models.collect::<Option<Vec<_>>>()?;
        let presets = presets(&id, &url, protocol);
        let groups = presets.into_iter().filter_map(|preset| {
            Some(Self {
                vendor: Vendor::new(preset, Some(&url), Some(protocol), Some(&id)).ok()?,
                models: models.clone(),
                proxy: text(account, "proxy"),
                ca: text(account, "ca"),
            })
        });
        let mut groups = groups;
        groups.find(|read| serde_json::from_str(&read.text()).ok().as_ref() == Some(group))
    }
}

/// Lists the presets that may apply to a vendor at this address, the likeliest first.
fn presets(group: &str, url: &str, protocol: Protocol) -> Vec<&'static VendorPreset> {
    let named = VendorPreset::named(group).filter(|preset| preset.protocol == protocol);
    let origin = trilane::config::origin::Origin::parse(url).ok();
    let there = origin.map(|origin| VendorPreset::at(&origin, protocol));
    let counts = |preset: &&VendorPreset| preset.protocol == protocol && preset.counts_tokens;
    let counting = PRESETS.iter().find(counts);
    named.into_iter().chain(there).chain(counting).collect()
}

fn text(of: &Value, name: &str) -> Option<String> {
    of.get(name)?.as_str().map(str::to_owned)
}

fn model(of: &Value) -> Option<ChosenModel> {
    let prices = of.get("prices").cloned();
    let prices: Option<PricesDocument> = prices.map(serde_json::from_value).transpose().ok()?;
    let pricing = match prices {
        Some(prices) => ModelPricing::given(prices),
        None if of.get("free").and_then(Value::as_bool) == Some(true) => ModelPricing::Free,
        None => ModelPricing::Unknown,
    };
    Some(ChosenModel {
        id: text(of, "id")?,
        upstream: text(of, "upstream"),
        display_name: text(of, "display_name"),
        created_at: text(of, "created_at"),
        pricing,
    })
}

impl ModelPricing {
    /// Those of a document.
    pub fn given(prices: PricesDocument) -> Self {
        Self::Known {
            prices: Box::new(prices),
            from: PriceSource::Operator,
        }
    }
}

/// The groups of a document that a Mixed group can serve, in its order.
pub fn mixed_sources(document: &Value) -> Vec<MixedSource> {
    let groups = document.get("groups").and_then(Value::as_array);
    let sources = groups.into_iter().flatten().filter_map(|group| {
        let models = group.get("models")?.as_array()?.iter();
        Some(MixedSource {
            group: text(group, "id")?,
            protocol: protocol_named(&text(group, "protocol")?)?,
            models: models.filter_map(|model| text(model, "id")).collect(),
        })
    });
    sources.collect()
}

#[cfg(test)]
mod tests {
    use super::super::Offer;
    use super::super::listed::ListedModel;
    use super::*;
    use crate::prices::PriceCatalogue;

    fn group(preset: &str, url: Option<&str>, id: Option<&str>) -> VendorGroup {
        let preset = VendorPreset::named(preset).unwrap();
        let vendor = Vendor::new(preset, url, None, id).unwrap();
        let listed = ["claude-opus-4-5-20251101", "gpt-6-luna", "own"].map(ListedModel::named);
        let mut models = Offer::of(&vendor, listed.to_vec(), &PriceCatalogue::embedded()).models;
        models.last_mut().unwrap().pricing = ModelPricing::Free;
        VendorGroup {
            vendor,
            models,
            proxy: None,
            ca: None,
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let local = Some("http://127.0.0.1:1/v1");
        for (preset, url, id) in [
            ("openai", None, None),
            ("openai", local, None),
            ("anthropic", None, Some("claude")),
            ("anthropic", Some("http://127.0.0.1:1"), None),
            ("anthropic", Some("http://127.0.0.1:1"), Some("claude")),
            ("gemini", None, None),
            ("compatible", local, Some("ollama")),
        ] {
            let group = group(preset, url, id);
            let value: Value = serde_json::from_str(&group.text()).unwrap();
            let read = VendorGroup::read(&value).unwrap();
            assert_eq!(read.text(), group.text(), "{preset} {url:?} {id:?}");
            let list = read.vendor.list_url();
            assert_eq!(list, group.vendor.list_url(), "{preset} {url:?} {id:?}");
        }
    }

    #[test]
    fn what_would_be_lost_is_not_taken() {
        let written = serde_json::from_str(&group("openai", None, None).text());
        let written: Value = written.unwrap();
        assert!(VendorGroup::read(&written).is_some());
        for (place, value) in [
            ("/multiplier", Value::from("2.0000")),
            ("/accounts/0/id", Value::from("mine")),
            ("/accounts/0/extra", Value::from(1)),
            ("/accounts/1", Value::from(1)),
            ("/limits", Value::from(1)),
            ("/models/0/gate", Value::from("x")),
        ] {
            let mut changed = written.clone();
            let (parent, name) = place.rsplit_once('/').unwrap();
            match changed.pointer_mut(parent).unwrap() {
                Value::Array(items) => items.push(value),
                other => other[name] = value,
            }
            assert!(VendorGroup::read(&changed).is_none(), "{place}");
        }
    }
}
