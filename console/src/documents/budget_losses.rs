//! The keys, members, owners and teams that lose models by a document: budgets cannot count those without prices.

use std::collections::BTreeSet;

use trilane::config::{Document, Problems, compile, some_of};
use trilane::keys::KeyAccess;
use trilane::limits::{SubjectKind, member_id};
use trilane::model::{ModelSubset, ModelTag};
use trilane::money::Multiplier;

use crate::store::{StoreError, Transaction, budgeted, spend_feed};

/// The most subjects, and models, that a warning names.
const NAMED: usize = 20;

/// The models that keys of a group lose under a budget.
struct GroupLosses {
    /// The index of the group in the document.
    place: usize,
    id: String,
    /// The ids of its models without prices.
    ids: Vec<String>,
    /// The same for people.
    names: Vec<String>,
    /// The members, owners and teams of keys in the document that may use some of these.
    people: BTreeSet<(SubjectKind, String)>,
}

impl GroupLosses {
    /// Of each group with models that have no prices.
    fn of_document(served: &str) -> Vec<Self> {
        let compiled = Document::parse(served.as_bytes()).and_then(|document| compile(&document));
        let Ok(compiled) = compiled else {
            return Vec::new();
        };
        let groups = compiled.policy.groups().iter().enumerate();
        let lacking = groups.filter(|(_, group)| !group.priced);
        let losses = lacking.map(|(place, group)| {
            let keys = compiled.keys.iter().map(|(_, key)| key);
            let keys = keys.filter(|key| key.group == group.id);
            let keys = keys.filter(|key| !group.unpriced(key.access.as_deref()).is_empty());
            let people = keys.flat_map(|key| {
                let member = key.owner.as_deref().zip(key.team.as_deref());
                let member =
                    member.map(|(owner, team)| (SubjectKind::Member, member_id(owner, team)));
                let owner = key
                    .owner
                    .iter()
                    .map(|id| (SubjectKind::Owner, id.to_string()));
                let people = member.into_iter().chain(owner);
                people.chain(
                    key.team
                        .iter()
                        .map(|id| (SubjectKind::Team, id.to_string())),
                )
            });
            Self {
                place,
                id: group.id.to_string(),
                ids: group.unpriced_ids(),
                names: group.unpriced(None),
                people: people.collect(),
            }
        });
        losses.collect()
    }

    /// Whether a key with these models of its own, a JSON list, may use one of them.
    fn concerns(&self, models: Option<&str>) -> bool {
        let own: Option<Vec<String>> = models.and_then(|models| serde_json::from_str(models).ok());
        own.is_none_or(|own| own.iter().any(|id| self.ids.contains(id)))
    }
}

/// A warning for each group with models that some of its keys may not use, as a budget of the console's could not count them.
///
/// # Errors
/// Those of the database.
pub async fn warnings(transaction: &mut Transaction, served: &str) -> Result<Problems, StoreError> {
    let mut warnings = Problems::default();
    for group in GroupLosses::of_document(served) {
        let mut subjects = BTreeSet::new();
        for keys in budgeted::in_group(transaction, &group.id).await? {
            if group.concerns(keys.models.as_deref()) {
                subjects.insert(format!("{} {}", keys.kind, keys.subject));
            }
        }
        for (kind, id) in &group.people {
            if spend_feed::budget(transaction, *kind, id).await?.is_set() {
                subjects.insert(format!("{kind} {id}"));
            }
        }
        if !subjects.is_empty() {
            let reason = format!(
                "a budget cannot count models without prices, so these may not use {}: {}",
                some_of(&group.names, NAMED),
                some_of(&Vec::from_iter(subjects), NAMED)
            );
            warnings.push(format!("groups[{}].models", group.place), reason);
        }
    }
    Ok(warnings)
}

/// The models and the greatest multiplier of its own that a key has, as they are stored.
pub fn own_access(models: Option<&str>, max_multiplier: Option<&str>) -> KeyAccess {
    let models = models.and_then(|models| serde_json::from_str::<Vec<String>>(models).ok());
    KeyAccess {
        models: models
            .and_then(|models| ModelSubset::new(models.iter().map(|id| ModelTag::of(id)))),
        multiplier: None,
        max_multiplier: max_multiplier.and_then(|most| Multiplier::parse(most).ok()),
        ..KeyAccess::default()
    }
}
