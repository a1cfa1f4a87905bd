//! A new value for a key, beside which the old one may stay good for a while.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::caller::Caller;
use super::keys::{CreatedKey, find_locked, told};
use super::once::{IdempotentRequest, IdempotentResponse};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::in_transaction;
use crate::secret::NewSecret;
use crate::store::keys::{self, StoredKey};
use crate::store::{LockedRow, Transaction, audit};
use crate::timestamp::moment;

/// The longest id of a key.
const MAX_ID: usize = 64;
/// The longest overlap, in seconds: a year.
const LONGEST: u32 = 366 * 86_400;

/// The terms of a rotation.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyRotationBody {
    /// For how many seconds the old value stays good, under an id of its own; 0: not at all.
    #[serde(default)]
    #[schema(maximum = 31_622_400)]
    pub(crate) overlap_seconds: u32,
}

impl KeyRotationBody {
    /// Whether it asks for what there is.
    ///
    /// # Errors
    /// The overlap is too long.
    pub(super) fn check(&self) -> Result<(), ApiProblem> {
        if self.overlap_seconds > LONGEST {
            let reason = "must be at most a year";
            return Err(ApiProblem::invalid("overlap_seconds", reason));
        }
        Ok(())
    }
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
    let once = IdempotentRequest::new(caller, once, &what, &asked)?;
    asked.check()?;
    let value = NewSecret::key().map_err(ApiProblem::internal)?;
    let now = state.now();
    in_transaction!(state.store, transaction => {
        if let Some(answer) = once.given(transaction).await? {
            return Ok(answer);
        }
        let before = find_locked(transaction, id).await?;
        let key = give_value(transaction, caller, before, &value, asked.overlap_seconds, now).await?;
        let created = CreatedKey::shown(key, &value);
        once.answer(transaction, created, Some("value"), now).await
    })
}

/// Gives a key its new value, and the old one an end.
///
/// # Errors
/// Those of the database.
pub(super) async fn give_value(
    transaction: &mut Transaction,
    caller: &Caller,
    before: LockedRow<StoredKey>,
    value: &NewSecret,
    overlap: u32,
    now: i64,
) -> Result<StoredKey, ApiProblem> {
    let mut key = StoredKey::clone(&before);
    key.sha256 = value.digest();
    key.hint = Some(value.hint().to_owned());
    // First, so that no two keys have one digest.
    keys::update(transaction, &before, &key).await?;
    let mut entry = caller.actor().entry(now, "key.rotate", &key.id);
    entry.before = Some(told(&before));
    entry.after = Some(told(&key));
    audit::insert(transaction, &entry).await?;
    if overlap > 0 {
        let old = old(transaction, before.into_inner(), overlap, now).await?;
        keys::insert(transaction, &old).await?;
        let mut entry = caller.actor().entry(now, "key.create", &old.id);
        entry.after = Some(told(&old));
        audit::insert(transaction, &entry).await?;
    }
    Ok(key)
}

/// The old value as a key of its own, with an end.
async fn old(
    transaction: &mut Transaction,
    before: StoredKey,
    overlap: u32,
    now: i64,
) -> Result<StoredKey, ApiProblem> {
    let end = moment(now.saturating_add(i64::from(overlap).saturating_mul(1_000_000)));
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
    Ok(StoredKey {
        counts_as: Some(before.counters().to_owned()),
        id,
        expires_at: Some(end),
        ..before
    })
}
