//! A group for reading.

use std::borrow::Cow;

use rust_decimal::Decimal;
use serde_json::Value;
use trilane::money::Price;

use super::group_form::ENTRIES;
use super::members::{GATES, PRICES};
use super::{items, text_at};
use crate::entry_sources::{EntrySource, entry_sources, source_of};
use crate::language::{self, translated};
use crate::pages::{limit_fields, text};
use crate::vendors::api_style;

/// A group.
pub struct GroupShown {
    pub id: String,
    pub name: String,
    pub protocol: String,
    pub kind: &'static str,
    pub multiplier: String,
    pub clients: String,
    pub gates: Vec<Cow<'static, str>>,
    /// The sources of its entries.
    pub entries: Vec<EntryShown>,
    /// The models that its lists have; empty where that is all.
    pub lists: Cow<'static, str>,
    pub models: Vec<ModelShown>,
    pub accounts: Vec<AccountShown>,
    pub cluster: String,
    pub limits: Vec<(&'static str, String)>,
}

/// A source of an entry of a Mixed group.
pub struct EntryShown {
    /// The API style of the requests that it takes.
    pub style: String,
    pub source: String,
    /// The name of the source, or its id where it has none.
    pub source_name: String,
    pub extra: String,
    /// Source × extra.
    pub total: String,
}

/// A model.
#[derive(Clone)]
pub struct ModelShown {
    pub id: String,
    pub name: String,
    /// The API style of its entry; empty where it has none.
    pub entry: String,
    /// The source that it names.
    pub source: String,
    /// The id of the group whose model it is: of a Mixed group's that of its source.
    pub origin: String,
    pub input: String,
    pub cached: String,
    pub output: String,
    /// Other prices, and what there is to say of them.
    pub others: Vec<String>,
    pub notes: Vec<Cow<'static, str>>,
}

impl ModelShown {
    /// The prices of input, cached input and output.
    pub fn prices(&self) -> [&str; 3] {
        [&self.input, &self.cached, &self.output]
    }
}

/// An upstream account.
pub struct AccountShown {
    pub id: String,
    pub url: String,
    pub credential: String,
    pub weight: String,
    pub priority: String,
    pub others: Vec<String>,
}

/// The groups of a document, for reading.
pub fn groups(document: &Value) -> Vec<GroupShown> {
    items(document, "groups")
        .iter()
        .map(|group| shown(document, group))
        .collect()
}

/// The upstream accounts of a group.
pub fn accounts_of(group: &Value) -> Vec<AccountShown> {
    items(group, "accounts").iter().map(account).collect()
}

fn shown(document: &Value, group: &Value) -> GroupShown {
    let id = text_at(group, "id").to_owned();
    let name = text_at(group, "name");
    let protocol = text_at(group, "protocol");
    let is_set = |name: &str| group.get(name).and_then(Value::as_bool) == Some(true);
    let clients = text_at(group, "clients");
    let entries = group.get("entries").and_then(Value::as_object);
    GroupShown {
        name: if name.is_empty() { &id } else { name }.to_owned(),
        protocol: protocol.to_owned(),
        kind: api_style(protocol),
        multiplier: text_at(group, "multiplier").to_owned(),
        clients: if clients.is_empty() {
            t!("strict").into_owned()
        } else if clients == "current" {
            t!("current: what today’s SDKs send, too").into_owned()
        } else {
            clients.to_owned()
        },
        gates: GATES
            .iter()
            .filter(|(name, ..)| is_set(name))
            .map(|(_, title, _)| translated(title))
            .collect(),
        entries: entries
            .into_iter()
            .flatten()
            .flat_map(|(name, of)| entry(document, name, of))
            .collect(),
        lists: if text_at(group, "lists") == "by_protocol" {
            t!("those of the protocol that the client speaks")
        } else {
            Cow::default()
        },
        models: items(group, "models")
            .iter()
            .map(|of| model(document, group, of))
            .collect(),
        accounts: accounts_of(group),
        cluster: text_at(group, "cluster").to_owned(),
        limits: group
            .get("limits")
            .map(limit_fields::shown)
            .unwrap_or_default(),
        id,
    }
}

/// The API style of an entry; the name of one that is not known.
fn entry_style(name: &str) -> String {
    let known = ENTRIES.iter().find(|(entry, _)| *entry == name);
    known.map_or_else(
        || name.to_owned(),
        |(_, protocol)| translated(api_style(protocol)).into_owned(),
    )
}

fn find<'a>(document: &'a Value, group: &str) -> Option<&'a Value> {
    items(document, "groups")
        .iter()
        .find(|of| text_at(of, "id") == group)
}

fn entry(document: &Value, name: &str, of: &Value) -> Vec<EntryShown> {
    let sources = entry_sources(of).into_iter();
    let shown = sources.map(|EntrySource { source, extra }| {
        let extra = if extra.is_empty() {
            "1.0000".to_owned()
        } else {
            extra
        };
        let found = find(document, &source);
        let factor = found.map_or("", |group| text_at(group, "multiplier"));
        let source_name = found.map_or("", |group| text_at(group, "name"));
        let total = factor
            .parse::<Decimal>()
            .ok()
            .zip(extra.parse::<Decimal>().ok())
            .and_then(|(a, b)| a.checked_mul(b));
        EntryShown {
            style: entry_style(name),
            source_name: if source_name.is_empty() {
                source.clone()
            } else {
                source_name.to_owned()
            },
            source,
            extra,
            total: total.map_or_else(String::new, four_places),
        }
    });
    shown.collect()
}

/// A multiplier with four places, or as many more as it has.
fn four_places(of: Decimal) -> String {
    let mut of = of.normalize();
    if of.scale() < 4 {
        of.rescale(4);
    }
    of.to_string()
}

/// The model itself: one of a Mixed group is its source's.
fn origin<'a>(document: &'a Value, group: &'a Value, of: &'a Value) -> &'a Value {
    let source = source_of(group, of);
    let Some(source) = source.and_then(|source| find(document, &source)) else {
        return of;
    };
    items(source, "models")
        .iter()
        .find(|model| text_at(model, "id") == text_at(of, "id"))
        .unwrap_or(of)
}

fn model(document: &Value, group: &Value, of: &Value) -> ModelShown {
    let own = origin(document, group, of);
    let prices = own.get("prices").cloned().unwrap_or_default();
    let price = |name: &str| match text_at(&prices, name) {
        "" => String::new(),
        amount => text::money(amount),
    };
    let others = PRICES.iter().filter(|(name, _)| {
        !matches!(*name, "input" | "cache_read" | "output") && !text_at(&prices, name).is_empty()
    });
    let mut others: Vec<String> = others
        .map(|(name, title)| format!("{} {}", translated(title), price(name)))
        .collect();
    for (field, each) in [("per_call", t!("a call")), ("per_request", t!("a request"))] {
        let calls = prices.get(field).and_then(Value::as_object);
        for (name, amount) in calls.into_iter().flatten() {
            let amount = text::money(amount.as_str().unwrap_or_default());
            let name = name.replace('_', " ");
            others.push(format!("{} {amount} {each}", translated(&name)));
        }
    }
    for set in items(&prices, "above") {
        let tokens = set.get("input_tokens").and_then(Value::as_i64);
        let tokens = tokens.map(|tokens| text::number(&tokens));
        let within = set.get("prices").cloned().unwrap_or_default();
        let three = ["input", "cache_read", "output"].map(|name| match text_at(&within, name) {
            "" => "–".to_owned(),
            amount => text::money(amount),
        });
        others.push(t!(
            "above {tokens} input tokens {prices}",
            tokens = tokens.unwrap_or_default(),
            prices = three.join(" / ")
        ));
    }
    if !items(&prices, "times").is_empty() {
        others.push(t!("other prices at other times").into_owned());
    }
    let tiers = prices.get("tiers").and_then(Value::as_object);
    if let Some(tiers) = tiers {
        let names: Vec<&str> = tiers.keys().map(String::as_str).collect();
        others.push(t!(
            "other prices for {tiers}",
            tiers = language::list(&names)
        ));
    }
    let flag = |name: &str| own.get(name).and_then(Value::as_bool);
    let mut notes = Vec::new();
    if text_at(own, "kind") == "image" {
        notes.push(t!("images"));
    }
    if prices == "catalogue" {
        notes.push(t!("prices of the catalogue"));
    } else if text_at(&prices, "cache_read").is_empty() && !is_nothing(text_at(&prices, "input")) {
        notes.push(t!("cached input is charged as input"));
    }
    if flag("free") == Some(true) {
        notes.push(t!("free"));
    } else if prices.is_null() {
        notes.push(t!("no prices"));
    }
    if flag("entitled") == Some(false) {
        notes.push(t!("not entitled"));
    }
    if flag("merge_dated") == Some(true) {
        notes.push(t!("dated names too"));
    }
    let id = text_at(of, "id").to_owned();
    let name = text_at(own, "display_name");
    ModelShown {
        name: if name == id { "" } else { name }.to_owned(),
        entry: entry_style(text_at(of, "entry")),
        source: text_at(of, "source").to_owned(),
        origin: source_of(group, of)
            .filter(|source| find(document, source).is_some())
            .unwrap_or_else(|| text_at(group, "id").to_owned()),
        input: price("input"),
        cached: price("cache_read"),
        output: price("output"),
        others,
        notes,
        id,
    }
}

/// Whether a price is none, or 0.
fn is_nothing(price: &str) -> bool {
    Price::parse(price).is_ok_and(|price| price.value().is_zero()) || price.is_empty()
}

/// The fields of an account that few have, with their titles.
const OTHERS: [(&str, &str); 7] = [
    ("header", text!("Header")),
    ("http", text!("HTTP version")),
    ("ca", text!("File of authorities")),
    ("proxy", text!("HTTP proxy")),
    ("region", text!("Region")),
    ("state", text!("State")),
    ("cost", text!("Cost")),
];

fn account(of: &Value) -> AccountShown {
    let number = |name: &str, without: u64| {
        let number = of.get(name).and_then(Value::as_u64);
        number.unwrap_or(without).to_string()
    };
    let others = OTHERS.iter();
    let others = others.filter(|(name, _)| !text_at(of, name).is_empty());
    AccountShown {
        id: text_at(of, "id").to_owned(),
        url: text_at(of, "url").to_owned(),
        credential: text_at(of, "credential").to_owned(),
        weight: number("weight", 1),
        priority: number("priority", 0),
        others: others
            .map(|(name, title)| {
                t!(
                    "{title}: {value}",
                    title = translated(title),
                    value = text_at(of, name)
                )
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample() {
        let sample = include_str!("../../../../envoy/gateway.json");
        let sample: Value = serde_json::from_str(sample).unwrap();
        let groups = groups(&sample);
        let of = |id: &str| groups.iter().find(|group| group.id == id).unwrap();
        let first = of("a-official");
        assert_eq!(
            (first.multiplier.as_str(), first.kind),
            ("0.2000", "OpenAI-style")
        );
        assert_eq!(first.accounts.len(), 3);
        let model = first.models.first().unwrap();
        let prices = (&*model.input, &*model.cached, &*model.output);
        assert_eq!(prices, ("1.25", "0.125", "10.00"));
        let mixed = of("mixed");
        assert!(!mixed.entries.is_empty());
        for entry in &mixed.entries {
            let product = of(&entry.source).multiplier.parse::<Decimal>().unwrap()
                * entry.extra.parse::<Decimal>().unwrap();
            assert_eq!(entry.total.parse(), Ok(product), "{}", entry.style);
            let (_, places) = entry.total.split_once('.').unwrap();
            assert!(places.len() == 4, "{}: {}", entry.style, entry.total);
        }
        let taken = mixed.entries.first().unwrap();
        assert_eq!(taken.source_name, of(&taken.source).name);
        assert!(taken.style.ends_with("-style"), "{}", taken.style);
        let behind = mixed.models.first().unwrap();
        assert!(!behind.input.is_empty(), "its source's price");
    }
}
