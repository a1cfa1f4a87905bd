//! Times to the first byte of responses, and outcomes of attempts at upstream accounts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use super::usage::hour;
use crate::store::hour_counts::{self, CountColumn, CountQuery, Counted};

/// The counts that a list is made of. With more, the time is too long for such periods.
const MOST: i64 = 20_000;

/// The length of a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CountPeriod {
    /// All time that is asked for is one.
    #[default]
    All,
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A month.
    Month,
}

impl CountPeriod {
    /// Its name, as the API has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    /// The letters of an hour that make a period.
    pub(crate) fn letters(self) -> u8 {
        match self {
            Self::All => 0,
            Self::Hour => 13,
            Self::Day => 10,
            Self::Month => 7,
        }
    }
}

/// The grouping and filters of a query for counts.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub struct CountParams {
    /// For each hour, day or month (UTC, when requests began); or of all time.
    #[param(inline)]
    pub(crate) period: CountPeriod,
    /// The other column to group by: `account`; also `model` for first bytes, and `source` for attempts.
    #[param(pattern = "^(model|account|source)?$")]
    pub(crate) by: String,
    /// From this hour on, in UTC: `2026-11-24T17`, or a day.
    pub(crate) since: Option<String>,
    /// Before this hour.
    pub(crate) until: Option<String>,
    /// Of this upstream account only.
    pub(crate) account: Option<String>,
}

/// The times to the first byte of responses with status 2xx: from the request's head to the first byte of the body.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct FirstBytesView {
    /// The period; empty for all time.
    pub(crate) period: String,
    /// The model or account; empty where it is not asked for, or there is none.
    pub(crate) name: String,
    /// The number of requests.
    pub(crate) requests: i64,
    /// The number of requests by the bound, in milliseconds, within which the response began; each is counted at its narrowest bound.
    pub(crate) within_ms: BTreeMap<i64, i64>,
    /// The bound within which half of them began.
    pub(crate) half_within_ms: i64,
    /// The bound within which 95 of 100 began.
    pub(crate) p95_within_ms: i64,
}

/// A list that is whole.
#[derive(Debug, Serialize, ToSchema)]
pub struct FirstBytesList {
    /// The counts, by period and name.
    pub(crate) items: Vec<FirstBytesView>,
}

/// The outcomes of attempts.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AttemptsView {
    /// The period; empty for all time.
    pub(crate) period: String,
    /// The account or source; empty where it is not asked for.
    pub(crate) name: String,
    /// The source of an account; only where accounts are asked for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) source: String,
    /// All attempts.
    pub(crate) attempts: i64,
    /// Those that failed.
    pub(crate) failed: i64,
    /// The number of attempts by outcome: `answered`, `client_left`, or the kind of the failure.
    pub(crate) ended: BTreeMap<String, i64>,
}

/// A list that is whole.
#[derive(Debug, Serialize, ToSchema)]
pub struct AttemptsList {
    /// The counts, by period and name.
    pub(crate) items: Vec<AttemptsView>,
}

/// Rows with the same period, name and source, together.
fn gathered<K: Ord>(rows: Vec<Counted<K>>) -> BTreeMap<[String; 3], BTreeMap<K, i64>> {
    let mut all: BTreeMap<[String; 3], BTreeMap<K, i64>> = BTreeMap::new();
    for (period, name, source, kind, count) in rows {
        let counts = all.entry([period, name, source]).or_default();
        counts.insert(kind, count);
    }
    all
}

fn sum<'a>(counts: impl Iterator<Item = &'a i64>) -> i64 {
    counts.fold(0, |sum, count| sum.saturating_add(*count))
}

/// The narrowest bound within which so many of 100 are.
fn within(counts: &BTreeMap<i64, i64>, percent: i64) -> i64 {
    let all = sum(counts.values());
    let mut so_far = 0_i64;
    for (bound, count) in counts {
        so_far = so_far.saturating_add(*count);
        if so_far.saturating_mul(100) >= all.saturating_mul(percent) {
            return *bound;
        }
    }
    0
}

/// Parses the column that the counts are grouped by; `None` if it is empty.
fn column(by: &str, known: [CountColumn; 2]) -> Result<Option<CountColumn>, ApiProblem> {
    if by.is_empty() {
        return Ok(None);
    }
    let found = known.into_iter().find(|column| column.name() == by);
    found.map(Some).ok_or_else(|| {
        let [first, second] = known.map(CountColumn::name);
        ApiProblem::bad(format!("by must be {first} or {second}"))
    })
}

/// A query, with one row more than a list may be made of.
fn query<'a>(
    asked: &'a CountParams,
    by: Option<CountColumn>,
    since: &'a Option<String>,
    until: &'a Option<String>,
) -> Result<CountQuery<'a>, ApiProblem> {
    if asked
        .account
        .as_ref()
        .is_some_and(|name| name.contains('\0'))
    {
        return Err(ApiProblem::bad(text!("no name has a zero byte")));
    }
    Ok(CountQuery {
        period: asked.period.letters(),
        by,
        since: since.as_deref(),
        until: until.as_deref(),
        account: asked.account.as_deref(),
        limit: MOST.saturating_add(1),
    })
}

fn not_too_many<T>(rows: &[T]) -> Result<(), ApiProblem> {
    if i64::try_from(rows.len()).is_ok_and(|count| count <= MOST) {
        return Ok(());
    }
    Err(ApiProblem::bad(
        "these are more than 20,000 counts: ask for a shorter time, or for longer periods",
    ))
}

/// Times to the first byte of responses.
pub async fn first_bytes(
    state: &ConsoleState,
    caller: &Caller,
    asked: CountParams,
) -> Result<FirstBytesList, ApiProblem> {
    caller.must(rights::SEE_COUNTS)?;
    let by = column(&asked.by, [CountColumn::Model, CountColumn::Account])?;
    let (since, until) = (
        hour("since", asked.since.clone())?,
        hour("until", asked.until.clone())?,
    );
    let query = query(&asked, by, &since, &until)?;
    let mut transaction = state.store.read().await?;
    let rows = hour_counts::first_bytes(&mut transaction, &query).await?;
    transaction.rollback().await;
    not_too_many(&rows)?;
    let items = gathered(rows).into_iter();
    let items = items.map(|([period, name, _], within_ms)| FirstBytesView {
        period,
        name,
        requests: sum(within_ms.values()),
        half_within_ms: within(&within_ms, 50),
        p95_within_ms: within(&within_ms, 95),
        within_ms,
    });
    Ok(FirstBytesList {
        items: items.collect(),
    })
}

/// Whether an attempt that ended so has failed.
pub(crate) fn is_failure(end: &str) -> bool {
    end != "answered" && end != "client_left"
}

/// Outcomes of attempts at upstream accounts.
pub async fn attempts(
    state: &ConsoleState,
    caller: &Caller,
    asked: CountParams,
) -> Result<AttemptsList, ApiProblem> {
    caller.must(rights::SEE_COUNTS)?;
    let by = column(&asked.by, [CountColumn::Source, CountColumn::Account])?;
    let (since, until) = (
        hour("since", asked.since.clone())?,
        hour("until", asked.until.clone())?,
    );
    let query = query(&asked, by, &since, &until)?;
    let mut transaction = state.store.read().await?;
    let rows = hour_counts::attempts(&mut transaction, &query).await?;
    transaction.rollback().await;
    not_too_many(&rows)?;
    let items = gathered(rows).into_iter();
    let items = items.map(|([period, name, source], ended)| {
        let failed = ended.iter().filter(|(end, _)| is_failure(end));
        AttemptsView {
            period,
            name,
            source,
            attempts: sum(ended.values()),
            failed: sum(failed.map(|(_, count)| count)),
            ended,
        }
    });
    Ok(AttemptsList {
        items: items.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_within_which_requests_began() {
        for (case, counts, half, most) in [
            ("none", &[][..], 0, 0),
            ("one", &[(500, 1)], 500, 500),
            ("half at once", &[(50, 1), (1_000, 1)], 50, 1_000),
            ("a few late", &[(50, 95), (1_000, 5)], 50, 50),
            ("a few more", &[(50, 94), (1_000, 6)], 50, 1_000),
        ] {
            let counts: BTreeMap<i64, i64> = counts.iter().copied().collect();
            assert_eq!(
                (within(&counts, 50), within(&counts, 95)),
                (half, most),
                "{case}"
            );
        }
    }
}
