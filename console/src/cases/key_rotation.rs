//! A new value for a key, beside which the old one may stay good for a while.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::caller::Caller;
use super::keys::{CreatedKey, find_locked, told};
use super::me::keys as own_keys;
use super::once::{IdempotentRequest, IdempotentResponse};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::in_transaction;
use crate::secret::NewSecret;
use crate::store::keys::{self, StoredKey};
use crate::store::{LockedRow, Transaction, audit};
use crate::timestamp::{self, moment};

/// The longest id of a key.
const MAX_ID: usize = 64;
/// The longest overlap, in seconds: a year.
const LONGEST: u32 = 366 * 86_400;

/// The reason for a rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RotationReason {
    /// Somebody else may have the value: it is refused at once, and so are earlier values that were still good.
    Leaked,
    /// The value is replaced in time: it stays good until a moment to come.
    Planned,
}

/// The terms of a rotation.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyRotationBody {
    /// The reason. Without it the old value is refused at once, unless a time is given, and earlier ones stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<RotationReason>,
    /// For how many seconds the old value stays good, under an id of its own; 0: not at all.
    #[serde(default)]
    #[schema(maximum = 31_622_400)]
    pub(crate) overlap_seconds: u32,
    /// Until when it stays good, as RFC 3339, instead of a number of seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) old_good_until: Option<String>,
}

impl KeyRotationBody {
    /// Whether the old value stays good for a while.
    pub(super) fn has_overlap(&self) -> bool {
        self.overlap_seconds > 0 || self.old_good_until.is_some()
    }

    /// The end of the old value, in microseconds since 1970; `None`: it is refused at once.
    ///
    /// # Errors
    /// The time is not to come, or too far away, or does not go with the reason.
    fn end(&self, now: i64) -> Result<Option<i64>, ApiProblem> {
        const SECOND: i64 = 1_000_000;
        let last = now.saturating_add(i64::from(LONGEST).saturating_mul(SECOND));
        let (field, end) = match (&self.old_good_until, self.overlap_seconds) {
            (None, 0) => ("overlap_seconds", None),
            (None, seconds) => {
                let end = i64::from(seconds)
                    .saturating_mul(SECOND)
                    .saturating_add(now);
                ("overlap_seconds", Some(end))
            }
            (Some(text), 0) => {
                let end = timestamp::parse(text).map(timestamp::microseconds);
                let end = end.filter(|end| *end > now);
                let wrong = || {
                    ApiProblem::invalid("old_good_until", text!("must be an RFC 3339 time to come"))
                };
                ("old_good_until", Some(end.ok_or_else(wrong)?))
            }
            (Some(_), _) => {
                let reason = text!("cannot be given beside overlap_seconds");
                return Err(ApiProblem::invalid("old_good_until", reason));
            }
        };
        if end.is_some_and(|end| end > last) {
            return Err(ApiProblem::invalid(
                field,
                text!("must be at most a year away"),
            ));
        }
        match (self.reason, end) {
            (Some(RotationReason::Leaked), Some(_)) => {
                let reason = text!("does not go with leaked: the old value is refused at once");
                Err(ApiProblem::invalid(field, reason))
            }
            (Some(RotationReason::Planned), None) => {
                let reason = text!("must say until when the old value stays good");
                Err(ApiProblem::invalid(field, reason))
            }
            _ => Ok(end),
        }
    }
}

/// An old value of a key, which is a key of its own for a while.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct OldValueView {
    /// The id of that key.
    pub(crate) id: String,
    /// Until when it is good, as RFC 3339.
    pub(crate) good_until: String,
}

/// The outcome of a rotation for the old value.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct OldValueOutcome {
    /// The value that stays good for a while; missing: it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) good: Option<OldValueView>,
    /// The number of earlier values that were ended with it, because it leaked.
    pub(crate) ended: u32,
}

/// The number of ended old values.
#[derive(Debug, Serialize, ToSchema)]
pub struct EndedOldValues {
    /// The number of old values that are refused now.
    pub(crate) ended: u32,
}

/// Gives a key a new value, which is shown this once. With an overlap the old value stays good for a while as a key of its own,
/// `ID-old-TIME`, with the same limits, which count for both together.
pub async fn rotate(
    state: &ConsoleState,
    caller: &Caller,
    once: Option<&str>,
    id: &str,
    asked: KeyRotationBody,
) -> Result<IdempotentResponse<CreatedKey>, ApiProblem> {
    caller.must(rights::CHANGE_KEYS)?;
    let what = format!("POST /api/v1/keys/{id}/rotate");
    of_request(state, caller, (once, &what), id, asked, false).await
}

/// Does what a request asks for: with one's own key alone, or with anybody's.
pub(super) async fn of_request(
    state: &ConsoleState,
    caller: &Caller,
    (once, what): (Option<&str>, &str),
    id: &str,
    asked: KeyRotationBody,
    is_own: bool,
) -> Result<IdempotentResponse<CreatedKey>, ApiProblem> {
    let once = IdempotentRequest::new(caller, once, what, &asked)?;
    let value = NewSecret::key().map_err(ApiProblem::internal)?;
    let now = state.now();
    let end = asked.end(now)?;
    let leaked = asked.reason == Some(RotationReason::Leaked);
    in_transaction!(state.store, transaction => {
        if let Some(answer) = once.given(transaction).await? {
            return Ok(answer);
        }
        let before = if is_own {
            own_keys::find_to_rotate(transaction, caller, id, &asked, now).await?
        } else {
            find_locked(transaction, id).await?
        };
        let ended = if leaked { end_values(transaction, caller, &before, now).await? } else { 0 };
        let (key, good) = give_value(transaction, caller, before, &value, end, now).await?;
        let mut created = CreatedKey::shown(key, &value);
        created.old = Some(OldValueOutcome { good, ended });
        once.answer(transaction, created, Some("value"), now).await
    })
}

/// Ends the old values of a key that are still good. The key itself stays as it is.
pub async fn end_old(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<EndedOldValues, ApiProblem> {
    caller.must(rights::CHANGE_KEYS)?;
    end_of(state, caller, id, false).await
}

/// Ends the old values of one's own key alone, or of anybody's.
pub(super) async fn end_of(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    is_own: bool,
) -> Result<EndedOldValues, ApiProblem> {
    let now = state.now();
    in_transaction!(state.store, transaction => {
        let key = if is_own {
            own_keys::find_own(transaction, caller, id).await?
        } else {
            find_locked(transaction, id).await?
        };
        let ended = end_values(transaction, caller, &key, now).await?;
        Ok(EndedOldValues { ended })
    })
}

/// Ends the old values of a key: each is disabled, and has expired. How many there were.
async fn end_values(
    transaction: &mut Transaction,
    caller: &Caller,
    key: &StoredKey,
    now: i64,
) -> Result<u32, ApiProblem> {
    let at = moment(now);
    let mut ended = 0_u32;
    for id in keys::old_values(transaction, &key.id, &at).await? {
        let before = find_locked(transaction, &id).await?;
        let after = StoredKey {
            disabled: true,
            disabled_with: None,
            expires_at: Some(at.clone()),
            ..before.clone()
        };
        keys::update(transaction, &before, &after).await?;
        let mut entry = caller.actor().entry(now, "key.change", &id);
        entry.before = Some(told(&before));
        entry.after = Some(told(&after));
        audit::insert(transaction, &entry).await?;
        ended = ended.saturating_add(1);
    }
    Ok(ended)
}

/// The old values of a key that are still good.
pub(super) async fn good_values(
    transaction: &mut Transaction,
    key: &str,
    now: i64,
) -> Result<Vec<OldValueView>, ApiProblem> {
    let mut good = Vec::new();
    for id in keys::old_values(transaction, key, &moment(now)).await? {
        let old = keys::find(transaction, &id).await?;
        let old = old.filter(|old| !old.disabled);
        if let Some(good_until) = old.and_then(|old| old.expires_at) {
            good.push(OldValueView { id, good_until });
        }
    }
    Ok(good)
}

/// Gives a key its new value, and the old one an end.
///
/// # Errors
/// Those of the database.
async fn give_value(
    transaction: &mut Transaction,
    caller: &Caller,
    before: LockedRow<StoredKey>,
    value: &NewSecret,
    end: Option<i64>,
    now: i64,
) -> Result<(StoredKey, Option<OldValueView>), ApiProblem> {
    let mut key = StoredKey::clone(&before);
    key.sha256 = value.digest();
    key.hint = Some(value.hint().to_owned());
    // First, so that no two keys have one digest.
    keys::update(transaction, &before, &key).await?;
    let mut entry = caller.actor().entry(now, "key.rotate", &key.id);
    entry.before = Some(told(&before));
    entry.after = Some(told(&key));
    audit::insert(transaction, &entry).await?;
    let Some(end) = end else {
        return Ok((key, None));
    };
    let (old, good_until) = old(transaction, before.into_inner(), end, now).await?;
    keys::insert(transaction, &old).await?;
    let mut entry = caller.actor().entry(now, "key.create", &old.id);
    entry.after = Some(told(&old));
    audit::insert(transaction, &entry).await?;
    // Of a key that has an end of its own, or is disabled, nothing stays good for longer.
    let is_good = !old.disabled && good_until > moment(now);
    let good = is_good.then_some(OldValueView {
        id: old.id,
        good_until,
    });
    Ok((key, good))
}

/// The old value as a key of its own, with an end.
pub(in crate::cases) async fn old(
    transaction: &mut Transaction,
    before: StoredKey,
    end: i64,
    now: i64,
) -> Result<(StoredKey, String), ApiProblem> {
    let end = moment(end);
    // Times of this form are in the order of their texts.
    let end = before
        .expires_at
        .as_ref()
        .map_or_else(|| end.clone(), |before| before.clone().min(end.clone()));
    let time: String = moment(now)
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let mut id = String::new();
    for number in 0..100_u32 {
        let more = match number {
            0 => String::new(),
            _ => format!("-{number}"),
        };
        let ending = format!("-old-{time}{more}");
        let room = MAX_ID.saturating_sub(ending.len());
        id = format!("{}{ending}", before.id.get(..room).unwrap_or(&before.id));
        if keys::find(transaction, &id).await?.is_none() {
            break;
        }
    }
    let old = StoredKey {
        counts_as: Some(before.counters().to_owned()),
        id,
        expires_at: Some(end.clone()),
        ..before
    };
    Ok((old, end))
}
