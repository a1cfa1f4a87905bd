//! Links with which people sign in to the pages: an invitation, or a way back in.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::caller::Caller;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::in_transaction;
use crate::sessions::{self, INVITATION};
use crate::store::{audit, people, sign_in_links};
use crate::timestamp::moment;

/// A link that signs a person in.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct SignInLink {
    /// The path of the link at this console, shown this once.
    pub(crate) path: String,
    /// Until when it is good.
    pub(crate) expires_at: String,
}

/// Makes a link that signs a person in, once, within a day. One that was made before is void.
pub async fn create(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<SignInLink, ApiProblem> {
    caller.must(rights::CHANGE_PEOPLE)?;
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let now = state.now();
    let link = in_transaction!(state.store, transaction => {
        sessions::make_link(transaction, id, INVITATION, &caller.actor(), now)
            .await
            .map_err(ApiProblem::from)
    });
    let link = link?.ok_or_else(ApiProblem::not_found)?;
    let made = SignInLink {
        path: sessions::link_path(&link),
        expires_at: moment(now.saturating_add(INVITATION)),
    };
    Ok(made)
}

/// Voids the link that signs a person in, if one is good. Whoever is signed in by it already stays so.
pub async fn revoke(state: &ConsoleState, caller: &Caller, id: &str) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_PEOPLE)?;
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let now = state.now();
    in_transaction!(state.store, transaction => {
        people::find_locked(transaction, id).await?;
        if sign_in_links::good_until(transaction, id, now).await?.is_none() {
            return Err(ApiProblem::not_found());
        }
        sign_in_links::remove_all(transaction, id).await?;
        let entry = caller.actor().entry(now, "person.link.revoke", id);
        audit::insert(transaction, &entry).await?;
        Ok(())
    })
}
