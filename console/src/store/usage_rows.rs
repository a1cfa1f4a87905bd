//! Rows of usage, by hour or by day: how they are read and added to.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, ColumnIndex, Decode, Row, SqliteConnection, Type};

use super::spend::{plus, sum};
use super::sqlite_rows::{self, ROWS};
use super::sum_rows::SumRow;
use super::{StoreError, Transaction, on_either};
use crate::ledger::{Measure, UsageTotals};

/// What usage is looked at by behind its period, and its currency: with the period the primary key of a table, in its order.
pub const COLUMNS: [&str; 10] = [
    "key_id", "owner", "team", "group_id", "source", "account", "model", "entry", "outcome",
    "currency",
];

/// A period and the values of [`COLUMNS`]; empty where records have none.
pub type UsageKey = [String; COLUMNS.len() + 1];

/// Where a key has the owner.
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
}

impl UsageTable {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hours => "usage_by_hour",
            Self::Days => "usage_by_day",
        }
    }

    /// The column of its period.
    pub fn period(self) -> &'static str {
        match self {
            Self::Hours => "hour",
            Self::Days => "day",
        }
    }

    fn key(self) -> Vec<&'static str> {
        [self.period()].into_iter().chain(COLUMNS).collect()
    }

    /// `INSERT INTO usage_by_hour (…)`.
    fn into(self) -> String {
        format!(
            "INSERT INTO {} ({}, {}, charge, estimated_charge)",
            self.name(),
            self.key().join(", "),
            joined(measures())
        )
    }

    /// `ON CONFLICT … DO UPDATE SET` the sums of counts.
    fn counts(self) -> String {
        let table = self.name();
        format!(
            "ON CONFLICT ({}) DO UPDATE SET {}",
            self.key().join(", "),
            joined(measures().map(|name| format!("{name} = {table}.{name} + excluded.{name}")))
        )
    }
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

/// The columns of a table.
const PARAMETERS: usize = COLUMNS.len() + 1 + Measure::ALL.len() + 2;

/// Adds sums to a table.
///
/// # Errors
/// Those of the database.
pub async fn add(
    transaction: &mut Transaction,
    table: UsageTable,
    rows: &UsageRows,
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    match transaction {
        Transaction::Sqlite(inner, _) => {
            let rows: Vec<_> = rows.iter().collect();
            for rows in rows.chunks(ROWS) {
                add_to_sqlite(inner, table, rows).await?;
            }
        }
        Transaction::Postgres(inner) => {
            let sql = postgres_add(table);
            let mut add = sqlx::query(AssertSqlSafe(sql));
            for place in 0..=COLUMNS.len() {
                let values = rows
                    .keys()
                    .map(|key| key.get(place).map_or("", String::as_str));
                add = add.bind(values.collect::<Vec<_>>());
            }
            for measure in Measure::ALL {
                let counts = rows.values().map(|totals| count(totals, measure));
                add = add.bind(counts.collect::<Result<Vec<_>, _>>()?);
            }
            let charges = rows.values().map(|totals| totals.charge.text());
            let estimated = rows.values().map(|totals| totals.estimated_charge.text());
            add.bind(charges.collect::<Vec<_>>())
                .bind(estimated.collect::<Vec<_>>())
                .execute(&mut **inner)
                .await?;
        }
    }
    Ok(())
}

fn postgres_add(table: UsageTable) -> String {
    let counts_end = COLUMNS
        .len()
        .saturating_add(1)
        .saturating_add(Measure::ALL.len());
    let arrays = (1..=PARAMETERS).map(|place| {
        let is_count = place > COLUMNS.len().saturating_add(1) && place <= counts_end;
        format!("${place}::{}[]", if is_count { "bigint" } else { "text" })
    });
    // In the order of the keys, so that two never wait for each other.
    format!(
        "{into} SELECT {columns}, {measures}, charge::numeric, estimated_charge::numeric \
         FROM unnest({arrays}) WITH ORDINALITY AS sums ({columns}, {measures}, charge, estimated_charge, place) ORDER BY place \
         {counts}, charge = {table}.charge + excluded.charge, \
         estimated_charge = {table}.estimated_charge + excluded.estimated_charge",
        into = table.into(),
        columns = table.key().join(", "),
        measures = joined(measures()),
        arrays = joined(arrays),
        counts = table.counts(),
        table = table.name(),
    )
}

/// Charges are added up here: SQLite's own sums would be floats.
async fn add_to_sqlite(
    connection: &mut SqliteConnection,
    table: UsageTable,
    rows: &[(&UsageKey, &UsageTotals)],
) -> Result<(), StoreError> {
    let is_whole = rows.len() == ROWS;
    let columns = "charge, estimated_charge";
    let sql = sqlite_rows::find(rows.len(), table.name(), &table.key(), columns);
    let mut find = sqlx::query_as(AssertSqlSafe(sql)).persistent(is_whole);
    for (place, (key, _)) in rows.iter().enumerate() {
        find = find.bind(sqlite_rows::number(place));
        for value in *key {
            find = find.bind(value);
        }
    }
    let before: Vec<(i64, String, String)> = find.fetch_all(&mut *connection).await?;
    let before: BTreeMap<i64, _> = before
        .into_iter()
        .map(|(place, charge, estimated)| (place, (charge, estimated)))
        .collect();
    let sql = format!(
        "{} {} {}, charge = excluded.charge, estimated_charge = excluded.estimated_charge",
        table.into(),
        sqlite_rows::values(rows.len(), PARAMETERS),
        table.counts()
    );
    let mut add = sqlx::query(AssertSqlSafe(sql)).persistent(is_whole);
    for (place, (key, totals)) in rows.iter().enumerate() {
        for value in *key {
            add = add.bind(value);
        }
        for measure in Measure::ALL {
            add = add.bind(count(totals, measure)?);
        }
        let (charge, estimated) = before.get(&sqlite_rows::number(place)).cloned().unzip();
        add = add
            .bind(plus(charge.as_deref(), &totals.charge)?)
            .bind(plus(estimated.as_deref(), &totals.estimated_charge)?);
    }
    add.execute(connection).await?;
    Ok(())
}

/// Takes sums from those of a table.
///
/// # Errors
/// Those of the database.
pub async fn subtract(
    transaction: &mut Transaction,
    table: UsageTable,
    rows: &UsageRows,
) -> Result<(), StoreError> {
    for (key, totals) in rows {
        let counts = Measure::ALL
            .into_iter()
            .zip(measures())
            .map(|(measure, column)| Ok((column, count(totals, measure)?)));
        let row = SumRow {
            table: table.name(),
            key: table
                .key()
                .into_iter()
                .zip(key.iter().map(String::as_str))
                .collect(),
            counts: counts.collect::<Result<_, StoreError>>()?,
            amounts: vec![
                ("charge", totals.charge),
                ("estimated_charge", totals.estimated_charge),
            ],
        };
        row.subtract(transaction).await?;
    }
    Ok(())
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
pub async fn take_of_owner(
    transaction: &mut Transaction,
    table: UsageTable,
    owner: &str,
) -> Result<UsageRows, StoreError> {
    let (charge, lock) = match transaction {
        Transaction::Sqlite(..) => ("", ""),
        Transaction::Postgres(_) => ("::text", " FOR UPDATE"),
    };
    let key_columns = table.key().join(", ");
    let name = table.name();
    // Locked in the order of the primary key, as whoever adds to them does.
    let sql = format!(
        "DELETE FROM {name} WHERE ({key_columns}) IN \
           (SELECT {key_columns} FROM {name} WHERE owner = $1 ORDER BY {key_columns} LIMIT {TAKEN}{lock}) \
         RETURNING {key_columns}, {counts}, charge{charge}, estimated_charge{charge}",
        counts = joined(measures()),
    );
    let mut rows = UsageRows::new();
    on_either!(transaction, connection => {
        for row in sqlx::query(AssertSqlSafe(sql)).bind(owner).fetch_all(connection).await? {
            rows.insert(key(&row)?, totals(&row, COLUMNS.len().saturating_add(1))?);
        }
    });
    Ok(rows)
}

/// The period of a row and the values of [`COLUMNS`], which stand first in it.
///
/// # Errors
/// The row is not one.
pub fn key<R>(row: &R) -> Result<UsageKey, StoreError>
where
    R: Row,
    usize: ColumnIndex<R>,
    for<'r> String: Decode<'r, R::Database> + Type<R::Database>,
{
    let mut key = UsageKey::default();
    for (place, value) in key.iter_mut().enumerate() {
        *value = row.try_get(place)?;
    }
    Ok(key)
}

/// The counts and charges of a row, from a column on: counts as BIGINT, then charges as text.
///
/// # Errors
/// The row is not one.
pub fn totals<R>(row: &R, first: usize) -> Result<UsageTotals, StoreError>
where
    R: Row,
    usize: ColumnIndex<R>,
    for<'r> i64: Decode<'r, R::Database> + Type<R::Database>,
    for<'r> &'r str: Decode<'r, R::Database> + Type<R::Database>,
{
    let mut places = first..;
    let mut next = || places.next().unwrap_or_default();
    let mut counts = [0; Measure::ALL.len()];
    for (count, measure) in counts.iter_mut().zip(Measure::ALL) {
        let stored: i64 = row.try_get(next())?;
        let stored = u64::try_from(stored);
        *count = stored.map_err(|_| StoreError::Value(measure.name().to_owned()))?;
    }
    let charge = sum(row.try_get(next())?)?;
    Ok(UsageTotals::stored(
        counts,
        charge,
        sum(row.try_get(next())?)?,
    ))
}
