//! Signing in by an identity provider: the way there, the way back, and the end of its own session.

use axum::extract::{Path, State};
use axum::response::{AppendHeaders, IntoResponse as _, Redirect};
use http::header::{HOST, SET_COOKIE};
use http::{HeaderMap, StatusCode};

use super::cookie;
use super::error::PageResult;
use super::form::Fields;
use super::sign_in;
use crate::cases::ConsoleState;
use crate::cases::providers::Refusal;
use crate::cases::providers::sign_in::{self as by_provider, BroughtBack, ProviderSignInError};
use crate::client_address::RemoteAddress;
use crate::identity_providers::ProviderFault;
use crate::language::translated;

/// For how long a browser has its cookie, in seconds.
const SECONDS: i64 = 600;

fn browser<'a>(state: &ConsoleState, headers: &'a HeaderMap) -> (Option<&'a str>, &'a str) {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let cookie = cookie::find(headers, cookie::authorization(state.https));
    (cookie, host.unwrap_or_default())
}

/// Sends the browser to the provider.
pub async fn begin(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    asked: Fields,
    headers: HeaderMap,
) -> PageResult {
    let target = sign_in::local_path(asked.get("to"));
    match by_provider::begin(&state, &id, &target, browser(&state, &headers)).await {
        Ok(sent) => {
            let cookie = cookie::set_authorization(sent.cookie.reveal(), SECONDS, state.https);
            Ok(([(SET_COOKIE, cookie)], Redirect::to(&sent.url)).into_response())
        }
        Err(error) => failed(&state, &headers, error).await,
    }
}

/// Signs in whoever comes back from the provider with a code.
pub async fn finish(
    State(state): State<ConsoleState>,
    RemoteAddress(address): RemoteAddress,
    Path(id): Path<String>,
    asked: Fields,
    headers: HeaderMap,
) -> PageResult {
    let brought = BroughtBack {
        state: asked.get("state"),
        code: asked.get("code"),
        error: asked.get("error"),
        issuer: asked.get("iss"),
    };
    let from = sign_in::source(&state, &headers, &address);
    let done = by_provider::finish(&state, &id, brought, browser(&state, &headers), &from).await;
    match done {
        Ok((session, target)) => {
            let response = sign_in::begin(&state, &headers, &session, &target).await?;
            let gone = cookie::set_authorization("", 0, state.https);
            Ok((AppendHeaders([(SET_COOKIE, gone)]), response).into_response())
        }
        Err(error) => failed(&state, &headers, error).await,
    }
}

/// Sends the browser to the end of the provider's own session. Ours has ended.
pub async fn end(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> PageResult {
    let (_, host) = browser(&state, &headers);
    let url = by_provider::end_session_url(&state, &id, host).await;
    Ok(Redirect::to(url.as_deref().unwrap_or("/sign-in")).into_response())
}

/// The words for people. They have nothing of the provider's but its error code.
fn told(error: &ProviderSignInError) -> (StatusCode, String) {
    let admin = || t!("Ask an admin of this console.");
    let refused = StatusCode::FORBIDDEN;
    match error {
        ProviderSignInError::NoProvider => (
            StatusCode::NOT_FOUND,
            t!("There is no such way to sign in, or it is turned off.").into_owned(),
        ),
        ProviderSignInError::Expired => (
            StatusCode::GONE,
            t!("This sign-in was begun in another browser, was finished before, or took more than 10 minutes. Begin again.").into_owned(),
        ),
        ProviderSignInError::Cancelled => (
            refused,
            t!("The identity provider did not let you in, or you cancelled there.").into_owned(),
        ),
        ProviderSignInError::Provider(ProviderFault::Away(_)) => (
            StatusCode::SERVICE_UNAVAILABLE,
            t!("The identity provider does not answer now. Try again in a moment.").into_owned(),
        ),
        ProviderSignInError::Provider(ProviderFault::Refused(code)) => (
            StatusCode::BAD_GATEWAY,
            t!("The identity provider refuses: {code}. Begin again; if that does not help, its settings here are wrong.", code = code),
        ),
        ProviderSignInError::Provider(_) => (
            StatusCode::BAD_GATEWAY,
            t!("The response of the identity provider is not valid. Nobody was signed in; the console's log says why.").into_owned(),
        ),
        ProviderSignInError::Refused(refusal) => (
            refused,
            match refusal {
                Refusal::NoEmail => t!("The identity provider did not tell an e-mail address that can be used here.").into_owned(),
                Refusal::NotVerified => t!("The identity provider does not say that your e-mail address is verified.").into_owned(),
                Refusal::Domain | Refusal::NotAdmitted => {
                    format!("{} {}", t!("Your account at the identity provider may not use this console."), admin())
                }
                Refusal::OtherAccount => {
                    format!("{} {}", t!("Another account of the identity provider is linked with your e-mail address."), admin())
                }
                Refusal::Disabled => format!("{} {}", t!("Your account here is disabled."), admin()),
                Refusal::Erased => {
                    format!("{} {}", t!("The data of a person with this e-mail address was erased, so it cannot be used again."), admin())
                }
            },
        ),
        ProviderSignInError::Problem(problem) => (refused, translated(problem.detail()).into_owned()),
    }
}

async fn failed(
    state: &ConsoleState,
    headers: &HeaderMap,
    error: ProviderSignInError,
) -> PageResult {
    let (status, text) = told(&error);
    match error {
        ProviderSignInError::Provider(fault) if !matches!(fault, ProviderFault::Refused(_)) => {
            (state.reporter.0)(&fault.to_string());
        }
        ProviderSignInError::Problem(problem) if problem.status() >= 500 => {
            return Err(problem.into());
        }
        _ => {}
    }
    let page = sign_in::show(state, headers, "", "/", &text).await?;
    Ok((status, page).into_response())
}
