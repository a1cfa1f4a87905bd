//! Parts of an explanation as text.

use std::rc::Rc;

use serde_json::{Map, Value};
use trilane::config::policy::{Clients, Group, GroupKind};
use trilane::exchange::Route;
use trilane::keys::KeyAccess;
use trilane::ledger::Record;
use trilane::limits::{Limits, Rate};
use trilane::money::{Multiplier, Price, Prices};
use trilane::protocol::Endpoint;
use trilane::reply::Reply;
use trilane::usage::{Call, Kind};

use crate::gateway::LocalGateway;

/// The message of a rejection, which all three protocols have in one place.
pub fn message(reply: &Reply) -> Option<String> {
    let body: Value = serde_json::from_slice(&reply.body).ok()?;
    body.pointer("/error/message")?.as_str().map(str::to_owned)
}

/// A group, as text.
pub fn group_text(group: &Group) -> String {
    let kind = match &group.kind {
        GroupKind::Source(source) => format!("protocol {}", source.protocol),
        GroupKind::Mixed(_) => "Mixed".to_owned(),
    };
    let clients = match group.clients {
        Clients::Strict => "strict",
        Clients::Current => "current",
    };
    format!("group {} ({kind}, clients {clients})", group.id)
}

/// What a key has of its own, as text behind that of its group; empty for nothing.
pub fn own_text(access: &KeyAccess) -> String {
    let models = access.models.as_ref().map(|models| {
        let count = models.tags().len();
        let models = if count == 1 { "model" } else { "models" };
        format!(", with a list of its own of {count} {models}")
    });
    let multiplier = access
        .multiplier
        .map(|multiplier| format!(", with the multiplier {multiplier} of its own"));
    [models, multiplier].into_iter().flatten().collect()
}

/// The list of models that the key has of its own, as text behind that of its group; empty for none.
pub fn own_list_text(access: Option<&KeyAccess>) -> String {
    let models = access.and_then(|access| access.models.as_ref());
    models.map_or_else(String::new, |models| {
        format!(
            "; of its models the key's own list has {}",
            models.tags().len()
        )
    })
}

/// Why the key's own list is the reason that a model is not found, if it is: the group has it.
pub fn own_list_lacks(route: &Route, access: Option<&KeyAccess>, name: &str) -> Option<String> {
    let models = access.and_then(|access| access.models.as_ref())?;
    let of_group = route.clone().with_access(None);
    let model = of_group.model(name).ok()?;
    (!models.contains(&model.id)).then(|| {
        format!(
            " The group {} has {}, but the key has a list of its own, without it.",
            route.group.id, model.id
        )
    })
}

/// The route from a group to a source, as text. `of_group` is the multiplier where the key has none of its own.
pub fn route_text(group: &Rc<Group>, route: &Route, of_group: Multiplier) -> String {
    let is_own = of_group != route.multiplier;
    let group = group_text(group);
    let Route {
        source, multiplier, ..
    } = route;
    let entry = route
        .entry
        .map(|entry| format!("entry {entry}, "))
        .unwrap_or_default();
    let own = if is_own {
        format!(" (the key's own; the group's is {of_group})")
    } else if source.multiplier == *multiplier {
        String::new()
    } else {
        format!(
            " (the source's {} times the entry's extra)",
            source.multiplier
        )
    };
    format!(
        "{group}: {entry}source {}, multiplier {multiplier}{own}",
        source.group
    )
}

/// How the model was resolved, as text.
pub fn model_text(record: &Record, endpoint: Option<&Endpoint>) -> String {
    let place = match endpoint {
        Some(Endpoint::Generate { .. }) => "the path",
        _ => "the body",
    };
    match (
        &record.requested_model,
        &record.model,
        &record.upstream_model,
    ) {
        (Some(named), Some(model), Some(upstream)) => {
            let upstream = if upstream == named {
                "; upstream it keeps the name of the request".to_owned()
            } else {
                format!("; upstream it is {upstream}")
            };
            format!("{place} names {named}, which is {model}{upstream}")
        }
        _ => "none was named".to_owned(),
    }
}

/// The prices of a request's model before the multiplier, as in a document, or `free`; an empty object where the document
/// has none. `None` for a request that is not charged.
pub fn prices(record: &Record, route: &Route) -> Option<Value> {
    record.operation?;
    let id = record.model.as_deref()?;
    let mut models = route.source.catalog.models().iter();
    let model = models.find(|model| model.id == id)?;
    if model.free {
        return Some("free".into());
    }
    let Some(prices) = &model.prices else {
        return Some(Value::Object(Map::new()));
    };
    let mut written = written(prices);
    let calls = Call::ALL.map(|call| (call.name(), prices.call(call)));
    let tiers = prices.tiers().map(|(name, prices)| {
        let prices = Value::Object(self::written(prices));
        (name.to_owned(), prices)
    });
    for (field, part) in [
        ("per_call", named(calls)),
        ("tiers", tiers.collect::<Map<_, _>>()),
    ] {
        if !part.is_empty() {
            written.insert(field.to_owned(), Value::Object(part));
        }
    }
    Some(Value::Object(written))
}

/// The prices of tokens and images.
fn written(prices: &Prices) -> Map<String, Value> {
    let tokens = Kind::ALL.map(|kind| (kind.name(), prices.own_tokens(kind)));
    named(tokens.into_iter().chain([("image", prices.image())]))
}

fn named<'a>(prices: impl IntoIterator<Item = (&'a str, Option<Price>)>) -> Map<String, Value> {
    let there = prices.into_iter().filter_map(|(name, price)| {
        let price = price?.value().normalize().to_string();
        Some((name.to_owned(), price.into()))
    });
    there.collect()
}

/// Prices, as text.
pub fn prices_text(prices: &Value) -> String {
    let Value::Object(prices) = prices else {
        return "free: the document says so".to_owned();
    };
    let set = |prices: &Map<String, Value>| {
        let each = prices
            .iter()
            .filter_map(|(name, price)| Some(format!("{name} {}", price.as_str()?)));
        each.collect::<Vec<_>>().join(", ")
    };
    let own = set(prices);
    let part = |field: &str| prices.get(field).and_then(Value::as_object);
    let calls = part("per_call").map(|calls| format!("; a call: {}", set(calls)));
    let tiers = part("tiers").into_iter().flatten();
    let tiers =
        tiers.filter_map(|(name, prices)| Some(format!("; {name}: {}", set(prices.as_object()?))));
    if own.is_empty() {
        return "without prices: nothing is charged".to_owned();
    }
    format!(
        "at {own}{}{}",
        calls.unwrap_or_default(),
        tiers.collect::<String>()
    )
}

/// The limits of a request, by subject.
pub fn limits(
    gateway: &LocalGateway,
    key: Option<&str>,
    group: Option<&Rc<Group>>,
) -> Map<String, Value> {
    let own = key.and_then(|id| gateway.world.limits(id));
    let shared = group
        .and_then(|group| group.limits.as_ref())
        .map(|subject| &subject.limits);
    let each = [("key", own), ("group", shared)];
    let each = each.into_iter().filter_map(|(whose, limits)| {
        let limits = limits.filter(|limits| !limits.is_unlimited())?;
        Some((whose.to_owned(), Value::Object(limits_of(limits))))
    });
    each.collect()
}

/// Limits as in a document.
fn limits_of(limits: &Limits) -> Map<String, Value> {
    let mut written = Map::new();
    for rate in Rate::ALL {
        if let Some(limit) = limits.per_minute(rate) {
            written.insert(format!("{}_per_minute", rate.name()), limit.into());
        }
    }
    if let Some(limit) = limits.concurrent_requests {
        written.insert("concurrent_requests".to_owned(), limit.into());
    }
    let budget = [
        ("budget_per_day", limits.budget.per_day),
        ("budget_per_month", limits.budget.per_month),
    ];
    for (name, amount) in budget {
        if let Some(amount) = amount {
            written.insert(name.to_owned(), amount.to_string().into());
        }
    }
    written
}

/// Limits, as text.
pub fn limits_text(limits: &Map<String, Value>) -> String {
    let each = limits.iter().map(|(whose, limits)| {
        let limits = limits.as_object().into_iter().flatten();
        let limits = limits.map(|(name, limit)| match limit {
            Value::String(amount) => format!("{name} {amount}"),
            other => format!("{name} {other}"),
        });
        format!("{whose}: {}", limits.collect::<Vec<_>>().join(", "))
    });
    let each = each.collect::<Vec<_>>().join("; ");
    format!("{each} (as if nothing had been used since the document was written)")
}
