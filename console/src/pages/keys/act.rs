//! The immediate actions on a key: disable, rotate, remove.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;

use super::change::made_page;
use super::{name_of, path_of};
use crate::cases::ConsoleState;
use crate::cases::key_rotation::{self, KeyRotationBody};
use crate::cases::keys::{self, KeyChangeBody};
use crate::cases::rights;
use crate::pages::{Notice, PageProblem, PageShell, SignedForm, SignedIn, done, page};
use crate::secret;

#[derive(Template)]
#[template(path = "key_remove.html")]
struct RemovePage {
    shell: PageShell,
    path: String,
    name: String,
    id: String,
}

#[derive(Template)]
#[template(path = "key_rotate.html")]
struct RotatePage {
    shell: PageShell,
    path: String,
    name: String,
    id: String,
    once: String,
}

/// Disables a key, or enables it again.
pub async fn disable(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let change = KeyChangeBody {
        disabled: Some(sent.fields.get("disabled") == "yes"),
        ..KeyChangeBody::default()
    };
    keys::change(&state, &sent.signed_in.caller, &id, change).await?;
    let notice = if sent.fields.get("disabled") == "yes" {
        Notice::KeyDisabled
    } else {
        Notice::KeyEnabled
    };
    Ok(done(&path_of(&id), notice))
}

/// Asks whether a key is to be removed.
pub async fn confirm_remove(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Response, PageProblem> {
    signed_in.caller.must(rights::CHANGE_KEYS)?;
    let key = keys::get(&state, &signed_in.caller, &id).await?;
    page(&RemovePage {
        shell: signed_in.shell("Remove the key"),
        path: path_of(&key.id),
        name: name_of(&key).to_owned(),
        id: key.id,
    })
}

/// Removes a key.
pub async fn remove(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    keys::remove(&state, &sent.signed_in.caller, &id).await?;
    Ok(done("/keys", Notice::KeyRemoved))
}

/// Asks how a key is to be rotated.
pub async fn confirm_rotate(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Response, PageProblem> {
    signed_in.caller.must(rights::CHANGE_KEYS)?;
    let key = keys::get(&state, &signed_in.caller, &id).await?;
    page(&RotatePage {
        shell: signed_in.shell("Rotate the key"),
        path: path_of(&key.id),
        name: name_of(&key).to_owned(),
        id: key.id,
        once: secret::new_id().map_err(crate::cases::ApiProblem::internal)?,
    })
}

/// Gives a key a new value and shows it, this once.
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
    let made = key_rotation::rotate(&state, &signed_in.caller, once, &id, asked).await?;
    made_page(&state, &signed_in, made.body, "The key is rotated").await
}
