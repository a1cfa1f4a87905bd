//! The outcomes of the latest tests of upstream accounts.

use serde::Serialize;
use utoipa::ToSchema;

use super::caller::Caller;
use super::paging::ItemPage;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::store::account_tests;
use crate::timestamp::moment;

/// The outcome of the latest test of an account with its stored credential.
#[derive(Debug, Serialize, ToSchema)]
pub struct LatestTestView {
    /// The id of the account's group.
    pub(crate) group: String,
    /// The account's id.
    pub(crate) account: String,
    /// The time of the test, as RFC 3339.
    pub(crate) at: String,
    /// `works`, or what was wrong.
    pub(crate) outcome: String,
}

/// The latest test of each account with the credential that is kept here. Tests of others are not kept.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
) -> Result<ItemPage<LatestTestView>, ApiProblem> {
    caller.must(rights::SEE_CREDENTIALS)?;
    let mut transaction = state.store.read().await?;
    let all = account_tests::all(&mut transaction).await?;
    transaction.rollback().await;
    let view = |of: account_tests::LatestAccountTest| LatestTestView {
        group: of.group,
        account: of.account,
        at: moment(of.at),
        outcome: of.outcome,
    };
    Ok(ItemPage {
        items: all.into_iter().map(view).collect(),
        next: None,
    })
}
