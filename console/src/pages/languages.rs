//! The language of a page: chosen, or else the browser's.

use std::borrow::Cow;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};
use http::header::{CONTENT_LANGUAGE, HeaderValue, SET_COOKIE};
use http::{HeaderMap, Uri};

use super::cookie;
use super::form::OpenForm;
use super::sign_in::local_path;
use crate::cases::ConsoleState;
use crate::language::Language;
use crate::{secret, text};

/// The language that a reader has chosen, or else the browser asks for.
pub fn asked(headers: &HeaderMap) -> Language {
    let chosen = cookie::find(headers, cookie::LANGUAGE).and_then(Language::parse);
    chosen.unwrap_or_else(|| Language::preferred(headers))
}

/// The path of a page with its query, but for what may be an address elsewhere, a whole key, or what an identity provider sent.
fn way_back(page: &Uri) -> String {
    if page.path().starts_with("/sign-in/with/") {
        return "/sign-in".to_owned();
    }
    let query = page.query().unwrap_or_default();
    let parameters = form_urlencoded::parse(query.as_bytes());
    let kept: Vec<(Cow<'_, str>, Cow<'_, str>)> = parameters
        .filter(|(_, value)| !value.contains([':', '\\']) && !value.contains("//"))
        // The page of a link has its token anyway.
        .filter(|(_, value)| page.path() == "/sign-in/link" || !secret::is_whole(value.trim()))
        .collect();
    let kept: Vec<(&str, &str)> = kept
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    if kept.is_empty() {
        return page.path().to_owned();
    }
    text::path_with(page.path(), &kept)
}

/// Makes the page in the reader's language.
pub async fn of_reader(request: Request, next: Next) -> Response {
    let language = asked(request.headers());
    let path = way_back(request.uri());
    let mut response = language.scope(path, next.run(request)).await;
    let tag = HeaderValue::from_static(language.tag());
    response.headers_mut().insert(CONTENT_LANGUAGE, tag);
    response
}

/// Keeps the choice in a cookie.
pub async fn choose(State(state): State<ConsoleState>, OpenForm(fields): OpenForm) -> Response {
    let language = Language::parse(fields.get("language")).unwrap_or(Language::ENGLISH);
    let cookie = cookie::set_choice(cookie::LANGUAGE, language.tag(), state.https);
    let back = Redirect::to(&local_path(fields.get("back")));
    ([(SET_COOKIE, cookie)], back).into_response()
}
