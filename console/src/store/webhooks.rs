//! Webhooks, and the messages that are on their way.

use core::fmt;

use super::old_rows::OldRows;
use super::{StoreError, Transaction, execute, fetch, on_either};
use crate::language::Language;

/// A message that is not in the database yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The id of the message, which no other has.
    pub id: String,
    /// The JSON: `id`, `type`, `at`, `text`, and the facts.
    pub body: String,
}

/// A webhook. `Debug` does not print its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The id.
    pub id: String,
    /// Its kind, by name: `webhook`, `slack`, `teams` or `email`.
    pub kind: String,
    /// The URL that messages are sent to, as it may be shown.
    pub url: String,
    /// The secret that signs them, or the whole URL, sealed (`webhooks/secrets.rs`); empty: it needs none.
    pub secret: String,
    /// Percents of a budget.
    pub thresholds: Vec<u32>,
    /// The language of its sentences.
    pub language: Language,
    /// The time at which the webhook was added, in microseconds since 1970.
    pub created_at: i64,
    /// The time of the latest message that arrived.
    pub delivered_at: Option<i64>,
    /// The time of the latest attempt that failed, and why.
    pub failure: Option<(i64, String)>,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook")
            .field("id", &self.id)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// The cause of a message, of which each webhook gets one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageCause<'a> {
    /// The kind of the subject: `key`, `member`, `owner`, `team` or `group` of a budget; or `envoy` or `account`; or of a key `expiring` or
    /// `unused`.
    pub kind: &'a str,
    /// The id.
    pub subject: &'a str,
    /// The day or month; or since when an Envoy is away; or when a key expires, or since when it is not used.
    pub period: &'a str,
    /// The percent of the budget that was reached, or the days before the end of a key; else 0.
    pub threshold: u32,
}

/// A message that was taken to be delivered. `Debug` does not print the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct ClaimedMessage {
    /// The id.
    pub id: String,
    /// The id of its webhook, or of its person.
    pub webhook: String,
    /// The kind of that, by name; of a person `email`.
    pub kind: String,
    /// The URL that it is sent to, as it may be shown.
    pub url: String,
    /// The secret that signs it, or the whole URL, sealed.
    pub secret: String,
    /// The JSON.
    pub body: String,
    /// The number of delivery attempts, this one included.
    pub attempts: i64,
}

impl fmt::Debug for ClaimedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimedMessage")
            .field("id", &self.id)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

type WebhookRow = (
    String,
    String,
    String,
    String,
    String,
    String,
    i64,
    Option<i64>,
    Option<i64>,
    Option<String>,
);
type ClaimedRow = (String, String, String, String, String, String, i64);

/// The columns of a webhook.
const COLUMNS: &str =
    "id, kind, url, secret, thresholds, language, created_at, delivered_at, failed_at, problem";

fn of(row: WebhookRow) -> Webhook {
    Webhook {
        id: row.0,
        kind: row.1,
        url: row.2,
        secret: row.3,
        thresholds: serde_json::from_str(&row.4).unwrap_or_default(),
        language: Language::of(&row.5).unwrap_or_default(),
        created_at: row.6,
        delivered_at: row.7,
        failure: row.8.zip(row.9),
    }
}

/// Lets nobody else add webhooks until the transaction ends.
///
/// # Errors
/// Those of the database.
pub async fn lock(transaction: &mut Transaction) -> Result<(), StoreError> {
    if let Transaction::Postgres(inner) = transaction {
        sqlx::query("LOCK TABLE webhooks IN SHARE ROW EXCLUSIVE MODE")
            .execute(&mut **inner)
            .await?;
    }
    Ok(())
}

/// Adds a webhook.
///
/// # Errors
/// Those of the database.
pub async fn insert(transaction: &mut Transaction, webhook: &Webhook) -> Result<(), StoreError> {
    let thresholds = serde_json::to_string(&webhook.thresholds).unwrap_or_default();
    execute!(
        transaction,
        "INSERT INTO webhooks (id, kind, url, secret, thresholds, language, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        (
            &webhook.id,
            &webhook.kind,
            &webhook.url,
            &webhook.secret,
            thresholds,
            webhook.language.tag(),
            webhook.created_at
        )
    )
}

/// Removes a webhook and its messages. False: there is none.
///
/// # Errors
/// Those of the database.
pub async fn remove(transaction: &mut Transaction, id: &str) -> Result<bool, StoreError> {
    let removed = on_either!(transaction, connection => {
        sqlx::query("DELETE FROM webhooks WHERE id = $1").bind(id).execute(connection).await?.rows_affected()
    });
    Ok(removed > 0)
}

/// Puts the same secret, sealed anew, in the place of what is there. False: the webhook is gone, or another console has sealed it.
///
/// # Errors
/// Those of the database.
pub async fn reseal(
    transaction: &mut Transaction,
    before: &Webhook,
    secret: &str,
) -> Result<bool, StoreError> {
    let changed = on_either!(transaction, connection => {
        sqlx::query("UPDATE webhooks SET secret = $4 WHERE id = $1 AND url = $2 AND secret = $3")
            .bind(&before.id)
            .bind(&before.url)
            .bind(&before.secret)
            .bind(secret)
            .execute(connection)
            .await?
            .rows_affected()
    });
    Ok(changed > 0)
}

/// Webhooks with ids after one.
///
/// # Errors
/// Those of the database.
pub async fn list(
    transaction: &mut Transaction,
    after: &str,
    limit: i64,
) -> Result<Vec<Webhook>, StoreError> {
    let rows: Vec<WebhookRow> = fetch!(
        transaction,
        query_as.fetch_all,
        sqlx::AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM webhooks WHERE id > $1 ORDER BY id LIMIT $2"
        )),
        (after, limit)
    );
    Ok(rows.into_iter().map(of).collect())
}

/// The webhook with an id.
///
/// # Errors
/// Those of the database.
pub async fn get(transaction: &mut Transaction, id: &str) -> Result<Option<Webhook>, StoreError> {
    let row: Option<WebhookRow> = fetch!(
        transaction,
        query_as.fetch_optional,
        sqlx::AssertSqlSafe(format!("SELECT {COLUMNS} FROM webhooks WHERE id = $1")),
        (id)
    );
    Ok(row.map(of))
}

/// Up to which version budgets were looked at; locked until the transaction ends, so one console looks at a time.
///
/// # Errors
/// Those of the database.
pub async fn lock_watch(transaction: &mut Transaction) -> Result<i64, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_one,
        "UPDATE webhook_watch SET version = version RETURNING version",
        ()
    ))
}

/// Notes up to which version budgets were looked at.
///
/// # Errors
/// Those of the database.
pub async fn set_watch(transaction: &mut Transaction, version: i64) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE webhook_watch SET version = $1",
        (version)
    )
}

/// Adds a message, unless there was one of this webhook for the same.
///
/// # Errors
/// Those of the database.
pub async fn add_message(
    transaction: &mut Transaction,
    webhook: &str,
    cause: &MessageCause<'_>,
    message: &NewMessage,
    now: i64,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO webhook_events (receiver, webhook_id, kind, subject, period, threshold, id, body, attempts, next_at) \
         VALUES ($1, $1, $2, $3, $4, $5, $6, $7, 0, $8) ON CONFLICT DO NOTHING",
        (
            webhook,
            cause.kind,
            cause.subject,
            cause.period,
            i64::from(cause.threshold),
            &message.id,
            &message.body,
            now
        )
    )
}

/// The message that is due for longest; nobody else gets it before `until`. `None`: none is due.
///
/// # Errors
/// Those of the database.
pub async fn claim(
    transaction: &mut Transaction,
    now: i64,
    until: i64,
) -> Result<Option<ClaimedMessage>, StoreError> {
    let claim = |skip: &str| {
        format!(
            "UPDATE webhook_events SET next_at = $2, attempts = attempts + 1 WHERE id = \
             (SELECT id FROM webhook_events WHERE next_at <= $1 ORDER BY next_at LIMIT 1 {skip}) \
             RETURNING id, receiver, COALESCE((SELECT kind FROM webhooks WHERE webhooks.id = webhook_id), 'email'), \
               COALESCE((SELECT url FROM webhooks WHERE webhooks.id = webhook_id), \
                 (SELECT 'mailto:' || c.email FROM notice_choices c WHERE c.person_id = webhook_events.person_id), ''), \
               COALESCE((SELECT secret FROM webhooks WHERE webhooks.id = webhook_id), ''), body, attempts"
        )
    };
    let skip = match transaction {
        Transaction::Sqlite(..) => "",
        Transaction::Postgres(_) => "FOR UPDATE SKIP LOCKED",
    };
    let row: Option<ClaimedRow> = fetch!(
        transaction,
        query_as.fetch_optional,
        sqlx::AssertSqlSafe(claim(skip)),
        (now, until)
    );
    Ok(row.map(
        |(id, webhook, kind, url, secret, body, attempts)| ClaimedMessage {
            id,
            webhook,
            kind,
            url,
            secret,
            body,
            attempts,
        },
    ))
}

/// Notes what became of a message: when it was delivered, or when it is tried again (`None`: never) and why.
///
/// # Errors
/// Those of the database.
pub async fn close(
    transaction: &mut Transaction,
    id: &str,
    delivered_at: Option<i64>,
    next_at: Option<i64>,
    problem: Option<&str>,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE webhook_events SET delivered_at = $2, next_at = $3, problem = $4 WHERE id = $1",
        (id, delivered_at, next_at, problem)
    )
}

/// Notes the latest delivery to a webhook, or with a problem the latest attempt that failed.
///
/// # Errors
/// Those of the database.
pub async fn note_attempt(
    transaction: &mut Transaction,
    webhook: &str,
    problem: Option<&str>,
    now: i64,
) -> Result<(), StoreError> {
    match problem {
        None => execute!(
            transaction,
            "UPDATE webhooks SET delivered_at = $2 WHERE id = $1",
            (webhook, now)
        ),
        Some(problem) => execute!(
            transaction,
            "UPDATE webhooks SET failed_at = $2, problem = $3 WHERE id = $1",
            (webhook, now, problem)
        ),
    }
}

/// Messages, delivered or given up, of periods before a day. Those of a period that is not over are what keeps a message from
/// being sent twice; that a key is not used is told once as long as there is the key.
pub const OVER: OldRows = OldRows {
    table: "webhook_events",
    key: "id",
    condition: "next_at IS NULL AND (period < $1 OR (period >= 'since ' AND NOT EXISTS (SELECT 1 FROM keys WHERE keys.id = subject)))",
    lock: None,
};
