//! The form of a credential, which is never filled in.

use askama::Template;
use axum::extract::Path;
use trilane::limits::SubjectKind;
use zeroize::Zeroizing;

use super::in_force;
use crate::cases::ConsoleState;
use crate::cases::account_test::{self, AccountTestBody};
use crate::cases::credentials::{self, CredentialView, NewCredentialBody};
use crate::cases::names::{Name, WantedNames};
use crate::cases::rights;
use crate::pages::confirm::Confirm;
use crate::pages::form::Fields;
use crate::pages::text::in_path;
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
    /// Whether an account in force has it, which it can be tested at.
    is_in_force: bool,
    /// The draft whose accounts it is for, too; empty where it is none.
    draft: String,
    back: String,
    problems: FieldProblems,
}

async fn form(
    state: &ConsoleState,
    signed_in: &SignedIn,
    (name, draft): (&str, &str),
    problems: FieldProblems,
) -> PageResult {
    signed_in.caller.must(rights::CHANGE_CREDENTIALS)?;
    let wanted = draft_of(draft);
    let all = credentials::destinations(state, &signed_in.caller, name, wanted).await?;
    let mut destinations: Vec<String> = all.into_iter().map(|of| of.url).collect();
    destinations.dedup();
    let kept = credentials::list(state, &signed_in.caller).await?.items;
    let groups = in_force::groups(state, &signed_in.caller).await?;
    let mut accounts = groups.iter().flat_map(|group| &group.accounts);
    let is_in_force = accounts.any(|account| account.credential == name);
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
            shell: signed_in.shell(t!("Credential {name}", name = name)),
            path: format!("/accounts/credentials/{name}"),
            known: known.collect(),
            destinations,
            is_in_force,
            back: back(draft),
            draft: draft.to_owned(),
            problems,
        },
        failed,
    )
}

/// The draft that a field names.
fn draft_of(field: &str) -> Option<&str> {
    (!field.is_empty()).then_some(field)
}

/// The path of the page that a form came from.
fn back(draft: &str) -> String {
    match draft_of(draft) {
        Some(draft) => format!("/drafts/{}", in_path(draft)),
        None => "/accounts".to_owned(),
    }
}

/// The form of a credential. It is never filled in.
pub async fn credential(
    Visit { state, signed_in }: Visit,
    Path(name): Path<String>,
    asked: Fields,
) -> PageResult {
    let of = (name.as_str(), asked.get("draft"));
    form(&state, &signed_in, of, FieldProblems::default()).await
}

/// Tests a credential that was typed at every account in force that names it. What is wrong is at the field.
async fn try_out(
    state: &ConsoleState,
    signed_in: &SignedIn,
    name: &str,
    value: &Zeroizing<String>,
) -> Result<FieldProblems, PageProblem> {
    let mut problems = FieldProblems::default();
    for group in in_force::groups(state, &signed_in.caller).await? {
        let accounts = group.accounts.iter();
        for account in accounts.filter(|one| one.credential == name) {
            let body = AccountTestBody {
                value: Some(value.to_string()),
            };
            let tested = account_test::test(state, &signed_in.caller, &group.id, &account.id, body);
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
    let draft = sent.fields.get("draft");
    let of = (name.as_str(), draft);
    if sent.fields.is_set("test") {
        let problems = try_out(&sent.state, &sent.signed_in, &name, &value).await?;
        if !problems.is_empty() {
            return form(&sent.state, &sent.signed_in, of, problems).await;
        }
    }
    let caller = &sent.signed_in.caller;
    let destinations =
        credentials::destinations(&sent.state, caller, &name, draft_of(draft)).await?;
    let new = NewCredentialBody {
        value: value.to_string(),
        destinations: (!destinations.is_empty()).then_some(destinations),
    };
    let kept = credentials::put(&sent.state, &sent.signed_in.caller, &name, new);
    match kept.await {
        Ok(_) => Ok(done(&back(draft), Notice::Saved)),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            form(&sent.state, &sent.signed_in, of, problems).await
        }
    }
}

/// Asks whether a credential is to be removed.
pub async fn confirm_remove(signed_in: SignedIn, Path(name): Path<String>) -> PageResult {
    signed_in.caller.must(rights::CHANGE_CREDENTIALS)?;
    page(&Confirm {
        shell: signed_in.shell(t!("Remove the credential {name}?", name = name)),
        crumb: (t!("Vendors").into_owned(), "/accounts".to_owned()),
        text: t!("Its accounts serve nothing from then on, as soon as the agents know.")
            .into_owned(),
        action: format!("/accounts/credentials/{name}/remove"),
        hidden: Vec::new(),
        button: text!("Remove credential"),
        back: "/accounts".to_owned(),
    })
}

/// Removes a credential.
pub async fn remove(Path(name): Path<String>, sent: SignedForm) -> PageResult {
    credentials::remove(&sent.state, &sent.signed_in.caller, &name).await?;
    Ok(done("/accounts", Notice::Removed))
}
