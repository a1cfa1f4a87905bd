//! Keys with budgets, and members, owners and teams with budgets, by the groups of their keys.

use sqlx::AssertSqlSafe;

use super::{StoreError, Transaction, fetch};

/// Keys of one subject with a budget, all with the same models of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetedKeys {
    /// `key`, `member`, `owner` or `team`.
    pub kind: String,
    /// The id of the subject.
    pub subject: String,
    /// The models of the group that they may use, a JSON list; `None`: all.
    pub models: Option<String>,
}

/// The most that are looked at of each kind.
const MOST: u32 = 1000;

/// The subjects with budgets that have keys in a group, those with a budget of a key first.
///
/// # Errors
/// Those of the database.
pub async fn in_group(
    transaction: &mut Transaction,
    group: &str,
) -> Result<Vec<BudgetedKeys>, StoreError> {
    let keys = format!(
        "SELECT 'key' AS kind, id AS subject, models FROM keys \
         WHERE group_id = $1 AND limits LIKE '%\"budget\"%' ORDER BY id LIMIT {MOST}"
    );
    let people = |kind: &str| {
        format!(
            "SELECT DISTINCT spent.kind, spent.subject, keys.models FROM spend_subjects AS spent JOIN keys ON keys.{kind} = spent.subject \
             WHERE spent.kind = '{kind}' AND (spent.per_day IS NOT NULL OR spent.per_month IS NOT NULL) AND keys.group_id = $1 \
             ORDER BY spent.subject LIMIT {MOST}"
        )
    };
    let members = format!(
        "SELECT DISTINCT spent.kind, spent.subject, keys.models FROM memberships AS member \
         JOIN spend_subjects AS spent ON spent.kind = 'member' AND spent.subject = member.person_id || '@' || member.team_id \
         JOIN keys ON keys.team = member.team_id AND keys.owner = member.person_id \
         WHERE (spent.per_day IS NOT NULL OR spent.per_month IS NOT NULL) AND keys.group_id = $1 \
         ORDER BY spent.subject LIMIT {MOST}"
    );
    let mut found = Vec::new();
    for sql in [keys, members, people("owner"), people("team")] {
        let rows: Vec<(String, String, Option<String>)> =
            fetch!(transaction, query_as.fetch_all, AssertSqlSafe(sql), (group));
        found.extend(
            rows.into_iter()
                .map(|(kind, subject, models)| BudgetedKeys {
                    kind,
                    subject,
                    models,
                }),
        );
    }
    Ok(found)
}
