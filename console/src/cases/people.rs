//! People.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::caller::Caller;
use super::fields;
use super::once::{IdempotentRequest, IdempotentResponse};
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::role::Role;
use super::state::ConsoleState;
use crate::in_transaction;
use crate::store::people::{self, Person};
use crate::store::{Transaction, audit, sign_in_links};
use crate::timestamp::moment;

/// A person.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PersonView {
    /// The id, which is the owner of this person's keys. For an agent: the id of its Envoy.
    pub(crate) id: String,
    /// The name.
    pub(crate) name: String,
    /// `admin`, `member`, `viewer` or `agent`.
    pub(crate) role: String,
    /// Whether nothing is allowed any more.
    pub(crate) disabled: bool,
    /// Since when.
    pub(crate) created_at: String,
    /// Until when a link that signs this person in is good, if one was made and not used; in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) link_until: Option<String>,
}

/// A person to be added.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPersonBody {
    /// The id, which is the owner of this person's keys. For an agent: the id of its Envoy.
    #[schema(min_length = 1, max_length = 128, pattern = "^[!-@\\[-~]+$")]
    pub(crate) id: String,
    /// The name.
    #[schema(max_length = 128)]
    pub(crate) name: String,
    /// The role, which decides the routes that the person may use.
    pub(crate) role: Role,
}

/// The changes to a person.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PersonChangeBody {
    /// Another name.
    #[schema(max_length = 128)]
    pub(crate) name: Option<String>,
    /// Another role.
    pub(crate) role: Option<Role>,
    /// Whether nothing is allowed any more.
    pub(crate) disabled: Option<bool>,
}

fn view(person: Person) -> PersonView {
    PersonView {
        id: person.id,
        name: person.name,
        role: person.role,
        disabled: person.disabled,
        created_at: moment(person.created_at),
        link_until: None,
    }
}

fn told(person: &Person) -> String {
    serde_json::to_string(&view(person.clone())).unwrap_or_default()
}

/// The answer to who would make an agent of a person, or a person of an agent.
const NO_AGENT: &str =
    "agent is no person's: Envoys are added (POST /api/v1/envoys), and their agents enrol";

fn check_name(name: &str) -> Result<(), ApiProblem> {
    if !name.is_empty() && !fields::is_name(name) {
        return Err(ApiProblem::invalid(
            "name",
            "must be at most 128 bytes without control characters",
        ));
    }
    Ok(())
}

/// People in the order of their ids.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    page: PageParams,
) -> Result<ItemPage<PersonView>, ApiProblem> {
    caller.must(rights::SEE_PEOPLE)?;
    let limit = page.limit()?;
    let after: String = page.after()?.unwrap_or_default();
    let mut transaction = state.store.read().await?;
    let people = people::list(&mut transaction, &after, limit.to_fetch()).await?;
    let mut page = limit.page(people, |person| person.id.clone(), view);
    for person in &mut page.items {
        let until = sign_in_links::good_until(&mut transaction, &person.id, state.now()).await?;
        person.link_until = until.map(moment);
    }
    transaction.rollback().await;
    Ok(page)
}

/// Adds a person.
pub async fn create(
    state: &ConsoleState,
    caller: &Caller,
    once: Option<&str>,
    new: NewPersonBody,
) -> Result<IdempotentResponse<PersonView>, ApiProblem> {
    caller.must(rights::CHANGE_PEOPLE)?;
    let once = IdempotentRequest::new(caller, once, "POST /api/v1/people", &new)?;
    check_name(&new.name)?;
    if !people::is_id(&new.id) {
        return Err(ApiProblem::invalid("id", people::ID));
    }
    if new.role == Role::Agent {
        return Err(ApiProblem::invalid("role", NO_AGENT));
    }
    let now = state.now();
    let person = Person {
        id: new.id.clone(),
        name: new.name.clone(),
        role: new.role.name().to_owned(),
        disabled: false,
        created_at: now,
    };
    in_transaction!(state.store, transaction => {
        if let Some(answer) = once.given(transaction).await? {
            return Ok(answer);
        }
        if people::find(transaction, &person.id).await?.is_some() {
            return Err(ApiProblem::conflict("this id is another person's"));
        }
        people::insert(transaction, &person).await?;
        let mut entry = caller.actor().entry(now, "person.create", &person.id);
        entry.after = Some(told(&person));
        audit::insert(transaction, &entry).await?;
        once.answer(transaction, view(person.clone()), None, now).await
    })
}

/// One person.
///
/// # Errors
/// 404: there is none of this id.
pub(crate) async fn find(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<PersonView, ApiProblem> {
    caller.must(rights::SEE_PEOPLE)?;
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let mut transaction = state.store.read().await?;
    let person = people::find(&mut transaction, id).await?;
    transaction.rollback().await;
    person.map(view).ok_or_else(ApiProblem::not_found)
}

/// Notes tokens that have ended with a change of their person.
async fn note_ended(
    transaction: &mut Transaction,
    caller: &Caller,
    tokens: &[String],
    now: i64,
) -> Result<(), ApiProblem> {
    for token in tokens {
        let entry = caller.actor().entry(now, "token.remove", token);
        audit::insert(transaction, &entry).await?;
    }
    Ok(())
}

/// Changes a person. Whoever is disabled, or gets another role, is that from the next request on, and signed out; this person's
/// tokens end, for good.
pub async fn change(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    change: PersonChangeBody,
) -> Result<PersonView, ApiProblem> {
    caller.must(rights::CHANGE_PEOPLE)?;
    if let Some(name) = &change.name {
        check_name(name)?;
    }
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    in_transaction!(state.store, transaction => {
        people::lock(transaction).await?;
        let before = people::find_locked(transaction, id).await?;
        let before = before.ok_or_else(ApiProblem::not_found)?;
        let mut person = Person::clone(&before);
        if let Some(name) = &change.name {
            person.name.clone_from(name);
        }
        if let Some(role) = change.role {
            if role == Role::Agent || before.role == Role::Agent.name() {
                return Err(ApiProblem::invalid("role", NO_AGENT));
            }
            role.name().clone_into(&mut person.role);
        }
        if let Some(disabled) = change.disabled {
            person.disabled = disabled;
        }
        let ended = people::update(transaction, &before, &person).await?;
        if people::count_admins(transaction).await? == 0 {
            return Err(ApiProblem::conflict("this is the last admin: nobody could change anything any more"));
        }
        let mut entry = caller.actor().entry(state.now(), "person.change", id);
        entry.before = Some(told(&before));
        entry.after = Some(told(&person));
        audit::insert(transaction, &entry).await?;
        note_ended(transaction, caller, &ended, state.now()).await?;
        Ok(view(person))
    })
}
