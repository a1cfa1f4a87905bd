//! Making a key, and changing one.

use std::borrow::Cow;

use askama::Template;
use axum::extract::Path;

use http::StatusCode;

use super::group_choices;
use super::terms::{self, FIELDS};
use super::waiting;
use super::{SOME_KEY, gateway, name_of, path_of};
use crate::cases::key_rotation::OldValueOutcome;
use crate::cases::keys::{self, CreatedKey, KeyChangeBody, NewKeyBody};
use crate::cases::rights;
use crate::cases::{ConsoleState, key_models};
use crate::language::translated;
use crate::pages::client_setup::{self, ClientSetup};
use crate::pages::form::Fields;
use crate::pages::owner_field::{OWNER, OwnerField, TEAM, is_search};
use crate::pages::{
    FieldProblems, Notice, PageResult, PageShell, SignedForm, SignedIn, Visit, currency, done,
    form_page, limit_fields, page,
};

#[derive(Template)]
#[template(path = "key_form.html")]
struct KeyFormPage {
    shell: PageShell,
    /// The path that the form is sent to, and the one that leads back.
    action: String,
    back: String,
    /// The pages before: titles and paths.
    crumbs: Vec<(String, String)>,
    is_new: bool,
    groups: Vec<(String, String)>,
    owner: OwnerField,
    team: OwnerField,
    fields: Fields,
    problems: FieldProblems,
    names: Vec<&'static str>,
    numbers: Vec<(String, &'static str)>,
    budgets: Vec<(String, &'static str)>,
    /// The currency and the days of the budgets.
    budget_hint: String,
}

#[derive(Template)]
#[template(path = "key_made.html")]
pub(super) struct KeyMadePage {
    shell: PageShell,
    path: String,
    name: String,
    value: Option<String>,
    /// The outcome for the old value, where the key was rotated, and the path that ends it.
    old: Option<OldValueOutcome>,
    end_old: String,
    clients: Vec<ClientSetup>,
    /// The part that waits for its first request, and the path of its stream.
    waits: String,
    live: String,
}

async fn form(
    state: &ConsoleState,
    signed_in: &SignedIn,
    of: Option<(&str, &str)>,
    fields: Fields,
    problems: FieldProblems,
) -> PageResult {
    let mut groups = group_choices(state, signed_in).await?;
    let chosen = fields.get("group").to_owned();
    if !chosen.is_empty() && !groups.iter().any(|(id, _)| *id == chosen) {
        // A key may be of a group that the document in force has no more.
        groups.push((chosen.clone(), t!("{group} (not in force)", group = chosen)));
    }
    let mut crumbs = vec![(t!("Keys").into_owned(), "/keys".to_owned())];
    let (action, back, title) = match of {
        None => ("/keys".to_owned(), "/keys".to_owned(), t!("Create a key")),
        Some((id, name)) => {
            crumbs.push((name.to_owned(), path_of(id)));
            let action = format!("{}/edit", path_of(id));
            (action, path_of(id), t!("Change the key"))
        }
    };
    let wrong = !problems.is_empty();
    let caller = &signed_in.caller;
    let owner = OwnerField::of(state, caller, OWNER, &fields, &problems).await?;
    let team = OwnerField::of(state, caller, TEAM, &fields, &problems).await?;
    form_page(
        &KeyFormPage {
            shell: signed_in.shell(title),
            action,
            back,
            crumbs,
            is_new: of.is_none(),
            groups,
            owner,
            team,
            fields,
            problems,
            names: FIELDS.to_vec(),
            numbers: limit_fields::numbers(),
            budgets: limit_fields::budgets(),
            budget_hint: limit_fields::budget_hint(&currency::current()),
        },
        wrong,
    )
}

/// The form for a new key.
pub async fn new(Visit { state, signed_in }: Visit, asked: Fields) -> PageResult {
    signed_in.caller.must(rights::CHANGE_KEYS)?;
    let fields = Fields::once()?
        .with("owner", asked.get("owner"))
        .with("group", asked.get("group"));
    form(&state, &signed_in, None, fields, FieldProblems::default()).await
}

/// Makes a key and shows it, this once.
pub async fn create(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    signed_in.caller.must(rights::CHANGE_KEYS)?;
    let mut problems = FieldProblems::default();
    let limits = terms::limits(&fields, None, &mut problems);
    if !problems.is_empty() || is_search(&fields) {
        return form(&state, &signed_in, None, fields, problems).await;
    }
    let new = NewKeyBody {
        group: fields.get("group").to_owned(),
        owner: fields.given("owner"),
        new_owner: fields.is_set("new_owner"),
        team: fields.given("team"),
        new_team: fields.is_set("new_team"),
        models: terms::models(&fields),
        multiplier: fields.given("multiplier"),
        max_multiplier: fields.given("max_multiplier"),
        addresses: terms::addresses(&fields),
        label: fields.given("label"),
        expires_at: terms::expires_at(&fields),
        limits,
        ..NewKeyBody::default()
    };
    match keys::create(&state, &signed_in.caller, Some(fields.get("once")), new).await {
        Ok(made) => made_page(&state, &signed_in, made.body, MadeKeyPlace::made()).await,
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            form(&state, &signed_in, None, fields, problems).await
        }
    }
}

/// The page of a new value: its title, and the path of the form that ends an old one.
pub(in crate::pages) struct MadeKeyPlace {
    /// The title.
    pub title: &'static str,
    /// The path; empty where nothing was rotated.
    pub end_old: String,
}

impl MadeKeyPlace {
    /// Of a key that was made.
    pub fn made() -> Self {
        Self {
            title: text!("The key is made"),
            end_old: String::new(),
        }
    }
}

/// Shows a new value, with the lines for clients.
pub(in crate::pages) async fn made_page(
    state: &ConsoleState,
    signed_in: &SignedIn,
    made: CreatedKey,
    place: MadeKeyPlace,
) -> PageResult {
    let CreatedKey { key, value, old } = made;
    let models = key_models::list(state, &signed_in.caller, &key.id).await?;
    let shown = value.as_deref().unwrap_or(SOME_KEY);
    page(&KeyMadePage {
        shell: signed_in.shell(translated(place.title)),
        waits: waiting::part(state, &signed_in.caller, &key.id).await?,
        live: waiting::path(&key.id),
        path: path_of(&key.id),
        name: name_of(&key).to_owned(),
        old,
        end_old: place.end_old,
        clients: client_setup::clients(gateway(state), shown, &models.items),
        value,
    })
}

/// Makes the message for the second of two people who change the same key.
fn overtaken(theirs: &Fields, typed: &Fields) -> String {
    let differ = FIELDS
        .iter()
        .filter(|name| theirs.get(name) != typed.get(name));
    let differ = differ.map(|name| {
        let value = match theirs.get(name) {
            "" => t!("nothing"),
            value => value.into(),
        };
        t!("{title}: {value}", title = field_title(name), value = value)
    });
    let differ = differ.collect::<Vec<_>>().join(&*t!("; "));
    t!(
        "Somebody else has changed this key since you opened it. What you typed stands below: save it over theirs, or cancel. Theirs has {values}.",
        values = differ
    )
}

/// The title of a field in a sentence.
fn field_title(name: &str) -> Cow<'_, str> {
    match name.rsplit('.').next().unwrap_or(name) {
        "group" => t!("group"),
        "owner" => t!("owner"),
        "team" => t!("team"),
        "models" => t!("models"),
        "multiplier" => t!("multiplier"),
        "max_multiplier" => t!("max multiplier"),
        "addresses" => t!("addresses"),
        "label" => t!("label"),
        "expires_at" => t!("expires at"),
        "requests_per_minute" => t!("requests per minute"),
        "input_tokens_per_minute" => t!("input tokens per minute"),
        "output_tokens_per_minute" => t!("output tokens per minute"),
        "concurrent_requests" => t!("concurrent requests"),
        "per_day" => t!("per day"),
        "per_month" => t!("per month"),
        other => other.into(),
    }
}

/// The form for changing a key.
pub async fn edit(Visit { state, signed_in }: Visit, Path(id): Path<String>) -> PageResult {
    signed_in.caller.must(rights::CHANGE_KEYS)?;
    let key = keys::get(&state, &signed_in.caller, &id).await?;
    let of = Some((id.as_str(), name_of(&key)));
    form(
        &state,
        &signed_in,
        of,
        terms::fields_of(&key),
        FieldProblems::default(),
    )
    .await
}

/// Changes a key, unless somebody else has changed it since the form was shown.
pub async fn change(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    signed_in.caller.must(rights::CHANGE_KEYS)?;
    let key = keys::get(&state, &signed_in.caller, &id).await?;
    let of = Some((id.as_str(), name_of(&key)));
    let mut problems = FieldProblems::default();
    let limits = terms::limits(&fields, key.limits.as_ref(), &mut problems);
    if !problems.is_empty() || is_search(&fields) {
        return form(&state, &signed_in, of, fields, problems).await;
    }
    let change = KeyChangeBody {
        group: Some(fields.get("group").to_owned()),
        owner: Some(fields.given("owner")),
        new_owner: fields.is_set("new_owner"),
        team: Some(fields.given("team")),
        new_team: fields.is_set("new_team"),
        models: Some(terms::models(&fields)),
        multiplier: Some(fields.given("multiplier")),
        max_multiplier: Some(fields.given("max_multiplier")),
        addresses: Some(terms::addresses(&fields)),
        label: Some(fields.given("label")),
        expires_at: Some(terms::expires_at(&fields)),
        limits: Some(limits),
        revision: fields.given("revision"),
        ..KeyChangeBody::default()
    };
    match keys::change(&state, &signed_in.caller, &id, change).await {
        Ok(_) => Ok(done(&path_of(&id), Notice::Saved)),
        Err(problem) if problem.status() == StatusCode::PRECONDITION_FAILED => {
            let theirs = terms::fields_of(&key);
            let mut problems = FieldProblems::default();
            problems.general = Some(overtaken(&theirs, &fields));
            // Saved again, it is over theirs.
            let mut fields = fields;
            fields.take("revision");
            let fields = fields.with("revision", theirs.get("revision"));
            form(&state, &signed_in, of, fields, problems).await
        }
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            form(&state, &signed_in, of, fields, problems).await
        }
    }
}
