//! Tokens of the API. A new one is shown once.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::fields;
use super::once::{IdempotentRequest, IdempotentResponse};
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::role::Role;
use super::scopes::{Scope, Scopes};
use super::state::ConsoleState;
use crate::in_transaction;
use crate::secret::{self, NewSecret};
use crate::store::api_tokens::{self, ApiToken};
use crate::store::audit::{self, Actor};
use crate::store::{StoreError, Transaction, people};
use crate::timestamp;
use crate::timestamp::moment;

/// A token, as far as it may be seen.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    /// The id of the token.
    pub(crate) id: String,
    /// The id of the person it belongs to.
    pub(crate) person: String,
    /// The purpose of the token, in words.
    pub(crate) name: String,
    /// The last characters of the token.
    pub(crate) hint: String,
    /// The time at which the token expires, as RFC 3339; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<String>,
    /// The time at which the token was created, as RFC 3339.
    pub(crate) created_at: String,
    /// The scopes; absent: all that the person may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scopes: Option<Vec<String>>,
}

/// A new token.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CreatedToken {
    /// The token itself, shown this once. Missing where the request came again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<String>,
    /// The token as later responses show it, without its value.
    pub(crate) token: TokenView,
}

/// A token to be made.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTokenBody {
    /// The purpose of the token, in words.
    #[schema(min_length = 1, max_length = 128)]
    pub(crate) name: String,
    /// The id of the person it belongs to; by default the sender. Only admins may name another.
    pub(crate) person: Option<String>,
    /// The time at which the token expires, as RFC 3339.
    pub(crate) expires_at: Option<String>,
    /// The scopes, such as `usage:read` and `keys:write`: of what the person may do, only this. Without them all; a token that has scopes makes none that has more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 20)]
    pub(crate) scopes: Option<Vec<String>>,
}

/// The filters of a list of tokens.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub struct TokenListParams {
    /// Of this person only; others than admins see their own.
    pub(crate) person: Option<String>,
}

fn view(token: ApiToken) -> TokenView {
    TokenView {
        id: token.id,
        person: token.person_id,
        name: token.name,
        hint: token.hint,
        expires_at: token.expires_at.map(moment),
        created_at: moment(token.created_at),
        scopes: token.scopes.map(|scopes| Scopes::stored(&scopes).names()),
    }
}

/// Returns the only person whose tokens the caller may see and remove; `None`: all.
fn only_person(caller: &Caller) -> Option<&str> {
    (caller.role != Role::Admin).then_some(caller.id.as_str())
}

/// Tokens in the order of their ids; one's own, but for admins.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    asked: TokenListParams,
    page: PageParams,
) -> Result<ItemPage<TokenView>, ApiProblem> {
    caller.must(rights::SEE_TOKENS)?;
    let limit = page.limit()?;
    let after: String = page.after()?.unwrap_or_default();
    if asked
        .person
        .as_ref()
        .is_some_and(|person| person.contains('\0'))
    {
        return Err(ApiProblem::bad(text!("no name has a zero byte")));
    }
    if let (Some(only), Some(person)) = (only_person(caller), &asked.person)
        && only != person
    {
        return Err(ApiProblem::forbidden(text!(
            "others than admins see their own tokens"
        )));
    }
    let mut transaction = state.store.read().await?;
    let only = only_person(caller).or(asked.person.as_deref());
    let limit_to = limit.to_fetch();
    let tokens = api_tokens::list(&mut transaction, only, &after, limit_to).await?;
    transaction.rollback().await;
    Ok(limit.page(tokens, |token| token.id.clone(), view))
}

/// The scopes of a new token. Without any it has those of the token that makes it.
///
/// # Errors
/// One is none, or the token that makes it has less.
fn scopes(caller: &Caller, asked: Option<&[String]>) -> Result<Option<Scopes>, ApiProblem> {
    let Some(asked) = asked else {
        return Ok(caller.scopes.clone());
    };
    let scopes = Scopes::parse(asked.iter().map(String::as_str)).map_err(|_| {
        let known: Vec<String> = Scope::all().iter().map(Scope::to_string).collect();
        ApiProblem::invalid(
            "scopes",
            t!("must be of {scopes}", scopes = known.join(", ")),
        )
    })?;
    if scopes.is_empty() {
        return Err(ApiProblem::invalid(
            "scopes",
            text!("must name one, or be left out"),
        ));
    }
    let own = caller.scopes.as_ref();
    if own.is_some_and(|own| !own.include_all(&scopes)) {
        let detail = "a token makes none that has more scopes than itself";
        return Err(ApiProblem::forbidden(detail));
    }
    Ok(Some(scopes))
}

/// Makes a token, which is shown this once.
pub async fn create(
    state: &ConsoleState,
    caller: &Caller,
    once: Option<&str>,
    new: NewTokenBody,
) -> Result<IdempotentResponse<CreatedToken>, ApiProblem> {
    caller.must(rights::CHANGE_TOKENS)?;
    let once = IdempotentRequest::new(caller, once, "POST /api/v1/tokens", &new)?;
    if !fields::is_name(&new.name) {
        return Err(ApiProblem::invalid("name", fields::NAME));
    }
    let person = new.person.clone().unwrap_or_else(|| caller.id.clone());
    if only_person(caller).is_some_and(|only| only != person) {
        return Err(ApiProblem::forbidden(text!(
            "only admins make tokens for others"
        )));
    }
    let now = state.now();
    let expires_at = match &new.expires_at {
        None => None,
        Some(text) => {
            let time = timestamp::parse(text);
            let at = time.map(timestamp::microseconds);
            let at = at.filter(|at| *at > now);
            let wrong =
                || ApiProblem::invalid("expires_at", text!("must be an RFC 3339 time to come"));
            Some(at.ok_or_else(wrong)?)
        }
    };
    let scopes = scopes(caller, new.scopes.as_deref())?;
    let value = NewSecret::token().map_err(ApiProblem::internal)?;
    let token = ApiToken {
        id: format!("token_{}", secret::new_id().map_err(ApiProblem::internal)?),
        digest: value.digest(),
        person_id: person,
        name: new.name.clone(),
        hint: value.hint().to_owned(),
        expires_at,
        created_at: now,
        scopes: scopes.map(|scopes| scopes.to_stored()),
    };
    in_transaction!(state.store, transaction => {
        if let Some(answer) = once.given(transaction).await? {
            return Ok(answer);
        }
        let person = match token.person_id.contains('\0') {
            true => None,
            false => people::find_locked(transaction, &token.person_id).await?,
        };
        match person {
            None => return Err(ApiProblem::invalid("person", text!("there is nobody with this id"))),
            Some(person) if person.disabled => return Err(ApiProblem::invalid("person", text!("is disabled"))),
            Some(person) if person.role == Role::Agent.name() => {
                let reason = text!("is the agent of an Envoy, whose credential comes from its enrolment alone");
                return Err(ApiProblem::invalid("person", reason));
            }
            Some(_) => {}
        }
        add(transaction, &caller.actor(), &token).await?;
        let created = CreatedToken { value: Some(value.reveal().to_owned()), token: view(token.clone()) };
        once.answer(transaction, created, Some("value"), now).await
    })
}

/// Adds a token, and notes who has.
///
/// # Errors
/// Those of the database.
pub(super) async fn add(
    transaction: &mut Transaction,
    actor: &Actor,
    token: &ApiToken,
) -> Result<(), StoreError> {
    api_tokens::insert(transaction, token).await?;
    let mut entry = actor.entry(token.created_at, "token.create", &token.id);
    entry.after = serde_json::to_string(&view(token.clone())).ok();
    audit::insert(transaction, &entry).await
}

/// Removes a token: it is refused from the next request on.
pub async fn remove(state: &ConsoleState, caller: &Caller, id: &str) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_TOKENS)?;
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    in_transaction!(state.store, transaction => {
        if !api_tokens::remove(transaction, id, only_person(caller)).await? {
            return Err(ApiProblem::not_found());
        }
        let entry = caller.actor().entry(state.now(), "token.remove", id);
        audit::insert(transaction, &entry).await?;
        Ok(())
    })
}
