//! Tokens of the API: made, shown once, revoked.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;

use super::confirm::{Confirm, ShownOnce};
use super::form::Fields;
use super::{
    FieldProblems, Notice, PageProblem, PageShell, SignedForm, SignedIn, done, form_page, page,
    text,
};
use crate::cases::paging::PageParams;
use crate::cases::rights;
use crate::cases::tokens::{self, NewTokenBody, TokenView};
use crate::cases::{ConsoleState, Role};

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
    state: &ConsoleState,
    signed_in: &SignedIn,
    cursor: Option<String>,
    fields: Fields,
    problems: FieldProblems,
) -> Result<Response, PageProblem> {
    let place = PageParams::at(cursor, ROWS);
    let found = tokens::list(state, &signed_in.caller, place).await?;
    let failed = !problems.is_empty();
    form_page(
        &TokensPage {
            shell: signed_in.shell("Tokens"),
            tokens: found.items,
            next: found.next,
            is_admin: signed_in.caller.role == Role::Admin,
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
    asked: Fields,
) -> Result<Response, PageProblem> {
    let cursor = asked.given("cursor");
    show(
        &state,
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
    let new = NewTokenBody {
        name: fields.get("name").to_owned(),
        person: fields.given("person"),
        expires_at: fields
            .given("expires_at")
            .map(|typed| text::from_local(&typed)),
    };
    match tokens::create(&state, &signed_in.caller, Some(fields.get("once")), new).await {
        Ok(made) => page(&ShownOnce {
            shell: signed_in.shell("The token is made"),
            crumb: ("Tokens".to_owned(), "/tokens".to_owned()),
            value: made.body.value,
            is_path: false,
            text: "Programs send it to the API: Authorization: Bearer, and the token.".to_owned(),
            until: made.body.token.expires_at,
        }),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            show(&state, &signed_in, None, fields, problems).await
        }
    }
}

/// Asks whether a token is to be revoked.
pub async fn confirm_revoke(
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Response, PageProblem> {
    signed_in.caller.must(rights::USE_TOKENS)?;
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
    tokens::remove(&state, &sent.signed_in.caller, &id).await?;
    Ok(done("/tokens", Notice::Removed))
}
