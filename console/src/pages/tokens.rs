//! Tokens of the API: made, shown once, revoked.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::Value;

use super::confirm::{Confirm, ShownOnce};
use super::form::Fields;
use super::{
    FieldProblems, Notice, PageProblem, PageShell, SignedForm, SignedIn, done, form_page, page,
    text,
};
use crate::api::paging::PageParams;
use crate::api::parts::{Body, InPath, Params};
use crate::api::tokens::{self, NewTokenBody, TokenView};
use crate::api::{ConsoleState, Role};

/// The tokens of a page.
const ROWS: u16 = 50;

#[derive(Template)]
#[template(path = "tokens.html")]
struct TokensPage {
    shell: PageShell,
    tokens: Vec<TokenView>,
    next: Option<String>,
    is_admin: bool,
    fields: Fields,
    problems: FieldProblems,
}

async fn show(
    state: ConsoleState,
    signed_in: &SignedIn,
    cursor: Option<String>,
    fields: Fields,
    problems: FieldProblems,
) -> Result<Response, PageProblem> {
    let caller = signed_in.api(Method::GET, "/api/v1/tokens")?;
    let place = PageParams {
        cursor,
        limit: Some(ROWS),
    };
    let found = tokens::list(State(state), caller, Params(place)).await?.0;
    let failed = !problems.is_empty();
    form_page(
        &TokensPage {
            shell: signed_in.shell("Tokens"),
            tokens: found.items,
            next: found.next,
            is_admin: signed_in.role() == Role::Admin,
            fields,
            problems,
        },
        failed,
    )
}

/// One's own tokens; an admin's are everybody's.
pub async fn list(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    RawQuery(query): RawQuery,
) -> Result<Response, PageProblem> {
    let asked = Fields::parse(query.unwrap_or_default().as_bytes());
    let cursor = asked.given("cursor");
    show(
        state,
        &signed_in,
        cursor,
        Fields::once()?,
        FieldProblems::default(),
    )
    .await
}

/// Makes a token and shows it, this once.
pub async fn create(
    State(state): State<ConsoleState>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let SignedForm { signed_in, fields } = sent;
    let caller = signed_in.api(Method::POST, "/api/v1/tokens")?;
    let new = NewTokenBody {
        name: fields.get("name").to_owned(),
        person: fields.given("person"),
        expires_at: fields
            .given("expires_at")
            .map(|typed| text::from_local(&typed)),
    };
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_str(fields.get("once")) {
        headers.insert("idempotency-key", value);
    }
    match tokens::create(State(state.clone()), caller, headers, Body(new)).await {
        Ok(made) => {
            let value = made.body().get("value").and_then(Value::as_str);
            let until = made.body().pointer("/token/expires_at");
            page(&ShownOnce {
                shell: signed_in.shell("The token is made"),
                crumb: ("Tokens".to_owned(), "/tokens".to_owned()),
                value: value.map(str::to_owned),
                is_path: false,
                text: "Programs send it to the API: Authorization: Bearer, and the token."
                    .to_owned(),
                until: until.and_then(Value::as_str).map(str::to_owned),
            })
        }
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            show(state, &signed_in, None, fields, problems).await
        }
    }
}

/// Asks whether a token is to be revoked.
pub async fn confirm_revoke(
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Response, PageProblem> {
    signed_in.api(Method::DELETE, "/api/v1/tokens/{id}")?;
    page(&Confirm {
        shell: signed_in.shell("Revoke the token?"),
        crumb: ("Tokens".to_owned(), "/tokens".to_owned()),
        text: "It is refused from the next request on, and cannot be brought back.".to_owned(),
        action: format!("/tokens/{id}/revoke"),
        hidden: Vec::new(),
        button: "Revoke token",
        back: "/tokens".to_owned(),
    })
}

/// Revokes a token.
pub async fn revoke(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let caller = sent.signed_in.api(Method::DELETE, "/api/v1/tokens/{id}")?;
    tokens::remove(State(state), caller, InPath(id)).await?;
    Ok(done("/tokens", Notice::Removed))
}
