//! Keys that stand in the document in force. They are shown like the console's, and changed in drafts alone. Where a key of the console has the
//! value of one of them, gateways take the document's: so does what is said here.

use std::collections::BTreeMap;

use serde_json::Value;
use trilane::config::Problems;
use trilane::config::document::KeyDocument;

use super::caller::Caller;
use super::drafts::{DraftView, view};
use super::key_models::document_in_force;
use super::keys::{KeyListParams, KeyView, add_use, find_own, stored_limits, written};
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::documents::{NewDraft, begin};
use crate::in_transaction;
use crate::secret;
use crate::store::key_lists::KeyState;
use crate::store::keys::{self, StoredKey};
use crate::store::{StoreError, Transaction, documents};
use crate::timestamp::{self, moment};

/// A key of a document as the console has its own; `None`: it has no id, digest or group.
pub fn stored(key: &KeyDocument) -> Option<StoredKey> {
    let time = |text: &String| timestamp::parse(text).map(timestamp::text);
    Some(StoredKey {
        sha256: key.sha256.as_ref()?.to_ascii_lowercase(),
        id: key.id.clone()?,
        group_id: key.group.clone()?,
        owner: key.owner.clone(),
        team: key.team.clone(),
        counts_as: key.counts_as.clone(),
        models: key.models.as_ref().map(written),
        multiplier: key.multiplier.clone(),
        max_multiplier: key.max_multiplier.clone(),
        addresses: key.addresses.as_ref().map(written),
        expires_at: key.expires_at.as_ref().and_then(time),
        disabled: key.disabled.unwrap_or_default(),
        limits: key.limits.clone().map(stored_limits),
        ..StoredKey::default()
    })
}

/// The keys of the document in force, in the order of their ids.
async fn in_force(transaction: &mut Transaction) -> Result<Vec<StoredKey>, ApiProblem> {
    let document = document_in_force(transaction).await?;
    let keys = document
        .and_then(|document| document.keys)
        .unwrap_or_default();
    let mut keys: Vec<StoredKey> = keys.iter().filter_map(stored).collect();
    keys.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(keys)
}

/// The key of this id in the document in force.
///
/// # Errors
/// Those of the database.
pub(super) async fn find(
    transaction: &mut Transaction,
    id: &str,
) -> Result<Option<StoredKey>, ApiProblem> {
    let keys = in_force(transaction).await?;
    Ok(keys.into_iter().find(|key| key.id == id))
}

/// The id of the key of the document in force that has this digest.
///
/// # Errors
/// Those of the database.
pub(super) async fn with_digest(
    transaction: &mut Transaction,
    sha256: &str,
) -> Result<Option<String>, ApiProblem> {
    let keys = in_force(transaction).await?;
    let found = keys.into_iter().find(|key| key.sha256 == sha256);
    Ok(found.map(|key| key.id))
}

/// The keys that stand in the document in force, as filtered, in the order of their ids. Members see their own, managers those of their `team`.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    asked: KeyListParams,
    page: PageParams,
) -> Result<ItemPage<KeyView>, ApiProblem> {
    caller.must(rights::SEE_KEYS)?;
    let limit = page.limit()?;
    let after: String = page.after()?.unwrap_or_default();
    let only = caller.only_owner_in(asked.team.as_deref());
    if let (Some(only), Some(owner)) = (only, &asked.owner)
        && only != owner
    {
        return Err(ApiProblem::forbidden(text!("members see their own keys")));
    }
    let (owner, now) = (only.or(asked.owner.as_deref()), moment(state.now()));
    let is_like = |key: &StoredKey| is_asked_for(key, owner, &asked, &now);
    let most = usize::try_from(limit.to_fetch()).unwrap_or(usize::MAX);
    let mut transaction = state.store.read().await?;
    let keys = in_force(&mut transaction).await?.into_iter();
    let found = keys.filter(|key| key.id > after && is_like(key)).take(most);
    let mut page = limit.page(found.collect(), |key| key.id.clone(), KeyView::from);
    for key in &mut page.items {
        key.of_document = true;
        if asked.with.as_deref() == Some("use") {
            add_use(&mut transaction, key, state.now()).await?;
        }
    }
    transaction.rollback().await;
    Ok(page)
}

/// Whether a key is one that filters ask for, as of the console's.
fn is_asked_for(key: &StoredKey, owner: Option<&str>, asked: &KeyListParams, now: &str) -> bool {
    let is =
        |wanted: Option<&str>, has: Option<&str>| wanted.is_none_or(|wanted| has == Some(wanted));
    let is_expired = key.expires_at.as_deref().is_some_and(|end| end <= now);
    let text = asked
        .search
        .as_deref()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let has =
        |part: Option<&str>| part.is_some_and(|part| part.to_ascii_lowercase().contains(&text));
    is(owner, key.owner.as_deref())
        && is(asked.group.as_deref(), Some(&key.group_id))
        && is(asked.team.as_deref(), key.team.as_deref())
        && (has(Some(&key.id)) || has(key.owner.as_deref()))
        && match asked.state {
            None => true,
            Some(KeyState::Active) => !key.disabled && !is_expired,
            Some(KeyState::Disabled) => key.disabled,
            Some(KeyState::Expired) => is_expired,
        }
}

/// Begins a draft in which a key of the document in force is disabled. Gateways hear of it when that is published.
pub async fn disable(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<DraftView, ApiProblem> {
    caller.must(rights::CHANGE_DOCUMENTS)?;
    let draft = format!("draft_{}", secret::new_id().map_err(ApiProblem::internal)?);
    in_transaction!(state.store, transaction => {
        // The draft is of the version that is read here.
        documents::lock(transaction).await?;
        let key = find_own(transaction, caller, id).await?;
        let current = documents::current(transaction).await?;
        let body = current.and_then(|current| disabled(&current.body, &key.id));
        let new = NewDraft {
            id: draft.clone(),
            body: Some(body.ok_or_else(ApiProblem::not_found)?),
            note: format!("Disables the key {}", key.id),
        };
        let begun = begin(transaction, &new, &caller.actor(), state.now()).await?;
        Ok(view(begun))
    })
}

/// A document in which a key is disabled; `None`: it does not have the key.
fn disabled(body: &str, id: &str) -> Option<String> {
    let mut document: Value = serde_json::from_str(body).ok()?;
    let mut keys = document.get_mut("keys")?.as_array_mut()?.iter_mut();
    let key = keys.find(|key| key.get("id").and_then(Value::as_str) == Some(id))?;
    key.as_object_mut()?
        .insert("disabled".to_owned(), true.into());
    serde_json::to_string_pretty(&document).ok()
}

/// The keys that a document names although the console has them: gateways take the document's.
///
/// # Errors
/// Those of the database.
pub(super) async fn doubles(
    transaction: &mut Transaction,
    served: &str,
) -> Result<Problems, StoreError> {
    let mut problems = Problems::default();
    let document = trilane::config::Document::parse(served.as_bytes()).ok();
    let named = document
        .and_then(|document| document.keys)
        .unwrap_or_default();
    let digests: Vec<String> = named.iter().map(digest).collect();
    let wanted: Vec<&str> = digests.iter().map(String::as_str).collect();
    let known: BTreeMap<String, String> = keys::with_digests(transaction, &wanted)
        .await?
        .into_iter()
        .collect();
    for (place, digest) in digests.iter().enumerate() {
        if let Some(id) = known.get(digest) {
            let reason = t!(
                "is the value of the console's key {key} too: gateways take this one, whatever is changed there",
                key = id
            );
            problems.push(format!("keys[{place}].sha256"), reason);
        }
    }
    Ok(problems)
}

fn digest(key: &KeyDocument) -> String {
    key.sha256
        .as_deref()
        .unwrap_or_default()
        .to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_is_disabled() {
        let body = r#"{"groups": [], "keys": [{"id": "a", "sha256": "x"}, {"id": "b", "disabled": false}]}"#;
        for (id, want) in [
            ("a", Some([true, false])),
            ("b", Some([false, true])),
            ("c", None),
        ] {
            let changed = disabled(body, id);
            let got = changed.map(|text| {
                let document: Value = serde_json::from_str(&text).unwrap();
                [0, 1].map(|place: usize| document["keys"][place]["disabled"] == Value::Bool(true))
            });
            assert_eq!(got, want, "{id}");
        }
    }
}
