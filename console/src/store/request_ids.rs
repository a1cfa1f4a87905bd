//! Requests by an id that somebody has: Envoy's, one that the vendor gave, or the client's of its session.
//!
//! A line keeps a digest of each, which is a fifth as long as most ids and found by an index. In SQLite the day stands before it: new
//! lines are added at the end of an index, however many days there are, and a search looks at each day.

use sha2::{Digest as _, Sha256};
use sqlx::AssertSqlSafe;

use super::requests::{COLUMNS, RequestColumns, StoredRequest, wanted};
use super::{StoreError, Transaction, fetch};
use crate::explain::LedgerLine;

/// The members of a line that are ids, in the order of their columns.
pub const MEMBERS: [&str; 4] = [
    "request_id",
    "gen_ai.response.id",
    "trilane.upstream_request_id",
    "trilane.session",
];
/// The columns of their digests.
const ID_COLUMNS: [&str; 4] = [
    "request_digest",
    "response_digest",
    "upstream_digest",
    "session_digest",
];

/// Returns the digest of an id; `None`: it is empty.
pub fn digest(id: &str) -> Option<i64> {
    if id.is_empty() {
        return None;
    }
    let digest = Sha256::digest(id.as_bytes());
    let first = digest.first_chunk().copied();
    first.map(i64::from_be_bytes)
}

/// The requests that have this id, the latest first, so many at most.
///
/// # Errors
/// Those of the database.
pub async fn find(
    transaction: &mut Transaction,
    id: &str,
    limit: usize,
) -> Result<Vec<StoredRequest>, StoreError> {
    let Some(digest) = digest(id) else {
        return Ok(Vec::new());
    };
    let days = days(transaction).await?;
    let places = (1..=days.len()).map(|place| format!("${place}"));
    let places = places.collect::<Vec<_>>().join(", ");
    let of_days = if days.is_empty() {
        String::new()
    } else {
        format!(" AND taken_on IN ({places})")
    };
    let latest = format!("ORDER BY at DESC, position DESC LIMIT {limit}");
    let of_column = |column| {
        format!(
            "SELECT * FROM (SELECT {COLUMNS}, line FROM requests WHERE {column} = {digest}{of_days} {latest}) AS of_column"
        )
    };
    let sql = format!(
        "SELECT * FROM ({}) AS found {latest}",
        ID_COLUMNS.map(of_column).join(" UNION "),
    );
    let rows: Vec<RequestColumns> = fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(sql),
        [..days.iter()]
    );
    let found = rows.into_iter().filter_map(wanted);
    Ok(found.filter(|found| has(found, id)).collect())
}

/// Whether a line has an id: another one may have the same digest.
fn has(found: &StoredRequest, id: &str) -> bool {
    LedgerLine::parse(found.line.as_bytes())
        .is_some_and(|line| MEMBERS.iter().any(|member| line.text(member) == Some(id)))
}

/// The days of which there are lines, in SQLite; in PostgreSQL each has a partition with an index of its own.
async fn days(transaction: &mut Transaction) -> Result<Vec<String>, StoreError> {
    let Transaction::Sqlite(inner, _) = transaction else {
        return Ok(Vec::new());
    };
    let days = sqlx::query_scalar(
        "WITH RECURSIVE days (day) AS (SELECT max(taken_on) FROM requests \
           UNION ALL SELECT (SELECT max(taken_on) FROM requests WHERE taken_on < day) FROM days WHERE day IS NOT NULL) \
         SELECT day FROM days WHERE day IS NOT NULL",
    );
    Ok(days.fetch_all(&mut **inner).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_sha_256() {
        assert_eq!(digest(""), None);
        // sha256("abc") begins with ba7816bf8f01cfea.
        assert_eq!(digest("abc"), Some(0xba78_16bf_8f01_cfea_u64.cast_signed()));
    }
}
