//! Lines of an Envoy that are void: neither counted nor charged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::in_transaction;
use crate::intake::{LedgerBatch, void};
use crate::store::voids::{self, VoidRange};
use crate::timestamp;
use crate::timestamp::moment;

/// A time of an Envoy.
#[derive(Debug, Deserialize, ToSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VoidTime {
    /// Requests that began from this moment on, as RFC 3339 or a day.
    #[schema(max_length = 64)]
    from: String,
    /// Before this moment.
    #[schema(max_length = 64)]
    to: String,
}

/// Lines that would be void.
#[derive(Debug, Serialize, ToSchema)]
pub struct VoidableView {
    /// The number of lines.
    lines: u64,
    /// The sums of their charges, exact, by currency.
    charges: BTreeMap<String, String>,
}

/// A time of which the lines of an Envoy are void.
#[derive(Debug, Serialize, ToSchema)]
pub struct VoidView {
    /// Requests that began from this moment on.
    from: String,
    /// Before this moment.
    to: String,
    /// The time at which the lines were made void, as RFC 3339.
    begun_at: String,
    /// Lines that had been counted and are no more.
    lines: i64,
    /// The time at which all lines had been subtracted, as RFC 3339; absent while it is going on.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
}

fn view(range: VoidRange) -> VoidView {
    VoidView {
        from: moment(range.since),
        to: moment(range.until),
        begun_at: moment(range.begun_at),
        lines: range.lines,
        ended_at: range.ended_at.map(moment),
    }
}

impl VoidTime {
    fn microseconds(&self) -> Result<(i64, i64), ApiProblem> {
        let read = |path: &str, text: &str| {
            let time = timestamp::parse_or_day(text);
            let time = time.map_err(|why| ApiProblem::invalid(path, why))?;
            Ok::<_, ApiProblem>(timestamp::microseconds(time))
        };
        let (from, to) = (read("from", &self.from)?, read("to", &self.to)?);
        if from >= to {
            return Err(ApiProblem::invalid("to", "must be after from"));
        }
        Ok((from, to))
    }
}

/// Refuses what no Envoy is called.
fn check_envoy(id: &str) -> Result<(), ApiProblem> {
    let batch = LedgerBatch::new(id, "file", 0, &[], false);
    batch.map(drop).map_err(|_| ApiProblem::not_found())
}

/// The times of which an Envoy's lines are void, in their order.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    page: PageParams,
) -> Result<ItemPage<VoidView>, ApiProblem> {
    caller.must(rights::SEE_ENVOYS)?;
    check_envoy(id)?;
    let limit = page.limit()?;
    let after = page.after()?.unwrap_or((i64::MIN, i64::MIN));
    let mut transaction = state.store.read().await?;
    let found = voids::list(&mut transaction, id, after, limit.to_fetch()).await?;
    transaction.rollback().await;
    Ok(limit.page(found, |range| (range.since, range.until), view))
}

/// Counts the lines of an Envoy that a void of this time would take away, as far as lines are kept.
pub async fn preview(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    time: VoidTime,
) -> Result<VoidableView, ApiProblem> {
    caller.must(rights::SEE_ENVOYS)?;
    check_envoy(id)?;
    let counted = void::count(&state.store, id, time.microseconds()?).await?;
    let charges = counted.charges.into_iter();
    Ok(VoidableView {
        lines: counted.lines,
        charges: charges
            .map(|(currency, sum)| (currency, sum.text()))
            .collect(),
    })
}

/// Makes the lines of an Envoy void whose requests began in this time: those that were counted are taken from all sums soon after
/// the response, and those that come are kept aside. 409 while the data of a person is erased.
pub async fn begin(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
    time: VoidTime,
) -> Result<VoidView, ApiProblem> {
    caller.must(rights::CHANGE_ENVOYS)?;
    check_envoy(id)?;
    let (time, now, actor) = (time.microseconds()?, state.now(), caller.actor());
    let begun = in_transaction!(state.store, transaction => {
        void::begin(transaction, id, time, &actor, now).await
    })?;
    let range = begun.ok_or_else(|| ApiProblem::conflict(void::ERASURE))?;
    let (store, reporter, going_on) = (state.store.clone(), state.reporter.clone(), range.clone());
    // Whoever is broken off here is followed by the next that looks after the database.
    tokio::spawn(async move {
        if let Err(error) = void::run(&store, &going_on).await {
            (reporter.0)(&format!("lines become void later: {error}"));
        }
    });
    Ok(view(range))
}
