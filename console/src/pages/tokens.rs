//! Tokens of the API: made, shown once, revoked.

use askama::Template;
use axum::extract::Path;
use trilane::limits::SubjectKind;

use super::confirm::{Confirm, ShownOnce};
use super::form::Fields;
use super::{
    FieldProblems, Notice, PageResult, PageShell, SignedForm, SignedIn, Visit, done, form_page,
    page, text,
};
use crate::cases::names::{Name, WantedNames};
use crate::cases::paging::PageParams;
use crate::cases::rights;
use crate::cases::tokens::{self, NewTokenBody, TokenListParams, TokenView};
use crate::cases::{ConsoleState, Role, Scope};

/// The tokens of a page.
const ROWS: u16 = 50;

#[derive(Template)]
#[template(path = "tokens.html")]
struct TokensPage {
    shell: PageShell,
    tokens: Vec<(TokenView, Name)>,
    next: Option<String>,
    is_admin: bool,
    /// All scopes, each with whether it is chosen.
    scopes: Vec<(String, bool)>,
    fields: Fields,
    problems: FieldProblems,
}

async fn show(
    state: &ConsoleState,
    signed_in: &SignedIn,
    cursor: Option<String>,
    fields: Fields,
    problems: FieldProblems,
) -> PageResult {
    let place = PageParams::at(cursor, ROWS);
    let asked = TokenListParams::default();
    let found = tokens::list(state, &signed_in.caller, asked, place).await?;
    let failed = !problems.is_empty();
    let mut wanted = WantedNames::default();
    wanted.all(
        SubjectKind::Owner,
        found.items.iter().map(|of| of.person.as_str()),
    );
    let names = wanted.find(state, &signed_in.caller).await?;
    let tokens = found.items.into_iter().map(|of| {
        let person = names.owner(&of.person);
        (of, person)
    });
    let scopes = Scope::all().into_iter().map(|scope| {
        let scope = scope.to_string();
        let is_chosen = fields.all("scopes").any(|chosen| chosen == scope);
        (scope, is_chosen)
    });
    let scopes = scopes.collect();
    form_page(
        &TokensPage {
            shell: signed_in.shell(t!("API tokens")),
            tokens: tokens.collect(),
            next: found.next,
            is_admin: signed_in.caller.role == Role::Admin,
            scopes,
            fields,
            problems,
        },
        failed,
    )
}

/// One's own tokens; an admin's are everybody's.
pub async fn list(Visit { state, signed_in }: Visit, asked: Fields) -> PageResult {
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
pub async fn create(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let scopes: Vec<String> = fields.all("scopes").map(str::to_owned).collect();
    let new = NewTokenBody {
        name: fields.get("name").to_owned(),
        person: fields.given("person"),
        expires_at: fields
            .given("expires_at")
            .map(|typed| text::from_local(&typed)),
        scopes: (!scopes.is_empty()).then_some(scopes),
    };
    match tokens::create(&state, &signed_in.caller, Some(fields.get("once")), new).await {
        Ok(made) => page(&ShownOnce {
            shell: signed_in.shell(t!("The token is made")),
            crumb: (t!("API tokens").into_owned(), "/tokens".to_owned()),
            value: made.body.value,
            is_path: false,
            text: t!("Programs send it to the API: Authorization: Bearer, and the token.")
                .into_owned(),
            until: made.body.token.expires_at,
        }),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            show(&state, &signed_in, None, fields, problems).await
        }
    }
}

/// Asks whether a token is to be revoked.
pub async fn confirm_revoke(signed_in: SignedIn, Path(id): Path<String>) -> PageResult {
    signed_in.caller.must(rights::CHANGE_TOKENS)?;
    page(&Confirm {
        shell: signed_in.shell(t!("Revoke the token?")),
        crumb: (t!("API tokens").into_owned(), "/tokens".to_owned()),
        text: t!("It is refused from the next request on, and cannot be brought back.")
            .into_owned(),
        action: format!("/tokens/{id}/revoke"),
        hidden: Vec::new(),
        button: text!("Revoke token"),
        back: "/tokens".to_owned(),
    })
}

/// Revokes a token.
pub async fn revoke(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    tokens::remove(&sent.state, &sent.signed_in.caller, &id).await?;
    Ok(done("/tokens", Notice::Removed))
}
