//! One person: what they can be recognized by, what they spend, and an end to it.

use std::borrow::Cow;

use askama::Template;
use axum::extract::Path;
use trilane::limits::{SubjectKind, Window};

use super::{ROLES, page_of, path_of};
use crate::cases::client_sign_ins::list::{self as sign_ins, ClientSignInView};
use crate::cases::keys::{self as all_keys, KeyListParams, KeyView};
use crate::cases::names::{Name, Names, WantedNames};
use crate::cases::notice_choices as choices;
use crate::cases::ordered_keys;
use crate::cases::paging::PageParams;
use crate::cases::people::{self, PersonAccessView, PersonChangeBody, PersonView};
use crate::cases::person_sessions::{self, SessionView};
use crate::cases::providers::unlink::{self, IdentityView};
use crate::cases::rights;
use crate::cases::spend::{self, SpendParams};
use crate::cases::tokens::{self, TokenListParams, TokenView};
use crate::cases::{ConsoleState, Role};
use crate::language;
use crate::pages::form::Fields;
use crate::pages::keys::terms::addresses_text;
use crate::pages::keys::{group_choices, name_of, path_of as key_path, spent_text, state_of};
use crate::pages::me::sums;
use crate::pages::notice_choices::{self, NoticeChoicesForm};
use crate::pages::{
    FieldProblems, Notice, PageProblem, PageResult, PageShell, ShownAmount, SignedForm, SignedIn,
    Visit, done, form_page, page, text,
};
use crate::timestamp::moment;

/// The keys, the tokens and the sessions of the page.
const ROWS: u16 = 20;

/// A key of the person.
struct PersonKey {
    path: String,
    name: String,
    hint: Option<String>,
    group: Name,
    team: Option<Name>,
    state: (&'static str, &'static str),
    spent: ShownAmount,
    last_used: Option<String>,
}

/// A key that is ordered for the person.
struct PersonOrder {
    cancel: String,
    label: Option<String>,
    group: Name,
    ordered_at: String,
}

#[derive(Template)]
#[template(path = "person.html")]
struct PersonPage {
    shell: PageShell,
    person: PersonView,
    name: String,
    path: String,
    access: PersonAccessView,
    today: ShownAmount,
    month: ShownAmount,
    keys: Vec<PersonKey>,
    more_keys: bool,
    all_keys: String,
    new_key: String,
    usage: String,
    statement: String,
    requests: String,
    /// `None`: whoever looks sees the tokens of others as a number only.
    tokens: Option<Vec<TokenView>>,
    more_tokens: bool,
    sessions: Vec<SessionView>,
    more_sessions: bool,
    orders: Vec<PersonOrder>,
    may_order: bool,
    sign_ins: Vec<ClientSignInView>,
    sign_out: String,
    identities: Vec<IdentityView>,
    may_change: bool,
    may_create: bool,
    /// The notices that the person is mailed, for admins.
    choices: Option<NoticeChoicesForm>,
    fields: Fields,
    problems: FieldProblems,
    roles: Vec<(&'static str, Cow<'static, str>)>,
    /// The groups that the keys of the person's clients may be of, for whoever may change that.
    groups: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "person_disable.html")]
struct DisablePage {
    shell: PageShell,
    name: String,
    page: String,
    access: PersonAccessView,
    /// The number of ordered keys, of the latest that a page lists.
    orders: usize,
    /// Whether it is whoever looks at it.
    is_own: bool,
}

/// The name of a person for people: the name, or the id.
pub(super) fn name(person: &PersonView) -> &str {
    if person.name.is_empty() {
        &person.id
    } else {
        &person.name
    }
}

fn access(person: &PersonView) -> PersonAccessView {
    person.access.unwrap_or_default()
}

fn key_line(key: &KeyView, names: &Names, now: &str) -> PersonKey {
    PersonKey {
        path: key_path(&key.id),
        name: name_of(key).to_owned(),
        hint: key.hint.clone(),
        group: names.group(&key.group),
        team: key.team.as_deref().map(|id| names.team(id)),
        state: state_of(key, now),
        spent: spent_text(key),
        last_used: key.last_used_at.clone(),
    }
}

async fn spent(
    state: &ConsoleState,
    signed_in: &SignedIn,
    person: &str,
    window: Window,
) -> Result<ShownAmount, PageProblem> {
    let asked = SpendParams {
        kind: SubjectKind::Owner,
        subject: person.to_owned(),
        period: state.period(window).to_string(),
    };
    let found = spend::get(state, &signed_in.caller, asked).await?;
    Ok(sums(&found.spent))
}

/// Shows a person; with the form of name and role if that was sent, and the faults of what was.
pub(super) async fn show(
    state: &ConsoleState,
    signed_in: &SignedIn,
    id: &str,
    sent: Option<(Option<Fields>, FieldProblems)>,
) -> PageResult {
    let sent = SentForms {
        person: sent,
        choices: None,
    };
    show_with(state, signed_in, id, sent).await
}

/// The forms that were sent and are not good.
#[derive(Default)]
struct SentForms {
    person: Option<(Option<Fields>, FieldProblems)>,
    choices: Option<(Fields, FieldProblems)>,
}

async fn show_with(
    state: &ConsoleState,
    signed_in: &SignedIn,
    id: &str,
    SentForms {
        person: sent,
        choices: choices_sent,
    }: SentForms,
) -> PageResult {
    let caller = &signed_in.caller;
    let person = people::get(state, caller, id).await?;
    let first = || PageParams::first(ROWS);
    let of_person = KeyListParams {
        owner: Some(person.id.clone()),
        with: Some("use".to_owned()),
        ..KeyListParams::default()
    };
    let keys = all_keys::list(state, caller, of_person, first()).await?;
    let sees_tokens = caller.role == Role::Admin || caller.id == person.id;
    let tokens = if sees_tokens {
        let of_person = TokenListParams {
            person: Some(person.id.clone()),
        };
        Some(tokens::list(state, caller, of_person, first()).await?)
    } else {
        None
    };
    let sessions = person_sessions::list(state, caller, &person.id, first()).await?;
    let sign_ins = sign_ins::of(state, caller, &person.id).await?.items;
    let identities = unlink::list(state, caller, &person.id).await?.items;
    let mut wanted = WantedNames::default();
    for key in &keys.items {
        wanted.add(SubjectKind::Group, &key.group);
        wanted.all(SubjectKind::Team, key.team.as_deref());
    }
    let ordered = ordered_keys::list(state, caller, &person.id, first())
        .await?
        .items;
    wanted.all(
        SubjectKind::Group,
        ordered.iter().map(|order| order.key.group.as_str()),
    );
    let names = wanted.find(state, caller).await?;
    let orders = ordered.into_iter().map(|order| PersonOrder {
        cancel: path_of(&format!("ordered-keys/{}/cancel", order.id), id),
        group: names.group(&order.key.group),
        label: order.key.label,
        ordered_at: order.created_at,
    });
    let now = moment(state.now());
    let (fields, problems) = sent.unwrap_or_default();
    let stored = || {
        Fields::default()
            .with("name", &person.name)
            .with("role", &person.role)
            .with("key_group", person.key_group.clone().unwrap_or_default())
            .with("addresses", addresses_text(person.addresses.as_deref()))
    };
    let fields = fields.unwrap_or_else(stored);
    let failed = !problems.is_empty() || choices_sent.is_some();
    let of = [("owner", person.id.as_str())];
    form_page(
        &PersonPage {
            shell: signed_in.shell(name(&person)),
            name: name(&person).to_owned(),
            path: path_of("", &person.id),
            access: access(&person),
            today: spent(state, signed_in, id, Window::Day).await?,
            month: spent(state, signed_in, id, Window::Month).await?,
            keys: keys
                .items
                .iter()
                .map(|key| key_line(key, &names, &now))
                .collect(),
            more_keys: keys.next.is_some(),
            all_keys: text::path_with("/keys", &of),
            new_key: text::path_with("/new-key", &of),
            usage: text::path_with("/usage", &of),
            statement: text::path_with("/statement", &of),
            requests: text::path_with("/requests", &of),
            more_tokens: tokens.as_ref().is_some_and(|found| found.next.is_some()),
            tokens: tokens.map(|found| found.items),
            more_sessions: sessions.next.is_some(),
            sessions: sessions.items,
            orders: orders.collect(),
            may_order: caller.may(rights::CHANGE_KEYS),
            sign_ins,
            sign_out: path_of("sign-ins/", &person.id),
            identities,
            choices: choices_form(state, signed_in, &person, choices_sent).await?,
            may_change: caller.may(rights::CHANGE_PEOPLE) && person.role != Role::Agent.name(),
            may_create: caller.may(rights::CHANGE_KEYS) && !person.disabled,
            fields,
            problems,
            roles: language::choices(&ROLES),
            groups: key_groups(state, signed_in, &person).await?,
            person,
        },
        failed,
    )
}

/// The groups that the keys of a person's clients may be of: none, those in force, and the one that is set, which may be in force no more.
/// Nothing where whoever looks changes nobody.
async fn key_groups(
    state: &ConsoleState,
    signed_in: &SignedIn,
    person: &PersonView,
) -> Result<Vec<(String, String)>, PageProblem> {
    if !signed_in.caller.may(rights::CHANGE_PEOPLE) {
        return Ok(Vec::new());
    }
    let none = (String::new(), t!("none").into_owned());
    let mut groups = vec![none];
    groups.extend(group_choices(state, signed_in).await?);
    if let Some(set) = &person.key_group
        && !groups.iter().any(|(id, _)| id == set)
    {
        groups.push((set.clone(), set.clone()));
    }
    Ok(groups)
}

/// The form of the notices that a person is mailed; `None`: whoever looks changes nobody, or it is an agent.
async fn choices_form(
    state: &ConsoleState,
    signed_in: &SignedIn,
    person: &PersonView,
    sent: Option<(Fields, FieldProblems)>,
) -> Result<Option<NoticeChoicesForm>, PageProblem> {
    if !signed_in.caller.may(rights::CHANGE_PEOPLE) || person.role == Role::Agent.name() {
        return Ok(None);
    }
    let stored = choices::of(state, &signed_in.caller, &person.id).await?;
    let action = path_of("notices", &person.id);
    Ok(Some(NoticeChoicesForm::new(action, &stored, sent)))
}

/// Changes the notices that a person is mailed.
pub async fn save_notices(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let asked = notice_choices::changes(&fields);
    match choices::change(&state, &signed_in.caller, &id, asked).await {
        Ok(_) => Ok(done(&page_of(&id), Notice::Saved)),
        Err(problem) => {
            let sent = SentForms {
                choices: Some((fields, FieldProblems::of(problem)?)),
                ..SentForms::default()
            };
            show_with(&state, &signed_in, &id, sent).await
        }
    }
}

/// One person.
pub async fn one(Visit { state, signed_in }: Visit, Path(id): Path<String>) -> PageResult {
    show(&state, &signed_in, &id, None).await
}

/// Cancels the order of a key for a person.
pub async fn cancel_key(Path((id, order)): Path<(String, String)>, sent: SignedForm) -> PageResult {
    ordered_keys::remove(&sent.state, &sent.signed_in.caller, &id, &order).await?;
    Ok(done(&page_of(&id), Notice::Removed))
}

/// Asks whether a person is to be disabled, and counts what ends with that.
pub async fn confirm_disable(
    Visit { state, signed_in }: Visit,
    Path(id): Path<String>,
) -> PageResult {
    signed_in.caller.must(rights::CHANGE_PEOPLE)?;
    let person = people::get(&state, &signed_in.caller, &id).await?;
    let orders = ordered_keys::list(
        &state,
        &signed_in.caller,
        &person.id,
        PageParams::first(ROWS),
    )
    .await?;
    page(&DisablePage {
        shell: signed_in.shell(t!("Disable the person")),
        name: name(&person).to_owned(),
        page: page_of(&person.id),
        access: access(&person),
        orders: orders.items.len(),
        is_own: signed_in.caller.id == person.id,
    })
}

async fn set(sent: SignedForm, id: &str, disabled: bool, notice: Notice) -> PageResult {
    let (state, signed_in, _) = sent.parts();
    let change = PersonChangeBody {
        name: None,
        role: None,
        disabled: Some(disabled),
        key_group: None,
        addresses: None,
    };
    match people::change(&state, &signed_in.caller, id, change).await {
        Ok(_) => Ok(done(&page_of(id), notice)),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            show(&state, &signed_in, id, Some((None, problems))).await
        }
    }
}

/// Disables a person, with all that they can be recognized by.
pub async fn disable(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    set(sent, &id, true, Notice::PersonDisabled).await
}

/// Enables a person, with the keys that were disabled with them.
pub async fn enable(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    set(sent, &id, false, Notice::PersonEnabled).await
}

/// Signs a client of a person out.
pub async fn end_sign_in(
    Path((id, sign_in)): Path<(String, String)>,
    sent: SignedForm,
) -> PageResult {
    sign_ins::end_of(&sent.state, &sent.signed_in.caller, &id, &sign_in).await?;
    Ok(done(&page_of(&id), Notice::ClientSignedOut))
}

/// Unlinks a person from an account of an identity provider.
pub async fn unlink(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    unlink::remove(&state, &signed_in.caller, &id, fields.get("provider")).await?;
    Ok(done(&page_of(&id), Notice::Removed))
}
