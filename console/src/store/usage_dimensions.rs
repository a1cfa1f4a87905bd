//! Usage by what requests say of themselves: by client, by session and by each label, one at a time.
//!
//! While a day goes on, each value has its row. When it is over, each key keeps its greatest values, and one row without a value
//! has the rest. All days and keys up to one place are folded so. A line that comes later goes to the row of its value, or to
//! the rest, and is taken away from where it went.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::AssertSqlSafe;
use time::OffsetDateTime;

use super::old_rows::OldRows;
use super::sum_table::{SumTable, amount_columns};
use super::usage_rows::{self, joined, measures};
use super::{Store, StoreError, SumChange, Transaction, fetch, on_either, usage_days};
use crate::in_transaction;
use crate::ledger::{Measure, UsageColumn, UsageTotals};

/// The table.
pub(super) const TABLE: &str = "usage_by_dimension";
/// The columns of its primary key.
const COLUMNS: [&str; 7] = [
    "dimension",
    "day",
    "key_id",
    "owner",
    "team",
    "value",
    "currency",
];
/// The values of those columns.
pub type DimensionKey = [String; COLUMNS.len()];
/// The index of the owner in a [`DimensionKey`].
pub const OWNER: usize = 3;
/// The index of the value in a [`DimensionKey`].
const VALUE: usize = 5;

/// Sums of rows.
pub type DimensionRows = BTreeMap<DimensionKey, UsageTotals>;

/// The most values that a key keeps of a day: clients, sessions, and those of a label.
const MOST: [usize; 3] = [8, 32, 16];
/// The keys of days that one transaction folds.
const STEP: usize = 20;

/// Sessions of days before one.
pub const OLD_SESSIONS: OldRows = OldRows {
    table: TABLE,
    key: "dimension, day, key_id, owner, team, value, currency",
    condition: "dimension = 'session' AND day < $1",
    lock: None,
};

/// The table.
fn table() -> SumTable {
    SumTable {
        name: TABLE,
        key: COLUMNS.to_vec(),
        numbers: 0,
        counts: measures().collect(),
        amounts: &UsageTotals::AMOUNTS,
    }
}

/// The most values of a dimension.
fn most(dimension: &str) -> usize {
    let [clients, sessions, of_label] = MOST;
    if dimension == UsageColumn::Client.name() {
        clients
    } else if dimension == UsageColumn::Session.name() {
        sessions
    } else {
        of_label
    }
}

/// Adds sums, or takes them away. The transaction has changed the hours of the same lines before, so that nothing is folded meanwhile.
///
/// # Errors
/// Those of the database.
pub async fn change(
    transaction: &mut Transaction,
    rows: &DimensionRows,
    change: SumChange,
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    if change == SumChange::Add {
        let placed = placed(transaction, rows).await?;
        return add(transaction, placed.as_ref().unwrap_or(rows)).await;
    }
    let all = usage_rows::sum_rows(rows)?;
    let missing = table().subtract(transaction, &all).await?;
    let mut rest = DimensionRows::new();
    for (place, (key, totals)) in rows.iter().enumerate() {
        if missing.contains(&place) {
            add_to_rest(&mut rest, key.clone(), totals);
        }
    }
    let rest = usage_rows::sum_rows(&rest)?;
    table().subtract(transaction, &rest).await.map(drop)
}

/// Adds sums to these rows.
///
/// # Errors
/// Those of the database.
pub async fn add(transaction: &mut Transaction, rows: &DimensionRows) -> Result<(), StoreError> {
    let rows = usage_rows::sum_rows(rows)?;
    table().add(transaction, &rows).await
}

/// Takes some rows of an owner away.
///
/// # Errors
/// Those of the database.
pub async fn take_of_owner(
    transaction: &mut Transaction,
    owner: &str,
) -> Result<DimensionRows, StoreError> {
    usage_rows::take_of_owner(transaction, &table(), owner).await
}

fn add_to_rest(rows: &mut DimensionRows, mut key: DimensionKey, totals: &UsageTotals) {
    if let Some(value) = key.get_mut(VALUE) {
        value.clear();
    }
    rows.entry(key).or_default().add_all(totals);
}

/// Gives sums of days that are folded to the rows that there are. `None`: there are no such sums.
async fn placed(
    transaction: &mut Transaction,
    rows: &DimensionRows,
) -> Result<Option<DimensionRows>, StoreError> {
    let (day, key) = folded_to(transaction).await?;
    let place = (day.as_str(), key.as_str());
    let late = rows
        .keys()
        .map(|[_, day, key, ..]| (day.as_str(), key.as_str()));
    let late: BTreeSet<_> = late.filter(|of| *of <= place).collect();
    if late.is_empty() {
        return Ok(None);
    }
    let mut values: BTreeMap<[String; 5], BTreeSet<String>> = BTreeMap::new();
    for (day, key) in &late {
        let known: Vec<(String, String, String, String)> = fetch!(
            &mut *transaction,
            query_as.fetch_all,
            "SELECT DISTINCT dimension, owner, team, value FROM usage_by_dimension WHERE day = $1 AND key_id = $2",
            (*day, *key)
        );
        for (dimension, owner, team, value) in known {
            let group = [dimension, (*day).to_owned(), (*key).to_owned(), owner, team];
            values.entry(group).or_default().insert(value);
        }
    }
    let mut placed = DimensionRows::new();
    for (row, totals) in rows {
        let [dimension, day, key, owner, team, value, _] = row;
        if late.contains(&(day.as_str(), key.as_str())) {
            let group = [dimension, day, key, owner, team].map(String::clone);
            let values = values.entry(group).or_default();
            let is_full = values.contains("") || values.len() >= most(dimension);
            if is_full && !values.contains(value) {
                add_to_rest(&mut placed, row.clone(), totals);
                continue;
            }
            values.insert(value.clone());
        }
        placed.entry(row.clone()).or_default().add_all(totals);
    }
    Ok(Some(placed))
}

/// The day and the key up to which all are folded.
async fn folded_to(transaction: &mut Transaction) -> Result<(String, String), StoreError> {
    Ok(fetch!(
        transaction,
        query_as.fetch_one,
        "SELECT day, key_id FROM usage_by_dimension_to",
        ()
    ))
}

/// Folds the days that are over, a bounded number of keys in each transaction. Several consoles may do it at once.
///
/// # Errors
/// Those of the database; some may be folded.
pub async fn fold(store: &Store, now: OffsetDateTime) -> Result<(), StoreError> {
    let mut until = usage_days::over(now);
    until.truncate(10);
    while fold_some(store, &until).await? {}
    Ok(())
}

/// Folds the next keys of days before one. Whether there were any.
///
/// # Errors
/// Those of the database; nothing is folded then.
pub async fn fold_some(store: &Store, until: &str) -> Result<bool, StoreError> {
    in_transaction!(store, transaction => step(transaction, until).await)
}

async fn step(transaction: &mut Transaction, until: &str) -> Result<bool, StoreError> {
    usage_days::lock_place(transaction).await?;
    let (from_day, from_key) = folded_to(transaction).await?;
    let behind = "day >= $1 AND (day, key_id) > ($1, $2)";
    let last = format!(
        "SELECT day, key_id FROM (SELECT DISTINCT day, key_id FROM {TABLE} WHERE {behind} AND day < $3 ORDER BY day, key_id LIMIT {STEP}) AS next \
         ORDER BY day DESC, key_id DESC LIMIT 1"
    );
    let last: Option<(String, String)> = on_either!(&mut *transaction, connection => {
        let query = sqlx::query_as(AssertSqlSafe(last)).bind(&from_day).bind(&from_key);
        query.bind(until).fetch_optional(connection).await?
    });
    let Some((day, key)) = last else {
        return Ok(false);
    };
    let columns = joined(COLUMNS.into_iter().map(str::to_owned));
    let group = "dimension, day, key_id, owner, team";
    let charge = amount_columns("charge").into_iter().zip(0_usize..);
    let charge = charge
        .map(|(name, place)| format!("sum({name}) * 1{}", "0".repeat(place.saturating_mul(6))));
    let [clients, sessions, of_label] = MOST;
    let sql = format!(
        "DELETE FROM {TABLE} WHERE ({group}, value) IN (SELECT {group}, value FROM \
           (SELECT {group}, value, row_number() OVER (PARTITION BY {group} ORDER BY {charge} DESC, sum(\"{requests}\") DESC, value) AS place \
            FROM {TABLE} WHERE {behind} AND day <= $3 AND (day, key_id) <= ($3, $4) AND value <> '' GROUP BY {group}, value) AS ranked \
         WHERE place > CASE dimension WHEN 'client' THEN {clients} WHEN 'session' THEN {sessions} ELSE {of_label} END) \
         RETURNING {columns}, {sums}",
        charge = charge.collect::<Vec<_>>().join(" + "),
        requests = Measure::Requests.name(),
        sums = joined(usage_rows::sum_columns().into_iter()),
    );
    let mut rest = DimensionRows::new();
    on_either!(&mut *transaction, connection => {
        let query = sqlx::query(AssertSqlSafe(sql)).bind(&from_day).bind(&from_key);
        for row in query.bind(&day).bind(&key).fetch_all(connection).await? {
            let totals = usage_rows::totals(&row, COLUMNS.len())?;
            add_to_rest(&mut rest, usage_rows::key(&row)?, &totals);
        }
    });
    add(transaction, &rest).await?;
    on_either!(transaction, connection => {
        let moved = sqlx::query("UPDATE usage_by_dimension_to SET day = $1, key_id = $2");
        moved.bind(&day).bind(&key).execute(connection).await?;
    });
    Ok(true)
}
