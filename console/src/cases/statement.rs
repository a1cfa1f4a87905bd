//! The statement of a month: what a team or a person used and was charged.

use serde::{Deserialize, Serialize};
use time::{Date, OffsetDateTime, format_description::well_known::Iso8601};
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use super::usage::{self, UsageParams, UsageView};
use super::usage_file;
use crate::csv_file::CsvFile;
use crate::store::Transaction;
use crate::timestamp::moment;

/// The month of a statement, and whose it is.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub struct StatementParams {
    /// The month, in UTC: `2026-11`.
    #[param(pattern = "^[0-9]{4}-[0-9]{2}$", required = true)]
    pub(crate) month: String,
    /// Of this team. With `owner`: of what that person used in the team.
    pub(crate) team: Option<String>,
    /// Of this person, or other owner of keys.
    pub(crate) owner: Option<String>,
}

/// A statement.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatementView {
    /// The month.
    pub(crate) month: String,
    /// The team, if it is of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) team: Option<String>,
    /// The person, or other owner of keys, if it is of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    /// The time at which it was made.
    pub(crate) made_at: String,
    /// Whether the month is over. Lines of a gateway that was away may still come later.
    pub(crate) is_over: bool,
    /// The sums, one for each currency, and one without currency for requests that were not charged.
    pub(crate) totals: Vec<UsageView>,
    /// The same by owner; they add up to the totals, as the next do.
    pub(crate) owners: Vec<UsageView>,
    /// By key.
    pub(crate) keys: Vec<UsageView>,
    /// By model.
    pub(crate) models: Vec<UsageView>,
    /// By day.
    pub(crate) days: Vec<UsageView>,
}

/// The statement's sums come from here.
#[derive(Debug)]
pub(super) struct StatementScope {
    /// The first day of the month.
    pub first: Date,
    /// The first day of the next one.
    pub end: Date,
    /// The name of its file.
    pub file: String,
    params: UsageParams,
}

impl StatementScope {
    /// The scope of what is asked for.
    ///
    /// # Errors
    /// It is of nobody, of no month, or of somebody whose usage the caller does not see whole.
    pub fn of(caller: &Caller, asked: &StatementParams) -> Result<Self, ApiProblem> {
        caller.must(rights::SEE_USAGE)?;
        let (first, end) = month(&asked.month)
            .ok_or_else(|| ApiProblem::bad(text!("month must be a month such as 2026-11")))?;
        let mut file = "statement".to_owned();
        for (kind, id) in [("team", &asked.team), ("owner", &asked.owner)] {
            if let Some(id) = id {
                file = format!("{file}-{kind}-{id}");
            }
        }
        let sees_team = caller.only_owner_in(asked.team.as_deref()).is_none();
        match (&asked.team, &asked.owner) {
            (None, None) => {
                return Err(ApiProblem::bad(text!(
                    "a statement is of a team or an owner"
                )));
            }
            // A part of a team's usage would look like all of it.
            (Some(_), None) if !sees_team => {
                return Err(ApiProblem::forbidden(text!(
                    "a team's statement is for its managers and for those who see all usage"
                )));
            }
            _ => {}
        }
        Ok(Self {
            params: UsageParams {
                since: Some(first.to_string()),
                until: Some(end.to_string()),
                team: asked.team.clone(),
                owner: asked.owner.clone(),
                ..UsageParams::default()
            },
            file: format!("{file}-{}", asked.month),
            first,
            end,
        })
    }

    /// Sums by some columns. What they cost is nobody's who pays the charge.
    ///
    /// # Errors
    /// Those of the database; there are too many.
    pub async fn sums(
        &self,
        transaction: &mut Transaction,
        caller: &Caller,
        by: &str,
    ) -> Result<Vec<UsageView>, ApiProblem> {
        let asked = UsageParams {
            by: by.to_owned(),
            ..self.params.clone()
        };
        let found = usage::all_in(transaction, caller, &asked, usage_file::MOST).await?;
        let found = found.ok_or_else(usage_file::too_many)?;
        Ok(found.into_iter().map(UsageView::without_costs).collect())
    }
}

/// A month's first day, and that of the next one.
fn month(text: &str) -> Option<(Date, Date)> {
    if text.len() != 7 {
        return None;
    }
    let first = Date::parse(&format!("{text}-01"), &Iso8601::DATE).ok()?;
    let days = first.month().length(first.year());
    let last = first.replace_day(days).ok()?;
    Some((first, last.next_day()?))
}

/// The statement of a month, of one state of the console: admins and viewers see everybody's, managers those of their teams, members
/// their own.
pub async fn get(
    state: &ConsoleState,
    caller: &Caller,
    asked: StatementParams,
) -> Result<StatementView, ApiProblem> {
    let scope = StatementScope::of(caller, &asked)?;
    let mut transaction = state.store.read().await?;
    let mut all = Vec::new();
    for by in ["", "owner", "key", "model", "day"] {
        all.push(scope.sums(&mut transaction, caller, by).await?);
    }
    transaction.rollback().await;
    let mut all = all.into_iter();
    let mut next = || all.next().unwrap_or_default();
    Ok(StatementView {
        month: asked.month,
        team: asked.team,
        owner: asked.owner,
        made_at: moment(state.now()),
        is_over: is_over(scope.end, state.time()),
        totals: next(),
        owners: next(),
        keys: next(),
        models: next(),
        days: next(),
    })
}

fn is_over(end: Date, now: OffsetDateTime) -> bool {
    now.date() >= end
}

/// The columns of a statement's file.
const BY: [&str; 4] = ["day", "owner", "key", "model"];

/// The same as a file for spreadsheets: sums by day, owner, key and model.
pub async fn csv(
    state: &ConsoleState,
    caller: &Caller,
    asked: StatementParams,
) -> Result<CsvFile, ApiProblem> {
    let scope = StatementScope::of(caller, &asked)?;
    let mut transaction = state.store.read().await?;
    let rows = scope.sums(&mut transaction, caller, &BY.join(",")).await;
    transaction.rollback().await;
    usage_file::usage_file(&scope.file, &BY, &rows?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months() {
        for (text, want) in [
            ("2026-11", Some("2026-11-01 2026-12-01")),
            ("2026-12", Some("2026-12-01 2027-01-01")),
            ("2028-02", Some("2028-02-01 2028-03-01")),
            ("2026-13", None),
            ("2026-1", None),
            ("2026-11-01", None),
            ("", None),
        ] {
            let found = month(text).map(|(first, end)| format!("{first} {end}"));
            assert_eq!(found.as_deref(), want, "{text}");
        }
    }

    #[test]
    fn a_month_is_over_at_its_end() {
        let (_, end) = month("2026-11").unwrap();
        for (now, want) in [
            ("2026-11-30T23:59:59Z", false),
            ("2026-12-01T00:00:00Z", true),
        ] {
            let now = crate::timestamp::parse(now).unwrap();
            assert_eq!(is_over(end, now), want);
        }
    }
}
