//! Erasing the data of persons: sums stay, under a pseudonym.

use serde::Serialize;
use utoipa::ToSchema;

use super::caller::Caller;
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::role::Role;
use super::state::ConsoleState;
use crate::in_transaction;
use crate::sessions;
use crate::store::erasures::{self, Erasure, Pseudonyms};
use crate::store::{Transaction, audit, envoys, people, sign_in_failures};
use crate::timestamp::moment;

/// An erasure of a person's data.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErasureView {
    /// The pseudonym that replaces the person's id as the owner of their usage and spend.
    pub(crate) pseudonym: String,
    /// The time at which the erasure began, as RFC 3339.
    pub(crate) begun_at: String,
    /// The time at which the erasure ended, as RFC 3339; absent while it is going on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at: Option<String>,
}

fn view(erasure: Erasure) -> ErasureView {
    ErasureView {
        pseudonym: erasure.pseudonym,
        begun_at: moment(erasure.begun_at),
        ended_at: erasure.ended_at.map(moment),
    }
}

/// Refuses an id whose data was erased: what comes late would be counted under its pseudonym.
///
/// # Errors
/// 422: it was erased.
pub(super) async fn refuse_erased(
    transaction: &mut Transaction,
    field: &str,
    id: &str,
) -> Result<(), ApiProblem> {
    if Pseudonyms::read(transaction).await?.of(id).is_some() {
        let why = text!("was that of a person whose data was erased: choose another one");
        return Err(ApiProblem::invalid(field, why));
    }
    Ok(())
}

/// Erases a person's data: the person, sessions, tokens and keys are gone with the response, the id in all tables soon after.
/// Usage and spend stay under a pseudonym, exact to the last digit.
pub async fn begin(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<ErasureView, ApiProblem> {
    caller.must(rights::CHANGE_PEOPLE)?;
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let now = state.now();
    let begun: Result<Erasure, ApiProblem> = in_transaction!(state.store, transaction => {
        erasures::lock(transaction).await?;
        people::lock(transaction).await?;
        let person = people::find_locked(transaction, id).await?;
        let person = person.ok_or_else(ApiProblem::not_found)?;
        // Whatever its role is by now: an Envoy has this id.
        let is_agent = person.role == Role::Agent.name() || envoys::find(transaction, id).await?.is_some();
        if is_agent {
            return Err(ApiProblem::conflict(text!("this is the agent of an Envoy: revoke it there")));
        }
        if audit::is_reserved(id) {
            return Err(ApiProblem::conflict(text!("the audit has this id for something else than a person")));
        }
        people::remove(transaction, &person).await?;
        if people::count_admins(transaction).await? == 0 {
            return Err(ApiProblem::conflict(text!("this is the last admin: nobody could change anything any more")));
        }
        sign_in_failures::clear(transaction, &sessions::failures_of(id)).await?;
        let erasure = erasures::begin(transaction, id, now).await?;
        let mut entry = caller.actor().entry(now, "person.erase", &erasure.pseudonym);
        if caller.id == id {
            // What they do last leaves no trace of them either.
            entry.actor.clone_from(&erasure.pseudonym);
            entry.address.clear();
        }
        audit::insert(transaction, &entry).await?;
        Ok(erasure)
    });
    let erasure = begun?;
    let (store, reporter) = (state.store.clone(), state.reporter.clone());
    let pseudonym = erasure.pseudonym.clone();
    // Whoever is broken off here is followed by the next that looks after the database.
    tokio::spawn(async move {
        if let Err(error) = erasures::run(&store, &pseudonym).await {
            (reporter.0)(&format!("the erasure {pseudonym} goes on later: {error}"));
        }
    });
    Ok(view(erasure))
}

/// Erasures, the latest first.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    page: PageParams,
) -> Result<ItemPage<ErasureView>, ApiProblem> {
    caller.must(rights::SEE_PEOPLE)?;
    let limit = page.limit()?;
    let before: Option<(i64, String)> = page.after()?;
    let mut transaction = state.store.read().await?;
    let found = erasures::list(&mut transaction, before, limit.to_fetch()).await?;
    transaction.rollback().await;
    let place = |erasure: &Erasure| (erasure.begun_at, erasure.pseudonym.clone());
    Ok(limit.page(found, place, view))
}
