//! The sources of an entry of a Mixed group, as a document writes them.

use serde_json::{Map, Value, json};

/// A source of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntrySource {
    /// The id of its group.
    pub source: String,
    /// The extra multiplier as it is written; empty where none is.
    pub extra: String,
}

impl EntrySource {
    fn read(written: &Value) -> Option<Self> {
        let text = |name: &str| written.get(name).and_then(Value::as_str);
        Some(Self {
            source: text("source")?.to_owned(),
            extra: text("extra_multiplier").unwrap_or_default().to_owned(),
        })
    }

    fn put(self, members: &mut Map<String, Value>) {
        members.insert("source".to_owned(), self.source.into());
        if !self.extra.is_empty() {
            members.insert("extra_multiplier".to_owned(), self.extra.into());
        }
    }
}

/// Reads the sources of an entry, whichever way it has them.
pub fn entry_sources(entry: &Value) -> Vec<EntrySource> {
    match entry.get("sources") {
        Some(several) => {
            let several = several.as_array().into_iter().flatten();
            several.filter_map(EntrySource::read).collect()
        }
        None => EntrySource::read(entry).into_iter().collect(),
    }
}

/// Finds the source that is asked first for a model of a Mixed group: the first that it names, or the only one of its entry.
pub fn source_of(group: &Value, model: &Value) -> Option<String> {
    let first = model.get("sources").and_then(|sources| sources.get(0));
    if let Some(named) = first.or(model.get("source")).and_then(Value::as_str) {
        return Some(named.to_owned());
    }
    let entry = model.get("entry").and_then(Value::as_str)?;
    let sources = entry_sources(group.get("entries")?.get(entry)?);
    let [only] = <[EntrySource; 1]>::try_from(sources).ok()?;
    Some(only.source)
}

/// Gives an entry these sources. It is written the short way where there is one, unless it had a list before.
pub fn put_entry_sources(entry: &mut Map<String, Value>, mut sources: Vec<EntrySource>) {
    let had_list = entry.contains_key("sources");
    for name in ["source", "extra_multiplier", "sources"] {
        entry.remove(name);
    }
    match (sources.len(), sources.pop()) {
        (1, Some(only)) if !had_list => only.put(entry),
        (_, last) => {
            let all = sources.into_iter().chain(last).map(|source| {
                let mut members = Map::new();
                source.put(&mut members);
                Value::Object(members)
            });
            entry.insert("sources".to_owned(), json!(all.collect::<Vec<_>>()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written() {
        for entry in [
            json!({"source": "a"}),
            json!({"source": "a", "extra_multiplier": "2"}),
            json!({"sources": [{"source": "a"}]}),
            json!({"sources": [{"source": "a", "extra_multiplier": "2"}, {"source": "b"}]}),
        ] {
            let mut written = entry.as_object().unwrap().clone();
            put_entry_sources(&mut written, entry_sources(&entry));
            assert_eq!(Value::Object(written), entry);
        }
    }

    #[test]
    fn whose_model_it_is() {
        let group = json!({"entries": {
            "responses": {"sources": [{"source": "a"}, {"source": "b"}]}, "vb_messages": {"source": "c"}}});
        for (model, want) in [
            (
                json!({"id": "m", "entry": "responses", "source": "b"}),
                Some("b"),
            ),
            (json!({"id": "m", "entry": "responses"}), None),
            (
                json!({"id": "m", "entry": "responses", "sources": ["b", "a"]}),
                Some("b"),
            ),
            (json!({"id": "m", "entry": "vb_messages"}), Some("c")),
            (json!({"id": "m", "entry": "other"}), None),
            (json!({"id": "m"}), None),
        ] {
            assert_eq!(source_of(&group, &model).as_deref(), want, "{model}");
        }
    }
}
