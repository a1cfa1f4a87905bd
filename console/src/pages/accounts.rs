//! The upstream accounts in force, and their credentials, of which none is ever shown.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::Method;
use zeroize::Zeroizing;

use super::confirm::Confirm;
use super::documents::{self as document, AccountShown};
use super::text::in_path;
use super::{
    FieldProblems, Notice, PageProblem, PageShell, SignedForm, SignedIn, done, form_page, page,
};
use crate::api::account_test::{self, AccountTestBody, VendorTestView};
use crate::api::credentials::{self, CredentialView, NewCredentialBody};
use crate::api::parts::{Body, InPath};
use crate::api::{ConsoleState, documents};

/// The route of the API that tests an account.
const TEST: &str = "/api/v1/accounts/{group}/{account}/test";

/// A group with its accounts.
struct GroupAccounts {
    id: String,
    accounts: Vec<AccountLine>,
}

/// An account, in a line.
struct AccountLine {
    account: AccountShown,
    /// Of its credential.
    state: (&'static str, &'static str),
    /// Since when, and by whom.
    set: Option<(String, String)>,
    /// What a test of it has just said.
    tested: Option<VendorTestView>,
    /// Where a test of it is sent.
    test: String,
}

#[derive(Template)]
#[template(path = "accounts.html")]
struct AccountsPage {
    shell: PageShell,
    groups: Vec<GroupAccounts>,
    others: Vec<CredentialView>,
    may_change: bool,
    may_test: bool,
    can_seal: bool,
}

#[derive(Template)]
#[template(path = "credential.html")]
struct CredentialPage {
    shell: PageShell,
    path: String,
    known: Vec<CredentialView>,
    destinations: Vec<String>,
    problems: FieldProblems,
}

fn shown(of: &[CredentialView], name: &str, url: &str) -> (&'static str, &'static str) {
    let mut all = of.iter().filter(|one| one.name == name);
    let origin = origin(url);
    let same = all.find(|one| self::origin(&one.destination.url) == origin);
    match same.map(|one| one.state) {
        Some("unreadable") => ("bad", "Cannot be read: give it again"),
        Some(_) => ("good", "Kept here, sealed"),
        None if of.iter().any(|one| one.name == name) => ("warn", "Given for another address"),
        None => ("off", "In a file at the gateway, if at all"),
    }
}

/// Scheme, host and port of an address.
fn origin(url: &str) -> &str {
    let from = url.find("://").map_or(0, |at| at.saturating_add(3));
    let rest = url.get(from..).unwrap_or_default();
    let end = rest
        .find('/')
        .map_or(url.len(), |at| at.saturating_add(from));
    url.get(..end).unwrap_or(url)
}

async fn in_force(state: &ConsoleState) -> Result<Vec<(String, Vec<AccountShown>)>, PageProblem> {
    let current = documents::in_force(state).await?;
    let current = current.and_then(|current| document::parsed(&current.body));
    let groups = current.map(|current| {
        let groups = document::items(&current, "groups").iter();
        let groups = groups.map(|group| {
            let id = document::text_at(group, "id").to_owned();
            (id, document::accounts_of(group))
        });
        groups
            .filter(|(_, accounts)| !accounts.is_empty())
            .collect()
    });
    Ok(groups.unwrap_or_default())
}

/// The accounts of every source group in force.
pub async fn list(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
) -> Result<Response, PageProblem> {
    show(state, &signed_in, None).await
}

/// Tests an account with the credential that is kept here, and shows what came back at it.
pub async fn test(
    State(state): State<ConsoleState>,
    Path((group, account)): Path<(String, String)>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let caller = sent.signed_in.api(Method::POST, TEST)?;
    let of = (group.clone(), account.clone());
    let body = Body(AccountTestBody::default());
    let view = account_test::test(State(state.clone()), caller, InPath(of), body)
        .await?
        .0;
    show(state, &sent.signed_in, Some((group, account, view))).await
}

/// The accounts, with what a test of one has said.
async fn show(
    state: ConsoleState,
    signed_in: &SignedIn,
    tested: Option<(String, String, VendorTestView)>,
) -> Result<Response, PageProblem> {
    signed_in.api(Method::GET, "/api/v1/documents/current")?;
    signed_in.api(Method::GET, "/api/v1/credentials")?;
    let said = |of: &str, id: &str| {
        let (group, account, view) = tested.as_ref()?;
        (group == of && account == id).then(|| view.clone())
    };
    let kept = credentials::list(State(state.clone())).await?.0.items;
    let groups = in_force(&state).await?;
    let used: Vec<String> = groups
        .iter()
        .flat_map(|(_, accounts)| accounts)
        .map(|account| account.credential.clone())
        .collect();
    let groups = groups.into_iter().map(|(id, accounts)| GroupAccounts {
        accounts: accounts
            .into_iter()
            .map(|account| {
                let mut same = kept.iter().filter(|one| one.name == account.credential);
                AccountLine {
                    state: if account.credential.is_empty() {
                        ("off", "None")
                    } else {
                        shown(&kept, &account.credential, &account.url)
                    },
                    set: same
                        .next()
                        .map(|one| (one.set_at.clone(), one.set_by.clone())),
                    tested: said(&id, &account.id),
                    test: format!("/accounts/{}/{}/test", in_path(&id), in_path(&account.id)),
                    account,
                }
            })
            .collect(),
        id,
    });
    let groups = groups.collect();
    let others = kept.into_iter().filter(|one| !used.contains(&one.name));
    page(&AccountsPage {
        shell: signed_in.shell("Accounts"),
        groups,
        others: others.collect(),
        may_change: signed_in.may(&Method::PUT, "/api/v1/credentials/{name}"),
        may_test: signed_in.may(&Method::POST, TEST),
        can_seal: state.sealing_keys.is_some(),
    })
}

async fn form(
    state: ConsoleState,
    signed_in: &SignedIn,
    name: &str,
    problems: FieldProblems,
) -> Result<Response, PageProblem> {
    signed_in.api(Method::PUT, "/api/v1/credentials/{name}")?;
    let kept = credentials::list(State(state.clone())).await?.0.items;
    let groups = in_force(&state).await?;
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
    for (group, accounts) in in_force(state).await? {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_requests_go() {
        for (url, want) in [
            ("https://api.example.com/v1", "https://api.example.com"),
            ("http://h:8080", "http://h:8080"),
            ("https://h/a/b", "https://h"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(origin(url), want, "{url}");
        }
    }
}
