//! Rows of usage, by hour or by day: how they are read and added to.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, ColumnIndex, Decode, Row, Type};

use super::sum_table::{SumRow, SumTable, amount, amount_columns};
use super::{StoreError, SumChange, Transaction, on_either};
use crate::ledger::{Measure, Sum, UsageTotals};

/// The columns of usage behind its period, the currency last: with the period the primary key of a table, in its order.
pub const COLUMNS: [&str; 10] = [
    "key_id", "owner", "team", "group_id", "source", "account", "model", "entry", "outcome",
    "currency",
];

/// A period and the values of [`COLUMNS`]; empty where records have none.
pub type UsageKey = [String; COLUMNS.len() + 1];

/// The index of the owner in a [`UsageKey`].
pub const OWNER: usize = 2;
/// The most rows of an owner that are taken at once.
const TAKEN: usize = 500;

/// Sums of rows.
pub type UsageRows = BTreeMap<UsageKey, UsageTotals>;

/// A table of usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageTable {
    /// By hour.
    Hours,
    /// By day.
    Days,
    /// By hour, of all keys, owners and teams together.
    HoursOfAll,
    /// By day, of all keys, owners and teams together.
    DaysOfAll,
}

impl UsageTable {
    /// Returns the name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hours => "usage_by_hour",
            Self::Days => "usage_by_day",
            Self::HoursOfAll => "usage_of_all_by_hour",
            Self::DaysOfAll => "usage_of_all_by_day",
        }
    }

    /// The column of its period.
    pub fn period(self) -> &'static str {
        match self {
            Self::Hours | Self::HoursOfAll => "hour",
            Self::Days | Self::DaysOfAll => "day",
        }
    }

    /// The row that one of hours belongs to.
    fn key(self, mut hours: UsageKey) -> UsageKey {
        let [period, key, owner, team, ..] = &mut hours;
        if self.period() == "day" {
            period.truncate(10);
        }
        if !self.has_keys() {
            for of_key in [key, owner, team] {
                of_key.clear();
            }
        }
        hours
    }

    /// Whether it has rows for each key, owner and team.
    fn has_keys(self) -> bool {
        matches!(self, Self::Hours | Self::Days)
    }

    /// The places of its key in a [`UsageKey`].
    fn places(self) -> impl Iterator<Item = usize> {
        (0..=COLUMNS.len()).filter(move |place| self.has_keys() || !(1..=3).contains(place))
    }

    /// The columns of its primary key.
    pub fn key_columns(self) -> Vec<&'static str> {
        let places = self.places();
        let column = |place: usize| match place.checked_sub(1) {
            None => Some(self.period()),
            Some(place) => COLUMNS.get(place).copied(),
        };
        places.filter_map(column).collect()
    }

    /// The table.
    pub(super) fn sums(self) -> SumTable {
        SumTable {
            name: self.name(),
            key: self.key_columns(),
            numbers: 0,
            counts: measures().collect(),
            amounts: &UsageTotals::AMOUNTS,
        }
    }
}

/// The columns of the counts and amounts, in their order.
pub fn sum_columns() -> Vec<String> {
    let amounts = UsageTotals::AMOUNTS
        .iter()
        .flat_map(|name| amount_columns(name));
    measures().chain(amounts).collect()
}

/// The columns of the counts.
pub fn measures() -> impl Iterator<Item = String> {
    Measure::ALL
        .into_iter()
        .map(|measure| format!("\"{}\"", measure.name()))
}

/// With commas between.
pub fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// Adds sums to those of a table, or takes them away: rows of hours, or of the table itself.
///
/// # Errors
/// Those of the database.
pub async fn change(
    transaction: &mut Transaction,
    table: UsageTable,
    rows: &UsageRows,
    change: SumChange,
) -> Result<(), StoreError> {
    let mut of_table = UsageRows::new();
    let rows = if table == UsageTable::Hours {
        rows
    } else {
        for (key, totals) in rows {
            add_row(&mut of_table, table.key(key.clone()), totals);
        }
        &of_table
    };
    let mut rows = sum_rows(rows)?;
    for row in &mut rows {
        let key = table.places().filter_map(|place| row.key.get(place));
        row.key = key.copied().collect();
    }
    table.sums().change(transaction, &rows, change).await
}

/// The sums as rows of a table.
///
/// # Errors
/// A count is too large.
pub(super) fn sum_rows<const N: usize>(
    rows: &BTreeMap<[String; N], UsageTotals>,
) -> Result<Vec<SumRow<'_>>, StoreError> {
    let rows = rows.iter().map(|(key, totals)| {
        let counts = Measure::ALL
            .into_iter()
            .map(|measure| count(totals, measure));
        Ok(SumRow {
            key: key.iter().map(String::as_str).collect(),
            counts: counts.collect::<Result<_, StoreError>>()?,
            amounts: totals.amounts().to_vec(),
        })
    });
    rows.collect()
}

fn count(totals: &UsageTotals, measure: Measure) -> Result<i64, StoreError> {
    let count = i64::try_from(totals.count(measure));
    count.map_err(|_| StoreError::Value(format!("a count of {}", measure.name())))
}

/// Adds sums to those of a key among others.
pub fn add_row(rows: &mut UsageRows, key: UsageKey, totals: &UsageTotals) {
    rows.entry(key).or_default().add_all(totals);
}

/// Takes some rows of an owner away.
///
/// # Errors
/// Those of the database.
pub(super) async fn take_of_owner<const N: usize>(
    transaction: &mut Transaction,
    table: &SumTable,
    owner: &str,
) -> Result<BTreeMap<[String; N], UsageTotals>, StoreError> {
    let lock = match transaction {
        Transaction::Sqlite(..) => "",
        Transaction::Postgres(_) => " FOR UPDATE",
    };
    let key_columns = table.key.join(", ");
    let name = table.name;
    // Locked in the order of the primary key, as those who add to them do.
    let sql = format!(
        "DELETE FROM {name} WHERE ({key_columns}) IN \
           (SELECT {key_columns} FROM {name} WHERE owner = $1 ORDER BY {key_columns} LIMIT {TAKEN}{lock}) \
         RETURNING {key_columns}, {sums}",
        sums = sum_columns().join(", "),
    );
    let mut rows = BTreeMap::new();
    on_either!(transaction, connection => {
        for row in sqlx::query(AssertSqlSafe(sql)).bind(owner).fetch_all(connection).await? {
            rows.insert(key(&row)?, totals(&row, N)?);
        }
    });
    Ok(rows)
}

/// The values of a primary key, which stand first in a row.
///
/// # Errors
/// The row is not one.
pub(super) fn key<R, const N: usize>(row: &R) -> Result<[String; N], StoreError>
where
    R: Row,
    usize: ColumnIndex<R>,
    for<'r> String: Decode<'r, R::Database> + Type<R::Database>,
{
    let mut key = [const { String::new() }; N];
    for (place, value) in key.iter_mut().enumerate() {
        *value = row.try_get(place)?;
    }
    Ok(key)
}

/// The counts and charges of a row, from a column on, in the order of [`sum_columns`].
///
/// # Errors
/// The row is not one.
pub fn totals<R>(row: &R, first: usize) -> Result<UsageTotals, StoreError>
where
    R: Row,
    usize: ColumnIndex<R>,
    for<'r> i64: Decode<'r, R::Database> + Type<R::Database>,
{
    let mut counts = [0; Measure::ALL.len()];
    for ((count, measure), place) in counts.iter_mut().zip(Measure::ALL).zip(first..) {
        let stored: i64 = row.try_get(place)?;
        let stored = u64::try_from(stored);
        *count = stored.map_err(|_| StoreError::Value(measure.name().to_owned()))?;
    }
    let mut amounts = [Sum::default(); UsageTotals::AMOUNTS.len()];
    let places = (first.saturating_add(counts.len())..).step_by(Sum::COLUMNS);
    for (sum, place) in amounts.iter_mut().zip(places) {
        *sum = amount(row, place)?;
    }
    Ok(UsageTotals::stored(counts, amounts))
}
