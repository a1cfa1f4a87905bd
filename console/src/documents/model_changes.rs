//! The models that keys gain and lose by a document, beside the one in force.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use trilane::config::policy::Group;
use trilane::config::{Compiled, Document, compile};
use trilane::keys::KeyAccess;
use trilane::money::Multiplier;

use super::budget_losses::own_access;
use crate::language::{self, translated};
use crate::store::group_keys::{self, GroupKeys};
use crate::store::{StoreError, Transaction};
use crate::text;
use crate::vendors::api_style;

/// The most models that a sentence names.
const NAMED: usize = 20;

/// A model as keys see it: its id, and the protocol that clients speak to it.
pub type Shown = BTreeSet<(String, char)>;

/// The models that some keys gain and lose.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ModelChange {
    /// The ids of the models that they gain.
    pub gained: Vec<String>,
    /// The ids of the models that they lose.
    pub lost: Vec<String>,
}

/// Keys that gain and lose the same models.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedKeys {
    /// The number of these keys.
    pub count: u64,
    /// The ids of the first of them.
    pub named: Vec<String>,
}

/// The changes, with the keys that each concerns.
pub type KeyChanges = BTreeMap<ModelChange, ChangedKeys>;

/// The models that a group shows, each with the least multiplier at which it has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupModels(Vec<(String, char, Multiplier)>);

impl GroupModels {
    /// Those of a group.
    pub fn of(group: &Group) -> Self {
        let models = group.kind.usable().map(|of| {
            let protocol = of.source.protocol.to_string().chars().next();
            let id = of.model.id.to_string();
            (id, protocol.unwrap_or_default(), of.least_multiplier)
        });
        Self(models.collect())
    }

    /// Those for a key with this of its own.
    pub fn shown(&self, access: Option<&KeyAccess>) -> Shown {
        let may = |id: &str, least| {
            access.is_none_or(|access| access.allows(id) && access.affords(least))
        };
        let models = self.0.iter().filter(|(id, _, least)| may(id, *least));
        models
            .map(|(id, protocol, _)| (id.clone(), *protocol))
            .collect()
    }
}

/// The models that the groups of a document show, and the keys that it names.
struct Groups {
    groups: HashMap<String, GroupModels>,
    keys: Vec<(String, Shown)>,
}

impl Groups {
    fn of(compiled: &Compiled) -> Self {
        let groups = compiled.policy.groups().iter();
        let groups = groups.map(|group| (group.id.to_string(), GroupModels::of(group)));
        let mut all = Self {
            groups: groups.collect(),
            keys: Vec::new(),
        };
        let keys = compiled.keys.iter().map(|(_, key)| {
            let models = all.models(&key.group, key.access.as_deref());
            (key.id.to_string(), models)
        });
        all.keys = keys.collect();
        all
    }

    /// Those of a document as gateways get it; `None` where it is none that they take.
    fn read(served: &str) -> Option<Self> {
        let document = Document::parse(served.as_bytes()).ok()?;
        Some(Self::of(&compile(&document).ok()?))
    }

    /// The models of a key of this group with this of its own.
    fn models(&self, group: &str, access: Option<&KeyAccess>) -> Shown {
        let group = self.groups.get(group);
        group.map(|group| group.shown(access)).unwrap_or_default()
    }
}

/// The names of models, as many as a sentence has.
fn named_models(models: &[String]) -> String {
    let (named, others) = models.split_at_checked(NAMED).unwrap_or((models, &[]));
    let named = language::list(named);
    match others.len() {
        0 => named,
        more => t!("{names} and {count} more", names = named, count = more),
    }
}

impl ModelChange {
    /// `None` where nothing changes.
    fn new(before: &Shown, after: &Shown) -> Option<Self> {
        let all: Vec<&(String, char)> = before.union(after).collect();
        let name = |(id, protocol): &(String, char)| {
            let is_plain = all.iter().filter(|(other, _)| other == id).count() < 2;
            if is_plain {
                id.clone()
            } else {
                let style = api_style(protocol.encode_utf8(&mut [0; 4]));
                t!("{name} ({style})", name = id, style = translated(style))
            }
        };
        let change = Self {
            gained: after.difference(before).map(name).collect(),
            lost: before.difference(after).map(name).collect(),
        };
        (change != Self::default()).then_some(change)
    }

    /// Says it, with the keys that it concerns.
    pub fn sentence(&self, keys: &ChangedKeys) -> String {
        let whose = keys.words();
        let [gained, lost] = [&self.gained, &self.lost].map(|models| named_models(models));
        match (
            keys.count == 1,
            self.gained.is_empty(),
            self.lost.is_empty(),
        ) {
            (true, false, true) => t!("{keys} gains {models}", keys = whose, models = gained),
            (true, true, _) => t!("{keys} loses {models}", keys = whose, models = lost),
            (true, false, false) => t!(
                "{keys} gains {gained}, and loses {lost}",
                keys = whose,
                gained = gained,
                lost = lost
            ),
            (false, false, true) => t!("{keys} gain {models}", keys = whose, models = gained),
            (false, true, _) => t!("{keys} lose {models}", keys = whose, models = lost),
            (false, false, false) => t!(
                "{keys} gain {gained}, and lose {lost}",
                keys = whose,
                gained = gained,
                lost = lost
            ),
        }
    }
}

impl ChangedKeys {
    /// The number of them, and the names of the first of them where these are known.
    pub fn words(&self) -> String {
        let named = language::list(&self.named);
        let named = match self.count.saturating_sub(self.named.len() as u64) {
            0 => t!(" ({keys})", keys = named),
            _ if named.is_empty() => String::new(),
            more => t!(" ({keys} and {count} more)", keys = named, count = more),
        };
        let count = match self.count {
            1 => t!("1 key").into_owned(),
            count => t!("{count} keys", count = text::count(count)),
        };
        format!("{count}{named}")
    }

    /// The same keys, counted only.
    pub fn counted(&self) -> Self {
        Self {
            count: self.count,
            named: Vec::new(),
        }
    }

    /// Adds keys, with the ids of some of them.
    pub fn add(&mut self, count: u64, ids: impl IntoIterator<Item = String>) {
        self.count = self.count.saturating_add(count);
        let room = NAMED.saturating_sub(self.named.len());
        self.named.extend(ids.into_iter().take(room));
    }
}

/// The models and multipliers that keys have of their own.
pub fn access_of(keys: &GroupKeys) -> KeyAccess {
    let own = keys.multiplier.as_deref();
    KeyAccess {
        multiplier: own.and_then(|own| Multiplier::parse(own).ok()),
        ..own_access(keys.models.as_deref(), keys.max_multiplier.as_deref())
    }
}

/// The changes for the keys that documents name.
pub fn of_named(before: &Compiled, after: &Compiled) -> KeyChanges {
    named(&Groups::of(before), &Groups::of(after))
}

fn named(before: &Groups, after: &Groups) -> KeyChanges {
    let mut changes = KeyChanges::new();
    let had: HashMap<&str, &Shown> = before
        .keys
        .iter()
        .map(|(id, had)| (id.as_str(), had))
        .collect();
    for (id, has) in &after.keys {
        // A key that is new gains nothing that anybody had not meant it to have.
        let change = had.get(id.as_str());
        if let Some(change) = change.and_then(|had| ModelChange::new(had, has)) {
            changes.entry(change).or_default().add(1, [id.clone()]);
        }
    }
    changes
}

/// The changes for all keys: those that the documents name, as gateways get them, and those of the console. None where one of the
/// documents is none that gateways take.
///
/// # Errors
/// Those of the database.
pub async fn of_all(
    transaction: &mut Transaction,
    before: &str,
    after: &str,
) -> Result<KeyChanges, StoreError> {
    let Some((before, after)) = Groups::read(before).zip(Groups::read(after)) else {
        return Ok(KeyChanges::new());
    };
    let mut changes = named(&before, &after);
    let groups: BTreeSet<&String> = before.groups.keys().chain(after.groups.keys()).collect();
    for group in groups {
        if before.groups.get(group) == after.groups.get(group) {
            continue;
        }
        for keys in group_keys::of(transaction, group).await? {
            let own = access_of(&keys);
            let had = before.models(group, Some(&own));
            if let Some(change) = ModelChange::new(&had, &after.models(group, Some(&own))) {
                changes
                    .entry(change)
                    .or_default()
                    .add(keys.count, keys.named);
            }
        }
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A document whose groups have these models: `a`, and through `all` both `a` and `b`.
    fn document(a: &[&str], b: &[&str]) -> Compiled {
        let models = |ids: &[&str]| ids.iter().map(|id| json!({"id": id})).collect::<Value>();
        let shown = |ids: &[&str], entry: &str| -> Vec<Value> {
            let ids = ids.iter();
            ids.map(|id| json!({"id": id, "entry": entry})).collect()
        };
        let key = |id: &str, group: &str, digit: &str| json!({"id": id, "sha256": digit.repeat(64), "group": group});
        let mut own = key("own", "a", "2");
        own["models"] = json!(["x"]);
        let all = [shown(a, "responses"), shown(b, "vb_messages")].concat();
        let text = json!({
            "groups": [
                {"id": "a", "protocol": "A", "multiplier": "1", "cluster": "a", "models": models(a)},
                {"id": "b", "protocol": "B", "multiplier": "1", "cluster": "b", "models": models(b)},
                {"id": "all", "protocol": "Mixed", "lists": "by_protocol", "models": all,
                 "entries": {"responses": {"source": "a"}, "vb_messages": {"source": "b"}}},
            ],
            "keys": [key("first", "a", "0"), key("second", "a", "1"), own, key("mixed", "all", "3")],
        });
        let document = Document::parse(text.to_string().as_bytes());
        document.and_then(|document| compile(&document)).unwrap()
    }

    #[test]
    fn which_keys_gain_or_lose_what() {
        let before = document(&["x", "y"], &["m"]);
        for (case, after, want) in [
            ("nothing", before.clone(), &[][..]),
            (
                "one more",
                document(&["x", "y", "z"], &["m"]),
                &["3 keys (first, second, mixed) gain z"],
            ),
            (
                "one for another",
                document(&["x", "z"], &["m"]),
                &["3 keys (first, second, mixed) gain z, and lose y"],
            ),
            (
                "at another protocol too",
                document(&["x", "y"], &["m", "x"]),
                &["1 key (mixed) gains x (Anthropic-style)"],
            ),
        ] {
            let changes = of_named(&before, &after);
            let told: Vec<String> = changes
                .iter()
                .map(|(change, keys)| change.sentence(keys))
                .collect();
            assert_eq!(told, want, "{case}");
        }
    }

    #[test]
    fn many_keys_are_counted() {
        let change = ModelChange {
            gained: Vec::new(),
            lost: vec!["x".to_owned()],
        };
        let mut keys = ChangedKeys::default();
        keys.add(1000, (0..30).map(|number| format!("k{number}")));
        keys.add(1, ["z".to_owned()]);
        let told = change.sentence(&keys);
        assert!(told.starts_with("1,001 keys (k0, k1, "), "{told}");
        assert!(told.ends_with("k19 and 981 more) lose x"), "{told}");
    }
}
