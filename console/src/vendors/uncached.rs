//! Models without a price for cached input, of vendors that report it.

use trilane::config::policy::{GroupKind, Policy, Source};
use trilane::config::{Problem, some_of};
use trilane::model::Model;
use trilane::protocol::Protocol;

use super::{COMPATIBLE, VendorPreset};
use crate::prices::PriceCatalogue;

/// The number of models that are named.
const NAMED: usize = 10;

/// Warns of models whose cached input is charged as input although their vendors report it.
///
/// The catalogue tells it of the models that it has: nobody knows a price where it has none. Of others the protocol or the
/// address tells it.
pub fn uncached(policy: &Policy, catalogue: &PriceCatalogue) -> Option<Problem> {
    let groups = policy.groups().iter();
    let sources = groups.filter_map(|group| match &group.kind {
        GroupKind::Source(source) => Some((&group.id, source)),
        GroupKind::Mixed(_) => None,
    });
    let mut names = Vec::new();
    for (id, source) in sources {
        let lacking = source.catalog.models().iter();
        let lacking = lacking.filter(|model| lacks(model, source, catalogue));
        names.extend(lacking.map(|model| format!("{id}/{}", model.id)));
    }
    if names.is_empty() {
        return None;
    }
    let models = some_of(&names, NAMED);
    Some(Problem {
        path: "groups".to_owned(),
        reason: t!(
            "vendors report input that was read from a cache, and these models have no price for it, so it is charged as input: {models}; give them one (cache_read), in each set of their prices",
            models = models
        ),
    })
}

fn lacks(model: &Model, source: &Source, catalogue: &PriceCatalogue) -> bool {
    let lacks = model
        .prices
        .as_ref()
        .is_some_and(|prices| prices.lack_cached());
    lacks && is_reported(model, source, catalogue)
}

fn is_reported(model: &Model, source: &Source, catalogue: &PriceCatalogue) -> bool {
    let name = model.upstream.as_deref().unwrap_or(&model.id);
    match catalogue.find(source.protocol, name) {
        Some(known) => known.prices.cache_read.is_some(),
        None => is_vendors(source),
    }
}

/// Whether a source is a vendor's that reports it: one of the protocols that have come from such a vendor, or one whose address is
/// known.
fn is_vendors(source: &Source) -> bool {
    let accounts = source
        .accounts
        .iter()
        .flat_map(|accounts| &accounts.accounts);
    let mut presets = accounts.map(|account| VendorPreset::at(&account.origin, source.protocol));
    source.protocol != Protocol::A || presets.any(|preset| preset.name != COMPATIBLE)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use trilane::config::{Document, compile};

    use super::*;

    fn found(groups: Value) -> Option<String> {
        let document = json!({"currency": "USD", "keys": [], "groups": groups});
        let document = Document::parse(document.to_string().as_bytes()).unwrap();
        let policy = compile(&document).unwrap().policy;
        uncached(&policy, &PriceCatalogue::embedded()).map(|problem| problem.to_string())
    }

    fn source(protocol: &str, url: &str, models: Value) -> Value {
        json!({"id": "g", "protocol": protocol, "multiplier": "1", "models": models,
            "accounts": [{"id": "a", "url": url, "credential": "k"}]})
    }

    #[test]
    fn who_reports_cached_input() {
        const HERE: &str = "http://127.0.0.1:8000";
        const OPENAI: &str = "https://api.openai.com/v1";
        let flat = || json!({"input": "1", "output": "2"});
        let priced = |id: &str| json!([{"id": id, "prices": flat()}]);
        // (case, the group, whether it is warned of)
        let cases = [
            (
                "the catalogue has a price",
                source("A", HERE, priced("gpt-6-sol")),
                true,
            ),
            (
                "it has one for the name upstream",
                source(
                    "A",
                    HERE,
                    json!([{"id": "m", "upstream": "gpt-6-sol", "prices": flat()}]),
                ),
                true,
            ),
            (
                "the catalogue has none",
                source("A", OPENAI, priced("gpt-4")),
                false,
            ),
            (
                "its page had none",
                source("C", HERE, priced("gemini-3.6-flash")),
                false,
            ),
            ("a vendor's address", source("A", OPENAI, priced("m")), true),
            (
                "an address of one's own",
                source("A", HERE, priced("m")),
                false,
            ),
            (
                "an Anthropic-style one",
                source("B", HERE, priced("claude-m-1")),
                true,
            ),
            (
                "with the price",
                source(
                    "A",
                    OPENAI,
                    json!([{"id": "m", "prices": {"input": "1", "cache_read": "0.1", "output": "2"}}]),
                ),
                false,
            ),
            (
                "not in a class of service",
                source(
                    "A",
                    OPENAI,
                    json!([{"id": "m", "prices": {"input": "1", "cache_read": "0.1", "output": "2", "tiers": {"flex": flat()}}}]),
                ),
                true,
            ),
            (
                "not above a length",
                source(
                    "A",
                    OPENAI,
                    json!([{"id": "m", "prices": {"input": "1", "cache_read": "0.1", "output": "2",
                    "above": [{"input_tokens": 9, "prices": flat()}]}}]),
                ),
                true,
            ),
            (
                "free, without prices, without a price of input",
                source(
                    "A",
                    OPENAI,
                    json!([{"id": "f", "free": true}, {"id": "n"}, {"id": "i", "kind": "image", "prices": {"image": "1"}},
                    {"id": "z", "prices": {"input": "0", "output": "1"}}]),
                ),
                false,
            ),
        ];
        for (case, group, want) in cases {
            let got = found(json!([group]));
            assert_eq!(got.is_some(), want, "{case}: {got:?}");
        }
    }

    #[test]
    fn it_is_one_warning_for_all_models() {
        let models: Vec<Value> = (0..12)
            .map(|number| json!({"id": format!("m-{number:02}"), "prices": {"input": "1", "output": "1"}}))
            .collect();
        let found = found(json!([source(
            "A",
            "https://api.openai.com",
            models.into()
        )]));
        let found = found.unwrap();
        assert!(
            found.contains("g/m-00, g/m-01,") && found.contains("g/m-09 and 2 more"),
            "{found}"
        );
    }
}
