//! The e-mail address of a person, and the notices that they are mailed: chosen by oneself, or by an admin.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::caller::Caller;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use super::{fields, languages};
use crate::in_transaction;
use crate::store::owner_notices::{self, NoticeChoices};
use crate::store::{Transaction, audit, people};
use crate::webhooks::mail;

/// The longest e-mail address, in bytes.
const LONGEST: usize = 254;

/// The notices that a person is mailed, and to which address.
#[derive(Debug, Serialize, ToSchema)]
pub struct NoticeChoicesView {
    /// The e-mail address; missing: the person is not mailed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) email: Option<String>,
    /// Whether budgets are told at 80 and 100 percent: one's own, those of one's keys, and those of teams that one manages and of their
    /// groups.
    pub(crate) budgets: bool,
    /// Whether keys are told a week and a day before they expire.
    pub(crate) expiring: bool,
    /// Whether keys are told that were not used for 60 days.
    pub(crate) unused: bool,
    /// The language of the mails, a tag (BCP 47).
    pub(crate) language: String,
    /// Whether this console has a mail server. Without one nobody is mailed.
    pub(crate) has_mail_server: bool,
}

/// The changes to them.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeChoicesBody {
    /// Another e-mail address; `null`: none.
    #[serde(default, deserialize_with = "fields::given")]
    #[schema(value_type = Option<String>, max_length = 254)]
    pub(crate) email: Option<Option<String>>,
    /// Whether budgets are told.
    pub(crate) budgets: Option<bool>,
    /// Whether keys that expire soon are told.
    pub(crate) expiring: Option<bool>,
    /// Whether unused keys are told.
    pub(crate) unused: Option<bool>,
    /// Another language of the mails: `en` or `zh-CN`.
    pub(crate) language: Option<String>,
}

/// The choice as the audit has it: without the address.
#[derive(Serialize)]
struct AuditedChoices {
    has_email: bool,
    budgets: bool,
    expiring: bool,
    unused: bool,
    language: &'static str,
}

/// Describes a choice without the address, which the audit would keep.
pub(super) fn told(choices: &NoticeChoices) -> String {
    let told = AuditedChoices {
        has_email: choices.email.is_some(),
        budgets: choices.budgets,
        expiring: choices.expiring,
        unused: choices.unused,
        language: choices.language.tag(),
    };
    serde_json::to_string(&told).unwrap_or_default()
}

fn view(choices: NoticeChoices, state: &ConsoleState) -> NoticeChoicesView {
    NoticeChoicesView {
        email: choices.email,
        budgets: choices.budgets,
        expiring: choices.expiring,
        unused: choices.unused,
        language: choices.language.tag().to_owned(),
        has_mail_server: state.sender.has_mail(),
    }
}

/// One's own choice.
pub async fn own(state: &ConsoleState, caller: &Caller) -> Result<NoticeChoicesView, ApiProblem> {
    caller.must(rights::SEE_OWN_NOTICES)?;
    read(state, &caller.id).await
}

/// The choice of a person. Addresses of others are for admins.
pub async fn of(
    state: &ConsoleState,
    caller: &Caller,
    person: &str,
) -> Result<NoticeChoicesView, ApiProblem> {
    caller.must(rights::SEE_NOTICES)?;
    read(state, person).await
}

async fn read(state: &ConsoleState, person: &str) -> Result<NoticeChoicesView, ApiProblem> {
    if person.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let mut transaction = state.store.read().await?;
    let found = people::find(&mut transaction, person).await?;
    let choices = owner_notices::of_person(&mut transaction, person).await?;
    transaction.rollback().await;
    found.ok_or_else(ApiProblem::not_found)?;
    Ok(view(choices.unwrap_or_default(), state))
}

/// Changes one's own choice.
pub async fn change_own(
    state: &ConsoleState,
    caller: &Caller,
    asked: NoticeChoicesBody,
) -> Result<NoticeChoicesView, ApiProblem> {
    caller.must(rights::CHANGE_OWN_NOTICES)?;
    set(state, caller, &caller.id, asked).await
}

/// Changes the choice of a person.
pub async fn change(
    state: &ConsoleState,
    caller: &Caller,
    person: &str,
    asked: NoticeChoicesBody,
) -> Result<NoticeChoicesView, ApiProblem> {
    caller.must(rights::CHANGE_PEOPLE)?;
    set(state, caller, person, asked).await
}

fn check(address: &str) -> Result<(), ApiProblem> {
    let is_one = mail::addresses(&format!("mailto:{address}")).is_ok_and(|all| all.len() == 1);
    if is_one && address.len() <= LONGEST && address.trim() == address {
        return Ok(());
    }
    let reason = text!("must be one e-mail address, such as ann@example.com");
    Err(ApiProblem::invalid("email", reason))
}

async fn set(
    state: &ConsoleState,
    caller: &Caller,
    person: &str,
    asked: NoticeChoicesBody,
) -> Result<NoticeChoicesView, ApiProblem> {
    if let Some(Some(address)) = &asked.email {
        check(address)?;
    }
    let language = languages::asked(asked.language.as_deref())?;
    if person.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let now = state.now();
    in_transaction!(state.store, transaction => {
        let person = people::find_locked(transaction, person).await?;
        let person = person.ok_or_else(ApiProblem::not_found)?;
        let before = owner_notices::of_person(transaction, &person.id).await?;
        let was = before.clone().unwrap_or_default();
        let choices = NoticeChoices {
            email: asked.email.clone().unwrap_or_else(|| was.email.clone()),
            budgets: asked.budgets.unwrap_or(was.budgets),
            expiring: asked.expiring.unwrap_or(was.expiring),
            unused: asked.unused.unwrap_or(was.unused),
            language: language.unwrap_or(was.language),
        };
        if before.as_ref() != Some(&choices) {
            owner_notices::set(transaction, &person.id, &choices).await?;
            let mut entry = caller.actor().entry(now, "person.notices", &person.id);
            entry.before = Some(told(&was));
            entry.after = Some(told(&choices));
            audit::insert(transaction, &entry).await?;
        }
        Ok(view(choices, state))
    })
}

/// Takes a verified e-mail address for notices, unless the person has chosen one, or none, before.
pub(super) async fn offer(
    transaction: &mut Transaction,
    actor: &audit::Actor,
    person: &str,
    address: &str,
    now: i64,
) -> Result<(), ApiProblem> {
    let is_chosen = owner_notices::of_person(transaction, person)
        .await?
        .is_some();
    if is_chosen || check(address).is_err() {
        return Ok(());
    }
    let choices = NoticeChoices {
        email: Some(address.to_owned()),
        ..NoticeChoices::default()
    };
    owner_notices::set(transaction, person, &choices).await?;
    let mut entry = actor.entry(now, "person.notices", person);
    entry.after = Some(told(&choices));
    audit::insert(transaction, &entry).await?;
    Ok(())
}
