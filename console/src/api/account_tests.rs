//! The outcomes of the latest tests of upstream accounts.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::paging::ItemPage;
use super::problem::ApiProblem;
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
#[utoipa::path(get, operation_id = "list_account_tests", path = "/api/v1/account-tests", tag = "credentials",
    responses((status = 200, body = ItemPage<LatestTestView>)))]
pub async fn list(
    State(state): State<ConsoleState>,
) -> Result<Json<ItemPage<LatestTestView>>, ApiProblem> {
    let mut transaction = state.store.read().await?;
    let all = account_tests::all(&mut transaction).await?;
    transaction.rollback().await;
    let view = |of: account_tests::LatestAccountTest| LatestTestView {
        group: of.group,
        account: of.account,
        at: moment(of.at),
        outcome: of.outcome,
    };
    Ok(Json(ItemPage {
        items: all.into_iter().map(view).collect(),
        next: None,
    }))
}
