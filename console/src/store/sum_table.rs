//! Tables of sums: what lines add up to, by a primary key. Counts and amounts are added up by the database, the same on both engines.

use std::collections::BTreeSet;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use sqlx::{AssertSqlSafe, ColumnIndex, Decode, Row, Type};

use super::sqlite_rows::{self, ROWS};
use super::{StoreError, Transaction, on_either};
use crate::ledger::Sum;

/// Whether sums of lines are added to those that are stored, or taken from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SumChange {
    /// The lines are counted.
    Add,
    /// The lines were counted, and are no more.
    Subtract,
}

/// A table of sums.
#[derive(Debug)]
pub(super) struct SumTable {
    pub name: &'static str,
    /// The columns of its primary key. The last ones are numbers.
    pub key: Vec<&'static str>,
    /// The number of those.
    pub numbers: usize,
    /// The columns of its counts.
    pub counts: Vec<String>,
    /// The names of its amounts, each of which has [`Sum::COLUMNS`].
    pub amounts: &'static [&'static str],
}

/// A row of a table of sums, or what is added to one. Numbers of its key are written as texts.
#[derive(Debug)]
pub(super) struct SumRow<'a> {
    pub key: Vec<&'a str>,
    pub counts: Vec<i64>,
    pub amounts: Vec<Sum>,
}

impl SumRow<'_> {
    /// Its sums in the order of the columns.
    fn sums(&self) -> impl Iterator<Item = i64> {
        let amounts = self.amounts.iter().flat_map(Sum::columns);
        self.counts.iter().copied().chain(amounts)
    }
}

/// The columns of an amount, the finest first.
pub fn amount_columns(name: &str) -> [String; Sum::COLUMNS] {
    core::array::from_fn(|place| format!("{name}_{place}"))
}

/// Expressions of an amount's columns as they are where each has less than a million, and none but the last is below zero:
/// what a column has more goes into the next one.
fn carried(columns: [String; Sum::COLUMNS]) -> [String; Sum::COLUMNS] {
    let mut carry: Option<String> = None;
    let last = Sum::COLUMNS.saturating_sub(1);
    let mut place = 0..;
    columns.map(|column| {
        let all = match carry.take() {
            Some(carry) => format!("({column} + {carry})"),
            None => column,
        };
        if place.next() == Some(last) {
            return all;
        }
        let rest = format!("(({all} % 1000000 + 1000000) % 1000000)");
        carry = Some(format!("({all} - {rest}) / 1000000"));
        rest
    })
}

/// The amount in a row, whose columns begin at a place.
///
/// # Errors
/// The row has none there.
pub(super) fn amount<R>(row: &R, first: usize) -> Result<Sum, StoreError>
where
    R: Row,
    usize: ColumnIndex<R>,
    for<'r> i64: Decode<'r, R::Database> + Type<R::Database>,
{
    let mut columns = [0; Sum::COLUMNS];
    for (column, place) in columns.iter_mut().zip(first..) {
        *column = row.try_get(place)?;
    }
    Ok(Sum::of_columns(columns))
}

impl SumTable {
    /// The columns of its counts and amounts.
    pub fn sums(&self) -> Vec<String> {
        let amounts = self.amounts.iter().flat_map(|name| amount_columns(name));
        self.counts.iter().cloned().chain(amounts).collect()
    }

    /// `INSERT INTO usage_by_hour (…)`.
    pub fn insert(&self) -> String {
        let (key, sums) = (self.key.join(", "), self.sums().join(", "));
        format!("INSERT INTO {} ({key}, {sums})", self.name)
    }

    /// `ON CONFLICT … DO UPDATE SET` the sums of both.
    pub fn added(&self) -> String {
        let table = self.name;
        let sums = self.sums();
        let added = sums
            .iter()
            .map(|name| format!("{name} = {table}.{name} + excluded.{name}"));
        format!(
            "ON CONFLICT ({}) DO UPDATE SET {}",
            self.key.join(", "),
            added.collect::<Vec<_>>().join(", ")
        )
    }

    fn is_number(&self, place: usize) -> bool {
        place.saturating_add(self.numbers) >= self.key.len()
    }

    /// A value of the key, of which there is a text.
    fn value(&self, place: usize, text: &str) -> String {
        if self.is_number(place) {
            format!("CAST({text} AS BIGINT)")
        } else {
            text.to_owned()
        }
    }

    /// Adds rows. They are in the order of their keys, so that two who add never wait for each other.
    ///
    /// # Errors
    /// Those of the database.
    pub fn add<'a>(
        &'a self,
        transaction: &'a mut Transaction,
        rows: &'a [SumRow<'_>],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        // The compiler looks through each future that waits for this one: behind a pointer it is done in a minute.
        self.add_rows(transaction, rows).boxed()
    }

    async fn add_rows(
        &self,
        transaction: &mut Transaction,
        rows: &[SumRow<'_>],
    ) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        match transaction {
            Transaction::Sqlite(inner, _) => {
                let columns = self.key.len().saturating_add(self.sums().len());
                let (insert, added) = (self.insert(), self.added());
                for rows in rows.chunks(ROWS) {
                    let values = sqlite_rows::values(rows.len(), columns);
                    let sql = format!("{insert} {values} {added}");
                    let mut add = sqlx::query(AssertSqlSafe(sql)).persistent(rows.len() == ROWS);
                    for row in rows {
                        for text in &row.key {
                            add = add.bind(*text);
                        }
                        for sum in row.sums() {
                            add = add.bind(sum);
                        }
                    }
                    add.execute(&mut **inner).await?;
                }
            }
            Transaction::Postgres(inner) => {
                let mut add = sqlx::query(AssertSqlSafe(self.add_to_postgres()));
                for place in 0..self.key.len() {
                    let texts = rows.iter().map(|row| row.key.get(place).copied());
                    add = add.bind(texts.collect::<Vec<_>>());
                }
                let mut columns = vec![Vec::with_capacity(rows.len()); self.sums().len()];
                for row in rows {
                    for (column, sum) in columns.iter_mut().zip(row.sums()) {
                        column.push(sum);
                    }
                }
                for column in columns {
                    add = add.bind(column);
                }
                add.execute(&mut **inner).await?;
            }
        }
        Ok(())
    }

    fn add_to_postgres(&self) -> String {
        let (key, sums) = (self.key.join(", "), self.sums());
        let texts = (1..=self.key.len()).map(|place| format!("${place}::text[]"));
        let numbers = (self.key.len().saturating_add(1)..).take(sums.len());
        let numbers = numbers.map(|place| format!("${place}::bigint[]"));
        let values = self.key.iter().enumerate();
        let values = values.map(|(place, name)| self.value(place, name));
        let sums = sums.join(", ");
        format!(
            "{into} SELECT {values}, {sums} FROM unnest({arrays}) WITH ORDINALITY AS given ({key}, {sums}, place) ORDER BY place {added}",
            into = self.insert(),
            values = values.collect::<Vec<_>>().join(", "),
            arrays = texts.chain(numbers).collect::<Vec<_>>().join(", "),
            added = self.added(),
        )
    }

    /// Takes sums away from rows that there are. A row that has nothing left goes; one that is forgotten stays so, and so does one
    /// that never had as much. Returns the places of those.
    ///
    /// # Errors
    /// Those of the database.
    pub fn subtract<'a>(
        &'a self,
        transaction: &'a mut Transaction,
        rows: &'a [SumRow<'_>],
    ) -> BoxFuture<'a, Result<BTreeSet<usize>, StoreError>> {
        self.subtract_rows(transaction, rows).boxed()
    }

    async fn subtract_rows(
        &self,
        transaction: &mut Transaction,
        rows: &[SumRow<'_>],
    ) -> Result<BTreeSet<usize>, StoreError> {
        let equal = self.key.iter().zip(1_usize..).enumerate();
        let equal = equal.map(|(at, (name, place))| {
            format!("{name} = {}", self.value(at, &format!("${place}")))
        });
        let key = equal.collect::<Vec<_>>().join(" AND ");
        let set = self
            .sums()
            .into_iter()
            .zip(self.key.len().saturating_add(1)..);
        let set = set.map(|(name, place)| format!("{name} = {name} - ${place}"));
        let set = set.collect::<Vec<_>>().join(", ");
        let counts = self.counts.iter().zip(self.key.len().saturating_add(1)..);
        let enough = counts.map(|(name, place)| format!("{name} >= ${place}"));
        let enough = core::iter::once(key.clone()).chain(enough);
        let enough = enough.collect::<Vec<_>>().join(" AND ");
        let amounts = self.amounts.iter();
        let amounts = amounts.flat_map(|name| carried(amount_columns(name)));
        let nothing = self.counts.iter().cloned().chain(amounts);
        let nothing = nothing.map(|sum| format!("{sum} = 0"));
        let nothing = nothing.collect::<Vec<_>>().join(" AND ");
        let table = self.name;
        let update = format!("UPDATE {table} SET {set} WHERE {enough}");
        let delete = format!("DELETE FROM {table} WHERE {key} AND {nothing}");
        let mut missing = BTreeSet::new();
        for (place, row) in rows.iter().enumerate() {
            on_either!(&mut *transaction, connection => {
                let mut query = sqlx::query(AssertSqlSafe(update.clone()));
                for text in &row.key {
                    query = query.bind(*text);
                }
                for sum in row.sums() {
                    query = query.bind(sum);
                }
                if query.execute(&mut *connection).await?.rows_affected() == 0 {
                    missing.insert(place);
                    continue;
                }
                let mut query = sqlx::query(AssertSqlSafe(delete.clone()));
                for text in &row.key {
                    query = query.bind(*text);
                }
                query.execute(connection).await?;
            });
        }
        Ok(missing)
    }

    /// Adds rows, or takes them away.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn change(
        &self,
        transaction: &mut Transaction,
        rows: &[SumRow<'_>],
        change: SumChange,
    ) -> Result<(), StoreError> {
        match change {
            SumChange::Add => self.add(transaction, rows).await,
            SumChange::Subtract => self.subtract(transaction, rows).await.map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::Connection as _;

    /// Columns as sums leave them, in SQL and in Rust.
    #[tokio::test]
    async fn what_a_column_has_more_goes_into_the_next_one() {
        let mut connection = sqlx::SqliteConnection::connect("sqlite::memory:")
            .await
            .unwrap();
        let names = ["a", "b", "c", "d", "e"].map(str::to_owned);
        for (case, columns) in [
            ("nothing", [0; 5]),
            ("as stored", [1, 2, 3, 4, 5]),
            ("carried on", [999_999, 999_999, 999_999, 1_999_999, 7]),
            (
                "much in each",
                [
                    9_000_000_000_000_000_000,
                    8_000_000_000_000_000_000,
                    0,
                    0,
                    0,
                ],
            ),
            ("below zero", [-1, 0, 0, 0, 1]),
            ("nothing, of two", [-1_000_000, 1, 0, 0, 0]),
            ("all below zero but one", [-1, -2_000_000, -3, -4, 9]),
        ] {
            let sql = format!(
                "SELECT {} FROM (SELECT $1 AS a, $2 AS b, $3 AS c, $4 AS d, $5 AS e)",
                carried(names.clone()).join(", ")
            );
            let mut query = sqlx::query(AssertSqlSafe(sql));
            for column in columns {
                query = query.bind(column);
            }
            let row = query.fetch_one(&mut connection).await.unwrap();
            let found: Vec<i64> = (0..5).map(|place| row.get(place)).collect();
            assert_eq!(found, Sum::of_columns(columns).columns(), "{case}");
        }
    }
}
