//! The actions on one's own key: rotate it, and disable it.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;

use super::path_of;
use crate::cases::ConsoleState;
use crate::cases::key_rotation::KeyRotationBody;
use crate::cases::keys as all_keys;
use crate::cases::me::keys::{self, OwnKeyChangeBody};
use crate::cases::rights;
use crate::pages::confirm::Confirm;
use crate::pages::form::Fields;
use crate::pages::keys::{made_page, name_of};
use crate::pages::{
    FieldProblems, Notice, PageProblem, PageShell, SignedForm, SignedIn, done, form_page, page,
};

#[derive(Template)]
#[template(path = "me_rotate.html")]
struct OwnRotatePage {
    shell: PageShell,
    action: String,
    name: String,
    fields: Fields,
    problems: FieldProblems,
}

/// Reads the name for people of a key that the person may see.
async fn name(state: &ConsoleState, signed_in: &SignedIn, id: &str) -> Result<String, PageProblem> {
    let key = all_keys::get(state, &signed_in.caller, id).await?;
    Ok(name_of(&key).to_owned())
}

async fn rotate_form(
    state: &ConsoleState,
    signed_in: &SignedIn,
    id: &str,
    fields: Fields,
    problems: FieldProblems,
) -> Result<Response, PageProblem> {
    let failed = !problems.is_empty();
    form_page(
        &OwnRotatePage {
            shell: signed_in.shell("Rotate the key"),
            action: path_of(id, "rotate"),
            name: name(state, signed_in, id).await?,
            fields,
            problems,
        },
        failed,
    )
}

/// Asks how one's own key is to be rotated.
pub async fn confirm_rotate(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Response, PageProblem> {
    signed_in.caller.must(rights::CHANGE_OWN_KEYS)?;
    let fields = Fields::once()?.with("overlap_seconds", "0");
    rotate_form(&state, &signed_in, &id, fields, FieldProblems::default()).await
}

/// Gives one's own key a new value and shows it, this once.
pub async fn rotate(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let SignedForm { signed_in, fields } = sent;
    let asked = KeyRotationBody {
        overlap_seconds: fields.get("overlap_seconds").parse().unwrap_or_default(),
    };
    let once = Some(fields.get("once"));
    match keys::rotate(&state, &signed_in.caller, once, &id, asked).await {
        Ok(made) => made_page(&state, &signed_in, made.body, "The key is rotated").await,
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            rotate_form(&state, &signed_in, &id, fields, problems).await
        }
    }
}

/// Asks whether one's own key is to be disabled.
pub async fn confirm_disable(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Response, PageProblem> {
    signed_in.caller.must(rights::CHANGE_OWN_KEYS)?;
    let name = name(&state, &signed_in, &id).await?;
    page(&Confirm {
        shell: signed_in.shell("Disable the key?"),
        crumb: ("Me".to_owned(), "/me".to_owned()),
        text: format!("Gateways refuse {name} within a second. Only an admin can enable it again."),
        action: path_of(&id, "disable"),
        hidden: Vec::new(),
        button: "Disable key",
        back: "/me".to_owned(),
    })
}

/// Disables one's own key.
pub async fn disable(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let change = OwnKeyChangeBody {
        disabled: Some(true),
        ..OwnKeyChangeBody::default()
    };
    keys::change(&state, &sent.signed_in.caller, &id, change).await?;
    Ok(done("/me", Notice::KeyDisabled))
}
