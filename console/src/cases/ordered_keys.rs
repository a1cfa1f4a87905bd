//! Keys that are ordered for people, such as with an invitation: the terms are of whoever orders, and the key is made when its person takes it.
//! Nobody else sees its value.

use serde::{Deserialize, Serialize};
use trilane::config::Problems;
use trilane::config::document::LimitsDocument;
use utoipa::ToSchema;

use super::caller::Caller;
use super::key_checks;
use super::key_owners::{self, NewNames};
use super::keys::{self, CreatedKey, NewKeyBody, written};
use super::once::{IdempotentRequest, IdempotentResponse};
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::in_transaction;
use crate::secret::{self, NewSecret};
use crate::store::keys::{self as stored, StoredKey};
use crate::store::ordered_keys::{self, OrderedKey};
use crate::store::people::{self, Person};
use crate::store::{Transaction, audit};
use crate::timestamp::{self, moment};

/// The terms of a key that is ordered for a person, who is its owner.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyOrderBody {
    /// The id of the key's group.
    #[schema(min_length = 1, max_length = 64, pattern = "^[-A-Za-z0-9_.:]+$")]
    pub(crate) group: String,
    /// A name for it.
    #[schema(min_length = 1, max_length = 128)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    /// The team that it belongs to: one that there is.
    #[schema(min_length = 1, max_length = 64, pattern = "^[-A-Za-z0-9_.:]+$")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) team: Option<String>,
    /// The models of its group that it may use; without this, all.
    #[schema(min_items = 1, max_items = 64)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) models: Option<Vec<String>>,
    /// The time at which the key expires, as RFC 3339: `2027-01-01T00:00:00Z`. It cannot be taken after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<String>,
    /// The limits of the key, as in a document.
    #[schema(value_type = Option<Object>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limits: Option<LimitsDocument>,
}

impl KeyOrderBody {
    /// The key that is made of it.
    fn key(&self, owner: &str) -> NewKeyBody {
        NewKeyBody {
            group: self.group.clone(),
            owner: Some(owner.to_owned()),
            team: self.team.clone(),
            models: self.models.clone(),
            label: self.label.clone(),
            expires_at: self.expires_at.clone(),
            limits: self.limits.clone(),
            ..NewKeyBody::default()
        }
    }
}

/// A key that is ordered for a person.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct KeyOrderView {
    /// The id of the order.
    pub(crate) id: String,
    /// The terms of the key.
    pub(crate) key: KeyOrderBody,
    /// The time of the order, as RFC 3339.
    pub(crate) created_at: String,
}

impl From<OrderedKey> for KeyOrderView {
    fn from(order: OrderedKey) -> Self {
        Self {
            id: order.id,
            key: serde_json::from_str(&order.terms).unwrap_or_default(),
            created_at: moment(order.created_at),
        }
    }
}

/// Orders keys for people who are in the database: all of them or none.
///
/// # Errors
/// The terms of one are such that a gateway would not take the key, with the place of the order.
pub(super) async fn place(
    transaction: &mut Transaction,
    caller: &Caller,
    orders: &[(&Person, &KeyOrderBody)],
    now: i64,
) -> Result<Vec<OrderedKey>, (usize, ApiProblem)> {
    let at = |place: usize| move |problem: ApiProblem| (place, problem);
    let first = at(0);
    stored::take_turn(transaction)
        .await
        .map_err(|error| first(error.into()))?;
    let mut keys = Vec::new();
    for (place, (person, terms)) in orders.iter().enumerate() {
        if !["admin", "member"].contains(&person.role.as_str()) {
            let why = text!(
                "is of a role that has no keys of its own: a key is ordered for a member or an admin"
            );
            return Err((place, ApiProblem::invalid("role", why)));
        }
        let new = terms.key(&person.id);
        let key = keys::asked(&new, String::new(), caller, now);
        key_owners::check(transaction, None, &key, NewNames::default())
            .await
            .map_err(at(place))?;
        keys.push(StoredKey {
            // Nobody has it: the checks want one.
            id: format!("order-{place}"),
            sha256: secret::digest(&format!("order {place}")),
            ..key
        });
    }
    let found = key_checks::check_all(transaction, &keys)
        .await
        .map_err(first)?;
    if let Some((place, _)) = found.first() {
        let place = *place;
        let own = found.into_iter().filter(|(of, _)| *of == place);
        let problems = Problems(own.map(|(_, problem)| problem).collect());
        return Err((place, ApiProblem::of(problems)));
    }
    let mut placed = Vec::new();
    for (place, (person, terms)) in orders.iter().enumerate() {
        let id = secret::new_id().map_err(|error| (place, ApiProblem::internal(error)))?;
        let order = OrderedKey {
            id: format!("order_{id}"),
            person: person.id.clone(),
            terms: written(terms),
            created_at: now,
        };
        let stored = async {
            ordered_keys::insert(transaction, &order).await?;
            let mut entry = caller.actor().entry(now, "person.key_order", &person.id);
            entry.after = Some(told(&order, terms));
            audit::insert(transaction, &entry).await
        };
        stored.await.map_err(|error| (place, error.into()))?;
        placed.push(order);
    }
    Ok(placed)
}

/// An order for the audit.
fn told(order: &OrderedKey, terms: &KeyOrderBody) -> String {
    serde_json::json!({"order": order.id, "owner": order.person, "group": terms.group, "label": terms.label, "team": terms.team,
        "models": terms.models, "expires_at": terms.expires_at, "limits": terms.limits})
    .to_string()
}

/// The keys that are ordered for a person and not taken yet, in the order of the orders' ids.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    person: &str,
    page: PageParams,
) -> Result<ItemPage<KeyOrderView>, ApiProblem> {
    caller.must(rights::SEE_PEOPLE)?;
    if person.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    of(state, person, page).await
}

/// The keys that are ordered for oneself and not taken yet, in the order of the orders' ids.
pub async fn own(
    state: &ConsoleState,
    caller: &Caller,
    page: PageParams,
) -> Result<ItemPage<KeyOrderView>, ApiProblem> {
    caller.must(rights::SEE_OWN_KEYS)?;
    of(state, &caller.id, page).await
}

/// Whether a key waits for a person who has just signed in.
///
/// # Errors
/// Those of the database.
pub(crate) async fn waits(state: &ConsoleState, person: &str) -> Result<bool, ApiProblem> {
    Ok(!of(state, person, PageParams::first(1))
        .await?
        .items
        .is_empty())
}

async fn of(
    state: &ConsoleState,
    person: &str,
    page: PageParams,
) -> Result<ItemPage<KeyOrderView>, ApiProblem> {
    let limit = page.limit()?;
    let after: String = page.after()?.unwrap_or_default();
    let mut transaction = state.store.read().await?;
    let found = ordered_keys::of_person(&mut transaction, person, &after, limit.to_fetch()).await?;
    transaction.rollback().await;
    Ok(limit.page(found, |order| order.id.clone(), KeyOrderView::from))
}

/// Orders a key for a person. It is made when the person takes it.
pub async fn create(
    state: &ConsoleState,
    caller: &Caller,
    once: Option<&str>,
    person: &str,
    terms: KeyOrderBody,
) -> Result<IdempotentResponse<KeyOrderView>, ApiProblem> {
    caller.must(rights::CHANGE_KEYS)?;
    let what = format!("POST /api/v1/people/{person}/ordered-keys");
    let once = IdempotentRequest::new(caller, once, &what, &terms)?;
    let now = state.now();
    in_transaction!(state.store, transaction => {
        if let Some(answer) = once.given(transaction).await? {
            return Ok(answer);
        }
        let known = !person.contains('\0');
        let found = if known { people::find(transaction, person).await? } else { None };
        let person = found.filter(|person| person.role != "agent").ok_or_else(ApiProblem::not_found)?;
        let placed = place(transaction, caller, &[(&person, &terms)], now).await;
        let placed = placed.map_err(|(_, problem)| problem)?;
        let order = placed.into_iter().next().ok_or_else(ApiProblem::not_found)?;
        once.answer(transaction, KeyOrderView::from(order), None, now).await
    })
}

/// Cancels the order of a key that was not taken yet.
pub async fn remove(
    state: &ConsoleState,
    caller: &Caller,
    person: &str,
    id: &str,
) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_KEYS)?;
    if person.contains('\0') || id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    in_transaction!(state.store, transaction => {
        let order = ordered_keys::take(transaction, person, id).await?;
        let order = order.ok_or_else(ApiProblem::not_found)?;
        let mut entry = caller.actor().entry(state.now(), "person.key_order", person);
        entry.before = Some(told(&order, &KeyOrderView::from(order.clone()).key));
        audit::insert(transaction, &entry).await?;
        Ok(())
    })
}

/// Makes a key that was ordered for oneself. It is shown this once.
pub async fn take(
    state: &ConsoleState,
    caller: &Caller,
    once: Option<&str>,
    id: &str,
) -> Result<IdempotentResponse<CreatedKey>, ApiProblem> {
    caller.must(rights::CHANGE_OWN_KEYS)?;
    let what = format!("POST /api/v1/me/ordered-keys/{id}/take");
    let once = IdempotentRequest::new(caller, once, &what, &())?;
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let value = NewSecret::key().map_err(ApiProblem::internal)?;
    let now = state.now();
    in_transaction!(state.store, transaction => {
        if let Some(answer) = once.given(transaction).await? {
            return Ok(answer);
        }
        stored::take_turn(transaction).await?;
        let order = ordered_keys::take(transaction, &caller.id, id).await?;
        let terms = KeyOrderView::from(order.ok_or_else(ApiProblem::not_found)?).key;
        let end = terms.expires_at.as_deref().and_then(timestamp::parse);
        if end.is_some_and(|end| timestamp::microseconds(end) <= now) {
            let why = text!("this key would have expired by now: ask whoever has ordered it for another one");
            return Err(ApiProblem::conflict(why));
        }
        let key = keys::drawn(transaction, &terms.key(&caller.id), &value, caller, now).await?;
        keys::add(transaction, caller, &key, now).await?;
        once.answer(transaction, CreatedKey::shown(key, &value), Some("value"), now).await
    })
}
