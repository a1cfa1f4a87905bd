//! Usage and charges.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use time::Date;
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::key_models::document_in_force;
use super::paging::{ItemPage, PageParams, cursor};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::ledger::{LABEL, Measure, SignedSum, UsageColumn};
use crate::store::keys::StoredKey;
use crate::store::usage_hours::{self, UsageQuery, UsageSums};
use crate::store::{StoreError, Transaction};

/// The grouping and filters of a query for usage.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub struct UsageParams {
    /// The columns to group by, separated by commas: key, owner, team, group, model, source, account, entry, outcome, hour, day, month, currency;
    /// and one of client, session, label:NAME, which goes with key, owner, team, day, month and currency, and with whole days.
    #[param(pattern = "^[a-z0-9,:_-]*$")]
    pub(crate) by: String,
    /// From this hour on, by the beginning of requests, in UTC: `2026-11-24T17`, or a day.
    pub(crate) since: Option<String>,
    /// Before this hour.
    pub(crate) until: Option<String>,
    /// Of this key only.
    pub(crate) key: Option<String>,
    /// Of this owner only.
    pub(crate) owner: Option<String>,
    /// Of this team only: the one that the key belonged to at the time of the request.
    pub(crate) team: Option<String>,
    /// Of this group only.
    pub(crate) group: Option<String>,
    /// Of this model only.
    pub(crate) model: Option<String>,
    /// Of this upstream account only.
    pub(crate) account: Option<String>,
}

/// Usage with the same values, in one currency.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UsageView {
    /// The values that were asked for, by their names. Empty where requests have none; of a client, a session or a label: the rest of a day,
    /// behind the greatest.
    pub(crate) values: BTreeMap<String, String>,
    /// The same, and the currency, as the cursor has them.
    #[serde(skip)]
    #[schema(ignore)]
    pub(crate) place: Vec<String>,
    /// The currency of the charges; empty if there are none.
    pub(crate) currency: String,
    /// The counts, by the names that `trilane usage` gives them.
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// The charges, exact.
    pub(crate) charge: String,
    /// The part of them that is estimated.
    pub(crate) estimated_charge: String,
    /// The part of the charges whose cost at upstream accounts is known, exact. Only for those who see all usage, as the next two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) costed_charge: Option<String>,
    /// The costs of that part, exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost: Option<String>,
    /// The difference of the two, which may be less than 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) margin: Option<String>,
}

impl UsageView {
    /// The cursor of the page after it.
    pub(crate) fn cursor(&self) -> String {
        cursor(&self.place)
    }

    /// The same without what it cost.
    pub(crate) fn without_costs(self) -> Self {
        Self {
            costed_charge: None,
            cost: None,
            margin: None,
            ..self
        }
    }

    /// A count by its name.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or_default()
    }
}

/// Returns the sort key of sums in their list.
fn place(sums: &UsageSums) -> Vec<String> {
    let mut place = sums.values.clone();
    place.push(sums.currency.clone());
    place
}

/// Sums as they are shown to a caller. Members pay for their usage: what it costs is not theirs to know.
pub(super) fn view(by: &[UsageColumn], sums: UsageSums, caller: &Caller) -> UsageView {
    shown(by, sums, caller.only_owner().is_none())
}

fn shown(by: &[UsageColumn], sums: UsageSums, sees_costs: bool) -> UsageView {
    let margin = SignedSum::difference(&sums.costed_charge, &sums.cost);
    let names = by.iter().map(|column| column.name().to_owned());
    let measures = Measure::ALL.into_iter().map(Measure::name);
    UsageView {
        place: place(&sums),
        values: names.zip(sums.values).collect(),
        currency: sums.currency,
        counts: measures.zip(sums.counts).collect(),
        charge: sums.charge.text(),
        estimated_charge: sums.estimated_charge.text(),
        costed_charge: sees_costs.then(|| sums.costed_charge.text()),
        cost: sees_costs.then(|| sums.cost.text()),
        margin: sees_costs.then(|| margin.text()),
    }
}

fn columns(by: &str) -> Result<Vec<UsageColumn>, ApiProblem> {
    let names = by.split(',').filter(|name| !name.is_empty());
    let columns = names.map(|name| {
        let known = UsageColumn::of(name).filter(|column| column.is_stored());
        known.ok_or_else(|| ApiProblem::bad(text!("by has a name that usage cannot be grouped by")))
    });
    let columns: Vec<_> = columns.collect::<Result<_, _>>()?;
    let twice = (1..columns.len()).any(|place| {
        let (before, after) = columns.split_at(place);
        after.first().is_some_and(|column| before.contains(column))
    });
    if twice {
        return Err(ApiProblem::bad(text!("by has a name twice")));
    }
    Ok(columns)
}

/// The names of the columns of labels in the document in force.
///
/// # Errors
/// The caller may not see usage, or those of the database.
pub(crate) async fn labels(
    state: &ConsoleState,
    caller: &Caller,
) -> Result<Vec<String>, ApiProblem> {
    caller.must(rights::SEE_USAGE)?;
    let mut transaction = state.store.read().await?;
    let document = document_in_force(&mut transaction).await?;
    transaction.rollback().await;
    let labels = document
        .and_then(|document| document.labels)
        .unwrap_or_default();
    Ok(labels
        .into_keys()
        .map(|name| format!("{LABEL}{name}"))
        .collect())
}

/// Checks that what is asked for is added up: beside a column that requests say of themselves there are only a few.
fn check_dimension(by: &[UsageColumn], asked: &UsageParams) -> Result<(), ApiProblem> {
    let Some(dimension) = by.iter().find(|column| column.is_dimension()) else {
        return Ok(());
    };
    let goes_with = |column: &UsageColumn| {
        let with = [
            UsageColumn::Key,
            UsageColumn::Owner,
            UsageColumn::Team,
            UsageColumn::Day,
            UsageColumn::Month,
            UsageColumn::Currency,
        ];
        column == dimension || with.contains(column)
    };
    let others = [&asked.group, &asked.model, &asked.account];
    let times = [&asked.since, &asked.until].into_iter().flatten();
    let is_day = |time: &String| time.len() == 10 || time.ends_with("T00");
    if by.iter().all(goes_with)
        && others.iter().all(|of| of.is_none())
        && times.into_iter().all(is_day)
    {
        return Ok(());
    }
    Err(ApiProblem::bad(text!(
        "usage by client, session or label is added up by day, and goes with the columns key, owner, team, day, month and currency, the filters key, owner and team, and whole days"
    )))
}

/// The first hour of a period.
///
/// # Errors
/// It is neither an hour nor a day.
pub(super) fn hour(name: &str, text: Option<String>) -> Result<Option<String>, ApiProblem> {
    let Some(text) = text else {
        return Ok(None);
    };
    let whole = match text.len() {
        10 => format!("{text}T00"),
        _ => text,
    };
    let good = whole.len() == 13 && crate::timestamp::parse(&format!("{whole}:00:00Z")).is_some();
    if !good {
        return Err(ApiProblem::bad(t!(
            "{name} must be an hour such as 2026-11-24T17, or a day",
            name = name
        )));
    }
    Ok(Some(whole))
}

/// Sums of usage and charges, as `trilane usage` adds them up. Members see their own, managers those of their `team`.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    asked: UsageParams,
    page: PageParams,
) -> Result<ItemPage<UsageView>, ApiProblem> {
    let limit = page.limit()?;
    let by = columns(&asked.by)?;
    let after: Option<Vec<String>> = page.after()?;
    if after
        .as_ref()
        .is_some_and(|after| after.len() != by.len().saturating_add(1))
    {
        return Err(ApiProblem::bad(text!(
            "cursor is of a list that is grouped otherwise"
        )));
    }
    let query = query(caller, &by, asked, after, limit.to_fetch())?;
    let mut transaction = state.store.read().await?;
    let sums = usage_hours::sums(&mut transaction, &query).await?;
    transaction.rollback().await;
    Ok(limit.page(sums, place, |sums| view(&by, sums, caller)))
}

/// All sums at once, or `None` if there are more than `most`.
pub async fn all(
    state: &ConsoleState,
    caller: &Caller,
    asked: &UsageParams,
    most: u32,
) -> Result<Option<Vec<UsageView>>, ApiProblem> {
    let mut transaction = state.store.read().await?;
    let all = all_in(&mut transaction, caller, asked, most).await;
    transaction.rollback().await;
    all
}

/// The same, of the state that a transaction reads.
pub(super) async fn all_in(
    transaction: &mut Transaction,
    caller: &Caller,
    asked: &UsageParams,
    most: u32,
) -> Result<Option<Vec<UsageView>>, ApiProblem> {
    let by = columns(&asked.by)?;
    let limit = i64::from(most).saturating_add(1);
    let query = query(caller, &by, asked.clone(), None, limit)?;
    let sums = usage_hours::sums(transaction, &query).await?;
    let sums = Some(sums).filter(|sums| u32::try_from(sums.len()).is_ok_and(|len| len <= most));
    let views = |sums: Vec<_>| sums.into_iter().map(|sums| view(&by, sums, caller));
    Ok(sums.map(|sums| views(sums).collect()))
}

/// The usage of a key under its present owner since a day, by model and day, for the holder of the key.
pub(super) async fn of_holder(
    transaction: &mut Transaction,
    key: &StoredKey,
    since: Date,
) -> Result<Vec<UsageView>, StoreError> {
    let by = [UsageColumn::Model, UsageColumn::Day];
    let query = UsageQuery {
        by: by.to_vec(),
        since: Some(format!("{since}T00")),
        key: Some(key.id.clone()),
        owner: Some(key.owner.clone().unwrap_or_default()),
        limit: i64::MAX,
        ..UsageQuery::default()
    };
    let sums = usage_hours::sums(transaction, &query).await?.into_iter();
    Ok(sums.map(|sums| shown(&by, sums, false)).collect())
}

/// A query for the sums that a caller may see, in the order of their places.
fn query(
    caller: &Caller,
    by: &[UsageColumn],
    asked: UsageParams,
    after: Option<Vec<String>>,
    limit: i64,
) -> Result<UsageQuery, ApiProblem> {
    caller.must(rights::SEE_USAGE)?;
    let only = caller.only_owner_in(asked.team.as_deref());
    if let (Some(only), Some(owner)) = (only, &asked.owner)
        && only != owner
    {
        return Err(ApiProblem::forbidden(text!("members see their own usage")));
    }
    let names = [
        &asked.key,
        &asked.owner,
        &asked.team,
        &asked.group,
        &asked.model,
        &asked.account,
    ];
    if names.into_iter().flatten().any(|name| name.contains('\0')) {
        return Err(ApiProblem::bad(text!("no name has a zero byte")));
    }
    check_dimension(by, &asked)?;
    Ok(UsageQuery {
        by: by.to_vec(),
        since: hour("since", asked.since)?,
        until: hour("until", asked.until)?,
        key: asked.key,
        among: None,
        owner: only.map(str::to_owned).or(asked.owner),
        team: asked.team,
        group: asked.group,
        model: asked.model,
        account: asked.account,
        after,
        limit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_group_by() {
        let cases = [
            ("", Some(0)),
            ("key", Some(1)),
            ("key,day", Some(2)),
            ("key,day,", Some(2)),
            ("key,key", None),
            ("currency", Some(1)),
            ("status", None),
            ("person", None),
            ("Key", None),
        ];
        for (by, want) in cases {
            assert_eq!(columns(by).ok().map(|columns| columns.len()), want, "{by}");
        }
    }

    #[test]
    fn hours() {
        let cases = [
            ("2026-11-24", Some("2026-11-24T00")),
            ("2026-11-24T17", Some("2026-11-24T17")),
            ("2026-11-31", None),
            ("2026-11-24T24", None),
            ("2026-11", None),
            ("2026-11-24T17:00:00Z", None),
            ("", None),
        ];
        for (text, want) in cases {
            let got = hour("since", Some(text.to_owned())).ok().flatten();
            assert_eq!(got.as_deref(), want, "{text}");
        }
    }
}
