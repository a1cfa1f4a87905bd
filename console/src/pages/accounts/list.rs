//! The list of accounts, and tests of them.

use std::borrow::Cow;

use askama::Template;
use axum::extract::Path;
use trilane::limits::SubjectKind;

use super::failures::FailureQuery;
use super::in_force::{self, credential_state};
use crate::cases::ConsoleState;
use crate::cases::account_refusals;
use crate::cases::account_test::{self, AccountTestBody, VendorTestView};
use crate::cases::account_tests;
use crate::cases::credentials::{self, CredentialView};
use crate::cases::hour_counts::AttemptsView;
use crate::cases::names::{Name, WantedNames};
use crate::cases::rights;
use crate::pages::chart::Chart;
use crate::pages::documents::AccountShown;
use crate::pages::form::Fields;
use crate::pages::text::{self, in_path, path_with};
use crate::pages::{PageResult, PageShell, SignedForm, SignedIn, Visit, ledger_words, page};

/// A group with its accounts.
struct GroupLines {
    id: String,
    name: String,
    style: &'static str,
    accounts: Vec<AccountLine>,
}

/// An account, in a line.
struct AccountLine {
    account: AccountShown,
    /// The words of the latest refusal by its vendor, and since when, if it has answered none since.
    refused: Option<(String, String)>,
    /// Of its credential.
    state: (&'static str, Cow<'static, str>),
    /// Since when, and by whom.
    set: Option<(String, Name)>,
    /// The outcome of a test that has just run.
    tested: Option<VendorTestView>,
    /// Of the latest test before.
    latest: Option<LatestTest>,
    /// The numbers of failed and of all attempts in the time of the chart.
    failed: String,
    /// The path of the chart of its failed attempts.
    failures: String,
    /// The path that the form of a test is sent to.
    test: String,
}

#[derive(Template)]
#[template(path = "accounts.html")]
struct AccountsPage {
    shell: PageShell,
    groups: Vec<GroupLines>,
    /// `day` or `hour`.
    period: &'static str,
    /// The account whose failures are drawn, if it is one.
    drawn: Option<String>,
    /// None failed: nothing is drawn.
    chart: Option<Chart>,
    /// The credentials that no account uses, each with the person who set it.
    others: Vec<(CredentialView, Name)>,
    may_change: bool,
    may_test: bool,
    /// Whether whoever looks may change accounts in a draft.
    may_edit: bool,
    can_seal: bool,
}

/// The outcome of the latest test.
struct LatestTest {
    works: bool,
    outcome: String,
    at: String,
}

/// The accounts of every source group in force.
pub async fn list(Visit { state, signed_in }: Visit, asked: Fields) -> PageResult {
    let failures = FailureQuery::new(asked.get("period"), asked.given("account"));
    show(&state, &signed_in, failures, None).await
}

/// Tests an account with the credential that is kept here, and shows what came back at it.
pub async fn test(Path((group, account)): Path<(String, String)>, sent: SignedForm) -> PageResult {
    let body = AccountTestBody::default();
    let view =
        account_test::test(&sent.state, &sent.signed_in.caller, &group, &account, body).await?;
    let failures = FailureQuery::new("", None);
    show(
        &sent.state,
        &sent.signed_in,
        failures,
        Some((group, account, view)),
    )
    .await
}

/// The accounts, with what a test of one has said.
async fn show(
    state: &ConsoleState,
    signed_in: &SignedIn,
    failures: FailureQuery,
    tested: Option<(String, String, VendorTestView)>,
) -> PageResult {
    let caller = &signed_in.caller;
    let said = |of: &str, id: &str| {
        let (group, account, view) = tested.as_ref()?;
        (group == of && account == id).then(|| view.clone())
    };
    let kept = credentials::list(state, caller).await?.items;
    let mut wanted = WantedNames::default();
    wanted.all(
        SubjectKind::Owner,
        kept.iter().map(|one| one.set_by.as_str()),
    );
    let names = wanted.find(state, caller).await?;
    let groups = in_force::groups(state, caller).await?;
    let tests = account_tests::list(state, caller).await?.items;
    let attempts = failures.by_account(state, caller).await?;
    let refusals = account_refusals::list(state, caller).await?.items;
    let refused = |group: &str, id: &str| {
        let mut refusals = refusals.iter();
        let of = refusals.find(|of| of.group == group && of.account == id)?;
        Some((of.words(), of.since.clone()))
    };
    let failed = |group: &str, id: &str| {
        let is_of = |of: &&AttemptsView| of.source == group && of.name == id;
        let of = attempts.iter().find(is_of);
        of.map_or_else(
            || "0 / 0".to_owned(),
            |of| {
                format!(
                    "{} / {}",
                    text::number(&of.failed),
                    text::number(&of.attempts)
                )
            },
        )
    };
    let used: Vec<String> = groups
        .iter()
        .flat_map(|group| &group.accounts)
        .map(|account| account.credential.clone())
        .collect();
    let groups = groups.into_iter().map(|group| GroupLines {
        name: group.name,
        style: group.style,
        accounts: group
            .accounts
            .into_iter()
            .map(|account| {
                let mut same = kept.iter().filter(|one| one.name == account.credential);
                AccountLine {
                    refused: refused(&group.id, &account.id),
                    state: if account.credential.is_empty() {
                        ("off", t!("None"))
                    } else {
                        credential_state(&kept, &account.credential, &account.url)
                    },
                    set: same
                        .next()
                        .map(|one| (one.set_at.clone(), names.owner(&one.set_by))),
                    tested: said(&group.id, &account.id),
                    latest: tests
                        .iter()
                        .find(|test| in_force::is_of(test, &group.id, &account, &kept))
                        .map(|test| LatestTest {
                            works: test.outcome == "works",
                            outcome: ledger_words::test(&test.outcome).into_owned(),
                            at: test.at.clone(),
                        }),
                    failed: failed(&group.id, &account.id),
                    failures: path_with(
                        "/accounts",
                        &[("account", &account.id), ("period", failures.period.name())],
                    ),
                    test: format!(
                        "/accounts/{}/{}/test",
                        in_path(&group.id),
                        in_path(&account.id)
                    ),
                    account,
                }
            })
            .collect(),
        id: group.id,
    });
    let groups = groups.collect();
    let others = kept.into_iter().filter(|one| !used.contains(&one.name));
    let others = others.map(|one| {
        let by = names.owner(&one.set_by);
        (one, by)
    });
    page(&AccountsPage {
        shell: signed_in.shell(t!("Vendors")),
        groups,
        period: failures.period.name(),
        chart: failures.chart(state, caller).await?,
        drawn: failures.account,
        others: others.collect(),
        may_change: signed_in.caller.may(rights::CHANGE_CREDENTIALS),
        may_test: signed_in.caller.may(rights::CHANGE_CREDENTIALS),
        may_edit: signed_in.caller.may(rights::CHANGE_DOCUMENTS),
        can_seal: state.sealing_keys.is_some(),
    })
}
