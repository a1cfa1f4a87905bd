//! People.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::caller::Caller;
use super::client_sign_ins;
use super::fields;
use super::key_checks::check_addresses;
use super::key_models::group_in_force;
use super::keys;
use super::once::{IdempotentRequest, IdempotentResponse};
use super::ordered_keys::{self, KeyOrderBody};
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::role::Role;
use super::state::ConsoleState;
use crate::in_transaction;
use crate::sessions;
use crate::store::keys::{self as stored_keys, StoredKey};
use crate::store::people::{self, Person, PersonAccess};
use crate::store::{Transaction, audit, sign_in_links, stopped_keys};
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
    /// The group of keys that sign-ins of this person make, if one is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key_group: Option<String>,
    /// The addresses and ranges from which this person's keys may be used, if not from any; of one person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) addresses: Option<Vec<String>>,
    /// Until when a link that signs this person in is good, if one was made and not used; in lists, and of one person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) link_until: Option<String>,
    /// The numbers of what ends when the person is disabled; of one person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) access: Option<PersonAccessView>,
    /// The numbers of what a change has ended, if it has ended something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<PersonAccessView>,
    /// The number of keys that a change has enabled again, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enabled_keys: Option<i64>,
}

/// The numbers of what a person can be recognized by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PersonAccessView {
    /// Open sessions of the pages.
    pub(crate) sessions: i64,
    /// Links that sign in.
    pub(crate) links: i64,
    /// Tokens of the API.
    pub(crate) tokens: i64,
    /// Sign-ins of clients, such as coding agents.
    pub(crate) sign_ins: i64,
    /// Keys that are not disabled, old values of rotated keys among them.
    pub(crate) keys: i64,
    /// Keys that were disabled with the person, and are enabled again with that person.
    pub(crate) stopped_keys: i64,
}

impl From<PersonAccess> for PersonAccessView {
    fn from(access: PersonAccess) -> Self {
        Self {
            sessions: access.sessions,
            links: access.links,
            tokens: access.tokens,
            sign_ins: access.sign_ins,
            keys: access.keys,
            stopped_keys: access.stopped_keys,
        }
    }
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
    /// A key that is ordered for the person, who takes it after signing in: nobody else sees its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<KeyOrderBody>,
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
    /// `true` ends sessions, links, tokens and sign-ins of clients, and disables the person's keys; `false` enables the keys that this has disabled.
    pub(crate) disabled: Option<bool>,
    /// The group of keys that sign-ins of this person make; `null`: none.
    #[serde(default, deserialize_with = "fields::given")]
    #[schema(value_type = Option<String>, max_length = 64)]
    pub(crate) key_group: Option<Option<String>>,
    /// The addresses and ranges from which this person's keys may be used, such as `10.0.0.0/8`; `null`: any. Those of a key hold as well.
    #[serde(default, deserialize_with = "fields::given")]
    #[schema(value_type = Option<Vec<String>>)]
    pub(crate) addresses: Option<Option<Vec<String>>>,
}

fn view(person: Person) -> PersonView {
    PersonView {
        id: person.id,
        name: person.name,
        role: person.role,
        disabled: person.disabled,
        created_at: moment(person.created_at),
        key_group: person.key_group,
        addresses: None,
        link_until: None,
        access: None,
        ended: None,
        enabled_keys: None,
    }
}

pub(super) fn told(person: &Person) -> String {
    serde_json::to_string(&view(person.clone())).unwrap_or_default()
}

/// The answer to who would make an agent of a person, or a person of an agent.
const NO_AGENT: &str =
    "agent is no person's: Envoys are added (POST /api/v1/envoys), and their agents enrol";

fn check_name(name: &str) -> Result<(), ApiProblem> {
    if !name.is_empty() && !fields::is_name(name) {
        return Err(ApiProblem::invalid(
            "name",
            text!("must be at most 128 bytes without control characters"),
        ));
    }
    Ok(())
}

/// The group of keys must be in force: a sign-in makes a key in it.
pub(super) async fn check_key_group(
    transaction: &mut Transaction,
    group: Option<&str>,
) -> Result<(), ApiProblem> {
    if let Some(group) = group
        && group_in_force(transaction, group).await?.is_none()
    {
        return Err(ApiProblem::invalid("key_group", text!("is not in force")));
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
    if new.key.is_some() {
        caller.must(rights::CHANGE_KEYS)?;
    }
    let once = IdempotentRequest::new(caller, once, "POST /api/v1/people", &new)?;
    let now = state.now();
    let person = drawn(&new, now)?;
    in_transaction!(state.store, transaction => {
        if let Some(answer) = once.given(transaction).await? {
            return Ok(answer);
        }
        add(transaction, caller, &person, now).await?;
        if let Some(terms) = &new.key {
            let placed = ordered_keys::place(transaction, caller, &[(&person, terms)], now).await;
            placed.map_err(|(_, problem)| problem.below("key"))?;
        }
        once.answer(transaction, view(person.clone()), None, now).await
    })
}

/// A new person.
///
/// # Errors
/// A field has a wrong value.
pub(super) fn drawn(new: &NewPersonBody, now: i64) -> Result<Person, ApiProblem> {
    check_name(&new.name)?;
    if !people::is_id(&new.id) {
        return Err(ApiProblem::invalid("id", people::ID));
    }
    if new.role == Role::Agent {
        return Err(ApiProblem::invalid("role", NO_AGENT));
    }
    Ok(Person {
        id: new.id.clone(),
        name: new.name.clone(),
        role: new.role.name().to_owned(),
        disabled: false,
        created_at: now,
        key_group: None,
    })
}

/// Adds a person, and notes who has.
///
/// # Errors
/// 409: the id is another person's.
pub(super) async fn add(
    transaction: &mut Transaction,
    caller: &Caller,
    person: &Person,
    now: i64,
) -> Result<(), ApiProblem> {
    if people::find(transaction, &person.id).await?.is_some() {
        return Err(ApiProblem::conflict(text!("this id is another person's")));
    }
    people::insert(transaction, person).await?;
    let mut entry = caller.actor().entry(now, "person.create", &person.id);
    entry.after = Some(told(person));
    audit::insert(transaction, &entry).await?;
    Ok(())
}

/// One person, with the numbers of what ends when that person is disabled.
pub async fn get(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<PersonView, ApiProblem> {
    caller.must(rights::SEE_PEOPLE)?;
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let now = state.now();
    let mut transaction = state.store.read().await?;
    let person = people::find(&mut transaction, id).await?;
    let mut person = person.map(view).ok_or_else(ApiProblem::not_found)?;
    let until = sign_in_links::good_until(&mut transaction, id, now).await?;
    person.link_until = until.map(moment);
    person.access = Some(access(&mut transaction, id, now).await?.into());
    person.addresses = addresses(&mut transaction, id).await?;
    transaction.rollback().await;
    Ok(person)
}

async fn addresses(
    transaction: &mut Transaction,
    id: &str,
) -> Result<Option<Vec<String>>, ApiProblem> {
    let stored = people::addresses(transaction, id).await?;
    Ok(stored.map(|list| serde_json::from_str(&list).unwrap_or_default()))
}

async fn access(
    transaction: &mut Transaction,
    id: &str,
    now: i64,
) -> Result<PersonAccess, ApiProblem> {
    Ok(people::count_access(transaction, id, now, now.saturating_sub(sessions::IDLE)).await?)
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

/// Notes keys that are disabled, or enabled again, with their person.
async fn note_keys(
    transaction: &mut Transaction,
    caller: &Caller,
    before: &[StoredKey],
    disabled_with: Option<&str>,
    now: i64,
) -> Result<(), ApiProblem> {
    for before in before {
        let after = StoredKey {
            disabled: disabled_with.is_some(),
            disabled_with: disabled_with.map(str::to_owned),
            ..before.clone()
        };
        let mut entry = caller.actor().entry(now, "key.change", &before.id);
        entry.before = Some(keys::told(before));
        entry.after = Some(keys::told(&after));
        audit::insert(transaction, &entry).await?;
    }
    Ok(())
}

/// Changes a person. Another role ends sessions, tokens and sign-ins of clients, for good. Disabling ends those and links, for good, and
/// disables the person's keys, old values among them; enabling enables the keys that this has disabled.
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
    if let Some(Some(addresses)) = &change.addresses {
        check_addresses(addresses)?;
    }
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let now = state.now();
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
        if let Some(group) = &change.key_group {
            if *group != person.key_group {
                check_key_group(transaction, group.as_deref()).await?;
            }
            person.key_group.clone_from(group);
        }
        // After this nobody makes or changes keys, so that none is left out.
        stored_keys::take_turn(transaction).await?;
        let had = access(transaction, id, now).await?;
        let sign_ins = if person.disabled || person.role != before.role {
            client_sign_ins::list::end_all(transaction, caller, id, now).await?
        } else {
            0
        };
        let tokens = people::update(transaction, &before, &person).await?;
        if people::count_admins(transaction).await? == 0 {
            return Err(ApiProblem::conflict(text!("this is the last admin: nobody could change anything any more")));
        }
        let has = access(transaction, id, now).await?;
        let mut ended = PersonAccess {
            sessions: had.sessions.saturating_sub(has.sessions),
            links: had.links.saturating_sub(has.links),
            tokens: had.tokens.saturating_sub(has.tokens),
            sign_ins,
            ..PersonAccess::default()
        };
        let mut enabled = Vec::new();
        if change.disabled == Some(true) {
            let stopped = stopped_keys::stop(transaction, id).await?;
            note_keys(transaction, caller, &stopped, Some(id), now).await?;
            ended.keys = had.keys;
        } else if change.disabled == Some(false) {
            enabled = stopped_keys::resume(transaction, id).await?;
            note_keys(transaction, caller, &enabled, None, now).await?;
        }
        let mut said = view(Person::clone(&before));
        said.addresses = addresses(transaction, id).await?;
        if let Some(addresses) = &change.addresses {
            let list = addresses.as_ref().map(keys::written);
            people::set_addresses(transaction, &before, list.as_deref()).await?;
        }
        let mut after = view(person);
        after.addresses = addresses(transaction, id).await?;
        after.ended = (ended != PersonAccess::default()).then(|| ended.into());
        after.enabled_keys = i64::try_from(enabled.len()).ok().filter(|many| *many > 0);
        let mut entry = caller.actor().entry(now, "person.change", id);
        entry.before = serde_json::to_string(&said).ok();
        entry.after = serde_json::to_string(&after).ok();
        audit::insert(transaction, &entry).await?;
        note_ended(transaction, caller, &tokens, now).await?;
        Ok(after)
    })
}
