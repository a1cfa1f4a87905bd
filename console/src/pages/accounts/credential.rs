//! The form of a credential, which is never filled in.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::Method;
use zeroize::Zeroizing;

use super::TEST;
use super::in_force::{self, origin};
use crate::api::ConsoleState;
use crate::api::account_test::{self, AccountTestBody};
use crate::api::credentials::{self, CredentialView, NewCredentialBody};
use crate::api::parts::{Body, InPath};
use crate::pages::confirm::Confirm;
use crate::pages::{
    FieldProblems, Notice, PageProblem, PageShell, SignedForm, SignedIn, done, form_page, page,
};

#[derive(Template)]
#[template(path = "credential.html")]
struct CredentialPage {
    shell: PageShell,
    path: String,
    known: Vec<CredentialView>,
    destinations: Vec<String>,
    problems: FieldProblems,
}

async fn form(
    state: ConsoleState,
    signed_in: &SignedIn,
    name: &str,
    problems: FieldProblems,
) -> Result<Response, PageProblem> {
    signed_in.api(Method::PUT, "/api/v1/credentials/{name}")?;
    let kept = credentials::list(State(state.clone())).await?.0.items;
    let groups = in_force::groups(&state).await?;
    let accounts = groups.iter().flat_map(|(_, accounts)| accounts);
    let mut destinations: Vec<String> = accounts
        .filter(|account| account.credential == name)
        .map(|account| origin(&account.url).to_owned())
        .collect();
    destinations.sort();
    destinations.dedup();
    let failed = !problems.is_empty();
    form_page(
        &CredentialPage {
            shell: signed_in.shell(format!("Credential {name}")),
            path: format!("/accounts/credentials/{name}"),
            known: kept.into_iter().filter(|one| one.name == name).collect(),
            destinations,
            problems,
        },
        failed,
    )
}

/// The form of a credential. It is never filled in.
pub async fn credential(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    Path(name): Path<String>,
) -> Result<Response, PageProblem> {
    form(state, &signed_in, &name, FieldProblems::default()).await
}

/// Tests a credential that was typed at every account in force that names it. What is wrong is at the field.
async fn try_out(
    state: &ConsoleState,
    signed_in: &SignedIn,
    name: &str,
    value: &Zeroizing<String>,
) -> Result<FieldProblems, PageProblem> {
    let caller = signed_in.api(Method::POST, TEST)?;
    let mut problems = FieldProblems::default();
    for (group, accounts) in in_force::groups(state).await? {
        for account in accounts.iter().filter(|one| one.credential == name) {
            let body = AccountTestBody {
                value: Some(value.to_string()),
            };
            let of = (group.clone(), account.id.clone());
            let tested =
                account_test::test(State(state.clone()), caller.clone(), InPath(of), Body(body));
            match tested.await {
                Ok(view) if view.0.works => {}
                Ok(view) => problems.push("value", &format!("{}: {}", account.id, view.0.text)),
                // What was typed is none, at whichever account.
                Err(problem) => return FieldProblems::of(problem),
            }
        }
    }
    Ok(problems)
}

/// Keeps a credential in the place of what had its name; after a test of it, if that is wanted.
pub async fn put(
    State(state): State<ConsoleState>,
    Path(name): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let caller = sent
        .signed_in
        .api(Method::PUT, "/api/v1/credentials/{name}")?;
    let value = Zeroizing::new(sent.fields.get("value").to_owned());
    if sent.fields.is_set("test") {
        let problems = try_out(&state, &sent.signed_in, &name, &value).await?;
        if !problems.is_empty() {
            return form(state, &sent.signed_in, &name, problems).await;
        }
    }
    let new = NewCredentialBody {
        value: value.to_string(),
        destinations: None,
    };
    let kept = credentials::put(
        State(state.clone()),
        caller,
        InPath(name.clone()),
        Body(new),
    );
    match kept.await {
        Ok(_) => Ok(done("/accounts", Notice::Saved)),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            form(state, &sent.signed_in, &name, problems).await
        }
    }
}

/// Asks whether a credential is to be removed.
pub async fn confirm_remove(
    signed_in: SignedIn,
    Path(name): Path<String>,
) -> Result<Response, PageProblem> {
    signed_in.api(Method::DELETE, "/api/v1/credentials/{name}")?;
    page(&Confirm {
        shell: signed_in.shell(format!("Remove the credential {name}?")),
        crumb: ("Accounts".to_owned(), "/accounts".to_owned()),
        text: "Its accounts serve nothing from then on, as soon as the agents know.".to_owned(),
        action: format!("/accounts/credentials/{name}/remove"),
        hidden: Vec::new(),
        button: "Remove credential",
        back: "/accounts".to_owned(),
    })
}

/// Removes a credential.
pub async fn remove(
    State(state): State<ConsoleState>,
    Path(name): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let caller = sent
        .signed_in
        .api(Method::DELETE, "/api/v1/credentials/{name}")?;
    credentials::remove(State(state), caller, InPath(name)).await?;
    Ok(done("/accounts", Notice::Removed))
}
