//! Upstream accounts that have no credential, as far as is known here, or whose vendor refuses it.

use std::collections::BTreeSet;

use std::borrow::Cow;

use trilane::limits::Window;

use super::attention::Need;
use crate::cases::account_refusals::{self, AccountRefusalView};
use crate::cases::account_tests;
use crate::cases::credentials;
use crate::cases::hour_counts::{self, CountParams};
use crate::cases::{Caller, ConsoleState};
use crate::language;
use crate::pages::PageProblem;
use crate::pages::accounts;
use crate::pages::text::{in_path, utc};

/// The accounts that are named.
const NAMED: usize = 3;

/// Accounts with the same trouble: each with where it is mended.
#[derive(Default)]
struct Troubled(Vec<(String, String)>);

impl Troubled {
    fn push(&mut self, group: &str, account: &str, path: &str) {
        self.0.push((format!("{group}/{account}"), path.to_owned()));
    }

    /// One line of all of them: "Accounts a/1 and 3 others" and what is said of them.
    fn need(
        &self,
        kind: &'static str,
        said: impl FnOnce(&str) -> String,
        link: Cow<'static, str>,
    ) -> Option<Need> {
        let named: Vec<&str> = self.0.iter().take(NAMED).map(|of| of.0.as_str()).collect();
        let others = self.0.len().saturating_sub(NAMED);
        let subject = match (named.as_slice(), others) {
            ([], _) => return None,
            ([one], _) => t!("Account {account}", account = one),
            ([.., last], 0) => {
                let before = named.get(..named.len().saturating_sub(1))?;
                t!(
                    "Accounts {accounts} and {last}",
                    accounts = language::list(before),
                    last = last
                )
            }
            _ => t!(
                "Accounts {accounts} and {count} more",
                accounts = language::list(&named),
                count = others
            ),
        };
        let path = match self.0.as_slice() {
            [(_, path)] => path.clone(),
            _ => "/accounts".to_owned(),
        };
        Some(Need {
            kind,
            text: said(&subject),
            path,
            link,
        })
    }
}

/// Lists the problems of the accounts in force that need attention.
///
/// # Errors
/// Those of the use case.
pub async fn read(state: &ConsoleState, caller: &Caller) -> Result<Vec<Need>, PageProblem> {
    let groups = accounts::groups(state, caller).await?;
    if groups.is_empty() {
        return Ok(Vec::new());
    }
    let kept = credentials::list(state, caller).await?.items;
    let tests = account_tests::list(state, caller).await?.items;
    let answering = answering(state, caller).await?;
    let (mut without, mut unreadable, mut refused, mut failing) = (
        Troubled::default(),
        Troubled::default(),
        Troubled::default(),
        Troubled::default(),
    );
    for of_group in &groups {
        let group = &of_group.id;
        for account in of_group
            .accounts
            .iter()
            .filter(|of| !of.credential.is_empty())
        {
            let path = format!("/accounts/credentials/{}", in_path(&account.credential));
            let known = accounts::credential_state(&kept, &account.credential, &account.url);
            match known.0 {
                "good" => {}
                "bad" => unreadable.push(group, &account.id, &path),
                // What answers has a credential: in a file at its gateway. Where none can be kept here, all have.
                _ if state.sealing_keys.is_some()
                    && !answering.contains(&(group.clone(), account.id.clone())) =>
                {
                    without.push(group, &account.id, &path);
                }
                _ => {}
            }
            let mut of_account = tests.iter();
            let latest = of_account.find(|test| accounts::is_of(test, group, account, &kept));
            match latest.map(|test| test.outcome.as_str()) {
                Some("credential_refused") => refused.push(group, &account.id, &path),
                None | Some("works" | "unreadable" | "no_credential") => {}
                Some(_) => failing.push(group, &account.id, "/accounts"),
            }
        }
    }
    let refusing = account_refusals::list(state, caller).await?.items;
    let refusing = refusing.iter().filter_map(|of| {
        let in_force = groups.iter().filter(|group| group.id == of.group);
        let mut accounts = in_force.flat_map(|group| &group.accounts);
        let account = accounts.find(|account| account.id == of.account)?;
        Some(refused_by_vendor(of, &account.credential))
    });
    let mut needs: Vec<Need> = refusing.collect();
    let others = [
        unreadable.need(
            "bad",
            |of| t!("{accounts}: the key that sealed the credential is lost. Give it again.", accounts = of),
            t!("Give it again"),
        ),
        refused.need(
            "bad",
            |of| t!("{accounts}: the vendor refused the credential when it was last tested.", accounts = of),
            t!("Rotate"),
        ),
        failing.need(
            "warn",
            |of| t!("{accounts}: the last test failed.", accounts = of),
            t!("Accounts"),
        ),
        without.need(
            "warn",
            |of| {
                t!(
                    "{accounts}: no credential is kept here, and nothing was answered since yesterday.",
                    accounts = of
                )
            },
            t!("Add credentials"),
        ),
    ];
    needs.extend(others.into_iter().flatten());
    Ok(needs)
}

/// The need of an account that its vendor refuses.
fn refused_by_vendor(of: &AccountRefusalView, credential: &str) -> Need {
    let since = utc(&of.since);
    let (path, link) = if credential.is_empty() {
        ("/accounts".to_owned(), t!("Accounts"))
    } else {
        let path = format!("/accounts/credentials/{}", in_path(credential));
        (path, t!("Its credential"))
    };
    Need {
        kind: "bad",
        text: t!(
            "Account {account}: its vendor has refused it since {since}: {words}.",
            account = format!("{}/{}", of.group, of.account),
            since = since,
            words = of.words()
        ),
        path,
        link,
    }
}

/// The groups and accounts that have answered since yesterday.
async fn answering(
    state: &ConsoleState,
    caller: &Caller,
) -> Result<BTreeSet<(String, String)>, PageProblem> {
    let yesterday = state.period(Window::Day).plus(-1);
    let asked = CountParams {
        by: "account".to_owned(),
        since: Some(yesterday.to_string()),
        ..CountParams::default()
    };
    let found = hour_counts::attempts(state, caller, asked).await?;
    let answered = found
        .items
        .into_iter()
        .filter(|of| of.ended.contains_key("answered"));
    Ok(answered.map(|of| (of.source, of.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_are_one_line() {
        for (count, want, path) in [
            (1, "Account g/a0", "/p0"),
            (2, "Accounts g/a0 and g/a1", "/accounts"),
            (3, "Accounts g/a0, g/a1 and g/a2", "/accounts"),
            (7, "Accounts g/a0, g/a1, g/a2 and 4 more", "/accounts"),
        ] {
            let mut all = Troubled::default();
            for number in 0..count {
                all.push("g", &format!("a{number}"), &format!("/p{number}"));
            }
            let need = all.need("bad", str::to_owned, "x".into()).expect("a need");
            assert_eq!((need.text.as_str(), need.path.as_str()), (want, path));
        }
        assert!(
            Troubled::default()
                .need("bad", str::to_owned, "x".into())
                .is_none()
        );
    }
}
