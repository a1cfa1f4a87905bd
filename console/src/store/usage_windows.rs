//! Usage by hour, a page at a time: the rows of a page lie in its first hours, and what comes behind need not be added up.

use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{Duration, PrimitiveDateTime};

use super::usage_hours::UsageQuery;
use super::usage_rows::UsageTable;
use super::{StoreError, Transaction, fetch};
use crate::ledger::UsageColumn;

const HOUR: &[BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day]T[hour]");
/// The first window.
const SHORTEST: Duration = Duration::DAY;
/// The ratio of each window's length to that before: all together cost a third more than the last.
const GROWTH: i32 = 4;

/// Ends of ever longer windows, which all begin with the page. The last one lies before the end of what there is.
#[derive(Debug, Default)]
pub struct UsageWindows {
    begin: String,
    length: Duration,
    end: String,
}

impl UsageWindows {
    /// Those in which to look for a page; none if its rows do not come hour by hour.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn of(transaction: &mut Transaction, asked: &UsageQuery) -> Result<Self, StoreError> {
        if asked.by.first() != Some(&UsageColumn::Hour) {
            return Ok(Self::default());
        }
        let [first, last] = hours(transaction).await?;
        let after = asked.after.as_ref().and_then(|row| row.first().cloned());
        let begin = [first, asked.since.clone(), after].into_iter().flatten();
        Ok(Self {
            begin: begin.max().unwrap_or_default(),
            length: SHORTEST,
            end: [last, asked.until.clone()]
                .into_iter()
                .flatten()
                .min()
                .unwrap_or_default(),
        })
    }
}

impl Iterator for UsageWindows {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let begin = PrimitiveDateTime::parse(&self.begin, HOUR).ok()?;
        let end = begin.checked_add(self.length)?.format(HOUR).ok()?;
        self.length = self.length.checked_mul(GROWTH)?;
        (end < self.end).then_some(end)
    }
}

/// The first hour of all, and the last.
async fn hours(transaction: &mut Transaction) -> Result<[Option<String>; 2], StoreError> {
    // One by one, or SQLite reads all rows.
    let table = UsageTable::HoursOfAll.name();
    let [first, last] = ["min", "max"].map(|which| format!("(SELECT {which}(hour) FROM {table})"));
    let sql = format!("SELECT {first}, {last}");
    let found: (Option<String>, Option<String>) = fetch!(
        transaction,
        query_as.fetch_one,
        sqlx::AssertSqlSafe(sql),
        ()
    );
    Ok([found.0, found.1])
}
