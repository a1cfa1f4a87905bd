//! The search of keys. It is sent by POST, so that a whole key that somebody pastes is in no address; any other text goes on to the
//! list, whose address may be kept.

use axum::response::{IntoResponse as _, Redirect};

use super::list::{FILTERS, show};
use super::path_of;
use crate::cases::key_by_value::{self, KeyValueBody};
use crate::cases::{ConsoleState, rights};
use crate::pages::form::Fields;
use crate::pages::{PageProblem, PageResult, SignedForm, SignedIn};
use crate::secret;

/// The shortest text that may be a whole key, in bytes.
const SHORTEST: usize = 16;
/// The sentence where nobody has a whole key.
const UNKNOWN: &str = text!("No key has this value. It may have been rotated or removed.");

/// Returns the path of the key with a whole value; `None`: no key has it, or it is no value.
pub async fn key_of_value(
    state: &ConsoleState,
    signed_in: &SignedIn,
    text: &str,
) -> Result<Option<String>, PageProblem> {
    let may_be_one = text.len() >= SHORTEST && !text.contains(char::is_whitespace);
    if !may_be_one || !signed_in.caller.may(rights::SEE_KEYS) {
        return Ok(None);
    }
    let asked = KeyValueBody {
        value: text.to_owned(),
    };
    match key_by_value::find(state, &signed_in.caller, &asked).await {
        Ok(key) => Ok(Some(path_of(&key.id))),
        Err(problem) if matches!(problem.status(), 404 | 422) => Ok(None),
        Err(problem) => Err(problem.into()),
    }
}

/// Looks for keys: by a whole key, or by a text.
pub async fn search(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let text = fields.get("search");
    if let Some(path) = key_of_value(&state, &signed_in, text).await? {
        return Ok(Redirect::to(&path).into_response());
    }
    if secret::is_whole(text) {
        let others = FILTERS.into_iter().filter(|name| *name != "search");
        let filters = others.fold(Fields::default(), |filters, name| {
            filters.with(name, fields.get(name))
        });
        return show(&state, &signed_in, filters, Some(UNKNOWN)).await;
    }
    let (path, _) = fields.filtered("/keys", FILTERS);
    Ok(Redirect::to(path.trim_end_matches(['&', '?'])).into_response())
}
