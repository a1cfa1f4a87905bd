//! Signing in and out.

use askama::Template;
use axum::extract::State;
use axum::response::{AppendHeaders, IntoResponse as _, Redirect};
use http::header::{RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, StatusCode};

use super::cookie;
use super::error::{PageProblem, PageResult};
use super::field_problems::FieldProblems;
use super::form::{Fields, OpenForm, SignedForm};
use super::me;
use super::notice::{Notice, done};
use super::proxy_user::ProxyUser;
use super::render::page;
use super::shell::{Appearance, PageShell};
use super::signed_in::{SignedIn, session_token};
use super::start;
use crate::cases::{ConsoleState, Role, ordered_keys, providers};
use crate::client_address::RemoteAddress;
use crate::passwords::Password;
use crate::sessions::{self, DEVICE, LONGEST, NewSession, SignInError, SignInSource};
use crate::text;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    shell: PageShell,
    person: String,
    to: String,
    problem: String,
    /// The identity providers, each with the address of the way there.
    providers: Vec<(String, String)>,
    passwords: bool,
    /// The provider at which whoever has signed out here is signed in yet: its name, and the way to its end.
    left: Option<(String, String)>,
}

#[derive(Template)]
#[template(path = "sign_in_link.html")]
struct LinkPage {
    shell: PageShell,
    token: String,
}

#[derive(Template)]
#[template(path = "password.html")]
struct PasswordPage {
    shell: PageShell,
    problems: FieldProblems,
}

/// A path of this console, or its start: never another site.
pub fn local_path(wanted: &str) -> String {
    let is_local = wanted.starts_with('/')
        && !wanted.starts_with("//")
        && wanted
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_local { wanted } else { "/" }.to_owned()
}

/// The form for a password.
pub async fn form(
    State(state): State<ConsoleState>,
    RemoteAddress(address): RemoteAddress,
    ProxyUser(named): ProxyUser,
    asked: Fields,
    headers: HeaderMap,
) -> PageResult {
    let to = local_path(asked.get("to"));
    if let Some(person) = named {
        return by_proxy(&state, &headers, &address, &person, &to).await;
    }
    if let Some(token) = session_token(&headers, &state) {
        let holder = sessions::holder(&state.store, &token, state.now()).await?;
        if holder.is_some() {
            return Ok(Redirect::to(&to).into_response());
        }
    }
    let left = asked.get("left");
    page(&sign_in_page(&state, &headers, ("", &to), "", left).await?)
}

/// Signs in the person whom a trusted proxy names.
async fn by_proxy(
    state: &ConsoleState,
    headers: &HeaderMap,
    address: &str,
    person: &str,
    to: &str,
) -> PageResult {
    let from = source(state, headers, address);
    match sessions::by_proxy(&state.store, person, &from, state.now()).await {
        Ok(session) => begin(state, headers, &session, to).await,
        Err(SignInError::Store(error)) => Err(error.into()),
        Err(_) => {
            let problem = &t!(
                "The proxy in front of this console names a person who is not known here, or is disabled. Ask an admin of this console."
            );
            let page = show(state, headers, "", to, problem).await?;
            Ok((StatusCode::FORBIDDEN, page).into_response())
        }
    }
}

/// The form, with what is wrong.
///
/// # Errors
/// Those of the database.
pub(super) async fn show(
    state: &ConsoleState,
    headers: &HeaderMap,
    person: &str,
    to: &str,
    problem: &str,
) -> PageResult {
    page(&sign_in_page(state, headers, (person, to), problem, "").await?)
}

async fn sign_in_page(
    state: &ConsoleState,
    headers: &HeaderMap,
    (person, to): (&str, &str),
    problem: &str,
    left: &str,
) -> Result<SignInPage, PageProblem> {
    let (offered, passwords) = providers::sign_in::offered(state).await?;
    let left = offered.iter().find(|provider| provider.id == left);
    let left = left.map(|it| (it.label.clone(), format!("/sign-in/with/{}/end", it.id)));
    let way = |id: &str| match to {
        "/" => format!("/sign-in/with/{id}"),
        to => text::path_with(&format!("/sign-in/with/{id}"), &[("to", to)]),
    };
    let ways = offered.into_iter().map(|it| (way(&it.id), it.label));
    Ok(SignInPage {
        shell: PageShell::new(t!("Sign in"), Appearance::of(headers)),
        person: person.to_owned(),
        to: to.to_owned(),
        problem: problem.to_owned(),
        providers: ways.collect(),
        passwords,
        left,
    })
}

/// Signs in with a password.
pub async fn by_password(
    State(state): State<ConsoleState>,
    RemoteAddress(address): RemoteAddress,
    headers: HeaderMap,
    OpenForm(fields): OpenForm,
) -> PageResult {
    let person = fields.get("person");
    let password = Password::new(fields.exact("password"));
    let to = local_path(fields.get("to"));
    let now = state.now();
    // No id has a zero byte; PostgreSQL could not even look for it.
    let known = if person.contains('\0') { "" } else { person };
    let from = source(&state, &headers, &address);
    let begun = sessions::by_password(&state.store, known, password, &from, now).await;
    let (status, problem) = match begun {
        Ok(session) => return begin(&state, &headers, &session, &to).await,
        Err(SignInError::Wrong | SignInError::Link) => (
            StatusCode::UNPROCESSABLE_ENTITY,
            t!(
                "Person and password do not match. After several failures there is a pause before the next attempt."
            ),
        ),
        Err(SignInError::TooMany) => (
            StatusCode::TOO_MANY_REQUESTS,
            t!(
                "Too many attempts have failed. Wait a while, then try again; or ask an admin for a link."
            ),
        ),
        Err(SignInError::PasswordsOff) => (
            StatusCode::FORBIDDEN,
            t!("Passwords are turned off here. Sign in another way."),
        ),
        Err(SignInError::Store(error)) => return Err(error.into()),
    };
    let page = show(&state, &headers, person, &to, &problem).await?;
    let mut response = (status, page).into_response();
    if status == StatusCode::TOO_MANY_REQUESTS {
        let wait = http::HeaderValue::from_static("60");
        response.headers_mut().insert(RETRY_AFTER, wait);
    }
    Ok(response)
}

/// The page of the keys that wait for a person.
const WAITING: &str = "/me/ordered-keys";

/// Shows the page of a sign-in link: a button. Programs that open links before people do would use it up otherwise.
pub async fn link(fields: Fields, headers: HeaderMap) -> PageResult {
    page(&LinkPage {
        shell: PageShell::new(t!("Sign in"), Appearance::of(&headers)),
        token: fields.get("token").to_owned(),
    })
}

/// Signs in with a link.
pub async fn by_link(
    State(state): State<ConsoleState>,
    RemoteAddress(address): RemoteAddress,
    headers: HeaderMap,
    OpenForm(fields): OpenForm,
) -> PageResult {
    let from = source(&state, &headers, &address);
    let begun = sessions::by_link(&state.store, fields.get("token"), &from, state.now()).await;
    match begun {
        Ok(session) => {
            let (_, passwords) = providers::sign_in::offered(&state).await?;
            let to = if !session.has_password && passwords {
                "/me/password"
            } else {
                "/"
            };
            begin(&state, &headers, &session, to).await
        }
        Err(SignInError::Store(error)) => Err(error.into()),
        Err(_) => {
            let problem = &t!(
                "This link is not good any more: it works once, and not for long. Ask an admin for another one."
            );
            let page = show(&state, &headers, "", "/", problem).await?;
            Ok((StatusCode::GONE, page).into_response())
        }
    }
}

/// A new session in place of the one that the browser had.
pub(super) async fn begin(
    state: &ConsoleState,
    headers: &HeaderMap,
    session: &NewSession,
    to: &str,
) -> PageResult {
    if let Some(before) = session_token(headers, state) {
        sessions::end(&state.store, &before).await?;
    }
    let to = match Role::parse(&session.person.role) {
        // Whoever was invited has come for a key.
        Some(_) if to == "/" && ordered_keys::waits(state, &session.person.id).await? => WAITING,
        Some(role) if to == "/" => start::home(state, role).await?,
        _ => to,
    };
    let seconds = LONGEST.saturating_div(1_000_000);
    let remembered = DEVICE.saturating_div(1_000_000);
    let cookies = AppendHeaders([
        (
            SET_COOKIE,
            cookie::set_session(session.token.reveal(), seconds, state.https),
        ),
        (
            SET_COOKIE,
            cookie::set_device(session.device.reveal(), remembered, state.https),
        ),
    ]);
    Ok((cookies, Redirect::to(to)).into_response())
}

/// From where somebody signs in.
pub(super) fn source<'a>(
    state: &ConsoleState,
    headers: &'a HeaderMap,
    address: &'a str,
) -> SignInSource<'a> {
    SignInSource {
        address,
        is_shared: !state.tells_addresses_apart(),
        device: cookie::find(headers, cookie::device(state.https)),
    }
}

/// Ends the session.
pub async fn sign_out(form: SignedForm) -> PageResult {
    let (state, token) = (&form.state, form.signed_in.token());
    let holder = sessions::holder(&state.store, token, state.now()).await?;
    sessions::end(&state.store, token).await?;
    let to = match holder.and_then(|holder| holder.provider) {
        Some((provider, _)) => text::path_with("/sign-in", &[("left", &provider)]),
        None => "/sign-in".to_owned(),
    };
    let cookie = cookie::set_session("", 0, state.https);
    Ok(([(SET_COOKIE, cookie)], Redirect::to(&to)).into_response())
}

/// The form for a new password.
pub async fn new_password(signed_in: SignedIn) -> PageResult {
    page(&PasswordPage {
        shell: signed_in.shell(t!("Set a password")),
        problems: FieldProblems::default(),
    })
}

/// Sets a password.
pub async fn set_password(form: SignedForm) -> PageResult {
    let password = Password::new(form.fields.exact("password"));
    let again = Password::new(form.fields.exact("again"));
    let mut problems = FieldProblems::default();
    if let Some(fault) = password.fault() {
        problems.push("password", &fault);
    } else if !password.is_same(&again) {
        problems.push("again", "is not the same as above");
    }
    if !problems.is_empty() {
        let shell = form.signed_in.shell(t!("Set a password"));
        let page = page(&PasswordPage { shell, problems })?;
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response());
    }
    let (actor, now) = (form.signed_in.caller.actor(), form.state.now());
    sessions::set_password(
        &form.state.store,
        form.signed_in.token(),
        password,
        &actor,
        now,
    )
    .await?;
    // Whoever was invited has come for a key.
    let to = if ordered_keys::waits(&form.state, &form.signed_in.caller.id).await? {
        WAITING
    } else if me::wants_first_key(&form.state, &form.signed_in).await? {
        "/me/new-key"
    } else {
        start::home(&form.state, form.signed_in.caller.role).await?
    };
    Ok(done(to, Notice::PasswordSet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_console() {
        for (wanted, want) in [
            ("/keys?cursor=x", "/keys?cursor=x"),
            ("", "/"),
            ("keys", "/"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("/a\r\nset-cookie: x", "/"),
            ("/\t/evil.example", "/"),
            ("/ä", "/"),
        ] {
            assert_eq!(local_path(wanted), want, "{wanted:?}");
        }
    }
}
