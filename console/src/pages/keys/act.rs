//! The immediate actions on a key: disable, remove.

use askama::Template;
use axum::extract::Path;
use axum::response::{IntoResponse as _, Redirect};

use super::{name_of, path_of};
use crate::cases::keys::{self, KeyChangeBody};
use crate::cases::{document_keys, rights};
use crate::pages::{Notice, PageResult, PageShell, SignedForm, Visit, done, page};

#[derive(Template)]
#[template(path = "key_remove.html")]
struct RemovePage {
    shell: PageShell,
    path: String,
    name: String,
    id: String,
}

/// Disables a key, or enables it again.
///
/// One that stands in the document is disabled in a draft, which whoever does it publishes.
pub async fn disable(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, caller) = (&sent.state, &sent.signed_in.caller);
    if keys::get(state, caller, &id).await?.of_document {
        let draft = document_keys::disable(state, caller, &id).await?;
        let path = format!("/drafts/{}", draft.head.id);
        return Ok(Redirect::to(&path).into_response());
    }
    let change = KeyChangeBody {
        disabled: Some(sent.fields.get("disabled") == "yes"),
        ..KeyChangeBody::default()
    };
    keys::change(&sent.state, &sent.signed_in.caller, &id, change).await?;
    let notice = if sent.fields.get("disabled") == "yes" {
        Notice::KeyDisabled
    } else {
        Notice::KeyEnabled
    };
    Ok(done(&path_of(&id), notice))
}

/// Asks whether a key is to be removed.
pub async fn confirm_remove(
    Visit { state, signed_in }: Visit,
    Path(id): Path<String>,
) -> PageResult {
    signed_in.caller.must(rights::CHANGE_KEYS)?;
    let key = keys::get(&state, &signed_in.caller, &id).await?;
    page(&RemovePage {
        shell: signed_in.shell(t!("Remove the key")),
        path: path_of(&key.id),
        name: name_of(&key).to_owned(),
        id: key.id,
    })
}

/// Removes a key.
pub async fn remove(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    keys::remove(&sent.state, &sent.signed_in.caller, &id).await?;
    Ok(done("/keys", Notice::KeyRemoved))
}
