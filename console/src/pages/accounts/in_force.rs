//! The accounts of the document in force, and what is known of their credentials.

use std::borrow::Cow;

use crate::cases::account_tests::LatestTestView;
use crate::cases::credentials::CredentialView;
use crate::cases::{Caller, ConsoleState, documents};
use crate::pages::PageProblem;
use crate::pages::documents::{self as document, AccountShown};
use crate::vendors::api_style;

/// A group with accounts.
pub struct GroupAccounts {
    /// The id.
    pub id: String,
    /// The name for people; empty for none.
    pub name: String,
    /// The style of its API.
    pub style: &'static str,
    /// Its accounts.
    pub accounts: Vec<AccountShown>,
}

/// Returns the state of a credential that is sent to an address: `good`, `warn`, `bad` or `off`, and its description.
pub fn credential_state(
    of: &[CredentialView],
    name: &str,
    url: &str,
) -> (&'static str, Cow<'static, str>) {
    let mut all = of.iter().filter(|one| one.name == name);
    let origin = origin(url);
    let same = all.find(|one| self::origin(&one.destination.url) == origin);
    match same.map(|one| one.state) {
        Some("unreadable") => ("bad", t!("Cannot be read: give it again")),
        Some(_) => ("good", t!("Kept here, sealed")),
        None if of.iter().any(|one| one.name == name) => ("warn", t!("Given for another address")),
        None => ("off", t!("Not set here; the gateway may have it in a file")),
    }
}

/// Scheme, host and port of an address.
pub(super) fn origin(url: &str) -> &str {
    let from = url.find("://").map_or(0, |at| at.saturating_add(3));
    let rest = url.get(from..).unwrap_or_default();
    let end = rest
        .find('/')
        .map_or(url.len(), |at| at.saturating_add(from));
    url.get(..end).unwrap_or(url)
}

/// The groups in force that have accounts.
///
/// # Errors
/// Those of the use case.
pub async fn groups(
    state: &ConsoleState,
    caller: &Caller,
) -> Result<Vec<GroupAccounts>, PageProblem> {
    let current = documents::in_force(state, caller).await?;
    let current = current.and_then(|current| document::parsed(&current.body));
    let groups = current.map(|current| {
        let groups = document::items(&current, "groups").iter();
        let groups = groups.map(|group| {
            let text = |name| document::text_at(group, name);
            GroupAccounts {
                id: text("id").to_owned(),
                name: text("name").to_owned(),
                style: api_style(text("protocol")),
                accounts: document::accounts_of(group),
            }
        });
        groups.filter(|group| !group.accounts.is_empty()).collect()
    });
    Ok(groups.unwrap_or_default())
}

/// Whether a test is of this account, with the credential that is kept now.
pub fn is_of(
    test: &LatestTestView,
    group: &str,
    account: &AccountShown,
    kept: &[CredentialView],
) -> bool {
    let set_at = kept.iter().filter(|one| one.name == account.credential);
    let set_at = set_at.map(|one| &one.set_at).max();
    test.group == group
        && test.account == account.id
        && set_at.is_some_and(|set_at| *set_at <= test.at)
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
