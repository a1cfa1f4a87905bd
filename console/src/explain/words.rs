//! Parts of an explanation as text.

use std::rc::Rc;

use serde_json::{Map, Value, json};
use trilane::config::policy::{Clients, Group, GroupKind};
use trilane::exchange::Route;
use trilane::keys::KeyAccess;
use trilane::ledger::Record;
use trilane::limits::{Limits, Period, Rate};
use trilane::money::{Multiplier, Price, PricedInstant, Prices, Schedule, Weekdays};
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
        GroupKind::Source(source) => t!("protocol {protocol}", protocol = source.protocol),
        GroupKind::Mixed(_) => "Mixed".to_owned(),
    };
    let clients = match group.clients {
        Clients::Strict => t!("strict"),
        Clients::Current => t!("current"),
    };
    t!(
        "group {group} ({kind}, clients {clients})",
        group = group.id,
        kind = kind,
        clients = clients
    )
}

/// Describes a key's own models and multipliers, as text behind that of its group; empty if it has none.
pub fn own_text(access: &KeyAccess) -> String {
    let models = access.models.as_ref().map(|models| {
        let count = models.tags().len();
        let models = if count == 1 { "model" } else { "models" };
        format!(", with a list of its own of {count} {models}")
    });
    let multiplier = access
        .multiplier
        .map(|multiplier| format!(", with the multiplier {multiplier} of its own"));
    let most = access
        .max_multiplier
        .map(|most| format!(", with a greatest multiplier of {most}"));
    [models, multiplier, most].into_iter().flatten().collect()
}

/// The list of models that the key has of its own, as text behind that of its group; empty for none.
pub fn own_list_text(access: Option<&KeyAccess>) -> String {
    let models = access.and_then(|access| access.models.as_ref());
    models.map_or_else(String::new, |models| {
        t!(
            "; of its models the key's own list has {count}",
            count = models.tags().len()
        )
    })
}

/// Explains that a model is not found because the key's own list lacks it; `None`: that is not the reason.
pub fn own_list_lacks(route: &Route, access: Option<&KeyAccess>, name: &str) -> Option<String> {
    let models = access.and_then(|access| access.models.as_ref())?;
    let of_group = route.clone().with_access(None);
    let model = of_group.model(name).ok()?;
    (!models.contains(&model.id)).then(|| {
        t!(
            " The group {group} has {model}, but the key has a list of its own, without it.",
            group = route.group.id,
            model = model.id
        )
    })
}

/// The route from a group to a source, as text. `of_group` is the multiplier where the key has none of its own.
pub fn route_text(group: &Rc<Group>, route: &Route, of_group: Multiplier) -> String {
    let is_own = of_group != route.multiplier;
    let group = group_text(group);
    if let (Some(entry), true) = (route.entry, route.is_open()) {
        let sources: Vec<&str> = route.candidates().map(|of| of.group.as_str()).collect();
        return t!(
            "{group}: entry {entry}, whose source the model says: {sources}",
            group = group,
            entry = entry,
            sources = sources.join(", ")
        );
    }
    let Route {
        source, multiplier, ..
    } = route;
    let entry = route
        .entry
        .map(|entry| t!("entry {entry}, ", entry = entry))
        .unwrap_or_default();
    let own = if is_own {
        t!(
            " (the key's own; the group's is {multiplier})",
            multiplier = of_group
        )
    } else if source.multiplier == *multiplier {
        String::new()
    } else {
        t!(
            " (the source's {multiplier} times the entry's extra)",
            multiplier = source.multiplier
        )
    };
    t!(
        "{group}: {entry}source {source}, multiplier {multiplier}",
        group = group,
        entry = entry,
        source = source.group,
        multiplier = format!("{multiplier}{own}")
    )
}

/// Describes the resolution of the model, as text.
pub fn model_text(record: &Record, endpoint: Option<&Endpoint>) -> String {
    let place = match endpoint {
        Some(Endpoint::Generate { .. }) => t!("the path"),
        _ => t!("the body"),
    };
    match (
        &record.requested_model,
        &record.model,
        &record.upstream_model,
    ) {
        (Some(named), Some(model), Some(upstream)) => {
            let upstream = if upstream == named {
                t!("; upstream it keeps the name of the request").into_owned()
            } else {
                t!("; upstream it is {upstream}", upstream = upstream)
            };
            t!(
                "{place} names {name}, which is {model}",
                place = place,
                name = named,
                model = format!("{model}{upstream}")
            )
        }
        _ => t!("none was named").into_owned(),
    }
}

/// Names the sources that are asked for a request's model after the route's has failed, as text behind that of the model.
pub fn later_text(route: &Route, record: &Record) -> String {
    let model = record.model.as_deref();
    let model = model.and_then(|id| route.source.catalog.with_id(id));
    let later = route.later(model.map(|model| &**model)).into_iter();
    let later = later.map(|route| {
        t!(
            "{source} (multiplier {multiplier})",
            source = route.source.group,
            multiplier = route.multiplier
        )
    });
    match later.collect::<Vec<_>>().join(&t!(", then ")) {
        none if none.is_empty() => none,
        later => t!(
            "; after {source} has failed: {later}",
            source = route.source.group,
            later = later
        ),
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
    let mut written = of_model(prices);
    let times: Vec<Value> = prices
        .times()
        .map(|(schedule, prices)| {
            let mut set = conditions(schedule);
            set.insert("prices".to_owned(), Value::Object(of_model(prices)));
            Value::Object(set)
        })
        .collect();
    if !times.is_empty() {
        written.insert("times".to_owned(), times.into());
    }
    Some(Value::Object(written))
}

/// Writes the conditions of prices, as a document has them.
fn conditions(schedule: &Schedule) -> Map<String, Value> {
    let mut written = Map::new();
    if schedule.from > 0 {
        let day = Period::Day(schedule.from.cast_signed());
        written.insert("from".to_owned(), day.to_string().into());
    }
    if schedule.days != Weekdays::ALL {
        let days: Vec<&str> = schedule.days.names().collect();
        written.insert("days".to_owned(), days.into());
    }
    if !schedule.hours.is_empty() {
        let hours: Vec<String> = schedule.hours.iter().map(ToString::to_string).collect();
        written.insert("hours".to_owned(), hours.into());
    }
    if schedule.at == PricedInstant::End {
        written.insert("at".to_owned(), "end".into());
    }
    written
}

/// Writes the conditions of prices, as text.
pub fn conditions_text(schedule: &Schedule) -> String {
    when(&Value::Object(conditions(schedule)))
}

/// The conditions of a document's prices at times, as text.
fn when(set: &Value) -> String {
    let list = |name: &str| {
        let all = set.get(name).and_then(Value::as_array);
        let texts = all.into_iter().flatten().filter_map(Value::as_str);
        texts.collect::<Vec<_>>().join(" ")
    };
    let from = set.get("from").and_then(Value::as_str).unwrap_or_default();
    let (days, hours) = (list("days"), list("hours"));
    let mut parts = Vec::new();
    if !from.is_empty() {
        parts.push(t!("from {day}", day = from));
    }
    if !days.is_empty() {
        parts.push(t!("on {days}", days = days));
    }
    if !hours.is_empty() {
        parts.push(t!("at {hours}", hours = hours));
    }
    format!("{} UTC", parts.join(" "))
}

/// All prices of a model at a time.
fn of_model(prices: &Prices) -> Map<String, Value> {
    let mut written = written(prices);
    let calls = Call::ALL.map(|call| (call.name(), prices.call(call)));
    let requests = Call::ALL.map(|call| (call.name(), prices.request(call)));
    for (field, part) in [("per_call", named(calls)), ("per_request", named(requests))] {
        if !part.is_empty() {
            written.insert(field.to_owned(), Value::Object(part));
        }
    }
    written
}

/// The prices of tokens and images, with those above lengths of the input.
fn written(prices: &Prices) -> Map<String, Value> {
    let tokens = Kind::ALL.map(|kind| (kind.name(), prices.own_tokens(kind)));
    let mut all = named(tokens.into_iter().chain([("image", prices.image())]));
    let above: Vec<Value> = prices
        .above()
        .map(|(tokens, prices)| json!({"input_tokens": tokens, "prices": written(prices)}))
        .collect();
    if !above.is_empty() {
        all.insert("above".to_owned(), above.into());
    }
    let tiers = prices
        .tiers()
        .map(|(name, prices)| (name.to_owned(), Value::Object(written(prices))));
    let tiers: Map<String, Value> = tiers.collect();
    if !tiers.is_empty() {
        all.insert("tiers".to_owned(), tiers.into());
    }
    all
}

fn named<'a>(prices: impl IntoIterator<Item = (&'a str, Option<Price>)>) -> Map<String, Value> {
    let there = prices
        .into_iter()
        .filter_map(|(name, price)| Some((name.to_owned(), price?.to_string().into())));
    there.collect()
}

/// Prices, as text.
pub fn prices_text(prices: &Value) -> String {
    let Value::Object(prices) = prices else {
        return "free: the document says so".to_owned();
    };
    if set_text(prices).is_empty() {
        return "without prices: nothing is charged".to_owned();
    }
    let times = prices.get("times").and_then(Value::as_array);
    let times = times.into_iter().flatten().filter_map(|set| {
        let within = set.get("prices").and_then(Value::as_object)?;
        Some(format!("; {}: {}", when(set), model_text_of(within)))
    });
    format!("at {}{}", model_text_of(prices), times.collect::<String>())
}

/// All prices of a model at a time, as text.
fn model_text_of(prices: &Map<String, Value>) -> String {
    let part = |field: &str| prices.get(field).and_then(Value::as_object);
    let calls = part("per_call").map(|calls| format!("; a call: {}", set_text(calls)));
    let requests = part("per_request");
    let requests = requests.map(|calls| format!("; a request with calls: {}", set_text(calls)));
    let tiers = tiers_text(prices, "");
    let [calls, requests] = [calls, requests].map(Option::unwrap_or_default);
    let own = set_text(prices);
    format!("{own}{calls}{requests}{tiers}")
}

/// One set of prices, as text.
fn set_text(prices: &Map<String, Value>) -> String {
    let each = prices
        .iter()
        .filter_map(|(name, price)| Some(format!("{name} {}", price.as_str()?)));
    let mut text = each.collect::<Vec<_>>().join(", ");
    let above = prices.get("above").and_then(Value::as_array);
    for set in above.into_iter().flatten() {
        let within = set.get("prices").and_then(Value::as_object);
        if let (Some(tokens), Some(within)) = (set.get("input_tokens"), within) {
            let within = set_text(within);
            text.push_str(&format!(" (above {tokens} input tokens: {within})"));
        }
    }
    text
}

/// The prices of a set's classes of service, as text: those within another by both names.
fn tiers_text(prices: &Map<String, Value>, around: &str) -> String {
    let tiers = prices.get("tiers").and_then(Value::as_object);
    let each = tiers.into_iter().flatten().filter_map(|(name, prices)| {
        let prices = prices.as_object()?;
        let name = format!("{around}{name}");
        let within = tiers_text(prices, &format!("{name} "));
        Some(format!("; {name}: {}{within}", set_text(prices)))
    });
    each.collect()
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
    t!(
        "{limits} (as if nothing had been used since the document was written)",
        limits = each
    )
}
