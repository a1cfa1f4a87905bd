//! One change of all keys that filters find, in one transaction: of all of them, or of none.

use serde::{Deserialize, Serialize};
use trilane::config::Problems;
use trilane::config::document::LimitsDocument;
use utoipa::ToSchema;

use super::caller::Caller;
use super::fields;
use super::key_checks::{check_all, check_owner};
use super::key_owners::{self, NewNames};
use super::keys::{self, KeyChangeBody};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::in_transaction;
use crate::store::key_lists::{KeyFilter, KeyState};
use crate::store::keys::{self as stored, StoredKey};
use crate::store::{Transaction, audit, key_search};
use crate::timestamp::moment;

/// The most keys of one act.
pub(crate) const MOST: usize = 2000;
/// The keys that are looked for at once.
const PAGE: i64 = 500;
/// The most problems that are told: one change has the same with many keys.
const TOLD: usize = 20;

/// The keys of an act. At least one filter is given.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyBulkFilter {
    /// Of this owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    /// Of this group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// Of this team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) team: Option<String>,
    /// With this in id, owner, label or the last characters, whatever the case of ASCII letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) search: Option<String>,
    /// In this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(inline)]
    pub(crate) state: Option<KeyState>,
}

/// The change of an act: absent fields stay, `null` removes a value.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyBulkChange {
    /// Whether they are disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) disabled: Option<bool>,
    /// The id of their owner: one that there is.
    #[serde(
        default,
        deserialize_with = "fields::given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<String>)]
    pub(crate) owner: Option<Option<String>>,
    /// Whether the owner may be one that there is not yet: neither a person nor an owner of other keys.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) new_owner: bool,
    /// The team that they belong to: one that there is.
    #[serde(
        default,
        deserialize_with = "fields::given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<String>)]
    pub(crate) team: Option<Option<String>>,
    /// Whether the team may be one that there is not yet, and that no other key names.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub(crate) new_team: bool,
    /// The time at which they expire, as RFC 3339.
    #[serde(
        default,
        deserialize_with = "fields::given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<String>)]
    pub(crate) expires_at: Option<Option<String>>,
    /// The addresses and ranges from which they may be used.
    #[serde(
        default,
        deserialize_with = "fields::given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<Vec<String>>)]
    pub(crate) addresses: Option<Option<Vec<String>>>,
    /// The limits of each of them: all of its limits, as in a document.
    #[serde(
        default,
        deserialize_with = "fields::given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<Object>)]
    pub(crate) limits: Option<Option<LimitsDocument>>,
}

impl KeyBulkChange {
    fn is_nothing(&self) -> bool {
        self.disabled.is_none()
            && self.owner.is_none()
            && self.team.is_none()
            && self.expires_at.is_none()
            && self.addresses.is_none()
            && self.limits.is_none()
    }

    fn of_each(&self) -> KeyChangeBody {
        KeyChangeBody {
            disabled: self.disabled,
            owner: self.owner.clone(),
            team: self.team.clone(),
            expires_at: self.expires_at.clone(),
            addresses: self.addresses.clone(),
            limits: self.limits.clone(),
            ..KeyChangeBody::default()
        }
    }
}

/// A change of many keys.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyBulkBody {
    /// The filters that find the keys.
    pub(crate) filter: KeyBulkFilter,
    /// The change of each of them.
    pub(crate) change: KeyBulkChange,
    /// The number of keys that were found before. If it is another one by now, nothing is changed (409). Without it nothing is changed: the response counts.
    #[serde(default)]
    #[schema(maximum = 2000)]
    pub(crate) expected: Option<u32>,
}

/// The outcome of a change of many keys.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct KeyBulkOutcome {
    /// The number of keys that the filters find.
    pub(crate) found: u32,
    /// The number of keys that were changed; others were like this before.
    pub(crate) changed: u32,
}

/// The keys that filters find, in the order of their ids.
///
/// # Errors
/// They are too many for one act, or no filter is given.
pub(crate) async fn find(
    transaction: &mut Transaction,
    filter: &KeyBulkFilter,
    now: i64,
) -> Result<Vec<StoredKey>, ApiProblem> {
    let texts = [&filter.owner, &filter.group, &filter.team, &filter.search];
    if texts.iter().all(|text| text.is_none()) && filter.state.is_none() {
        return Err(ApiProblem::invalid(
            "filter",
            text!("must name something: not all keys are changed at once"),
        ));
    }
    if texts.into_iter().flatten().any(|text| text.contains('\0')) {
        return Err(ApiProblem::bad(text!("no name has a zero byte")));
    }
    let now = moment(now);
    let mut found: Vec<StoredKey> = Vec::new();
    let mut after = String::new();
    loop {
        let page = KeyFilter {
            owner: filter.owner.as_deref(),
            group: filter.group.as_deref(),
            team: filter.team.as_deref(),
            search: filter.search.as_deref(),
            state: filter.state,
            now: &now,
            after: &after,
            limit: PAGE,
        };
        let next = key_search::find(transaction, &page).await?;
        let last = next.keys.last().map(|key| key.id.clone());
        let is_whole = i64::try_from(next.keys.len()).unwrap_or(i64::MAX) < PAGE;
        found.extend(next.keys);
        if found.len() > MOST {
            let detail = t!(
                "more than {count} keys are like that: name more, and change them in parts",
                count = MOST
            );
            return Err(ApiProblem::conflict(detail));
        }
        match (next.searched_to, last) {
            (Some(searched), _) => after = searched,
            (None, Some(last)) if !is_whole => after = last,
            (None, _) => return Ok(found),
        }
    }
}

fn number(many: usize) -> u32 {
    u32::try_from(many).unwrap_or(u32::MAX)
}

/// Changes all keys that filters find, or none of them.
pub async fn change(
    state: &ConsoleState,
    caller: &Caller,
    asked: &KeyBulkBody,
) -> Result<KeyBulkOutcome, ApiProblem> {
    caller.must(rights::CHANGE_KEYS)?;
    let now = state.now();
    let Some(expected) = asked.expected else {
        let mut transaction = state.store.read().await?;
        let found = find(&mut transaction, &asked.filter, now).await?;
        transaction.rollback().await;
        return Ok(KeyBulkOutcome {
            found: number(found.len()),
            changed: 0,
        });
    };
    if asked.change.is_nothing() {
        return Err(ApiProblem::invalid(
            "change",
            text!("must say what is changed"),
        ));
    }
    let change = asked.change.of_each();
    in_transaction!(state.store, transaction => {
        stored::take_turn(transaction).await?;
        let found = find(transaction, &asked.filter, now).await?;
        if number(found.len()) != expected {
            let detail = t!("{count} keys are like that by now: look at them, and say so", count = found.len());
            return Err(ApiProblem::conflict(detail));
        }
        let mut outcome = KeyBulkOutcome { found: expected, changed: 0 };
        let given = keys::changed(&StoredKey::default(), &change);
        let names = NewNames { owner: asked.change.new_owner, team: asked.change.new_team };
        key_owners::check(transaction, None, &given, names).await?;
        let after: Vec<StoredKey> = found.iter().map(|key| keys::changed(key, &change)).collect();
        refuse_bad(transaction, &found, &after).await?;
        for (seen, key) in found.iter().zip(&after).filter(|(seen, key)| seen != key) {
            let before = keys::find_locked(transaction, &seen.id).await?;
            keys::set(transaction, caller, &before, key, now).await?;
            outcome.changed = outcome.changed.saturating_add(1);
        }
        let mut entry = caller.actor().entry(now, "keys.change", "keys");
        entry.before = serde_json::to_string(&asked.filter).ok();
        entry.after = serde_json::to_string(&(&asked.change, &outcome)).ok();
        audit::insert(transaction, &entry).await?;
        Ok(outcome)
    })
}

/// Refuses a change after which a gateway would not take one of the keys. A key that is only disabled may be as it is.
async fn refuse_bad(
    transaction: &mut Transaction,
    before: &[StoredKey],
    after: &[StoredKey],
) -> Result<(), ApiProblem> {
    let changed = before.iter().zip(after);
    let changed = changed.filter(|(before, key)| before != key && !keys::is_disabling(before, key));
    let (before, after): (Vec<&StoredKey>, Vec<StoredKey>) =
        changed.map(|(before, key)| (before, key.clone())).unzip();
    let mut problems = Problems::default();
    for (place, problem) in check_all(transaction, &after).await? {
        let id = after.get(place).map_or("", |key| key.id.as_str());
        problems.push(format!("{id}.{}", problem.path), problem.reason);
    }
    for (before, key) in before.iter().zip(&after) {
        if let Err(problem) = check_owner(transaction, Some(before), key).await {
            if problem.placed().is_empty() {
                return Err(problem);
            }
            for placed in problem.placed() {
                problems.push(format!("{}.{}", key.id, placed.path), placed.reason.clone());
            }
        }
    }
    let more = problems.0.len().saturating_sub(TOLD);
    problems.0.truncate(TOLD);
    if more > 0 {
        problems.push("", t!("and {count} more", count = more));
    }
    ApiProblem::if_any(problems)
}
