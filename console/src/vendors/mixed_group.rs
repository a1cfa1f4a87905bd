//! The group that serves all vendors to one key: made anew, or given what is new.

use serde_json::{Map, Value, json};
use trilane::protocol::{Entry, Protocol};

use super::group_text::{INDENT, VendorGroup, list, object};
use crate::entry_sources::{EntrySource, entry_sources, put_entry_sources, source_of};

/// The id of the group that serves several vendors to one key.
pub const MIXED: &str = "all";
/// The extra multiplier of a source that is added.
const NO_EXTRA: &str = "1.0000";

/// A group of one vendor, as a Mixed group serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixedSource {
    /// The id of the group.
    pub group: String,
    /// The protocol of the group.
    pub protocol: Protocol,
    /// The ids of its models.
    pub models: Vec<String>,
}

impl From<&VendorGroup> for MixedSource {
    fn from(group: &VendorGroup) -> Self {
        Self {
            group: group.vendor.group.clone(),
            protocol: group.vendor.protocol,
            models: group.models.iter().map(|model| model.id.clone()).collect(),
        }
    }
}

/// A group that serves all of these to one key, as an element of `groups`. `None` unless there are several.
pub fn mixed(groups: &[MixedSource]) -> Option<String> {
    let is_taken = groups.iter().any(|group| group.group == MIXED);
    if groups.len() < 2 || is_taken {
        return None;
    }
    let mut group = json!({"id": MIXED, "protocol": "Mixed", "clients": "current", "entries": {}, "models": []});
    for protocol in [Protocol::A, Protocol::B, Protocol::C] {
        for source in groups.iter().filter(|group| group.protocol == protocol) {
            add(&mut group, source, &source.models);
        }
    }
    Some(text(&group))
}

/// Adds models of a source to a Mixed group, and the source where its entry has it not yet. A model whose id the group shows
/// already is left out: one model has one source.
pub fn add(group: &mut Value, source: &MixedSource, models: &[String]) {
    let shown = group.get("models").and_then(Value::as_array);
    let shown = shown.into_iter().flatten();
    let known: Vec<&str> = shown
        .filter_map(|model| model.get("id")?.as_str())
        .collect();
    let new = models.iter().filter(|id| !known.contains(&id.as_str()));
    let new: Vec<String> = new.cloned().collect();
    let entry = source.protocol.entry();
    let (name, mut sources) = entry_of(group, entry);
    let is_there = sources.iter().any(|of| of.source == source.group);
    // Two sources of which one serves nothing are one.
    if new.is_empty() && (is_there || !sources.is_empty()) {
        return;
    }
    if !is_there {
        name_sources(group, &name);
        sources.push(EntrySource {
            source: source.group.clone(),
            extra: NO_EXTRA.to_owned(),
        });
    }
    let is_several = sources.len() > 1;
    let Some(members) = group.as_object_mut() else {
        return;
    };
    put_sources(members, &name, sources);
    let models = new.into_iter().map(|id| {
        let mut model = Map::from_iter([
            ("id".to_owned(), id.into()),
            ("entry".to_owned(), name.as_str().into()),
        ]);
        if is_several {
            model.insert("source".to_owned(), source.group.as_str().into());
        }
        Value::Object(model)
    });
    let list = members.entry("models").or_insert_with(|| json!([]));
    if let Value::Array(list) = list {
        list.extend(models);
    }
}

/// Takes models of a source out of a Mixed group: those that `is_gone` names, and the source where none of its models is left.
pub fn remove(group: &mut Value, source: &MixedSource, is_gone: impl Fn(&str) -> bool) {
    let (name, mut sources) = entry_of(group, source.protocol.entry());
    let is_of = |group: &Value, model: &Value| {
        let is_source = |of: &Value| of.as_str() == Some(&source.group);
        let several = model.get("sources").and_then(Value::as_array);
        let first = || source_of(group, model).as_deref() == Some(&source.group);
        model.get("entry").and_then(Value::as_str) == Some(&name)
            && several.map_or_else(first, |several| several.iter().any(is_source))
    };
    let before = group.clone();
    let Some(members) = group.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(models)) = members.get_mut("models") {
        for model in &mut *models {
            let id = model.get("id").and_then(Value::as_str).map(str::to_owned);
            let of_entry = model.get("entry").and_then(Value::as_str) == Some(&name);
            let several = model.get_mut("sources").and_then(Value::as_array_mut);
            if let (true, Some(several)) = (of_entry && is_gone(&id.unwrap_or_default()), several)
                && several.len() > 1
            {
                several.retain(|of| of.as_str() != Some(&source.group));
            }
        }
        models.retain(|model| {
            let id = model.get("id").and_then(Value::as_str).unwrap_or_default();
            !(is_of(&before, model) && is_gone(id))
        });
        if models.iter().any(|model| is_of(&before, model)) {
            return;
        }
    }
    sources.retain(|of| of.source != source.group);
    put_sources(members, &name, sources);
}

/// The name of an entry as the group has it, and its sources.
fn entry_of(group: &Value, entry: Entry) -> (String, Vec<EntrySource>) {
    let entries = group.get("entries").and_then(Value::as_object);
    let mut entries = entries.into_iter().flatten();
    let found = entries.find(|(name, _)| Entry::from_name(name) == Some(entry));
    found.map_or_else(
        || (entry.name().to_owned(), Vec::new()),
        |(name, of)| (name.clone(), entry_sources(of)),
    )
}

fn put_sources(group: &mut Map<String, Value>, name: &str, sources: Vec<EntrySource>) {
    let Value::Object(entries) = group.entry("entries").or_insert_with(|| json!({})) else {
        return;
    };
    if sources.is_empty() {
        entries.remove(name);
        return;
    }
    if let Value::Object(entry) = entries.entry(name).or_insert_with(|| json!({})) {
        put_entry_sources(entry, sources);
    }
}

/// Names the source of each model of an entry, which is to have several.
fn name_sources(group: &mut Value, name: &str) {
    let before = group.clone();
    let models = group.get_mut("models").and_then(Value::as_array_mut);
    for model in models.into_iter().flatten() {
        let is_of_entry = model.get("entry").and_then(Value::as_str) == Some(name);
        let is_of_entry = is_of_entry && model.get("sources").is_none();
        if let (true, Some(source)) = (is_of_entry, source_of(&before, model)) {
            model["source"] = source.into();
        }
    }
}

/// The order in which members are written; others follow.
const ORDER: [&str; 15] = [
    "id",
    "protocol",
    "name",
    "clients",
    "lists",
    "responses",
    "vb_messages",
    "vc_generate_content",
    "entry",
    "order",
    "source",
    "sources",
    "extra_multiplier",
    "entries",
    "models",
];

/// Writes a Mixed group as an element of `groups`, with a line for each entry and model.
pub fn text(group: &Value) -> String {
    let members = ordered(group).into_iter().map(|(name, value)| {
        let text = match value {
            Value::Object(entries) if name == "entries" && !entries.is_empty() => {
                let lines = ordered(value).into_iter();
                let lines = lines.map(|(name, of)| format!("{INDENT}  \"{name}\": {}", line(of)));
                format!("{{\n{}\n{INDENT}}}", lines.collect::<Vec<_>>().join(",\n"))
            }
            Value::Array(models) if name == "models" && !models.is_empty() => {
                list(models.iter().map(line))
            }
            other => line(other),
        };
        (name, text)
    });
    object(&members.collect::<Vec<_>>())
}

/// A value on one line.
fn line(value: &Value) -> String {
    match value {
        Value::Object(_) => {
            let members = ordered(value).into_iter();
            let members = members.map(|(name, value)| format!("{}: {}", json!(name), line(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(line).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

fn ordered(object: &Value) -> Vec<(&str, &Value)> {
    let members = object.as_object().into_iter().flatten();
    let mut members: Vec<(&str, &Value)> = members.map(|(name, of)| (name.as_str(), of)).collect();
    let place = |name: &str| ORDER.iter().position(|known| *known == name);
    members.sort_by_key(|(name, _)| place(name).unwrap_or(ORDER.len()));
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(group: &str, protocol: Protocol, models: &[&str]) -> MixedSource {
        MixedSource {
            group: group.to_owned(),
            protocol,
            models: models.iter().map(|&id| id.to_owned()).collect(),
        }
    }

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn one_source_of_each_protocol_is_written_the_short_way() {
        let made = mixed(&[
            source("openai", Protocol::A, &["gpt", "both"]),
            source("anthropic", Protocol::B, &["claude", "both"]),
        ]);
        let want = r#"{
      "id": "all",
      "protocol": "Mixed",
      "clients": "current",
      "entries": {
        "responses": {"source": "openai", "extra_multiplier": "1.0000"},
        "vb_messages": {"source": "anthropic", "extra_multiplier": "1.0000"}
      },
      "models": [
        {"id": "gpt", "entry": "responses"},
        {"id": "both", "entry": "responses"},
        {"id": "claude", "entry": "vb_messages"}
      ]
    }"#;
        assert_eq!(made.unwrap(), want);
        assert_eq!(mixed(&[source("openai", Protocol::A, &["gpt"])]), None);
        let taken = [
            source(MIXED, Protocol::A, &["gpt"]),
            source("b", Protocol::B, &["claude"]),
        ];
        assert_eq!(mixed(&taken), None);
    }

    #[test]
    fn several_sources_of_a_protocol() {
        let made = mixed(&[
            source("openai", Protocol::A, &["gpt", "both"]),
            source("router", Protocol::A, &["both", "qwen"]),
            source("mirror", Protocol::A, &["gpt"]),
            source("vllm", Protocol::A, &["llama"]),
        ]);
        let want = json!({"id": "all", "protocol": "Mixed", "clients": "current",
            "entries": {"responses": {"sources": [
                {"source": "openai", "extra_multiplier": "1.0000"}, {"source": "router", "extra_multiplier": "1.0000"},
                {"source": "vllm", "extra_multiplier": "1.0000"}]}},
            "models": [
                {"id": "gpt", "entry": "responses", "source": "openai"}, {"id": "both", "entry": "responses", "source": "openai"},
                {"id": "qwen", "entry": "responses", "source": "router"}, {"id": "llama", "entry": "responses", "source": "vllm"}]});
        assert_eq!(value(&made.unwrap()), want);
    }

    #[test]
    fn what_is_new_is_added_and_what_was_unticked_stays_so() {
        let mut group = json!({"id": "all", "protocol": "Mixed",
            "entries": {"anthropic_messages": {"source": "anthropic", "extra_multiplier": "2"}},
            "models": [{"id": "claude", "entry": "anthropic_messages"}]});
        let deepseek = source("deepseek", Protocol::B, &["chat", "coder"]);
        add(
            &mut group,
            &deepseek,
            &["chat".to_owned(), "claude".to_owned()],
        );
        let two = json!({"id": "all", "protocol": "Mixed",
            "entries": {"anthropic_messages": {"sources": [
                {"source": "anthropic", "extra_multiplier": "2"}, {"source": "deepseek", "extra_multiplier": "1.0000"}]}},
            "models": [{"id": "claude", "entry": "anthropic_messages", "source": "anthropic"},
                {"id": "chat", "entry": "anthropic_messages", "source": "deepseek"}]});
        assert_eq!(group, two);
        assert_eq!(value(&text(&group)), two);
        remove(&mut group, &deepseek, |id| id == "coder");
        assert_eq!(group, two);
        remove(&mut group, &deepseek, |_| true);
        assert_eq!(
            group,
            json!({"id": "all", "protocol": "Mixed",
                "entries": {"anthropic_messages": {"sources": [{"source": "anthropic", "extra_multiplier": "2"}]}},
                "models": [{"id": "claude", "entry": "anthropic_messages", "source": "anthropic"}]})
        );
        let sequence = |sources: Value, listed: Value| {
            json!({"id": "all", "protocol": "Mixed", "entries": {"anthropic_messages": {"sources": sources}},
                "models": [{"id": "chat", "entry": "anthropic_messages", "sources": listed}]})
        };
        let both = json!([{"source": "anthropic"}, {"source": "deepseek"}]);
        let mut group = sequence(both, json!(["anthropic", "deepseek"]));
        remove(&mut group, &deepseek, |_| true);
        let rest = sequence(json!([{"source": "anthropic"}]), json!(["anthropic"]));
        assert_eq!(group, rest, "a model keeps its other sources");
    }
}
