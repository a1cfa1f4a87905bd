//! Statements with many rows, for SQLite: each statement is a message to the thread of its connection and back, which costs more
//! than a row.

use std::collections::BTreeMap;

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::StoreError;
use super::spend::plus;
use crate::ledger::Sum;

/// The most rows of a statement. Statements with as many are prepared once.
pub const ROWS: usize = 100;

/// `VALUES (…), (…)` for so many rows and columns.
pub fn values(rows: usize, columns: usize) -> String {
    let row = format!("({})", vec!["?"; columns].join(", "));
    format!("VALUES {}", vec![row; rows].join(", "))
}

/// Selects columns of a table's rows by its primary key, of texts, behind the number of the row that is asked for: `$1` is that
/// number, and the key follows.
pub fn find(rows: usize, table: &str, key: &[&str], columns: &str) -> String {
    // SQLite calls the columns of such a list column1, column2 and so on.
    let equal = key
        .iter()
        .zip(2_u32..)
        .map(|(name, place)| format!("{table}.{name} = asked.column{place}"));
    format!(
        "SELECT asked.column1, {columns} FROM ({}) AS asked CROSS JOIN {table} ON {}",
        values(rows, key.len().saturating_add(1)),
        equal.collect::<Vec<_>>().join(" AND "),
    )
}

/// The number of a row among those of a statement.
pub fn number(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}

/// Adds to the `amount` of a table's rows, each of which has a primary key of texts. SQLite's own sums would be floats.
///
/// # Errors
/// Those of the database.
pub async fn add_amounts(
    connection: &mut SqliteConnection,
    table: &str,
    key: &[&str],
    rows: &[(Vec<&str>, &Sum)],
) -> Result<(), StoreError> {
    for rows in rows.chunks(ROWS) {
        let sql = find(rows.len(), table, key, "amount");
        let mut asked = sqlx::query_as(AssertSqlSafe(sql)).persistent(rows.len() == ROWS);
        for (place, (texts, _)) in rows.iter().enumerate() {
            asked = asked.bind(number(place));
            for text in texts {
                asked = asked.bind(*text);
            }
        }
        let before: Vec<(i64, String)> = asked.fetch_all(&mut *connection).await?;
        let before: BTreeMap<i64, String> = before.into_iter().collect();
        let sql = format!(
            "INSERT INTO {table} ({key}, amount) {values} ON CONFLICT ({key}) DO UPDATE SET amount = excluded.amount",
            values = values(rows.len(), key.len().saturating_add(1)),
            key = key.join(", "),
        );
        let mut add = sqlx::query(AssertSqlSafe(sql)).persistent(rows.len() == ROWS);
        for (place, (texts, charge)) in rows.iter().enumerate() {
            for text in texts {
                add = add.bind(*text);
            }
            let before = before.get(&number(place)).map(String::as_str);
            add = add.bind(plus(before, charge)?);
        }
        add.execute(&mut *connection).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements() {
        assert_eq!(values(2, 3), "VALUES (?, ?, ?), (?, ?, ?)");
        let want = "SELECT asked.column1, amount FROM (VALUES (?, ?, ?)) AS asked \
                    CROSS JOIN t ON t.a = asked.column2 AND t.b = asked.column3";
        assert_eq!(find(1, "t", &["a", "b"], "amount"), want);
    }
}
