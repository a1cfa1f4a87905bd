//! One's own keys: made within what a team allows, rotated, disabled. Nobody else's are touched, whatever the role.

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use trilane::config::Problems;
use utoipa::ToSchema;

use crate::allowance::{AllowedTerms, KeyAllowance, WantedTerms};
use crate::cases::budgets::BudgetBody;
use crate::cases::caller::Caller;
use crate::cases::holder::{KeyReader, KeyRemaining};
use crate::cases::key_checks;
use crate::cases::key_models::{self, group_in_force};
use crate::cases::key_rotation::{self, EndedOldValues, KeyRotationBody};
use crate::cases::keys::{self as all_keys, CreatedKey, KeyView, NewKeyBody};
use crate::cases::once::{IdempotentRequest, IdempotentResponse};
use crate::cases::paging::{ItemPage, PageParams};
use crate::cases::problem::ApiProblem;
use crate::cases::rights;
use crate::cases::state::ConsoleState;
use crate::in_transaction;
use crate::secret::NewSecret;
use crate::store::key_lists::{self, KeyFilter, KeyRange};
use crate::store::keys::{self, StoredKey};
use crate::store::{LockedRow, Transaction, audit, memberships, teams};
use crate::timestamp::moment;

/// A key that one makes for oneself. What is not given is as much as the team allows.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnKeyBody {
    /// The team whose key it is: one that one is in.
    #[schema(min_length = 1, max_length = 64, pattern = "^[-A-Za-z0-9_.:]+$")]
    pub(crate) team: String,
    /// The id of the key's group.
    #[schema(min_length = 1, max_length = 64, pattern = "^[-A-Za-z0-9_.:]+$")]
    pub(crate) group: String,
    /// A name for it.
    #[schema(min_length = 1, max_length = 128)]
    pub(crate) label: Option<String>,
    /// The models of its group that it may use.
    #[schema(min_items = 1, max_items = 64)]
    pub(crate) models: Option<Vec<String>>,
    /// The amounts that the key may spend.
    pub(crate) budget: Option<BudgetBody>,
    /// The time at which the key expires, as RFC 3339: `2027-01-01T00:00:00Z`.
    pub(crate) expires_at: Option<String>,
}

/// The changes to one's own key.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnKeyChangeBody {
    /// `true` disables it. Only an admin enables a key again.
    pub(crate) disabled: Option<bool>,
    /// Another name.
    #[schema(min_length = 1, max_length = 128)]
    pub(crate) label: Option<String>,
}

/// One's own key, with what is left for it.
#[derive(Debug, Serialize, ToSchema)]
pub struct OwnKeyView {
    /// The key, with its last use and this month's spend.
    pub(crate) key: KeyView,
    /// The remaining limits and budgets, and why requests fail now.
    pub(crate) remaining: KeyRemaining,
}

/// One's own keys in the order of their ids, each with what is left for it and why its requests fail now.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    page: PageParams,
) -> Result<ItemPage<OwnKeyView>, ApiProblem> {
    caller.must(rights::SEE_OWN_KEYS)?;
    let limit = page.limit()?;
    let after: String = page.after()?.unwrap_or_default();
    let now = state.now();
    let filter = KeyFilter {
        owner: Some(&caller.id),
        group: None,
        team: None,
        search: None,
        state: None,
        now: &moment(now),
        after: &after,
        limit: limit.to_fetch(),
    };
    let mut transaction = state.store.read().await?;
    let mut reader = KeyReader::new(&mut transaction, now).await?;
    let mut read = Vec::new();
    for key in key_lists::list(&mut transaction, &filter, KeyRange::All).await? {
        let remaining = reader.remaining(&mut transaction, &key).await?.for_holder();
        let mut key = KeyView::from(key);
        all_keys::add_use(&mut transaction, &mut key, now).await?;
        read.push(OwnKeyView { key, remaining });
    }
    transaction.rollback().await;
    Ok(limit.page(read, |own| own.key.id.clone(), |own| own))
}

/// The allowance of a member in a team, once nobody else makes or counts keys.
async fn allowance(
    transaction: &mut Transaction,
    team: &str,
    person: &str,
) -> Result<Option<KeyAllowance>, ApiProblem> {
    keys::take_turn(transaction).await?;
    if team.contains('\0')
        || memberships::find(transaction, team, person)
            .await?
            .is_none()
    {
        return Ok(None);
    }
    let team = teams::find(transaction, team).await?;
    let text = team.and_then(|team| team.allowance);
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// The terms of a key that a member may have, once nobody else makes or counts keys, and what allows them.
///
/// # Errors
/// The team lets the person have none, or not with these terms.
pub(in crate::cases) async fn terms(
    transaction: &mut Transaction,
    person: &str,
    asked: &OwnKeyBody,
    now: i64,
) -> Result<(KeyAllowance, AllowedTerms), ApiProblem> {
    let time = OffsetDateTime::from_unix_timestamp(now.div_euclid(1_000_000))
        .map_err(|_| ApiProblem::internal("the clock is out of range"))?;
    let budget = asked.budget.clone().unwrap_or_default();
    let Some(allowance) = allowance(transaction, &asked.team, person).await? else {
        let reason = text!("is not one that lets you make keys");
        return Err(ApiProblem::invalid("team", reason));
    };
    let group = group_in_force(transaction, &asked.group).await?;
    let served = group.as_ref().map(key_models::models).unwrap_or_default();
    let served: Vec<String> = served.into_iter().map(|model| model.id).collect();
    let wanted = WantedTerms {
        group: &asked.group,
        served: &served,
        models: asked.models.as_deref(),
        budget: [budget.per_day.as_deref(), budget.per_month.as_deref()],
        expires_at: asked.expires_at.as_deref(),
    };
    let terms = allowance.terms(wanted, time).map_err(ApiProblem::of)?;
    if group.is_none() {
        return Err(ApiProblem::invalid("group", text!("is not in force")));
    }
    Ok((allowance, terms))
}

/// Refuses one more key than a team allows.
async fn count(
    transaction: &mut Transaction,
    team: &str,
    allowance: &KeyAllowance,
    caller: &Caller,
    now: i64,
) -> Result<(), ApiProblem> {
    let has = keys::count_of(transaction, team, &caller.id, &moment(now)).await?;
    if has < i64::from(allowance.keys) {
        return Ok(());
    }
    Err(ApiProblem::conflict(t!(
        "you have {has} keys of this team, and it allows {may}: an admin can remove one",
        has = has,
        may = allowance.keys
    )))
}

/// Makes a key for oneself, within what a team allows its members. It is shown this once.
pub async fn create(
    state: &ConsoleState,
    caller: &Caller,
    once: Option<&str>,
    asked: OwnKeyBody,
) -> Result<IdempotentResponse<CreatedKey>, ApiProblem> {
    caller.must(rights::CHANGE_OWN_KEYS)?;
    let once = IdempotentRequest::new(caller, once, "POST /api/v1/me/keys", &asked)?;
    let value = NewSecret::key().map_err(ApiProblem::internal)?;
    let now = state.now();
    in_transaction!(state.store, transaction => {
        if let Some(answer) = once.given(transaction).await? {
            return Ok(answer);
        }
        let (allowance, terms) = terms(transaction, &caller.id, &asked, now).await?;
        count(transaction, &asked.team, &allowance, caller, now).await?;
        let new = NewKeyBody {
            group: asked.group.clone(),
            owner: Some(caller.id.clone()),
            team: Some(asked.team.clone()),
            label: asked.label.clone(),
            models: terms.models,
            limits: terms.limits,
            expires_at: terms.expires_at,
            ..NewKeyBody::default()
        };
        let key = all_keys::drawn(transaction, &new, &value, caller, now).await?;
        all_keys::add(transaction, caller, &key, now).await.map_err(as_asked)?;
        let created = CreatedKey::shown(key, &value);
        once.answer(transaction, created, Some("value"), now).await
    })
}

/// Problems of a key at the places of this body.
fn as_asked(problem: ApiProblem) -> ApiProblem {
    if problem.placed().is_empty() {
        return problem;
    }
    let mut problems = Problems::default();
    for placed in problem.placed() {
        let path = placed.path.strip_prefix("limits.").unwrap_or(&placed.path);
        problems.push(path, placed.reason.clone());
    }
    ApiProblem::of(problems)
}

/// One's own key of this id, to be changed; even where one sees everybody's.
pub(in crate::cases) async fn find_own(
    transaction: &mut Transaction,
    caller: &Caller,
    id: &str,
) -> Result<LockedRow<StoredKey>, ApiProblem> {
    let key = all_keys::find_locked(transaction, id).await?;
    if key.owner.as_deref() == Some(&caller.id) {
        Ok(key)
    } else {
        Err(ApiProblem::not_found())
    }
}

/// Disables one's own key, or gives it another name. Only an admin enables a key again.
pub async fn change(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    asked: OwnKeyChangeBody,
) -> Result<KeyView, ApiProblem> {
    caller.must(rights::CHANGE_OWN_KEYS)?;
    in_transaction!(state.store, transaction => {
        let before = find_own(transaction, caller, id).await?;
        let mut key = StoredKey::clone(&before);
        if let Some(label) = &asked.label {
            key.label = Some(label.clone());
        }
        match asked.disabled {
            Some(true) => {
                key.disabled = true;
                key.disabled_with = None;
            }
            // Whoever has disabled it may have done so because of its owner.
            Some(false) if before.disabled => {
                return Err(ApiProblem::forbidden(text!("only an admin enables a key again")));
            }
            Some(false) | None => {}
        }
        if key != *before {
            // A key that a gateway would take no more can be disabled nevertheless.
            if key.label != before.label {
                key_checks::check(transaction, &key).await?;
            }
            keys::update(transaction, &before, &key).await?;
            let mut entry = caller.actor().entry(state.now(), "key.change", id);
            entry.before = Some(all_keys::told(&before));
            entry.after = Some(all_keys::told(&key));
            audit::insert(transaction, &entry).await?;
        }
        Ok(KeyView::from(key))
    })
}

/// Gives one's own key a new value, which is shown this once. The old one may stay good for a while where the team allows one
/// key more.
pub async fn rotate(
    state: &ConsoleState,
    caller: &Caller,
    once: Option<&str>,
    id: &str,
    asked: KeyRotationBody,
) -> Result<IdempotentResponse<CreatedKey>, ApiProblem> {
    caller.must(rights::CHANGE_OWN_KEYS)?;
    let what = format!("POST /api/v1/me/keys/{id}/rotate");
    key_rotation::of_request(state, caller, (once, &what), id, asked, true).await
}

/// Ends the old values of one's own key that are still good.
pub async fn end_old(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<EndedOldValues, ApiProblem> {
    caller.must(rights::CHANGE_OWN_KEYS)?;
    key_rotation::end_of(state, caller, id, true).await
}

/// One's own key, if it may have another value on these terms.
pub(in crate::cases) async fn find_to_rotate(
    transaction: &mut Transaction,
    caller: &Caller,
    id: &str,
    asked: &KeyRotationBody,
    now: i64,
) -> Result<LockedRow<StoredKey>, ApiProblem> {
    let key = find_own(transaction, caller, id).await?;
    if asked.has_overlap() {
        // The old value spends no budget of its own, and is a key that somebody may have all the same.
        let team = key.team.as_deref().unwrap_or_default();
        let Some(allowance) = allowance(transaction, team, &caller.id).await? else {
            let reason = text!("must be 0: no team lets you have one key more");
            let field = match asked.old_good_until {
                Some(_) => "old_good_until",
                None => "overlap_seconds",
            };
            return Err(ApiProblem::invalid(field, reason));
        };
        count(transaction, team, &allowance, caller, now).await?;
    }
    Ok(key)
}
