//! The spend of keys, members, owners, teams and groups by day and by month, and the last use of a key.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, Row as _};
use trilane::limits::SubjectKind;

use super::sqlite_rows::{self, ROWS};
use super::sum_table::{SumRow, SumTable, amount, amount_columns};
use super::{StoreError, SumChange, Transaction, fetch, on_either};
use crate::ledger::Sum;

/// The subject, period and currency of charges, in the order of the primary key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpendKey {
    /// The kind of the subject.
    pub kind: SubjectKind,
    /// The id of the subject.
    pub subject: String,
    /// `2026-11-24` or `2026-11`.
    pub period: String,
    /// The currency of the charges.
    pub currency: String,
}

impl SpendKey {
    /// The columns of the primary key.
    pub(super) const COLUMNS: [&str; 4] = ["kind", "subject", "period", "currency"];

    /// Their values.
    pub(super) fn texts(&self) -> [&str; 4] {
        [
            self.kind.name(),
            &self.subject,
            &self.period,
            &self.currency,
        ]
    }
}

/// The kind of subject that a column has.
///
/// # Errors
/// There is none of this name.
pub fn kind(name: &str) -> Result<SubjectKind, StoreError> {
    SubjectKind::named(name).ok_or_else(|| StoreError::Value("a kind of subject".to_owned()))
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
    let rows = charges.iter().map(|(key, charge)| SumRow {
        key: key.texts().to_vec(),
        counts: Vec::new(),
        amounts: vec![*charge],
    });
    let rows: Vec<_> = rows.collect();
    let table = SumTable {
        name: "spend",
        key: SpendKey::COLUMNS.to_vec(),
        numbers: 0,
        counts: Vec::new(),
        amounts: &["amount"],
    };
    table.change(transaction, &rows, change).await
}

/// The first subject that has spent anything of those for which a condition holds, of which `$1` is the `person`: its kind and id.
///
/// # Errors
/// Those of the database.
pub(super) async fn first_of(
    transaction: &mut Transaction,
    condition: &str,
    person: &str,
) -> Result<Option<(SubjectKind, String)>, StoreError> {
    let sql = format!("SELECT kind, subject FROM spend WHERE {condition} LIMIT 1");
    let found: Option<(String, String)> = fetch!(
        transaction,
        query_as.fetch_optional,
        AssertSqlSafe(sql),
        (person)
    );
    let Some((of, subject)) = found else {
        return Ok(None);
    };
    Ok(Some((kind(&of)?, subject)))
}

/// The most rows of a subject that are taken at once.
const TAKEN: usize = 500;

/// Takes some of what a subject has spent away: period, currency and amount.
///
/// # Errors
/// Those of the database.
pub async fn take_of(
    transaction: &mut Transaction,
    kind: SubjectKind,
    subject: &str,
) -> Result<Vec<(String, String, Sum)>, StoreError> {
    let lock = match transaction {
        Transaction::Sqlite(..) => "",
        Transaction::Postgres(_) => " FOR UPDATE",
    };
    let key = SpendKey::COLUMNS.join(", ");
    let sql = format!(
        "DELETE FROM spend WHERE ({key}) IN \
           (SELECT {key} FROM spend WHERE kind = $1 AND subject = $2 ORDER BY {key} LIMIT {TAKEN}{lock}) \
         RETURNING {}, period, currency",
        amount_columns("amount").join(", "),
    );
    let mut taken = Vec::new();
    on_either!(transaction, connection => {
        let query = sqlx::query(AssertSqlSafe(sql)).bind(kind.name()).bind(subject);
        for row in query.fetch_all(connection).await? {
            let at = Sum::COLUMNS;
            taken.push((row.try_get(at)?, row.try_get(at.saturating_add(1))?, amount(&row, 0)?));
        }
    });
    Ok(taken)
}

/// Reads the amounts that a subject has spent in a period, by currency.
///
/// # Errors
/// Those of the database.
pub async fn of(
    transaction: &mut Transaction,
    kind: SubjectKind,
    subject: &str,
    period: &str,
) -> Result<Vec<(String, Sum)>, StoreError> {
    let sql = format!(
        "SELECT {}, currency FROM spend WHERE kind = $1 AND subject = $2 AND period = $3 ORDER BY currency",
        amount_columns("amount").join(", "),
    );
    let mut spent = Vec::new();
    on_either!(transaction, connection => {
        let query = sqlx::query(AssertSqlSafe(sql)).bind(kind.name()).bind(subject).bind(period);
        for row in query.fetch_all(connection).await? {
            spent.push((row.try_get(Sum::COLUMNS)?, amount(&row, 0)?));
        }
    });
    Ok(spent)
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

/// Finds the time of a key's latest use, in microseconds since 1970.
///
/// # Errors
/// Those of the database.
pub async fn last_use(transaction: &mut Transaction, key: &str) -> Result<Option<i64>, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_optional,
        "SELECT at FROM key_use WHERE key_id = $1",
        (key)
    ))
}
