//! The owners and teams that keys may be given to: those that there are. Another one needs a word of its own, so that a slip of the hand
//! does not become an owner.

use trilane::config::Problems;
use trilane::limits::SubjectKind;

use super::caller::Caller;
use super::key_models::document_in_force;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::store::key_owners::OwnerChoice;
use crate::store::keys::StoredKey;
use crate::store::{Transaction, key_owners};

/// The names that whoever gives a key says are new.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NewNames {
    /// Whether the owner may be one that there is not yet.
    pub(super) owner: bool,
    /// Whether the team may be.
    pub(super) team: bool,
}

/// The problem of an owner that nobody is.
const NO_OWNER: &str = text!(
    "is nobody's: no person has this id, and no key names it. Choose one that there is, or confirm that it is new: new_owner"
);
/// The problem of a team that there is not.
const NO_TEAM: &str = text!(
    "is no team, and no key names it. Choose one that there is, or confirm that it is new: new_team"
);

/// Refuses an owner or a team that a change gives to keys, and that there is not, unless it is said to be new.
///
/// # Errors
/// 422, at the field.
pub(super) async fn check(
    transaction: &mut Transaction,
    before: Option<&StoredKey>,
    key: &StoredKey,
    new: NewNames,
) -> Result<(), ApiProblem> {
    let given = |of: fn(&StoredKey) -> Option<&str>| {
        let value = of(key);
        value.filter(|_| before.is_none_or(|before| of(before) != value))
    };
    let mut problems = Problems::default();
    for (kind, id, is_new, reason) in [
        (
            SubjectKind::Owner,
            given(|key| key.owner.as_deref()),
            new.owner,
            NO_OWNER,
        ),
        (
            SubjectKind::Team,
            given(|key| key.team.as_deref()),
            new.team,
            NO_TEAM,
        ),
    ] {
        if let Some(id) = id.filter(|id| !is_new && !id.contains('\0'))
            && !is_known(transaction, kind, id).await?
        {
            problems.push(kind.name(), reason);
        }
    }
    ApiProblem::if_any(problems)
}

/// Whether there is such an owner or such a team: a person or a team of this id, or a key that names it.
async fn is_known(
    transaction: &mut Transaction,
    kind: SubjectKind,
    id: &str,
) -> Result<bool, ApiProblem> {
    if key_owners::is_known(transaction, kind, id).await? {
        return Ok(true);
    }
    let document = document_in_force(transaction).await?;
    let mut keys = document
        .into_iter()
        .flat_map(|document| document.keys.unwrap_or_default());
    Ok(keys.any(|key| {
        let named = if kind == SubjectKind::Owner {
            key.owner
        } else {
            key.team
        };
        named.as_deref() == Some(id)
    }))
}

/// The most people or teams that are offered.
const OFFERED: usize = 500;

/// The people or teams that a form offers.
#[derive(Debug, Default)]
pub struct OwnerChoices {
    /// Their ids and names, in the order of the ids.
    pub choices: Vec<OwnerChoice>,
    /// Whether there are more.
    pub has_more: bool,
}

/// The people, or the teams, that keys may be given to and whose id or name has a text in it; without any like that, all. None of a kind
/// that the caller does not see.
///
/// # Errors
/// Those of the database.
pub async fn choices(
    state: &ConsoleState,
    caller: &Caller,
    kind: SubjectKind,
    text: &str,
) -> Result<OwnerChoices, ApiProblem> {
    let right = match kind {
        SubjectKind::Team => rights::SEE_TEAMS,
        _ => rights::SEE_PEOPLE,
    };
    if !caller.may(right) {
        return Ok(OwnerChoices::default());
    }
    let text = if text.contains('\0') { "" } else { text };
    let limit = i64::try_from(OFFERED.saturating_add(1)).unwrap_or(i64::MAX);
    let mut transaction = state.store.read().await?;
    let mut found = key_owners::choices(&mut transaction, kind, text, limit).await?;
    if found.is_empty() && !text.is_empty() {
        found = key_owners::choices(&mut transaction, kind, "", limit).await?;
    }
    transaction.rollback().await;
    let has_more = found.len() > OFFERED;
    found.truncate(OFFERED);
    Ok(OwnerChoices {
        choices: found,
        has_more,
    })
}
