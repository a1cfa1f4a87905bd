//! Sums that become less: rows of any table of sums, and what is taken from them.

use sqlx::{AssertSqlSafe, Row as _};

use super::spend::sum;
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

/// A subtraction from a row of a table of sums.
#[derive(Debug)]
pub(super) struct SumRow<'a> {
    pub table: &'static str,
    /// Its primary key: expressions, and their values as texts.
    pub key: Vec<(&'static str, &'a str)>,
    pub counts: Vec<(String, i64)>,
    pub amounts: Vec<(&'static str, Sum)>,
}

impl SumRow<'_> {
    /// Takes it away. A row that has nothing left goes; one that is forgotten stays so.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn subtract(&self, transaction: &mut Transaction) -> Result<(), StoreError> {
        let (text, number, lock) = match transaction {
            Transaction::Sqlite(..) => ("", "", ""),
            Transaction::Postgres(_) => ("::text", "::numeric", " FOR UPDATE"),
        };
        let table = self.table;
        let counts = self.counts.iter().map(|(name, _)| name.clone());
        let amounts = self.amounts.iter();
        let columns = counts.chain(amounts.map(|(name, _)| format!("{name}{text}")));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let condition = self.condition(1);
        let select = format!("SELECT {columns} FROM {table} WHERE {condition}{lock}");
        let stored: Option<(Vec<i64>, Vec<String>)> = on_either!(&mut *transaction, connection => {
            let mut query = sqlx::query(AssertSqlSafe(select));
            for (_, value) in &self.key {
                query = query.bind(*value);
            }
            match query.fetch_optional(connection).await? {
                None => None,
                Some(row) => {
                    let counts = (0..self.counts.len()).map(|place| row.try_get(place));
                    let amounts = (self.counts.len()..row.len()).map(|place| row.try_get(place));
                    Some((counts.collect::<Result<_, _>>()?, amounts.collect::<Result<_, _>>()?))
                }
            }
        });
        let Some((counts, amounts)) = stored else {
            return Ok(());
        };
        let counts: Vec<i64> = counts
            .iter()
            .zip(&self.counts)
            .map(|(stored, (_, taken))| stored.saturating_sub(*taken).max(0))
            .collect();
        let mut left = Vec::with_capacity(amounts.len());
        for (stored, (_, taken)) in amounts.iter().zip(&self.amounts) {
            let mut amount = sum(stored)?;
            amount.subtract(taken.value());
            left.push(amount);
        }
        if counts.iter().all(|count| *count == 0) && left.iter().all(Sum::is_zero) {
            let delete = format!("DELETE FROM {table} WHERE {condition}");
            on_either!(transaction, connection => {
                let mut query = sqlx::query(AssertSqlSafe(delete));
                for (_, value) in &self.key {
                    query = query.bind(*value);
                }
                query.execute(connection).await?;
            });
            return Ok(());
        }
        let mut places = 1_usize..;
        let mut next = || places.next().unwrap_or_default();
        let mut set = Vec::new();
        for (name, _) in &self.counts {
            set.push(format!("{name} = ${}", next()));
        }
        for (name, _) in &self.amounts {
            set.push(format!("{name} = ${}{number}", next()));
        }
        let (set, condition) = (set.join(", "), self.condition(next()));
        let update = format!("UPDATE {table} SET {set} WHERE {condition}");
        on_either!(transaction, connection => {
            let mut query = sqlx::query(AssertSqlSafe(update));
            for count in &counts {
                query = query.bind(*count);
            }
            for amount in &left {
                query = query.bind(amount.text());
            }
            for (_, value) in &self.key {
                query = query.bind(*value);
            }
            query.execute(connection).await?;
        });
        Ok(())
    }

    /// The condition that a row has this key, whose values are bound from a place on.
    fn condition(&self, first: usize) -> String {
        let equal = self.key.iter().zip(first..);
        let equal = equal.map(|((expression, _), place)| format!("{expression} = ${place}"));
        equal.collect::<Vec<_>>().join(" AND ")
    }
}
