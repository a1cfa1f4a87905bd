//! API keys. Only their digests are known; a new key is shown once.

use serde::{Deserialize, Serialize};
use trilane::config::document::{KeyDocument, LimitsDocument};
use trilane::limits::{SubjectKind, Window};
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::document_keys;
use super::fields;
use super::key_checks::{check, check_owner};
use super::key_owners::{self, NewNames};
use super::key_rotation::{self, OldValueOutcome, OldValueView};
use super::managed_keys;
use super::once::{IdempotentRequest, IdempotentResponse};
use super::paging::{ItemPage, PageParams, cursor};
use super::problem::ApiProblem;
use super::readable_ids;
use super::rights;
use super::spend::SpentAmount;
use super::state::ConsoleState;
use crate::in_transaction;
use crate::nearly_spent;
use crate::secret::{self, NewSecret};
use crate::store::key_lists::{KeyFilter, KeyState};
use crate::store::keys::{self, StoredKey};
use crate::store::{LockedRow, Transaction, audit, key_search, key_spend};
use crate::timestamp::{self, moment};
use crate::written_budgets::of_limits;

/// An API key, as far as it may be seen.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct KeyView {
    /// The id of the key.
    pub(crate) id: String,
    /// The id of its group.
    pub(crate) group: String,
    /// The id of its owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    /// The team that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) team: Option<String>,
    /// The key in whose counters its limits count, as those of the old value of a key that was rotated do; without this, its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) counts_as: Option<String>,
    /// The models of its group that it may use; without this, all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) models: Option<Vec<String>>,
    /// The final multiplier of its requests; without this, the group's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) multiplier: Option<String>,
    /// The greatest final multiplier that it pays: sources above it are skipped. A key with a multiplier of its own has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_multiplier: Option<String>,
    /// The addresses and ranges from which it may be used; without this, any. Those of its owner hold as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) addresses: Option<Vec<String>>,
    /// The issuer's name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    /// The last characters of the key's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
    /// The time at which the key expires, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<String>,
    /// Whether it is disabled.
    pub(crate) disabled: bool,
    /// The person with whom it was disabled: it is enabled again with that person. Missing: it was disabled by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disabled_with: Option<String>,
    /// The limits of the key, as in a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(crate) limits: Option<LimitsDocument>,
    /// The time at which the key was created, as RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created_at: Option<String>,
    /// The id of the person who created it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created_by: Option<String>,
    /// The time of the latest use, as RFC 3339, as far as ledger lines have arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_used_at: Option<String>,
    /// The amounts spent this month (UTC), by currency; in lists only with `with=use`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) spent_this_month: Option<Vec<SpentAmount>>,
    /// The old values that are still good; of one key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old_values: Option<Vec<OldValueView>>,
    /// Whether it stands in the document in force: it is changed in a draft alone.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) of_document: bool,
    /// The key of the document in force that has the same value; of one key. Gateways take that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) behind: Option<String>,
    /// The revision that a change may name, so that it does not overwrite another change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) revision: Option<String>,
}

impl From<StoredKey> for KeyView {
    fn from(key: StoredKey) -> Self {
        // Limits that no gateway takes, written past the console, are not shown as if they held.
        let limits = key.limits.as_deref();
        let models = key.models.as_deref();
        let addresses = key.addresses.as_deref();
        Self {
            addresses: addresses.map(|list| serde_json::from_str(list).unwrap_or_default()),
            models: models.and_then(|models| serde_json::from_str(models).ok()),
            revision: Some(revision(&key)),
            limits: limits.and_then(|limits| serde_json::from_str(limits).ok()),
            id: key.id,
            group: key.group_id,
            owner: key.owner,
            team: key.team,
            counts_as: key.counts_as,
            multiplier: key.multiplier,
            max_multiplier: key.max_multiplier,
            label: key.label,
            hint: key.hint,
            expires_at: key.expires_at,
            disabled: key.disabled,
            disabled_with: key.disabled_with,
            created_at: key.created_at,
            created_by: key.created_by,
            last_used_at: None,
            old_values: None,
            spent_this_month: None,
            of_document: false,
            behind: None,
        }
    }
}

/// A new key.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CreatedKey {
    /// The key itself, shown this once. Missing where the request came again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<String>,
    /// The key as later responses show it, without its value.
    pub(crate) key: KeyView,
    /// The outcome for the old value; where the key was rotated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old: Option<OldValueOutcome>,
}

impl CreatedKey {
    /// A key with the value that it has got.
    pub(super) fn shown(key: StoredKey, value: &NewSecret) -> Self {
        Self {
            value: Some(value.reveal().to_owned()),
            key: key.into(),
            old: None,
        }
    }
}

/// A key to be made.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKeyBody {
    /// The id of the key; unless it is given, one of its label, or one that is drawn.
    #[schema(min_length = 1, max_length = 64, pattern = "^[-A-Za-z0-9_.:]+$")]
    pub(crate) id: Option<String>,
    /// The id of its group.
    #[schema(min_length = 1, max_length = 64, pattern = "^[-A-Za-z0-9_.:]+$")]
    pub(crate) group: String,
    /// The id of its owner: one that there is.
    #[schema(min_length = 1, max_length = 128)]
    pub(crate) owner: Option<String>,
    /// Whether the owner may be one that there is not yet: neither a person nor an owner of other keys.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) new_owner: bool,
    /// The team that it belongs to: one that there is.
    #[schema(min_length = 1, max_length = 64, pattern = "^[-A-Za-z0-9_.:]+$")]
    pub(crate) team: Option<String>,
    /// Whether the team may be one that there is not yet, and that no other key names.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) new_team: bool,
    /// The models of its group that it may use; without this, all.
    #[schema(min_items = 1, max_items = 64)]
    pub(crate) models: Option<Vec<String>>,
    /// The final multiplier of its requests, such as `0.1500`; without this, the group's.
    pub(crate) multiplier: Option<String>,
    /// The greatest final multiplier that it pays, such as `2.0000`: sources above it are skipped. Not beside `multiplier`.
    pub(crate) max_multiplier: Option<String>,
    /// The addresses and ranges from which it may be used, such as `10.0.0.0/8`; without this, any.
    #[schema(max_items = 64)]
    pub(crate) addresses: Option<Vec<String>>,
    /// A name for it.
    #[schema(min_length = 1, max_length = 128)]
    pub(crate) label: Option<String>,
    /// The time at which the key expires, as RFC 3339: `2027-01-01T00:00:00Z`.
    pub(crate) expires_at: Option<String>,
    /// Whether it is disabled for now.
    #[serde(default)]
    pub(crate) disabled: bool,
    /// The limits of the key, as in a document.
    #[schema(value_type = Option<Object>)]
    pub(crate) limits: Option<LimitsDocument>,
}

/// The changes to a key: absent fields stay, `null` removes a value.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyChangeBody {
    /// Another group.
    #[schema(min_length = 1, max_length = 64, pattern = "^[-A-Za-z0-9_.:]+$")]
    pub(crate) group: Option<String>,
    /// The id of its owner: one that there is.
    #[serde(default, deserialize_with = "fields::given")]
    #[schema(value_type = Option<String>)]
    pub(crate) owner: Option<Option<String>>,
    /// Whether the owner may be one that there is not yet: neither a person nor an owner of other keys.
    #[serde(default)]
    pub(crate) new_owner: bool,
    /// The team that it belongs to: one that there is.
    #[serde(default, deserialize_with = "fields::given")]
    #[schema(value_type = Option<String>)]
    pub(crate) team: Option<Option<String>>,
    /// Whether the team may be one that there is not yet, and that no other key names.
    #[serde(default)]
    pub(crate) new_team: bool,
    /// The models of its group that it may use; `null`: all.
    #[serde(default, deserialize_with = "fields::given")]
    #[schema(value_type = Option<Vec<String>>)]
    pub(crate) models: Option<Option<Vec<String>>>,
    /// The final multiplier of its requests; `null`: the group's.
    #[serde(default, deserialize_with = "fields::given")]
    #[schema(value_type = Option<String>)]
    pub(crate) multiplier: Option<Option<String>>,
    /// The greatest final multiplier that it pays: sources above it are skipped. Not beside `multiplier`.
    #[serde(default, deserialize_with = "fields::given")]
    #[schema(value_type = Option<String>)]
    pub(crate) max_multiplier: Option<Option<String>>,
    /// The addresses and ranges from which it may be used, such as `10.0.0.0/8`; `null`: any.
    #[serde(default, deserialize_with = "fields::given")]
    #[schema(value_type = Option<Vec<String>>)]
    pub(crate) addresses: Option<Option<Vec<String>>>,
    /// A name for it.
    #[serde(default, deserialize_with = "fields::given")]
    #[schema(value_type = Option<String>)]
    pub(crate) label: Option<Option<String>>,
    /// The time at which the key expires, as RFC 3339.
    #[serde(default, deserialize_with = "fields::given")]
    #[schema(value_type = Option<String>)]
    pub(crate) expires_at: Option<Option<String>>,
    /// Whether it is disabled.
    pub(crate) disabled: Option<bool>,
    /// The limits of the key: all of them, as in a document.
    #[serde(default, deserialize_with = "fields::given")]
    #[schema(value_type = Option<Object>)]
    pub(crate) limits: Option<Option<LimitsDocument>>,
    /// The key's `revision` when it was looked at. If it is another one by now, nothing is changed (412).
    pub(crate) revision: Option<String>,
}

/// The filters of a list of keys.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub struct KeyListParams {
    /// Of this owner only.
    pub(crate) owner: Option<String>,
    /// Of this group only.
    pub(crate) group: Option<String>,
    /// Of this team only.
    pub(crate) team: Option<String>,
    /// With this in id, owner, label or the last characters, whatever the case of ASCII letters.
    pub(crate) search: Option<String>,
    /// In this state only.
    #[param(inline)]
    pub(crate) state: Option<KeyState>,
    /// `use`: with the last use and this month's spend of each.
    pub(crate) with: Option<String>,
}

/// Keys in the order of their ids. Members see their own, managers those of their `team`. A search may end before it has looked at all keys: then a page has fewer
/// keys, or none, and `next` goes on.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    asked: KeyListParams,
    page: PageParams,
) -> Result<ItemPage<KeyView>, ApiProblem> {
    caller.must(rights::SEE_KEYS)?;
    let limit = page.limit()?;
    let after: String = page.after()?.unwrap_or_default();
    if [&asked.owner, &asked.group, &asked.team, &asked.search]
        .into_iter()
        .flatten()
        .any(|name| name.contains('\0'))
    {
        return Err(ApiProblem::bad(text!("no name has a zero byte")));
    }
    if asked.search.as_deref().is_some_and(secret::is_whole) {
        let detail = "a whole key does not belong into an address: POST /api/v1/keys/find";
        return Err(ApiProblem::bad(detail));
    }
    let only = caller.only_owner_in(asked.team.as_deref());
    if let (Some(only), Some(owner)) = (only, &asked.owner)
        && only != owner
    {
        return Err(ApiProblem::forbidden(text!("members see their own keys")));
    }
    let filter = KeyFilter {
        owner: only.or(asked.owner.as_deref()),
        group: asked.group.as_deref(),
        team: asked.team.as_deref(),
        search: asked.search.as_deref(),
        state: asked.state,
        now: &moment(state.now()),
        after: &after,
        limit: limit.to_fetch(),
    };
    let mut transaction = state.store.read().await?;
    let found = key_search::find(&mut transaction, &filter).await?;
    let mut page = limit.page(found.keys, |key| key.id.clone(), KeyView::from);
    if page.next.is_none() {
        page.next = found.searched_to.as_ref().map(cursor);
    }
    if asked.with.as_deref() == Some("use") {
        for key in &mut page.items {
            add_use(&mut transaction, key, state.now()).await?;
        }
    }
    transaction.rollback().await;
    Ok(page)
}

/// One key. Members see their own, managers those of their teams.
pub async fn get(state: &ConsoleState, caller: &Caller, id: &str) -> Result<KeyView, ApiProblem> {
    caller.must(rights::SEE_KEYS)?;
    let mut transaction = state.store.read().await?;
    let found = find_own(&mut transaction, caller, id).await?;
    let of_document = keys::find(&mut transaction, id).await?.is_none();
    let behind = match of_document {
        true => None,
        false => document_keys::with_digest(&mut transaction, &found.sha256).await?,
    };
    let mut key = KeyView {
        of_document,
        behind,
        ..found.into()
    };
    if of_document {
        key.revision = None;
    }
    add_use(&mut transaction, &mut key, state.now()).await?;
    let old = key_rotation::good_values(&mut transaction, &key.id, state.now()).await?;
    key.old_values = (!old.is_empty()).then_some(old);
    transaction.rollback().await;
    Ok(key)
}

/// Adds when a key was last used, and what it has spent this month: under its present owner.
pub(super) async fn add_use(
    transaction: &mut Transaction,
    key: &mut KeyView,
    now: i64,
) -> Result<(), ApiProblem> {
    let month = timestamp::period(Window::Month, now);
    let owner = key.owner.as_deref();
    let used = key_spend::last_use(transaction, &key.id, owner).await?;
    let counters = key.counts_as.as_ref().unwrap_or(&key.id);
    let spent = key_spend::of(transaction, counters, owner, month).await?;
    key.last_used_at = used.map(moment);
    key.spent_this_month = Some(spent.into_iter().map(SpentAmount::from).collect());
    Ok(())
}

/// The key of this id, if the caller may see it.
///
/// # Errors
/// There is no such key, or it belongs to another owner.
pub async fn find_own(
    transaction: &mut Transaction,
    caller: &Caller,
    id: &str,
) -> Result<StoredKey, ApiProblem> {
    let key = find(transaction, id).await?;
    let mut only = caller.only_owner_in(key.team.as_deref()).into_iter();
    if only.any(|only| key.owner.as_deref() != Some(only)) {
        return Err(ApiProblem::not_found());
    }
    Ok(key)
}

/// Makes a key, which is shown this once.
pub async fn create(
    state: &ConsoleState,
    caller: &Caller,
    once: Option<&str>,
    new: NewKeyBody,
) -> Result<IdempotentResponse<CreatedKey>, ApiProblem> {
    caller.must(rights::CHANGE_KEYS)?;
    let once = IdempotentRequest::new(caller, once, "POST /api/v1/keys", &new)?;
    let value = NewSecret::key().map_err(ApiProblem::internal)?;
    let now = state.now();
    in_transaction!(state.store, transaction => {
        if let Some(answer) = once.given(transaction).await? {
            return Ok(answer);
        }
        let key = drawn(transaction, &new, &value, caller, now).await?;
        let names = NewNames { owner: new.new_owner, team: new.new_team };
        key_owners::check(transaction, None, &key, names).await?;
        add(transaction, caller, &key, now).await?;
        let created = CreatedKey::shown(key, &value);
        once.answer(transaction, created, Some("value"), now).await
    })
}

/// A new key of this value. The transaction takes its turn to change keys.
///
/// # Errors
/// Those of the database.
pub(super) async fn drawn(
    transaction: &mut Transaction,
    new: &NewKeyBody,
    value: &NewSecret,
    caller: &Caller,
    now: i64,
) -> Result<StoredKey, ApiProblem> {
    keys::take_turn(transaction).await?;
    let id = match &new.id {
        Some(id) => id.clone(),
        None => {
            let (label, owner) = (new.label.as_deref(), new.owner.as_deref());
            readable_ids::of_key(transaction, label, owner).await?
        }
    };
    Ok(StoredKey {
        sha256: value.digest(),
        hint: Some(value.hint().to_owned()),
        ..asked(new, id, caller, now)
    })
}

/// A key on these terms, without a value.
pub(super) fn asked(new: &NewKeyBody, id: String, caller: &Caller, now: i64) -> StoredKey {
    StoredKey {
        id,
        group_id: new.group.clone(),
        owner: new.owner.clone(),
        team: new.team.clone(),
        models: new.models.as_ref().map(written),
        multiplier: new.multiplier.clone(),
        max_multiplier: new.max_multiplier.clone(),
        addresses: new.addresses.as_ref().map(written),
        label: new.label.clone(),
        expires_at: new.expires_at.clone(),
        disabled: new.disabled,
        limits: new.limits.clone().map(stored_limits),
        created_at: Some(moment(now)),
        created_by: Some(caller.id.clone()),
        ..StoredKey::default()
    }
}

/// Checks a key, adds it, and notes who has.
///
/// # Errors
/// A gateway would not take it.
pub(super) async fn add(
    transaction: &mut Transaction,
    caller: &Caller,
    key: &StoredKey,
    now: i64,
) -> Result<(), ApiProblem> {
    keys::take_turn(transaction).await?;
    check(transaction, key).await?;
    check_owner(transaction, None, key).await?;
    keys::insert(transaction, key).await?;
    renew_budget(transaction, key, now).await?;
    let mut entry = caller.actor().entry(now, "key.create", &key.id);
    entry.after = Some(told(key));
    audit::insert(transaction, &entry).await?;
    Ok(())
}

/// Notes whether the budget of a key is nearly spent: one that was removed may have been made again.
async fn renew_budget(
    transaction: &mut Transaction,
    key: &StoredKey,
    now: i64,
) -> Result<(), ApiProblem> {
    let budget = of_limits(key.limits.as_deref()).unwrap_or_default();
    nearly_spent::renew(
        transaction,
        (SubjectKind::Key, key.counters()),
        &budget,
        now,
    )
    .await?;
    Ok(())
}

/// Changes a key. Gateways hear of it within seconds. Managers disable and name those of their teams, and set their budgets within the team's.
pub async fn change(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    change: KeyChangeBody,
) -> Result<KeyView, ApiProblem> {
    caller.must(rights::CHANGE_KEY)?;
    let may_change_all = caller.may(rights::CHANGE_KEYS);
    in_transaction!(state.store, transaction => {
        let before = find_to_change(transaction, caller, id).await?;
        if !may_change_all && !caller.manages(before.team.as_deref()) {
            return Err(ApiProblem::not_found());
        }
        if change.revision.as_ref().is_some_and(|seen| *seen != revision(&before)) {
            return Err(ApiProblem::precondition(text!("the key was changed meanwhile")));
        }
        let key = changed(&before, &change);
        if !may_change_all {
            managed_keys::refuse_others(transaction, &before, &key).await?;
        }
        if key != *before {
            // A key that a gateway would take no more can be disabled nevertheless.
            if !is_disabling(&before, &key) {
                let names = NewNames { owner: change.new_owner, team: change.new_team };
                key_owners::check(transaction, Some(&before), &key, names).await?;
                check(transaction, &key).await?;
                check_owner(transaction, Some(&before), &key).await?;
            }
            set(transaction, caller, &before, &key, state.now()).await?;
        }
        Ok(KeyView::from(key))
    })
}

/// A key with a change.
pub(super) fn changed(before: &StoredKey, change: &KeyChangeBody) -> StoredKey {
    let mut key = before.clone();
    if let Some(group) = &change.group {
        key.group_id.clone_from(group);
    }
    if let Some(disabled) = change.disabled {
        key.disabled = disabled;
    }
    for (change, field) in [
        (&change.owner, &mut key.owner),
        (&change.team, &mut key.team),
        (&change.multiplier, &mut key.multiplier),
        (&change.max_multiplier, &mut key.max_multiplier),
        (&change.label, &mut key.label),
        (&change.expires_at, &mut key.expires_at),
    ] {
        if let Some(value) = change {
            field.clone_from(value);
        }
    }
    if let Some(limits) = &change.limits {
        key.limits = limits.clone().map(stored_limits);
    }
    if let Some(models) = &change.models {
        key.models = models.as_ref().map(written);
    }
    if let Some(addresses) = &change.addresses {
        key.addresses = addresses.as_ref().map(written);
    }
    if change.disabled.is_some() || key.owner != before.owner {
        key.disabled_with = None;
    }
    key
}

/// Whether a change does nothing but disable a key.
pub(super) fn is_disabling(before: &StoredKey, key: &StoredKey) -> bool {
    let as_before = StoredKey {
        disabled: before.disabled,
        disabled_with: before.disabled_with.clone(),
        ..key.clone()
    };
    key.disabled && as_before == *before
}

/// Stores a changed key, and notes who has changed it.
pub(super) async fn set(
    transaction: &mut Transaction,
    caller: &Caller,
    before: &LockedRow<StoredKey>,
    key: &StoredKey,
    now: i64,
) -> Result<(), ApiProblem> {
    keys::update(transaction, before, key).await?;
    if key.limits != before.limits {
        keys::share_limits(transaction, key).await?;
        renew_budget(transaction, key, now).await?;
    }
    let mut entry = caller.actor().entry(now, "key.change", &key.id);
    entry.before = Some(told(before));
    entry.after = Some(told(key));
    audit::insert(transaction, &entry).await?;
    Ok(())
}

/// Removes a key. What it has used and spent stays.
pub async fn remove(state: &ConsoleState, caller: &Caller, id: &str) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_KEYS)?;
    in_transaction!(state.store, transaction => {
        let before = find_to_change(transaction, caller, id).await?;
        keys::remove(transaction, &before).await?;
        let mut entry = caller.actor().entry(state.now(), "key.remove", id);
        entry.before = Some(told(&before));
        audit::insert(transaction, &entry).await?;
        Ok(())
    })
}

/// The key of this id: the console's, or one of the document in force.
///
/// # Errors
/// There is no such key.
pub async fn find(transaction: &mut Transaction, id: &str) -> Result<StoredKey, ApiProblem> {
    // PostgreSQL has no text with a zero, so it cannot even look for one.
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    if let Some(key) = keys::find(transaction, id).await? {
        return Ok(key);
    }
    let of_document = document_keys::find(transaction, id).await?;
    of_document.ok_or_else(ApiProblem::not_found)
}

/// The key of this id, to be changed or removed.
///
/// # Errors
/// There is no such key.
pub async fn find_locked(
    transaction: &mut Transaction,
    id: &str,
) -> Result<LockedRow<StoredKey>, ApiProblem> {
    // As above.
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let key = keys::find_locked(transaction, id).await?;
    key.ok_or_else(ApiProblem::not_found)
}

/// The key of this id, to be changed or removed. Those who change all keys hear that it stands in the document, if it does.
async fn find_to_change(
    transaction: &mut Transaction,
    caller: &Caller,
    id: &str,
) -> Result<LockedRow<StoredKey>, ApiProblem> {
    match find_locked(transaction, id).await {
        Err(problem)
            if problem.status() == 404
                && caller.may(rights::CHANGE_KEYS)
                && !id.contains('\0')
                && document_keys::find(transaction, id).await?.is_some() =>
        {
            let why = text!("this key stands in the document: change it in a draft");
            Err(ApiProblem::conflict(why))
        }
        found => found,
    }
}

/// Limits as they are stored.
pub(in crate::cases) fn stored_limits(limits: LimitsDocument) -> String {
    written(&fields::without_signs(limits))
}

/// Limits, or models, as they are stored.
pub(in crate::cases) fn written<T: Serialize>(terms: &T) -> String {
    // Texts and numbers, into memory: it cannot fail.
    serde_json::to_string(terms).unwrap_or_default()
}

/// A key for the audit: without its digest, by which nobody needs to find it there.
pub fn told(key: &StoredKey) -> String {
    let view = KeyView {
        revision: None,
        ..key.clone().into()
    };
    serde_json::to_string(&view).unwrap_or_default()
}

/// A short digest of all that a change may change.
fn revision(key: &StoredKey) -> String {
    let whole = format!("{key:?}");
    secret::digest(&whole)
        .get(..16)
        .unwrap_or_default()
        .to_owned()
}

/// A key as a document has it.
///
/// # Errors
/// The limits or the models are not as in a document.
pub fn key_document(key: &StoredKey) -> Result<KeyDocument, ApiProblem> {
    let limits = key.limits.as_deref().map(serde_json::from_str);
    let models = key.models.as_deref().map(serde_json::from_str);
    let addresses = key.addresses.as_deref().map(serde_json::from_str);
    Ok(KeyDocument {
        id: Some(key.id.clone()),
        sha256: Some(key.sha256.clone()),
        group: Some(key.group_id.clone()),
        owner: key.owner.clone(),
        team: key.team.clone(),
        counts_as: key.counts_as.clone(),
        models: models
            .transpose()
            .map_err(|_| ApiProblem::invalid("models", "are not as in a document"))?,
        multiplier: key.multiplier.clone(),
        max_multiplier: key.max_multiplier.clone(),
        addresses: addresses
            .transpose()
            .map_err(|_| ApiProblem::invalid("addresses", "are not as in a document"))?,
        expires_at: key.expires_at.clone(),
        limits: limits
            .transpose()
            .map_err(|_| ApiProblem::invalid("limits", "are not as in a document"))?,
        ..KeyDocument::default()
    })
}
