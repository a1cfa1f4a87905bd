//! Making a key, and changing one.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;

use super::terms::{self, BUDGETS, FIELDS, NUMBERS};
use super::{SOME_KEY, gateway, name_of, path_of};
use crate::cases::keys::{self, CreatedKey, KeyChangeBody, NewKeyBody};
use crate::cases::rights;
use crate::cases::{ConsoleState, key_models};
use crate::pages::client_setup::{self, ClientSetup};
use crate::pages::form::Fields;
use crate::pages::{
    FieldProblems, Notice, PageProblem, PageShell, SignedForm, SignedIn, done, form_page, page,
};

#[derive(Template)]
#[template(path = "key_form.html")]
struct KeyFormPage {
    shell: PageShell,
    /// The path that the form is sent to, and the one that leads back.
    action: String,
    back: String,
    back_title: String,
    is_new: bool,
    groups: Vec<(String, String)>,
    fields: Fields,
    problems: FieldProblems,
    names: Vec<&'static str>,
    numbers: Vec<(String, &'static str)>,
    budgets: Vec<(String, &'static str)>,
}

#[derive(Template)]
#[template(path = "key_made.html")]
pub(super) struct KeyMadePage {
    shell: PageShell,
    path: String,
    name: String,
    value: Option<String>,
    clients: Vec<ClientSetup>,
}

async fn form(
    state: &ConsoleState,
    signed_in: &SignedIn,
    of: Option<(&str, &str)>,
    fields: Fields,
    problems: FieldProblems,
) -> Result<Response, PageProblem> {
    let groups = key_models::groups(state, &signed_in.caller).await?;
    let titled = groups.into_iter().map(|(id, serves)| {
        let title = match serves.as_str() {
            "A" => format!("{id} (OpenAI-style)"),
            "B" => format!("{id} (Anthropic-style)"),
            "C" => format!("{id} (Gemini-style)"),
            other => format!("{id} ({other})"),
        };
        (id, title)
    });
    let mut groups: Vec<(String, String)> = titled.collect();
    let chosen = fields.get("group").to_owned();
    if !chosen.is_empty() && !groups.iter().any(|(id, _)| *id == chosen) {
        // A key may be of a group that the document in force has no more.
        groups.push((chosen.clone(), format!("{chosen} (not in force)")));
    }
    let (action, back, back_title, title) = match of {
        None => (
            "/keys".to_owned(),
            "/keys".to_owned(),
            "Keys".to_owned(),
            "Create a key".to_owned(),
        ),
        Some((id, name)) => (
            format!("{}/edit", path_of(id)),
            path_of(id),
            name.to_owned(),
            "Change the key".to_owned(),
        ),
    };
    let wrong = !problems.is_empty();
    form_page(
        &KeyFormPage {
            shell: signed_in.shell(title),
            action,
            back,
            back_title,
            is_new: of.is_none(),
            groups,
            fields,
            problems,
            names: FIELDS.to_vec(),
            numbers: NUMBERS
                .map(|(name, title)| (format!("limits.{name}"), title))
                .to_vec(),
            budgets: BUDGETS
                .map(|(name, title)| (format!("limits.budget.{name}"), title))
                .to_vec(),
        },
        wrong,
    )
}

/// The form for a new key.
pub async fn new(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    asked: Fields,
) -> Result<Response, PageProblem> {
    signed_in.caller.must(rights::CHANGE_KEYS)?;
    let fields = Fields::once()?
        .with("owner", asked.get("owner"))
        .with("group", asked.get("group"));
    form(&state, &signed_in, None, fields, FieldProblems::default()).await
}

/// Makes a key and shows it, this once.
pub async fn create(
    State(state): State<ConsoleState>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let SignedForm { signed_in, fields } = sent;
    signed_in.caller.must(rights::CHANGE_KEYS)?;
    let mut problems = FieldProblems::default();
    let limits = terms::limits(&fields, None, &mut problems);
    if !problems.is_empty() {
        return form(&state, &signed_in, None, fields, problems).await;
    }
    let new = NewKeyBody {
        group: fields.get("group").to_owned(),
        owner: fields.given("owner"),
        team: fields.given("team"),
        models: terms::models(&fields),
        multiplier: fields.given("multiplier"),
        label: fields.given("label"),
        expires_at: terms::expires_at(&fields),
        limits,
        ..NewKeyBody::default()
    };
    match keys::create(&state, &signed_in.caller, Some(fields.get("once")), new).await {
        Ok(made) => made_page(&state, &signed_in, made.body, "The key is made").await,
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            form(&state, &signed_in, None, fields, problems).await
        }
    }
}

/// Shows a new value, with the lines for clients.
pub(in crate::pages) async fn made_page(
    state: &ConsoleState,
    signed_in: &SignedIn,
    made: CreatedKey,
    title: &str,
) -> Result<Response, PageProblem> {
    let CreatedKey { key, value } = made;
    let models = key_models::list(state, &signed_in.caller, &key.id).await?;
    let shown = value.as_deref().unwrap_or(SOME_KEY);
    page(&KeyMadePage {
        shell: signed_in.shell(title),
        path: path_of(&key.id),
        name: name_of(&key).to_owned(),
        clients: client_setup::clients(gateway(state), shown, &models.items),
        value,
    })
}

/// The form for changing a key.
pub async fn edit(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Response, PageProblem> {
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
pub async fn change(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let SignedForm { signed_in, fields } = sent;
    signed_in.caller.must(rights::CHANGE_KEYS)?;
    let key = keys::get(&state, &signed_in.caller, &id).await?;
    let of = Some((id.as_str(), name_of(&key)));
    let mut problems = FieldProblems::default();
    let limits = terms::limits(&fields, key.limits.as_ref(), &mut problems);
    if !problems.is_empty() {
        return form(&state, &signed_in, of, fields, problems).await;
    }
    let change = KeyChangeBody {
        group: Some(fields.get("group").to_owned()),
        owner: Some(fields.given("owner")),
        team: Some(fields.given("team")),
        models: Some(terms::models(&fields)),
        multiplier: Some(fields.given("multiplier")),
        label: Some(fields.given("label")),
        expires_at: Some(terms::expires_at(&fields)),
        limits: Some(limits),
        revision: fields.given("revision"),
        ..KeyChangeBody::default()
    };
    match keys::change(&state, &signed_in.caller, &id, change).await {
        Ok(_) => Ok(done(&path_of(&id), Notice::Saved)),
        Err(problem) if problem.status() == StatusCode::PRECONDITION_FAILED => {
            let mut problems = FieldProblems::default();
            problems.general = Some(
                "Somebody else has changed this key since you opened it. The fields below are theirs: look at them, then make your change again.".to_owned(),
            );
            form(&state, &signed_in, of, terms::fields_of(&key), problems).await
        }
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            form(&state, &signed_in, of, fields, problems).await
        }
    }
}
