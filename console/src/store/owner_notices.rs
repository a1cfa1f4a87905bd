//! The choice of each person which notices they are mailed, and to which address; and who is to be mailed something.
//!
//! Whoever adds messages for people has the row of the watch (`webhooks.rs`), so that several consoles together keep the bound of a day.

use time::Duration;
use trilane::limits::{SubjectKind, member_parts};

use super::webhooks::{MessageCause, NewMessage};
use super::{StoreError, Transaction, execute, fetch};
use crate::language::Language;

/// The most mails of a person within a day.
pub const MOST_A_DAY: i64 = 20;
/// The length of that day.
const DAY: Duration = Duration::DAY;
/// The most keys that one look finds.
const BATCH: i64 = 500;

/// The choice of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeChoices {
    /// The e-mail address; `None`: the person is not mailed.
    pub email: Option<String>,
    /// Budgets of one's own, one's keys, and the teams that one manages.
    pub budgets: bool,
    /// Keys that expire soon.
    pub expiring: bool,
    /// Keys that nobody uses.
    pub unused: bool,
    /// The language of the mails.
    pub language: Language,
}

impl Default for NoticeChoices {
    fn default() -> Self {
        Self {
            email: None,
            budgets: true,
            expiring: true,
            unused: true,
            language: Language::current(),
        }
    }
}

/// The choice of a person; `None`: there is none yet.
///
/// # Errors
/// Those of the database.
pub async fn of_person(
    transaction: &mut Transaction,
    person: &str,
) -> Result<Option<NoticeChoices>, StoreError> {
    let row: Option<(Option<String>, bool, bool, bool, String)> = fetch!(
        transaction,
        query_as.fetch_optional,
        "SELECT email, budgets, expiring, unused, language FROM notice_choices WHERE person_id = $1",
        (person)
    );
    Ok(row.map(
        |(email, budgets, expiring, unused, language)| NoticeChoices {
            email,
            budgets,
            expiring,
            unused,
            language: Language::of(&language).unwrap_or_default(),
        },
    ))
}

/// Sets the choice of a person. Messages that wait go to the new address, or nowhere where there is none.
///
/// # Errors
/// Those of the database.
pub async fn set(
    transaction: &mut Transaction,
    person: &str,
    choices: &NoticeChoices,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO notice_choices (person_id, email, budgets, expiring, unused, language) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (person_id) DO UPDATE SET email = excluded.email, budgets = excluded.budgets, \
           expiring = excluded.expiring, unused = excluded.unused, language = excluded.language",
        (
            person,
            &choices.email,
            choices.budgets,
            choices.expiring,
            choices.unused,
            choices.language.tag()
        )
    )?;
    if choices.email.is_none() {
        execute!(
            transaction,
            "UPDATE webhook_events SET next_at = NULL WHERE person_id = $1 AND next_at IS NOT NULL",
            (person)
        )?;
    }
    Ok(())
}

/// A person who is to be mailed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeReceiver {
    /// The id of the person.
    pub person: String,
    /// The name of what is told of, if it has one: the label of the key, the name of the team.
    pub name: Option<String>,
    /// The language of the person's mails.
    pub language: Language,
}

/// People who can be mailed about budgets, and were not about this one: `$1` to `$4` are its subject, kind, period and percent.
const OF_BUDGET: &str = "JOIN notice_choices c ON c.person_id = p.id \
    WHERE NOT p.disabled AND c.email IS NOT NULL AND c.budgets AND NOT EXISTS \
      (SELECT 1 FROM webhook_events e WHERE e.receiver = p.id AND e.subject = $1 AND e.kind = $2 AND e.period = $3 AND e.threshold = $4)";

/// Those who are to be mailed that a budget has reached a percent: the owner of a key, the person of a budget of their own, the managers of a
/// team, and for a group those of teams that have keys in it.
///
/// # Errors
/// Those of the database.
pub async fn of_budget(
    transaction: &mut Transaction,
    (kind, subject): (SubjectKind, &str),
    (period, threshold): (&str, u32),
) -> Result<Vec<NoticeReceiver>, StoreError> {
    let threshold = i64::from(threshold);
    let of =
        |from: &str, condition: &str| format!("SELECT DISTINCT {from} {OF_BUDGET} AND {condition}");
    let (sql, member) = match kind {
        SubjectKind::Key => (
            of(
                "p.id, k.label, c.language FROM keys k JOIN people p ON p.id = k.owner",
                "k.id = $1",
            ),
            None,
        ),
        SubjectKind::Owner => (
            of("p.id, NULL, c.language FROM people p", "p.id = $1"),
            None,
        ),
        SubjectKind::Member => (
            of(
                "p.id, t.name, c.language FROM memberships m JOIN people p ON p.id = m.person_id JOIN teams t ON t.id = m.team_id",
                "m.person_id = $5 AND m.team_id = $6",
            ),
            member_parts(subject),
        ),
        SubjectKind::Team => (
            of(
                "p.id, t.name, c.language FROM memberships m JOIN people p ON p.id = m.person_id JOIN teams t ON t.id = m.team_id",
                "m.team_id = $1 AND m.manager",
            ),
            None,
        ),
        SubjectKind::Group => (
            of(
                "p.id, NULL, c.language FROM memberships m JOIN people p ON p.id = m.person_id",
                "m.manager AND EXISTS (SELECT 1 FROM keys k WHERE k.team = m.team_id AND k.group_id = $1)",
            ),
            None,
        ),
    };
    let sql = sqlx::AssertSqlSafe(sql);
    let rows: Vec<(String, Option<String>, String)> = match member {
        Some((person, team)) => fetch!(
            transaction,
            query_as.fetch_all,
            sql,
            (subject, kind.name(), period, threshold, person, team)
        ),
        None => fetch!(
            transaction,
            query_as.fetch_all,
            sql,
            (subject, kind.name(), period, threshold)
        ),
    };
    let rows = rows
        .into_iter()
        .map(|(person, name, language)| NoticeReceiver {
            person,
            name: name.filter(|name| !name.is_empty()),
            language: Language::of(&language).unwrap_or_default(),
        });
    Ok(rows.collect())
}

/// A key whose owner is to be mailed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticedKey {
    /// The id of the key.
    pub id: String,
    /// The label of the key.
    pub label: Option<String>,
    /// The id of its owner.
    pub owner: String,
    /// The event that is told once: the moment at which the key expires, or since when nobody uses it.
    pub period: String,
    /// The days before the end; 0: it is not about the end.
    pub days: u32,
    /// The language of the owner's mails.
    pub language: Language,
}

/// Keys of people who can be mailed. Left out are old values, and keys of sign-ins, which renew themselves.
const NOTICED: &str = "FROM notice_choices c JOIN people p ON p.id = c.person_id JOIN keys k ON k.owner = c.person_id \
    LEFT JOIN key_use u ON u.key_id = k.id \
    WHERE c.email IS NOT NULL AND NOT p.disabled AND NOT k.disabled AND k.counts_as IS NULL \
      AND NOT EXISTS (SELECT 1 FROM client_sign_ins s WHERE s.id = k.id)";

type NoticedRow = (String, Option<String>, String, String, i64, String);

fn noticed(rows: Vec<NoticedRow>) -> Vec<NoticedKey> {
    let rows = rows.into_iter();
    rows.map(|(id, label, owner, period, days, language)| NoticedKey {
        id,
        label,
        owner,
        period,
        days: u32::try_from(days).unwrap_or_default(),
        language: Language::of(&language).unwrap_or_default(),
    })
    .collect()
}

/// The moments between which keys expire, as their records write them.
#[derive(Debug, Clone)]
pub struct ExpiryWindow {
    /// The present moment.
    pub now: String,
    /// A day ago: a younger key is made for a short time.
    pub day_ago: String,
    /// In a day.
    pub in_a_day: String,
    /// In a week.
    pub in_a_week: String,
}

/// Keys that expire within a day or a week whose owners were not mailed that, those that expire first first.
///
/// # Errors
/// Those of the database.
pub async fn expiring(
    transaction: &mut Transaction,
    window: &ExpiryWindow,
) -> Result<Vec<NoticedKey>, StoreError> {
    let days = "CASE WHEN k.expires_at <= $3 THEN 1 ELSE 7 END";
    let sql = format!(
        "SELECT k.id, k.label, p.id, k.expires_at, CAST({days} AS BIGINT), c.language {NOTICED} \
         AND c.expiring AND k.expires_at > $1 AND k.expires_at <= $4 AND (k.created_at IS NULL OR k.created_at <= $2) \
         AND NOT EXISTS (SELECT 1 FROM webhook_events e WHERE e.receiver = p.id AND e.kind = 'expiring' AND e.subject = k.id \
           AND e.period = k.expires_at AND e.threshold <= {days}) ORDER BY k.expires_at, k.id LIMIT {BATCH}"
    );
    let rows: Vec<NoticedRow> = fetch!(
        transaction,
        query_as.fetch_all,
        sqlx::AssertSqlSafe(sql),
        (
            &window.now,
            &window.day_ago,
            &window.in_a_day,
            &window.in_a_week
        )
    );
    Ok(noticed(rows))
}

/// Keys that nobody has used since a moment, given as their records write it and in microseconds since 1970, whose owners were not mailed
/// that. Keys that expire before `now` are left out.
///
/// # Errors
/// Those of the database.
pub async fn unused(
    transaction: &mut Transaction,
    now: &str,
    (since, microseconds): (&str, i64),
) -> Result<Vec<NoticedKey>, StoreError> {
    let period = "'since ' || COALESCE(CAST(u.at AS TEXT), k.created_at)";
    let sql = format!(
        "SELECT k.id, k.label, p.id, {period}, CAST(0 AS BIGINT), c.language {NOTICED} \
         AND c.unused AND (k.expires_at IS NULL OR k.expires_at > $1) AND COALESCE(u.at <= $3, k.created_at <= $2) \
         AND NOT EXISTS (SELECT 1 FROM webhook_events e WHERE e.receiver = p.id AND e.kind = 'unused' AND e.subject = k.id \
           AND e.period = {period}) ORDER BY k.id LIMIT {BATCH}"
    );
    let rows: Vec<NoticedRow> = fetch!(
        transaction,
        query_as.fetch_all,
        sqlx::AssertSqlSafe(sql),
        (now, since, microseconds)
    );
    Ok(noticed(rows))
}

/// Adds a message for a person, unless there was one for the same, or as many as a day may have. Whether it was added.
///
/// # Errors
/// Those of the database.
pub async fn add_message(
    transaction: &mut Transaction,
    person: &str,
    cause: &MessageCause<'_>,
    message: &NewMessage,
    now: i64,
) -> Result<bool, StoreError> {
    let day = i64::try_from(DAY.whole_microseconds()).unwrap_or(i64::MAX);
    let of_day: i64 = fetch!(
        transaction,
        query_scalar.fetch_one,
        "SELECT count(*) FROM webhook_events WHERE person_id = $1 AND made_at > $2",
        (person, now.saturating_sub(day))
    );
    if of_day >= MOST_A_DAY {
        return Ok(false);
    }
    let added: Option<String> = fetch!(
        transaction,
        query_scalar.fetch_optional,
        "INSERT INTO webhook_events (receiver, person_id, kind, subject, period, threshold, id, body, attempts, next_at, made_at) \
         VALUES ($1, $1, $2, $3, $4, $5, $6, $7, 0, $8, $8) ON CONFLICT DO NOTHING RETURNING id",
        (
            person,
            cause.kind,
            cause.subject,
            cause.period,
            i64::from(cause.threshold),
            &message.id,
            &message.body,
            now
        )
    );
    Ok(added.is_some())
}
