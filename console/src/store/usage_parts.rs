//! The sources of usage: days that are rolled up, the hours behind them, and hours of days that are requested in part.

use time::{Date, format_description::well_known::Iso8601};

use super::conditions::Conditions;
use super::usage_days::RolledUp;
use super::usage_dimensions;
use super::usage_hours::{self, UsageQuery};
use super::usage_rows::{UsageTable, joined, sum_columns};
use crate::ledger::UsageColumn;

/// The choice of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct UsagePart {
    table: &'static str,
    /// The column of its period.
    period: &'static str,
    /// Whether it is only what is behind the place that is rolled up to.
    is_behind: bool,
}

impl UsagePart {
    /// Days by a dimension.
    const DIMENSIONS: Self = Self {
        table: usage_dimensions::TABLE,
        period: "day",
        is_behind: false,
    };

    /// All rows of a table.
    fn all(table: UsageTable) -> Self {
        Self {
            table: table.name(),
            period: table.period(),
            is_behind: false,
        }
    }

    /// Returns the SQL expression for a column of hours in this part.
    fn column(self, column: &str) -> String {
        column.replace("hour", self.period)
    }

    fn behind(self, to: &RolledUp) -> &[String] {
        if self.is_behind { &to.0 } else { &[] }
    }
}

/// A part, and from when until when: hours, or days, which come before all of their hours.
type PartPeriod<'a> = (UsagePart, Option<&'a str>, Option<&'a str>);

/// The first day that begins at an hour or later.
fn day_from(hour: &str) -> Option<String> {
    let (day, of_day) = hour.split_at_checked(10)?;
    if of_day == "T00" {
        return Some(day.to_owned());
    }
    let day = Date::parse(day, &Iso8601::DATE).ok()?;
    Some(day.next_day()?.to_string())
}

/// The days that what is asked for has whole.
#[derive(Debug)]
pub struct UsageParts {
    from_day: Option<String>,
    until_day: Option<String>,
    has_days: bool,
}

impl UsageParts {
    /// Those of what is asked for.
    pub fn of(asked: &UsageQuery) -> Self {
        let from_day = asked.since.as_deref().map(day_from);
        let until_day = asked.until.as_deref().map(|hour| hour.get(..10));
        let is_known = from_day != Some(None) && until_day != Some(None);
        let (from_day, until_day) = (from_day.flatten(), until_day.flatten().map(str::to_owned));
        let is_empty =
            matches!((&from_day, &until_day), (Some(from), Some(until)) if from >= until);
        Self {
            has_days: is_known && !is_empty && !asked.by.contains(&UsageColumn::Hour),
            from_day,
            until_day,
        }
    }

    fn periods<'a>(&'a self, asked: &'a UsageQuery, to: &'a RolledUp) -> Vec<PartPeriod<'a>> {
        let (since, until) = (asked.since.as_deref(), asked.until.as_deref());
        if asked.dimension().is_some() {
            // Whole days are asked for, and there is nothing else.
            let (from, before) = (self.from_day.as_deref(), self.until_day.as_deref());
            return vec![(UsagePart::DIMENSIONS, from, before)];
        }
        let (hours, days) = if asked.is_of_keys() {
            (UsageTable::Hours, UsageTable::Days)
        } else {
            (UsageTable::HoursOfAll, UsageTable::DaysOfAll)
        };
        let (hours, days) = (UsagePart::all(hours), UsagePart::all(days));
        if !self.has_days {
            return vec![(hours, since, until)];
        }
        let (from, before) = (self.from_day.as_deref(), self.until_day.as_deref());
        let mut periods = vec![(days, from, before)];
        if asked.is_of_keys() {
            // What comes before the place comes before its hour, which an index of keys or owners finds.
            let [hour, _] = &to.0;
            let since = from.map_or(hour.as_str(), |from| from.max(hour));
            let behind = UsagePart {
                is_behind: true,
                ..hours
            };
            periods.push((behind, Some(since), before));
        }
        let is_part = |hour: &str| !hour.ends_with("T00");
        if since.is_some_and(is_part) {
            periods.push((hours, since, from));
        }
        if until.is_some_and(is_part) {
            periods.push((hours, before, until));
        }
        periods
    }
}

/// The statement and its values. The parts are added up each for itself, and then together: of each part no more than the first rows
/// that are asked for, because none of all of them stands behind those of its part.
pub fn statement<'a>(
    asked: &'a UsageQuery,
    parts: &'a UsageParts,
    to: &'a RolledUp,
) -> (String, Vec<&'a str>) {
    let sums = sum_columns().into_iter();
    let sums: Vec<_> = sums.map(|name| format!("sum({name}) AS {name}")).collect();
    let columns = 1..=asked.by.len().saturating_add(1);
    let places = joined(columns.clone().map(|place| place.to_string()));
    let first = format!("GROUP BY {places} ORDER BY {places} LIMIT {}", asked.limit);
    let (parts, values) = rows_of_parts(asked, parts, to, &sums, &first);
    let by = joined(columns.map(|place| format!("c{place}")));
    let sums = sum_columns().into_iter();
    let sql = format!(
        "SELECT {by}, {sums} FROM ({parts}) AS parts GROUP BY {by} ORDER BY {by} LIMIT {limit}",
        sums = joined(sums.map(|name| format!("CAST(sum({name}) AS BIGINT)"))),
        limit = asked.limit,
    );
    (sql, values)
}

/// Rows of each part: columns `c1`, `c2` and so on, the currency last, and what is `read` beside them; and the values of the statement.
/// What stands `behind` the conditions is the same for each part.
pub fn rows_of_parts<'a>(
    asked: &'a UsageQuery,
    parts: &'a UsageParts,
    to: &'a RolledUp,
    read: &[String],
    behind: &str,
) -> (String, Vec<&'a str>) {
    let read = joined(read.iter().cloned());
    let mut values = Vec::new();
    let mut selects = Vec::new();
    for (part, since, until) in parts.periods(asked, to) {
        let by = asked.by.iter().map(usage_hours::expression);
        let by: Vec<_> = by
            .chain(["currency"])
            .map(|column| part.column(column))
            .collect();
        let first = by.first().map_or("currency", String::as_str);
        let period = part.period;
        let (from, before) = (format!("{period} >="), format!("{period} <"));
        let after = asked.after.as_deref().unwrap_or_default();
        let rows_of = Conditions::numbered_behind(values.len())
            .and(&from, since)
            .and(&before, until)
            .and("dimension =", asked.dimension())
            .and("key_id =", asked.key.as_deref())
            .and_among(first, asked.among.as_deref())
            .and("owner =", asked.owner.as_deref())
            .and("team =", asked.team.as_deref())
            .and("group_id =", asked.group.as_deref())
            .and("model =", asked.model.as_deref())
            .and("account =", asked.account.as_deref())
            .and_row(&by.join(", "), '>', after)
            .and_row("hour, key_id", '>', part.behind(to));
        let named = by
            .iter()
            .zip(1..)
            .map(|(column, place)| format!("{column} AS c{place}"));
        selects.push(format!(
            // SQLite takes no order and no limit in a part of a union itself.
            "SELECT * FROM (SELECT {by}, {read} FROM {table} {rows_of} {behind}) AS part",
            by = joined(named),
            table = part.table,
            rows_of = rows_of.sql(),
        ));
        values.extend(rows_of.values());
    }
    (selects.join(" UNION ALL "), values)
}
