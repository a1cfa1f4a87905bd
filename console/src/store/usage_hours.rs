//! Sums of usage by hour and by all that usage is looked at by.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use sqlx::{AssertSqlSafe, Row as _, SqliteConnection};

use super::conditions::Conditions;
use super::spend::{plus, sum};
use super::sqlite_rows::{self, ROWS};
use super::{StoreError, Transaction};
use crate::ledger::{Measure, Sum, UsageTotals};

/// What usage is looked at by, and its currency: the primary key of the table, in its order.
pub const COLUMNS: [&str; 10] = [
    "hour", "key_id", "owner", "group_id", "source", "account", "model", "entry", "outcome",
    "currency",
];

/// The values of [`COLUMNS`]; empty where records have none.
pub type HourKey = [String; COLUMNS.len()];

/// What is asked for: sums by some columns, of some rows.
#[derive(Debug, Clone, Default)]
pub struct UsageQuery {
    /// What to group by; the currency always is. `day` and `month` are parts of the hour.
    pub by: Vec<UsageColumn>,
    /// From this hour on: `2026-11-24T00`.
    pub since: Option<String>,
    /// Before this hour.
    pub until: Option<String>,
    /// Of this key only.
    pub key: Option<String>,
    /// Of this owner only.
    pub owner: Option<String>,
    /// Of this group only.
    pub group: Option<String>,
    /// Of this model only.
    pub model: Option<String>,
    /// Of this upstream account only.
    pub account: Option<String>,
    /// Rows after the one with these values, the currency last.
    pub after: Option<Vec<String>>,
    /// At most so many rows.
    pub limit: i64,
}

/// A property that usage is grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageColumn {
    /// `2026-11-24T17`
    Hour,
    /// `2026-11-24`
    Day,
    /// `2026-11`
    Month,
    /// The key's id.
    Key,
    /// Whose the key is.
    Owner,
    /// The key's group.
    Group,
    /// The source of the model.
    Source,
    /// The upstream account.
    Account,
    /// The model.
    Model,
    /// The entry.
    Entry,
    /// How requests ended.
    Outcome,
}

impl UsageColumn {
    /// All.
    pub const ALL: [Self; 11] = [
        Self::Hour,
        Self::Day,
        Self::Month,
        Self::Key,
        Self::Owner,
        Self::Group,
        Self::Source,
        Self::Account,
        Self::Model,
        Self::Entry,
        Self::Outcome,
    ];

    /// Its name, as `trilane usage --by` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
            Self::Key => "key",
            Self::Owner => "owner",
            Self::Group => "group",
            Self::Source => "source",
            Self::Account => "account",
            Self::Model => "model",
            Self::Entry => "entry",
            Self::Outcome => "outcome",
        }
    }

    /// What it is in a row of the table.
    pub(super) fn expression(self) -> &'static str {
        match self {
            Self::Day => "substr(hour, 1, 10)",
            Self::Month => "substr(hour, 1, 7)",
            Self::Key => "key_id",
            Self::Group => "group_id",
            other => other.name(),
        }
    }
}

/// Sums of rows with the same values.
#[derive(Debug, Clone)]
pub struct UsageSums {
    /// The values that were asked for, in their order.
    pub values: Vec<String>,
    /// The currency of the charges; empty if there are none.
    pub currency: String,
    /// The counts, in the order of [`Measure::ALL`].
    pub counts: Vec<u64>,
    /// The charges.
    pub charge: Sum,
    /// The part of them that is estimated.
    pub estimated_charge: Sum,
}

fn measures() -> impl Iterator<Item = String> {
    Measure::ALL
        .into_iter()
        .map(|measure| format!("\"{}\"", measure.name()))
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// `INSERT INTO usage_hours (…)`.
static INTO: LazyLock<String> = LazyLock::new(|| {
    format!(
        "INSERT INTO usage_hours ({}, {}, charge, estimated_charge)",
        COLUMNS.join(", "),
        joined(measures())
    )
});

/// `ON CONFLICT … DO UPDATE SET` the sums of counts.
static COUNTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "ON CONFLICT ({}) DO UPDATE SET {}",
        COLUMNS.join(", "),
        joined(measures().map(|name| format!("{name} = usage_hours.{name} + excluded.{name}")))
    )
});

static POSTGRES_ADD: LazyLock<String> = LazyLock::new(|| {
    let counts_end = COLUMNS.len().saturating_add(Measure::ALL.len());
    let arrays = (1..=PARAMETERS).map(|place| {
        let is_count = place > COLUMNS.len() && place <= counts_end;
        format!("${place}::{}[]", if is_count { "bigint" } else { "text" })
    });
    format!(
        "{into} SELECT {columns}, {measures}, charge::numeric, estimated_charge::numeric \
         FROM unnest({arrays}) WITH ORDINALITY AS sums ({columns}, {measures}, charge, estimated_charge, place) ORDER BY place \
         {counts}, charge = usage_hours.charge + excluded.charge, \
         estimated_charge = usage_hours.estimated_charge + excluded.estimated_charge",
        into = *INTO,
        columns = COLUMNS.join(", "),
        measures = joined(measures()),
        arrays = joined(arrays),
        counts = *COUNTS,
    )
});

/// The columns of the table.
const PARAMETERS: usize = COLUMNS.len() + Measure::ALL.len() + 2;

/// Adds sums.
///
/// # Errors
/// Those of the database, or a sum that cannot be held.
pub async fn add(
    transaction: &mut Transaction,
    hours: &BTreeMap<HourKey, UsageTotals>,
) -> Result<(), StoreError> {
    match transaction {
        Transaction::Sqlite(inner, _) => {
            let hours: Vec<_> = hours.iter().collect();
            for hours in hours.chunks(ROWS) {
                add_to_sqlite(inner, hours).await?;
            }
        }
        Transaction::Postgres(inner) => {
            if hours.is_empty() {
                return Ok(());
            }
            let mut add = sqlx::query(AssertSqlSafe(POSTGRES_ADD.as_str()));
            for place in 0..COLUMNS.len() {
                let values = hours
                    .keys()
                    .map(|key| key.get(place).map_or("", String::as_str));
                add = add.bind(values.collect::<Vec<_>>());
            }
            for measure in Measure::ALL {
                let counts = hours.values().map(|totals| count(totals, measure));
                add = add.bind(counts.collect::<Result<Vec<_>, _>>()?);
            }
            let charges = hours.values().map(|totals| totals.charge.text());
            let estimated = hours.values().map(|totals| totals.estimated_charge.text());
            add.bind(charges.collect::<Vec<_>>())
                .bind(estimated.collect::<Vec<_>>())
                .execute(&mut **inner)
                .await?;
        }
    }
    Ok(())
}

/// Charges are added up here: SQLite's own sums would be floats.
async fn add_to_sqlite(
    connection: &mut SqliteConnection,
    hours: &[(&HourKey, &UsageTotals)],
) -> Result<(), StoreError> {
    let is_whole = hours.len() == ROWS;
    let columns = "charge, estimated_charge";
    let sql = sqlite_rows::find(hours.len(), "usage_hours", &COLUMNS, columns);
    let mut find = sqlx::query_as(AssertSqlSafe(sql)).persistent(is_whole);
    for (place, (key, _)) in hours.iter().enumerate() {
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
        *INTO,
        sqlite_rows::values(hours.len(), PARAMETERS),
        *COUNTS
    );
    let mut add = sqlx::query(AssertSqlSafe(sql)).persistent(is_whole);
    for (place, (key, totals)) in hours.iter().enumerate() {
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

fn count(totals: &UsageTotals, measure: Measure) -> Result<i64, StoreError> {
    let count = i64::try_from(totals.count(measure));
    count.map_err(|_| StoreError::Value(format!("a count of {}", measure.name())))
}

/// Sums, in the order of their values.
///
/// # Errors
/// Those of the database, or a sum that cannot be held.
pub async fn sums(
    transaction: &mut Transaction,
    asked: &UsageQuery,
) -> Result<Vec<UsageSums>, StoreError> {
    let by: Vec<_> = asked.by.iter().map(|column| column.expression()).collect();
    let by: Vec<_> = by.into_iter().chain(["currency"]).collect();
    let counts = measures().map(|name| format!("CAST(sum({name}) AS BIGINT)"));
    // SQLite would add charges up as floats: they are added up here.
    let charge = |name: &str| match transaction {
        Transaction::Sqlite(..) => format!("group_concat({name}, ' ')"),
        Transaction::Postgres(_) => format!("trim_scale(sum({name}))::text"),
    };
    let collate = match transaction {
        Transaction::Sqlite(..) => "",
        // As SQLite and Rust order texts: by their bytes.
        Transaction::Postgres(_) => " COLLATE \"C\"",
    };
    let by: Vec<_> = by
        .iter()
        .map(|column| format!("{column}{collate}"))
        .collect();
    let by_all = by.join(", ");
    let rows_of = Conditions::default()
        .and("hour >=", asked.since.as_deref())
        .and("hour <", asked.until.as_deref())
        .and("key_id =", asked.key.as_deref())
        .and("owner =", asked.owner.as_deref())
        .and("group_id =", asked.group.as_deref())
        .and("model =", asked.model.as_deref())
        .and("account =", asked.account.as_deref())
        .and_row(&by_all, '>', asked.after.as_deref().unwrap_or_default());
    let sql = format!(
        "SELECT {by_all}, {counts}, {charge}, {estimated} FROM usage_hours {rows_of} \
         GROUP BY {by_all} ORDER BY {by_all} LIMIT {limit}",
        rows_of = rows_of.sql(),
        counts = joined(counts),
        charge = charge("charge"),
        estimated = charge("estimated_charge"),
        limit = asked.limit,
    );
    macro_rules! rows {
        ($connection:expr) => {{
            let mut query = sqlx::query(AssertSqlSafe(sql));
            for value in rows_of.values() {
                query = query.bind(*value);
            }
            let rows = query.fetch_all($connection).await?;
            let mut sums = Vec::with_capacity(rows.len());
            for row in &rows {
                let mut places = 0_usize..;
                let mut next = || places.next().unwrap_or_default();
                let mut values = Vec::with_capacity(by.len());
                for _ in &asked.by {
                    values.push(row.try_get(next())?);
                }
                let currency = row.try_get(next())?;
                let mut counts = Vec::with_capacity(Measure::ALL.len());
                for measure in Measure::ALL {
                    let count: i64 = row.try_get(next())?;
                    let count = u64::try_from(count);
                    counts.push(count.map_err(|_| StoreError::Value(measure.name().to_owned()))?);
                }
                sums.push(UsageSums {
                    values,
                    currency,
                    counts,
                    charge: sum(row.try_get(next())?)?,
                    estimated_charge: sum(row.try_get(next())?)?,
                });
            }
            Ok(sums)
        }};
    }
    match transaction {
        Transaction::Sqlite(inner, _) => rows!(&mut **inner),
        Transaction::Postgres(inner) => rows!(&mut **inner),
    }
}
