//! The spend feed, which agents read for their gateways.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::problem::ApiProblem;
use super::rights;
use super::role::Role;
use super::state::ConsoleState;
use crate::store::spend_feed::{self, SpendChange, SpentShares};

/// The greatest page, in subjects, and the default one.
const MOST: u32 = 10_000;
const DEFAULT: u32 = 1000;

/// The position of a page of the spend feed.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SpendFeedParams {
    /// The cursor of the previous page; without one, the feed starts from the beginning.
    cursor: Option<String>,
    /// The most subjects.
    #[param(minimum = 1, maximum = 10000)]
    limit: Option<u32>,
    /// The Envoy whose own charges are listed separately: for an agent always its own; an admin may name any.
    envoy: Option<String>,
}

/// A page of the spend feed.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SpendFeedPage {
    /// The cursor of the next page.
    pub cursor: String,
    /// Whether there is another one already.
    pub more: bool,
    /// Whether this is the beginning: what the pages until the last one do not name has neither budget nor spend any more.
    pub anew: bool,
    /// The subjects that have changed.
    pub subjects: Vec<SpendFeedSubject>,
}

/// The budgets and spend of one subject.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SpendFeedSubject {
    /// `key`, `member`, `owner`, `team` or `group`.
    pub kind: String,
    /// The id of the subject.
    pub id: String,
    /// The budget of a member, an owner or a team for each day, a decimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_day: Option<String>,
    /// For each month.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_month: Option<String>,
    /// The amounts spent in the days and months that gateways may be in.
    pub spent: Vec<SpendFeedAmount>,
}

/// The amount spent in a day or month.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SpendFeedAmount {
    /// The day (`2026-11-24`) or month (`2026-11`), in UTC.
    pub period: String,
    /// The currency; empty where lines have none.
    pub currency: String,
    /// The exact amount spent on all Envoys.
    pub total: String,
    /// Of that what processes of this Envoy have in their counters, by their numbers.
    pub own: BTreeMap<String, String>,
}

fn subject(change: SpendChange) -> SpendFeedSubject {
    let amount = |((period, currency), spent): ((String, String), SpentShares)| {
        let own = spent.own.into_iter();
        SpendFeedAmount {
            period,
            currency,
            total: spent.total.text(),
            own: own.map(|(instance, sum)| (instance, sum.text())).collect(),
        }
    };
    SpendFeedSubject {
        kind: change.kind.name().to_owned(),
        id: change.subject,
        per_day: change.budget.per_day,
        per_month: change.budget.per_month,
        spent: change.spent.into_iter().map(amount).collect(),
    }
}

/// The version in a cursor, where it is one of this feed and not past its head.
fn known(cursor: &str, feed: &str, head: i64) -> Option<i64> {
    let (of, version) = cursor.split_once('.')?;
    let version = version.parse().ok()?;
    (of == feed && (0..=head).contains(&version)).then_some(version)
}

/// Lists the budgets and spend of subjects that have changed since a cursor. An unknown cursor starts from the beginning.
pub async fn read(
    state: &ConsoleState,
    caller: &Caller,
    asked: SpendFeedParams,
) -> Result<SpendFeedPage, ApiProblem> {
    caller.must(rights::RUN_ENVOY)?;
    let limit = asked.limit.unwrap_or(DEFAULT);
    if !(1..=MOST).contains(&limit) {
        return Err(ApiProblem::bad("limit must be between 1 and 10000"));
    }
    let envoy = match (caller.role, &asked.envoy) {
        (Role::Agent, Some(other)) if *other != caller.id => {
            return Err(ApiProblem::forbidden("an agent asks for its own Envoy"));
        }
        (Role::Agent, _) => caller.id.clone(),
        (_, envoy) => envoy.clone().unwrap_or_default(),
    };
    if envoy.contains('\0') {
        return Err(ApiProblem::bad("no name has a zero byte"));
    }
    let mut transaction = state.store.read().await?;
    let (feed, head) = spend_feed::head(&mut transaction).await?;
    let from = asked.cursor.as_deref();
    let from = from.and_then(|cursor| known(cursor, &feed, head));
    let today = OffsetDateTime::now_utc().date();
    let (after, to_fetch) = (from.unwrap_or(0), i64::from(limit).saturating_add(1));
    let mut changes = spend_feed::changes(&mut transaction, after, to_fetch, &envoy, today).await?;
    transaction.rollback().await;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = changes.len() > limit;
    changes.truncate(limit);
    let last = changes.last().map_or(after, |change| change.version);
    // All up to the head were seen, where there is no more.
    let next = if more { last } else { head };
    Ok(SpendFeedPage {
        cursor: format!("{feed}.{next}"),
        more,
        anew: from.is_none(),
        subjects: changes.into_iter().map(subject).collect(),
    })
}
