//! The form of a credential, which is never filled in.

use askama::Template;
use axum::extract::Path;
use trilane::limits::SubjectKind;
use zeroize::Zeroizing;

use super::in_force::{self, origin};
use crate::cases::ConsoleState;
use crate::cases::account_test::{self, AccountTestBody};
use crate::cases::credentials::{self, CredentialView, NewCredentialBody};
use crate::cases::names::{Name, WantedNames};
use crate::cases::rights;
use crate::pages::confirm::Confirm;
use crate::pages::{
    FieldProblems, Notice, PageProblem, PageResult, PageShell, SignedForm, SignedIn, Visit, done,
    form_page, page,
};

#[derive(Template)]
#[template(path = "credential.html")]
struct CredentialPage {
    shell: PageShell,
    path: String,
    known: Vec<(CredentialView, Name)>,
    destinations: Vec<String>,
    problems: FieldProblems,
}

async fn form(
    state: &ConsoleState,
    signed_in: &SignedIn,
    name: &str,
    problems: FieldProblems,
) -> PageResult {
    signed_in.caller.must(rights::CHANGE_CREDENTIALS)?;
    let kept = credentials::list(state, &signed_in.caller).await?.items;
    let groups = in_force::groups(state, &signed_in.caller).await?;
    let accounts = groups.iter().flat_map(|(_, accounts)| accounts);
    let mut destinations: Vec<String> = accounts
        .filter(|account| account.credential == name)
        .map(|account| origin(&account.url).to_owned())
        .collect();
    destinations.sort();
    destinations.dedup();
    let mut wanted = WantedNames::default();
    wanted.all(
        SubjectKind::Owner,
        kept.iter().map(|one| one.set_by.as_str()),
    );
    let names = wanted.find(state, &signed_in.caller).await?;
    let known = kept.into_iter().filter(|one| one.name == name);
    let known = known.map(|one| {
        let by = names.owner(&one.set_by);
        (one, by)
    });
    let failed = !problems.is_empty();
    form_page(
        &CredentialPage {
            shell: signed_in.shell(format!("Credential {name}")),
            path: format!("/accounts/credentials/{name}"),
            known: known.collect(),
            destinations,
            problems,
        },
        failed,
    )
}

/// The form of a credential. It is never filled in.
pub async fn credential(Visit { state, signed_in }: Visit, Path(name): Path<String>) -> PageResult {
    form(&state, &signed_in, &name, FieldProblems::default()).await
}

/// Tests a credential that was typed at every account in force that names it. What is wrong is at the field.
async fn try_out(
    state: &ConsoleState,
    signed_in: &SignedIn,
    name: &str,
    value: &Zeroizing<String>,
) -> Result<FieldProblems, PageProblem> {
    let mut problems = FieldProblems::default();
    for (group, accounts) in in_force::groups(state, &signed_in.caller).await? {
        for account in accounts.iter().filter(|one| one.credential == name) {
            let body = AccountTestBody {
                value: Some(value.to_string()),
            };
            let tested = account_test::test(state, &signed_in.caller, &group, &account.id, body);
            match tested.await {
                Ok(view) if view.works => {}
                Ok(view) => problems.push("value", &format!("{}: {}", account.id, view.text)),
                // What was typed is none, at whichever account.
                Err(problem) => return FieldProblems::of(problem),
            }
        }
    }
    Ok(problems)
}

/// Keeps a credential in the place of what had its name; after a test of it, if that is wanted.
pub async fn put(Path(name): Path<String>, sent: SignedForm) -> PageResult {
    sent.signed_in.caller.must(rights::CHANGE_CREDENTIALS)?;
    let value = Zeroizing::new(sent.fields.get("value").to_owned());
    if sent.fields.is_set("test") {
        let problems = try_out(&sent.state, &sent.signed_in, &name, &value).await?;
        if !problems.is_empty() {
            return form(&sent.state, &sent.signed_in, &name, problems).await;
        }
    }
    let new = NewCredentialBody {
        value: value.to_string(),
        destinations: None,
    };
    let kept = credentials::put(&sent.state, &sent.signed_in.caller, &name, new);
    match kept.await {
        Ok(_) => Ok(done("/accounts", Notice::Saved)),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            form(&sent.state, &sent.signed_in, &name, problems).await
        }
    }
}

/// Asks whether a credential is to be removed.
pub async fn confirm_remove(signed_in: SignedIn, Path(name): Path<String>) -> PageResult {
    signed_in.caller.must(rights::CHANGE_CREDENTIALS)?;
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
pub async fn remove(Path(name): Path<String>, sent: SignedForm) -> PageResult {
    credentials::remove(&sent.state, &sent.signed_in.caller, &name).await?;
    Ok(done("/accounts", Notice::Removed))
}
