//! What keys, members, owners, teams and groups have spent by day and by month, and when a key was last used.

use std::collections::BTreeMap;

use sqlx::AssertSqlSafe;

use super::sqlite_rows::{self, ROWS};
use super::sum_rows::SumRow;
use super::{StoreError, SumChange, Transaction, on_either};
use crate::ledger::Sum;

/// Whose charges, of when: in the order of the primary key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpendKey {
    /// `key`, `member`, `owner`, `team` or `group`.
    pub kind: &'static str,
    /// Its id.
    pub subject: String,
    /// `2026-11-24` or `2026-11`.
    pub period: String,
    /// The currency of the charges.
    pub currency: String,
}

impl SpendKey {
    /// The columns of the primary key, with their values.
    pub(super) fn columns(&self) -> [(&'static str, &str); 4] {
        [
            ("kind", self.kind),
            ("subject", &self.subject),
            ("period", &self.period),
            ("currency", &self.currency),
        ]
    }
}

/// Adds charges, or takes them away.
///
/// # Errors
/// Those of the database.
pub async fn change(
    transaction: &mut Transaction,
    charges: &BTreeMap<SpendKey, Sum>,
    change: SumChange,
) -> Result<(), StoreError> {
    if change == SumChange::Subtract {
        for (key, charge) in charges {
            let row = SumRow {
                table: "spend",
                key: key.columns().to_vec(),
                counts: Vec::new(),
                amounts: vec![("amount", *charge)],
            };
            row.subtract(transaction).await?;
        }
        return Ok(());
    }
    match transaction {
        Transaction::Sqlite(inner, _) => {
            let rows: Vec<_> = charges
                .iter()
                .map(|(key, charge)| {
                    let key = [key.kind, &key.subject, &key.period, &key.currency];
                    (key.to_vec(), charge)
                })
                .collect();
            let key = ["kind", "subject", "period", "currency"];
            sqlite_rows::add_amounts(inner, "spend", &key, &rows).await?;
        }
        Transaction::Postgres(inner) => {
            let texts = |of: fn(&SpendKey) -> &str| charges.keys().map(of).collect::<Vec<_>>();
            // In the order of the map, so that two never wait for each other.
            sqlx::query(
                "INSERT INTO spend (kind, subject, period, currency, amount) \
                 SELECT kind, subject, period, currency, amount::numeric \
                 FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) \
                   WITH ORDINALITY AS charges (kind, subject, period, currency, amount, place) ORDER BY place \
                 ON CONFLICT (kind, subject, period, currency) DO UPDATE SET amount = spend.amount + excluded.amount",
            )
            .bind(texts(|key| key.kind))
            .bind(texts(|key| &key.subject))
            .bind(texts(|key| &key.period))
            .bind(texts(|key| &key.currency))
            .bind(charges.values().map(Sum::text).collect::<Vec<_>>())
            .execute(&mut **inner)
            .await?;
        }
    }
    Ok(())
}

/// The first subject that has spent anything of those for which a condition holds, of which `$1` is the `person`: its kind and id.
///
/// # Errors
/// Those of the database.
pub(super) async fn first_of(
    transaction: &mut Transaction,
    condition: &str,
    person: &str,
) -> Result<Option<(String, String)>, StoreError> {
    let sql = format!("SELECT kind, subject FROM spend WHERE {condition} LIMIT 1");
    Ok(on_either!(transaction, connection => {
        sqlx::query_as(AssertSqlSafe(sql)).bind(person).fetch_optional(connection).await?
    }))
}

/// The most rows of a subject that are taken at once.
const TAKEN: usize = 500;

/// Takes some of what a subject has spent away: period, currency and amount.
///
/// # Errors
/// Those of the database.
pub async fn take_of(
    transaction: &mut Transaction,
    kind: &str,
    subject: &str,
) -> Result<Vec<(String, String, Sum)>, StoreError> {
    let (text, lock) = match transaction {
        Transaction::Sqlite(..) => ("", ""),
        Transaction::Postgres(_) => ("::text", " FOR UPDATE"),
    };
    let key = "kind, subject, period, currency";
    let sql = format!(
        "DELETE FROM spend WHERE ({key}) IN \
           (SELECT {key} FROM spend WHERE kind = $1 AND subject = $2 ORDER BY {key} LIMIT {TAKEN}{lock}) \
         RETURNING period, currency, amount{text}"
    );
    let rows: Vec<(String, String, String)> = on_either!(transaction, connection => {
        sqlx::query_as(AssertSqlSafe(sql)).bind(kind).bind(subject).fetch_all(connection).await?
    });
    rows.into_iter()
        .map(|(period, currency, amount)| Ok((period, currency, sum(&amount)?)))
        .collect()
}

/// What a subject has spent in a period, by currency.
///
/// # Errors
/// Those of the database.
pub async fn of(
    transaction: &mut Transaction,
    kind: &str,
    subject: &str,
    period: &str,
) -> Result<Vec<(String, Sum)>, StoreError> {
    let rows: Vec<(String, String)> = match transaction {
        Transaction::Sqlite(inner, _) => {
            sqlx::query_as(
                "SELECT currency, amount FROM spend WHERE kind = $1 AND subject = $2 AND period = $3 ORDER BY currency",
            )
            .bind(kind)
            .bind(subject)
            .bind(period)
            .fetch_all(&mut **inner)
            .await?
        }
        Transaction::Postgres(inner) => {
            sqlx::query_as(
                "SELECT currency, trim_scale(amount)::text FROM spend \
                 WHERE kind = $1 AND subject = $2 AND period = $3 ORDER BY currency",
            )
            .bind(kind)
            .bind(subject)
            .bind(period)
            .fetch_all(&mut **inner)
            .await?
        }
    };
    rows.into_iter()
        .map(|(currency, amount)| Ok((currency, sum(&amount)?)))
        .collect()
}

/// Notes when keys were used, where that is later than before. In microseconds since 1970.
///
/// # Errors
/// Those of the database.
pub async fn note_use(
    transaction: &mut Transaction,
    used: &BTreeMap<String, i64>,
) -> Result<(), StoreError> {
    match transaction {
        Transaction::Sqlite(inner, _) => {
            let used: Vec<_> = used.iter().collect();
            for used in used.chunks(ROWS) {
                let sql = format!(
                    "INSERT INTO key_use (key_id, at) {} \
                     ON CONFLICT (key_id) DO UPDATE SET at = excluded.at WHERE excluded.at > key_use.at",
                    sqlite_rows::values(used.len(), 2),
                );
                let mut note = sqlx::query(AssertSqlSafe(sql)).persistent(used.len() == ROWS);
                for (key, at) in used {
                    note = note.bind(*key).bind(**at);
                }
                note.execute(&mut **inner).await?;
            }
        }
        Transaction::Postgres(inner) => {
            // In the order of the map, so that two never wait for each other.
            sqlx::query(
                "INSERT INTO key_use (key_id, at) \
                 SELECT key_id, at FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS used (key_id, at, place) ORDER BY place \
                 ON CONFLICT (key_id) DO UPDATE SET at = excluded.at WHERE excluded.at > key_use.at",
            )
            .bind(used.keys().map(String::as_str).collect::<Vec<_>>())
            .bind(used.values().copied().collect::<Vec<_>>())
            .execute(&mut **inner)
            .await?;
        }
    }
    Ok(())
}

/// When a key was last used, in microseconds since 1970.
///
/// # Errors
/// Those of the database.
pub async fn last_use(transaction: &mut Transaction, key: &str) -> Result<Option<i64>, StoreError> {
    Ok(on_either!(transaction, connection => {
        sqlx::query_scalar("SELECT at FROM key_use WHERE key_id = $1")
            .bind(key)
            .fetch_optional(connection)
            .await?
    }))
}

/// An amount as it is stored, and a charge, together.
pub(super) fn plus(before: Option<&str>, charge: &Sum) -> Result<String, StoreError> {
    let mut sum = sum(before.unwrap_or("0"))?;
    sum.add(charge.value());
    Ok(sum.text())
}

/// The sum of amounts as they are stored, with blanks between.
pub(super) fn sum(amounts: &str) -> Result<Sum, StoreError> {
    let mut sum = Sum::default();
    for amount in amounts.split(' ') {
        let amount = Sum::parse(amount);
        let amount = amount.map_err(|why| StoreError::Value(format!("an amount that {why}")))?;
        sum.add(amount.value());
    }
    Ok(sum)
}
