//! The ranking of usage by charges.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use super::usage::{UsageView, hour, view};
use crate::ledger::UsageColumn;
use crate::store::usage_hours::{self, UsageQuery, UsageSums};
use crate::store::usage_top::{self, TopQuery};

/// The most values that are ranked.
const MOST: u8 = 50;
/// The most rows that are ranked for a page: some tenths of a second.
const SOON: i64 = 300_000;

/// The column and filters of a ranking.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TopParams {
    /// The ranked column: any but times, `status` and `currency`.
    #[serde(default)]
    #[param(inline)]
    pub(crate) by: UsageColumn,
    /// The currency of the charges.
    #[param(max_length = 3, pattern = "^[A-Z]{3}$")]
    pub(crate) currency: String,
    /// From this hour on, by the beginning of requests, in UTC: `2026-11-24T17`, or a day.
    pub(crate) since: Option<String>,
    /// Before this hour.
    pub(crate) until: Option<String>,
    /// The number of ranks; 10 unless it is given.
    #[param(minimum = 1, maximum = 50)]
    pub(crate) limit: Option<u8>,
}

/// A ranking.
#[derive(Debug, Serialize, ToSchema)]
pub struct TopList {
    /// Those with the greatest charges, the greatest first.
    pub(crate) items: Vec<UsageView>,
}

/// Ranks the values of a column by their charges. Members see their own.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    asked: TopParams,
) -> Result<TopList, ApiProblem> {
    let ranked = ranked(state, caller, asked, None).await?;
    Ok(ranked.unwrap_or_else(|| TopList { items: Vec::new() }))
}

/// Ranks the same for a page that must not take long; `None`: there is too much to rank.
pub(crate) async fn soon(
    state: &ConsoleState,
    caller: &Caller,
    asked: TopParams,
) -> Result<Option<TopList>, ApiProblem> {
    ranked(state, caller, asked, Some(SOON)).await
}

/// Ranks, if there are no more rows than these.
async fn ranked(
    state: &ConsoleState,
    caller: &Caller,
    asked: TopParams,
    most: Option<i64>,
) -> Result<Option<TopList>, ApiProblem> {
    caller.must(rights::SEE_USAGE)?;
    let limit = asked.limit.unwrap_or(10);
    if !(1..=MOST).contains(&limit) {
        return Err(ApiProblem::bad("limit must be a number from 1 to 50"));
    }
    let is_currency =
        asked.currency.len() == 3 && asked.currency.bytes().all(|byte| byte.is_ascii_uppercase());
    if !is_currency {
        return Err(ApiProblem::bad(
            "currency must be three capital letters, such as USD",
        ));
    }
    let by = asked.by;
    if !by.is_stored() || by.is_period() || by.is_dimension() || by == UsageColumn::Currency {
        return Err(ApiProblem::bad("by has a name that usage is not ranked by"));
    }
    let since = hour("since", asked.since)?;
    let until = hour("until", asked.until)?;
    let top = TopQuery {
        by: by.clone(),
        since: since.as_deref(),
        until: until.as_deref(),
        owner: caller.only_owner(),
        currency: &asked.currency,
        limit: limit.into(),
    };
    let mut transaction = state.store.read().await?;
    if let Some(most) = most
        && usage_top::has_more_rows(&mut transaction, &top, most).await?
    {
        transaction.rollback().await;
        return Ok(None);
    }
    let values = usage_top::values(&mut transaction, &top).await?;
    if values.is_empty() {
        transaction.rollback().await;
        return Ok(Some(TopList { items: Vec::new() }));
    }
    let query = UsageQuery {
        by: vec![by.clone()],
        since: since.clone(),
        until: until.clone(),
        among: Some(values.clone()),
        owner: caller.only_owner().map(str::to_owned),
        limit: i64::MAX,
        ..UsageQuery::default()
    };
    let sums = usage_hours::sums(&mut transaction, &query).await?;
    transaction.rollback().await;
    let rank = |sums: &UsageSums| {
        values
            .iter()
            .position(|value| sums.values.first() == Some(value))
    };
    let mut sums: Vec<_> = sums
        .into_iter()
        .filter(|sums| sums.currency == asked.currency)
        .collect();
    sums.sort_by_key(rank);
    let items = sums
        .into_iter()
        .map(|sums| view(core::slice::from_ref(&by), sums, caller));
    Ok(Some(TopList {
        items: items.collect(),
    }))
}
