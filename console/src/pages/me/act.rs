//! The actions on one's own key: rotate it, and disable it.

use axum::extract::Path;

use super::path_of;
use crate::cases::ConsoleState;
use crate::cases::client_sign_ins::list as sign_ins;
use crate::cases::keys as all_keys;
use crate::cases::me::keys::{self, OwnKeyChangeBody};
use crate::cases::rights;
use crate::pages::confirm::Confirm;
use crate::pages::keys::name_of;
use crate::pages::keys::rotate::{self, RotateForm};
use crate::pages::{Notice, PageProblem, PageResult, SignedForm, SignedIn, Visit, done, page};

/// Reads the name for people of a key that the person may see.
async fn name(state: &ConsoleState, signed_in: &SignedIn, id: &str) -> Result<String, PageProblem> {
    let key = all_keys::get(state, &signed_in.caller, id).await?;
    Ok(name_of(&key).to_owned())
}

fn of(id: &str) -> RotateForm<'_> {
    RotateForm { id, is_own: true }
}

/// Asks how one's own key is to be rotated.
pub async fn confirm_rotate(
    Visit { state, signed_in }: Visit,
    Path(id): Path<String>,
) -> PageResult {
    rotate::ask(&state, &signed_in, of(&id)).await
}

/// Gives one's own key a new value and shows it, this once.
pub async fn rotate(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    rotate::by_form(sent, of(&id)).await
}

/// Ends the old values of one's own key before their time.
pub async fn end_old(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    keys::end_old(&sent.state, &sent.signed_in.caller, &id).await?;
    Ok(done("/me", Notice::OldValueEnded))
}

/// Asks whether one's own key is to be disabled.
pub async fn confirm_disable(
    Visit { state, signed_in }: Visit,
    Path(id): Path<String>,
) -> PageResult {
    signed_in.caller.must(rights::CHANGE_OWN_KEYS)?;
    let name = name(&state, &signed_in, &id).await?;
    page(&Confirm {
        shell: signed_in.shell(t!("Disable the key?")),
        crumb: (t!("Me").into_owned(), "/me".to_owned()),
        text: t!(
            "Gateways refuse {name} within a second. Only an admin can enable it again.",
            name = name
        ),
        action: path_of(&id, "disable"),
        hidden: Vec::new(),
        button: text!("Disable key"),
        back: "/me".to_owned(),
    })
}

/// Disables one's own key.
pub async fn disable(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let change = OwnKeyChangeBody {
        disabled: Some(true),
        ..OwnKeyChangeBody::default()
    };
    keys::change(&sent.state, &sent.signed_in.caller, &id, change).await?;
    Ok(done("/me", Notice::KeyDisabled))
}

/// Signs one of one's own clients out.
pub async fn end_sign_in(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    sign_ins::end_own(&sent.state, &sent.signed_in.caller, &id).await?;
    Ok(done("/me", Notice::ClientSignedOut))
}
