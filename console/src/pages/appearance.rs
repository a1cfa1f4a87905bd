//! Light or dark.

use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use http::header::SET_COOKIE;

use super::cookie;
use super::form::OpenForm;
use super::shell::Appearance;
use super::sign_in::local_path;
use crate::cases::ConsoleState;

/// Keeps the choice in a cookie.
pub async fn choose(State(state): State<ConsoleState>, OpenForm(fields): OpenForm) -> Response {
    let choice = Appearance::parse(fields.get("appearance"));
    let cookie = cookie::set_choice(cookie::APPEARANCE, choice.name(), state.https);
    let back = Redirect::to(&local_path(fields.get("back")));
    ([(SET_COOKIE, cookie)], back).into_response()
}
