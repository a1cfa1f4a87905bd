//! The models that a key serves.

use serde::Serialize;
use trilane::config::document::GroupDocument;
use trilane::config::{Document, compile};
use trilane::protocol::{Entry, Protocol};
use utoipa::ToSchema;

use super::caller::Caller;
use super::keys::find_own;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::documents::budget_losses::own_access;
use crate::documents::model_changes::{GroupModels, Shown};
use crate::store::keys::StoredKey;
use crate::store::{Transaction, documents};

/// A model that a key serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct KeyModel {
    /// The id of the model.
    pub(crate) id: String,
    /// The protocol that clients speak to it: `A`, `B` or `C`.
    #[schema(value_type = String)]
    pub(crate) protocol: &'static str,
}

/// The models of a key.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyModels {
    /// The models, in the order of the document in force.
    pub(crate) items: Vec<KeyModel>,
}

/// The models that a key may use of its group in the document in force. Members see those of their own keys.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<KeyModels, ApiProblem> {
    caller.must(rights::SEE_KEYS)?;
    let mut transaction = state.store.read().await?;
    let key = find_own(&mut transaction, caller, id).await?;
    let items = of_key(&mut transaction, &key).await?;
    transaction.rollback().await;
    Ok(KeyModels { items })
}

/// The models that a key may use of its group in the document in force.
///
/// # Errors
/// Those of the database.
pub(super) async fn of_key(
    transaction: &mut Transaction,
    key: &StoredKey,
) -> Result<Vec<KeyModel>, ApiProblem> {
    let document = document_in_force(transaction).await?;
    let models = document.and_then(|document| allowed(&document, key));
    Ok(models.unwrap_or_default())
}

/// The models of its group in a document that a key may use; `None`: there is no such group.
pub(super) fn allowed(document: &Document, key: &StoredKey) -> Option<Vec<KeyModel>> {
    let mut groups = document.groups.iter().flatten();
    let group = groups.find(|group| group.id.as_deref() == Some(&key.group_id))?;
    let mut items = models(group);
    let own = key.models.as_deref();
    let own: Option<Vec<String>> = own.and_then(|own| serde_json::from_str(own).ok());
    if let Some(own) = own {
        items.retain(|model| own.contains(&model.id));
    }
    if let Some(affordable) = affordable(document, key) {
        let is_affordable = |model: &KeyModel| {
            let mut affordable = affordable.iter();
            affordable
                .any(|(id, protocol)| *id == model.id && model.protocol.starts_with(*protocol))
        };
        items.retain(is_affordable);
    }
    Some(items)
}

/// The models of its group that a key with a greatest multiplier can pay; `None`: it has none.
fn affordable(document: &Document, key: &StoredKey) -> Option<Shown> {
    let most = key.max_multiplier.as_deref()?;
    let compiled = compile(document).ok()?;
    let group = compiled.policy.group(&key.group_id)?;
    Some(GroupModels::of(group).shown(Some(&own_access(None, Some(most)))))
}

/// The document in force.
pub(super) async fn document_in_force(
    transaction: &mut Transaction,
) -> Result<Option<Document>, ApiProblem> {
    let current = documents::current(transaction).await?;
    Ok(current.and_then(|current| Document::parse(current.served.as_bytes()).ok()))
}

/// The groups of the document in force.
///
/// # Errors
/// Those of the database.
pub(super) async fn in_force(
    transaction: &mut Transaction,
) -> Result<Vec<GroupDocument>, ApiProblem> {
    let document = document_in_force(transaction).await?;
    Ok(document
        .and_then(|document| document.groups)
        .unwrap_or_default())
}

/// A group of the document in force.
///
/// # Errors
/// Those of the database.
pub(super) async fn group_in_force(
    transaction: &mut Transaction,
    id: &str,
) -> Result<Option<GroupDocument>, ApiProblem> {
    let mut groups = in_force(transaction).await?.into_iter();
    Ok(groups.find(|group| group.id.as_deref() == Some(id)))
}

/// The groups of the document in force: their ids, with what they serve.
///
/// # Errors
/// Those of the database.
pub async fn groups(
    state: &ConsoleState,
    caller: &Caller,
) -> Result<Vec<(String, String)>, ApiProblem> {
    caller.must(rights::SEE_KEYS)?;
    let mut transaction = state.store.read().await?;
    let groups = in_force(&mut transaction).await?;
    transaction.rollback().await;
    let groups = groups.into_iter().filter_map(|group| {
        let id = group.id?;
        let serves = group.protocol.unwrap_or_default();
        Some((id, serves))
    });
    Ok(groups.collect())
}

/// The models of a group.
pub fn models(group: &GroupDocument) -> Vec<KeyModel> {
    let of_group = group.protocol.as_deref().and_then(protocol);
    let models = group.models.iter().flatten().filter_map(|model| {
        let of_entry = model.entry.as_deref().and_then(Entry::from_name);
        let protocol = of_group.or_else(|| of_entry.map(|entry| letter(entry.protocol())))?;
        Some(KeyModel {
            id: model.id.clone()?,
            protocol,
        })
    });
    models.collect()
}

fn protocol(name: &str) -> Option<&'static str> {
    ["A", "B", "C"].into_iter().find(|known| *known == name)
}

/// The letter of a protocol.
pub(super) const fn letter(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::A => "A",
        Protocol::B => "B",
        Protocol::C => "C",
    }
}
