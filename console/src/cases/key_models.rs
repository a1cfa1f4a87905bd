//! The models that a key serves.

use serde::Serialize;
use trilane::config::Document;
use trilane::config::document::GroupDocument;
use trilane::protocol::{Entry, Protocol};
use utoipa::ToSchema;

use super::caller::Caller;
use super::keys::find_own;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::store::keys::StoredKey;
use crate::store::{Transaction, documents};

/// A model that a key serves.
#[derive(Debug, Clone, Serialize, ToSchema)]
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
    let group = group_in_force(transaction, &key.group_id).await?;
    Ok(group.map(|group| allowed(&group, key)).unwrap_or_default())
}

/// The models of a group that a key may use.
pub(super) fn allowed(group: &GroupDocument, key: &StoredKey) -> Vec<KeyModel> {
    let mut items = models(group);
    let own = key.models.as_deref();
    let own: Option<Vec<String>> = own.and_then(|own| serde_json::from_str(own).ok());
    if let Some(own) = own {
        items.retain(|model| own.contains(&model.id));
    }
    items
}

/// The groups of the document in force.
///
/// # Errors
/// Those of the database.
pub(super) async fn in_force(
    transaction: &mut Transaction,
) -> Result<Vec<GroupDocument>, ApiProblem> {
    let current = documents::current(transaction).await?;
    let document = current.and_then(|current| Document::parse(current.served.as_bytes()).ok());
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

const fn letter(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::A => "A",
        Protocol::B => "B",
        Protocol::C => "C",
    }
}
