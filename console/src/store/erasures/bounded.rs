//! Rows that one statement deletes or changes, a bounded number at a time.

use sqlx::AssertSqlSafe;

use crate::store::{StoreError, Transaction, on_either};

/// The most rows that one transaction deletes or changes.
const MOST: usize = 500;

/// Rows of a table that have an id.
#[derive(Debug)]
pub(super) struct RowsWithId {
    table: &'static str,
    /// The columns of its primary key.
    key: &'static str,
    /// The SQL condition for a row that has it: `$1` is the id, or the id as JSON text.
    condition: &'static str,
    /// Whether it is looked for as JSON text, within others.
    is_within: bool,
    /// The SQL assignments; `$2` is the pseudonym. `None`: the row is deleted.
    set: Option<&'static str>,
    /// A statement that takes the lock which whoever changes the table takes first.
    lock: Option<&'static str>,
}

const DELETED: RowsWithId = RowsWithId {
    table: "",
    key: "",
    condition: "",
    is_within: false,
    set: None,
    lock: None,
};

/// Subjects of the person: the owner, and the member of teams. No id of a team has an `@`.
pub(super) const OF_PERSON: &str = "(kind = 'owner' AND subject = $1) \
    OR (kind = 'member' AND substr(subject, 1, length($1) + 1) = $1 || '@' \
        AND {find}(substr(subject, length($1) + 2), '@') = 0)";

/// The row of the spend feed, which whoever notes charges locks first.
const FEED: Option<&str> = Some("UPDATE spend_feed SET head = head");

/// The row of whoever looks at budgets, who may be about to note one.
const WATCH: Option<&str> = Some("UPDATE webhook_watch SET version = version");

pub(super) const KEYS: RowsWithId = RowsWithId {
    table: "keys",
    key: "sha256",
    condition: "owner = $1",
    ..DELETED
};
pub(super) const SHARES: RowsWithId = RowsWithId {
    table: "spend_shares",
    key: "kind, subject, period, envoy_id, instance, currency",
    condition: OF_PERSON,
    lock: FEED,
    ..DELETED
};
pub(super) const SUBJECT: RowsWithId = RowsWithId {
    table: "spend_subjects",
    key: "kind, subject",
    condition: OF_PERSON,
    lock: FEED,
    ..DELETED
};
pub(super) const NEARLY_SPENT: RowsWithId = RowsWithId {
    table: "nearly_spent",
    key: "period, kind, subject",
    condition: OF_PERSON,
    lock: WATCH,
    ..DELETED
};
pub(super) const MESSAGES: RowsWithId = RowsWithId {
    table: "webhook_events",
    key: "id",
    condition: OF_PERSON,
    lock: WATCH,
    ..DELETED
};
pub(super) const ANSWERS: RowsWithId = RowsWithId {
    table: "idempotency",
    key: "token_id, key",
    condition: "{find}(body, $1) > 0",
    is_within: true,
    ..DELETED
};
pub(super) const ASIDE: RowsWithId = RowsWithId {
    table: "lines_aside",
    key: "envoy_id, file_id, position",
    condition: "{find}(line, $1) > 0 OR {find}(detail, $1) > 0",
    is_within: true,
    set: Some("line = replace(line, $1, $2), detail = replace(detail, $1, $2)"),
    ..DELETED
};
pub(super) const DOCUMENTS: RowsWithId = RowsWithId {
    table: "documents",
    key: "version",
    condition: "author = $1",
    set: Some("author = $2"),
    ..DELETED
};
pub(super) const DRAFTS: RowsWithId = RowsWithId {
    table: "drafts",
    key: "id",
    condition: "author = $1",
    set: Some("author = $2"),
    ..DELETED
};
pub(super) const CREDENTIALS: RowsWithId = RowsWithId {
    table: "credentials",
    key: "name, destination",
    condition: "set_by = $1",
    set: Some("set_by = $2"),
    ..DELETED
};

impl RowsWithId {
    /// Deletes or changes some of them. Whether there were any.
    pub(super) async fn run(
        &self,
        transaction: &mut Transaction,
        (person, pseudonym): (&str, &str),
    ) -> Result<bool, StoreError> {
        let Self { table, key, .. } = self;
        let what = match self.set {
            Some(set) => format!("UPDATE {table} SET {set}"),
            None => format!("DELETE FROM {table}"),
        };
        let condition = for_engine(self.condition, transaction);
        let sql = format!(
            "{what} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE {condition} LIMIT {MOST})"
        );
        let (person, pseudonym) = if self.is_within {
            (quoted(person), quoted(pseudonym))
        } else {
            (person.to_owned(), pseudonym.to_owned())
        };
        let changed = on_either!(transaction, connection => {
            if let Some(lock) = self.lock {
                sqlx::query(lock).execute(&mut *connection).await?;
            }
            let mut query = sqlx::query(AssertSqlSafe(sql)).bind(person);
            if self.set.is_some() {
                query = query.bind(pseudonym);
            }
            query.execute(connection).await?.rows_affected()
        });
        Ok(changed > 0)
    }
}

/// A condition with the name that the engine has for looking for a text in another.
pub(super) fn for_engine(condition: &str, transaction: &Transaction) -> String {
    let find = match transaction {
        Transaction::Sqlite(..) => "instr",
        Transaction::Postgres(_) => "strpos",
    };
    condition.replace("{find}", find)
}

/// A text as JSON has it.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
