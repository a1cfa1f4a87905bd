//! The sign-ins of a person's clients: listed, and ended.

use serde::Serialize;
use utoipa::ToSchema;

use super::terms;
use crate::cases::caller::Caller;
use crate::cases::problem::ApiProblem;
use crate::cases::rights;
use crate::cases::state::ConsoleState;
use crate::in_transaction;
use crate::store::audit::{self, Actor};
use crate::store::client_sign_ins::{self, ClientSignIn};
use crate::store::{Transaction, keys, people};
use crate::timestamp::moment;

/// A sign-in of a client.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClientSignInView {
    /// The id of the sign-in, which is that of its key.
    pub(crate) id: String,
    /// The name of the client.
    pub(crate) client: String,
    /// The name of the machine, as the client says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) device: Option<String>,
    /// The address that the client signed in from.
    pub(crate) address: String,
    /// The time of the sign-in, as RFC 3339.
    pub(crate) created_at: String,
    /// The time at which it last got an access token.
    pub(crate) used_at: String,
    /// The time at which it ends at the latest.
    pub(crate) expires_at: String,
}

impl From<ClientSignIn> for ClientSignInView {
    fn from(sign_in: ClientSignIn) -> Self {
        Self {
            client: client_name(&sign_in.client).to_owned(),
            device: Some(sign_in.device).filter(|device| !device.is_empty()),
            id: sign_in.id,
            address: sign_in.address,
            created_at: moment(sign_in.created_at),
            used_at: moment(sign_in.used_at),
            expires_at: moment(sign_in.expires_at),
        }
    }
}

/// Sign-ins of clients, the latest used first.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClientSignInList {
    /// All of them: a person has 20 at most.
    pub(crate) items: Vec<ClientSignInView>,
}

/// Whether clients of the caller may sign in: a team lets its members make keys, or the caller has a group of keys.
pub async fn are_possible(state: &ConsoleState, caller: &Caller) -> Result<bool, ApiProblem> {
    if !caller.may(rights::CHANGE_OWN_KEYS) {
        return Ok(false);
    }
    let mut transaction = state.store.read().await?;
    let choices = terms::choices(&mut transaction, &caller.id).await?;
    transaction.rollback().await;
    Ok(!choices.is_empty())
}

/// The name of a client for people.
pub fn client_name(client: &str) -> &str {
    match client {
        "claude-code" => "Claude Code",
        "trilane" => text!("trilane command"),
        other => other,
    }
}

async fn of_person(state: &ConsoleState, person: &str) -> Result<ClientSignInList, ApiProblem> {
    let mut transaction = state.store.read().await?;
    let found = client_sign_ins::of_person(&mut transaction, person, state.now()).await?;
    transaction.rollback().await;
    Ok(ClientSignInList {
        items: found.into_iter().map(Into::into).collect(),
    })
}

/// One's own sign-ins of clients.
pub async fn own(state: &ConsoleState, caller: &Caller) -> Result<ClientSignInList, ApiProblem> {
    caller.must(rights::SEE_OWN_KEYS)?;
    of_person(state, &caller.id).await
}

/// The sign-ins of a person's clients.
pub async fn of(
    state: &ConsoleState,
    caller: &Caller,
    person: &str,
) -> Result<ClientSignInList, ApiProblem> {
    caller.must(rights::SEE_PEOPLE)?;
    if person.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    of_person(state, person).await
}

/// Ends a sign-in of one's own client.
pub async fn end_own(state: &ConsoleState, caller: &Caller, id: &str) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_OWN_KEYS)?;
    end_of_person(state, caller, &caller.id, id).await
}

/// Ends a sign-in of a person's client.
pub async fn end_of(
    state: &ConsoleState,
    caller: &Caller,
    person: &str,
    id: &str,
) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_PEOPLE)?;
    end_of_person(state, caller, person, id).await
}

async fn end_of_person(
    state: &ConsoleState,
    caller: &Caller,
    person: &str,
    id: &str,
) -> Result<(), ApiProblem> {
    if person.contains('\0') || id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let now = state.now();
    in_transaction!(state.store, transaction => {
        // The person first, as whoever disables a person does.
        people::find_locked(transaction, person).await?;
        let open = client_sign_ins::of_person(transaction, person, now).await?;
        let found = open.iter().find(|sign_in| sign_in.id == id);
        let sign_in = found.ok_or_else(ApiProblem::not_found)?;
        end(transaction, caller, sign_in, now).await
    })
}

/// Ends all sign-ins of a person's clients. How many there were.
///
/// # Errors
/// Those of the database.
pub async fn end_all(
    transaction: &mut Transaction,
    caller: &Caller,
    person: &str,
    now: i64,
) -> Result<i64, ApiProblem> {
    let open = client_sign_ins::of_person(transaction, person, now).await?;
    for sign_in in &open {
        end(transaction, caller, sign_in, now).await?;
    }
    Ok(i64::try_from(open.len()).unwrap_or(i64::MAX))
}

/// Ends a sign-in, with its key.
///
/// # Errors
/// Those of the database.
pub async fn end(
    transaction: &mut Transaction,
    caller: &Caller,
    sign_in: &ClientSignIn,
    now: i64,
) -> Result<(), ApiProblem> {
    end_by(transaction, &caller.actor(), sign_in, now).await
}

/// Ends a sign-in whose client has signed out, or whose person, team or key is gone.
///
/// # Errors
/// Those of the database.
pub async fn end_by_itself(
    transaction: &mut Transaction,
    sign_in: &ClientSignIn,
    now: i64,
) -> Result<(), ApiProblem> {
    let actor = Actor {
        id: sign_in.person_id.clone(),
        address: String::new(),
    };
    end_by(transaction, &actor, sign_in, now).await
}

async fn end_by(
    transaction: &mut Transaction,
    actor: &Actor,
    sign_in: &ClientSignIn,
    now: i64,
) -> Result<(), ApiProblem> {
    keys::take_turn(transaction).await?;
    keys::remove_with_values(transaction, &sign_in.id).await?;
    if client_sign_ins::remove(transaction, &sign_in.person_id, &sign_in.id).await? {
        let entry = actor.entry(now, "client.sign-out", &sign_in.id);
        audit::insert(transaction, &entry).await?;
    }
    Ok(())
}
