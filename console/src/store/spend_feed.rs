//! The spend that gateways receive: for each subject of a budget the total, and the part of it that the asking Envoy has in its own
//! counters.
//!
//! Versions become visible in their order, as those of the feed of keys: whoever gives one away locks the row of the feed, and
//! does so last of all that a transaction locks.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{AssertSqlSafe, Row as _, SqliteConnection};
use time::Date;
use trilane::config::document::BudgetDocument;
use trilane::limits::{Period, SubjectKind, Window, member_id};

use super::old_rows::{Cutoff, OldRows};
use super::spend::{self, SpendKey};
use super::sqlite_rows::{self, ROWS};
use super::sum_table::{SumRow, SumTable, amount, amount_columns};
use super::{Store, StoreError, SumChange, Transaction, execute, fetch, on_either};
use crate::ledger::Sum;

/// A share: charges of one process of an Envoy, in the order of the primary key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShareKey {
    /// The subject, period and currency of the charges.
    pub of: SpendKey,
    /// The number of the process.
    pub instance: String,
}

/// The budgets and spend of one subject, as gateways receive them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendChange {
    /// The version of its latest change.
    pub version: i64,
    /// The kind of the subject.
    pub kind: SubjectKind,
    /// The id of the subject.
    pub subject: String,
    /// The budget of a member, an owner or a team.
    pub budget: BudgetDocument,
    /// The amounts spent, by period and currency.
    pub spent: BTreeMap<(String, String), SpentShares>,
}

/// The amounts spent in a period.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpentShares {
    /// By everybody.
    pub total: Sum,
    /// Of that by processes of the asking Envoy, by their numbers.
    pub own: BTreeMap<String, Sum>,
}

/// Returns the id of the sequence of versions, and the greatest version.
///
/// # Errors
/// Those of the database.
pub async fn head(transaction: &mut Transaction) -> Result<(String, i64), StoreError> {
    Ok(fetch!(
        transaction,
        query_as.fetch_one,
        "SELECT feed, head FROM spend_feed",
        ()
    ))
}

/// Gives so many versions away; the first of them. Nobody else gets any until the transaction ends.
async fn next_versions(
    transaction: &mut Transaction,
    count: usize,
    now: i64,
) -> Result<i64, StoreError> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let head: i64 = fetch!(
        transaction,
        query_scalar.fetch_one,
        "UPDATE spend_feed SET head = CASE WHEN head + $1 > $2 THEN head + $1 ELSE $2 END RETURNING head",
        (count, now)
    );
    Ok(head.saturating_sub(count).saturating_add(1))
}

/// Notes that charges of lines were added or taken away: those of subjects that gateways are told of, and `shares` of them,
/// which processes of this Envoy have in their own counters.
///
/// # Errors
/// Those of the database.
pub async fn change(
    transaction: &mut Transaction,
    envoy: &str,
    charges: &BTreeMap<SpendKey, Sum>,
    shares: &BTreeMap<ShareKey, Sum>,
    (change, now): (SumChange, i64),
) -> Result<(), StoreError> {
    let subject = |key: &SpendKey| (key.kind, key.subject.clone());
    let charged: BTreeSet<_> = charges.keys().map(subject).collect();
    if charged.is_empty() {
        return Ok(());
    }
    // A gateway counts a budget of these, so they are told of from now on, if they were not before.
    let counted: BTreeSet<_> = match change {
        SumChange::Add => shares.keys().map(|share| subject(&share.of)).collect(),
        SumChange::Subtract => BTreeSet::new(),
    };
    let others: Vec<_> = charged.difference(&counted).cloned().collect();
    let counted: Vec<_> = counted.into_iter().collect();
    let first = next_versions(transaction, charged.len(), now).await?;
    let after = first.saturating_add(i64::try_from(counted.len()).unwrap_or(i64::MAX));
    let insert = "INSERT INTO spend_subjects (kind, subject, version)";
    match transaction {
        Transaction::Sqlite(inner, _) => {
            let counted: Vec<_> = counted.iter().zip(first..).collect();
            for given in counted.chunks(ROWS) {
                let sql = format!(
                    "{insert} {} ON CONFLICT (kind, subject) DO UPDATE SET version = excluded.version",
                    sqlite_rows::values(given.len(), 3),
                );
                set_versions(inner, sql, given).await?;
            }
            let others: Vec<_> = others.iter().zip(after..).collect();
            for given in others.chunks(ROWS) {
                let sql = format!(
                    "UPDATE spend_subjects SET version = given.column3 FROM ({}) AS given \
                     WHERE kind = given.column1 AND subject = given.column2",
                    sqlite_rows::values(given.len(), 3),
                );
                set_versions(inner, sql, given).await?;
            }
        }
        Transaction::Postgres(inner) => {
            let kinds = |of: &[(SubjectKind, String)]| {
                of.iter().map(|(kind, _)| kind.name()).collect::<Vec<_>>()
            };
            let ids = |of: &[(SubjectKind, String)]| {
                of.iter().map(|(_, id)| id.clone()).collect::<Vec<_>>()
            };
            let given =
                "unnest($1::text[], $2::text[]) WITH ORDINALITY AS given (kind, subject, place)";
            sqlx::query(AssertSqlSafe(format!(
                "{insert} SELECT kind, subject, $3 + place - 1 FROM {given} \
                 ON CONFLICT (kind, subject) DO UPDATE SET version = excluded.version"
            )))
            .bind(kinds(&counted))
            .bind(ids(&counted))
            .bind(first)
            .execute(&mut **inner)
            .await?;
            sqlx::query(AssertSqlSafe(format!(
                "UPDATE spend_subjects AS old SET version = $3 + place - 1 FROM {given} \
                 WHERE old.kind = given.kind AND old.subject = given.subject"
            )))
            .bind(kinds(&others))
            .bind(ids(&others))
            .bind(after)
            .execute(&mut **inner)
            .await?;
        }
    }
    let rows = shares
        .iter()
        .map(|(ShareKey { of, instance }, charge)| SumRow {
            key: vec![
                of.kind.name(),
                &of.subject,
                &of.period,
                envoy,
                instance,
                &of.currency,
            ],
            counts: Vec::new(),
            amounts: vec![*charge],
        });
    let rows: Vec<_> = rows.collect();
    let table = SumTable {
        name: "spend_shares",
        key: vec![
            "kind", "subject", "period", "envoy_id", "instance", "currency",
        ],
        numbers: 0,
        counts: Vec::new(),
        amounts: &["amount"],
    };
    table.change(transaction, &rows, change).await
}

/// Runs a statement of so many subjects and their versions.
async fn set_versions(
    connection: &mut SqliteConnection,
    sql: String,
    given: &[(&(SubjectKind, String), i64)],
) -> Result<(), StoreError> {
    let mut set = sqlx::query(AssertSqlSafe(sql)).persistent(given.len() == ROWS);
    for ((kind, subject), version) in given {
        set = set.bind(kind.name()).bind(subject).bind(*version);
    }
    set.execute(connection).await?;
    Ok(())
}

/// Gives a member, an owner or a team a budget, or takes it. What it was.
///
/// # Errors
/// Those of the database.
pub async fn set_budget(
    transaction: &mut Transaction,
    kind: SubjectKind,
    subject: &str,
    new: &BudgetDocument,
    now: i64,
) -> Result<BudgetDocument, StoreError> {
    let version = next_versions(transaction, 1, now).await?;
    // Nobody else sets one from here on.
    let before = budget(transaction, kind, subject).await?;
    put_budget(transaction, (kind, subject), new, version).await?;
    Ok(before)
}

/// Gives each of several subjects a budget, or takes it.
///
/// # Errors
/// Those of the database.
pub async fn set_budgets(
    transaction: &mut Transaction,
    kind: SubjectKind,
    subjects: &[&str],
    new: &BudgetDocument,
    now: i64,
) -> Result<(), StoreError> {
    let first = next_versions(transaction, subjects.len(), now).await?;
    for (subject, version) in subjects.iter().zip(first..) {
        put_budget(transaction, (kind, subject), new, version).await?;
    }
    Ok(())
}

async fn put_budget(
    transaction: &mut Transaction,
    (kind, subject): (SubjectKind, &str),
    new: &BudgetDocument,
    version: i64,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "INSERT INTO spend_subjects (kind, subject, version, per_day, per_month) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (kind, subject) DO UPDATE SET version = excluded.version, per_day = excluded.per_day, \
         per_month = excluded.per_month",
        (kind.name(), subject, version, &new.per_day, &new.per_month)
    )
}

/// The budget of a member, an owner or a team. Without one, no amounts.
///
/// # Errors
/// Those of the database.
pub async fn budget(
    transaction: &mut Transaction,
    kind: SubjectKind,
    subject: &str,
) -> Result<BudgetDocument, StoreError> {
    let found: Option<StoredBudget> = fetch!(
        transaction,
        query_as.fetch_optional,
        "SELECT per_day, per_month FROM spend_subjects WHERE kind = $1 AND subject = $2",
        (kind.name(), subject)
    );
    Ok(budget_of(found.unwrap_or_default()))
}

/// Notes whether a manager has set the budget of a member. The budget is set before.
///
/// # Errors
/// Those of the database.
pub async fn set_own(
    transaction: &mut Transaction,
    member: &str,
    own: bool,
) -> Result<(), StoreError> {
    execute!(
        transaction,
        "UPDATE spend_subjects SET own = $2 WHERE kind = 'member' AND subject = $1",
        (member, own)
    )
}

/// The budgets of these members that have one, by their ids, each with whether a manager has set it.
///
/// # Errors
/// Those of the database.
pub async fn of_members(
    transaction: &mut Transaction,
    members: &[&str],
) -> Result<BTreeMap<String, (BudgetDocument, bool)>, StoreError> {
    if members.is_empty() {
        return Ok(BTreeMap::new());
    }
    let places: Vec<String> = (1..=members.len())
        .map(|place| format!("${place}"))
        .collect();
    let sql = format!(
        "SELECT subject, per_day, per_month, own FROM spend_subjects WHERE kind = 'member' AND subject IN ({}) \
         AND (per_day IS NOT NULL OR per_month IS NOT NULL)",
        places.join(", ")
    );
    let rows: Vec<(String, Option<String>, Option<String>, bool)> = fetch!(
        transaction,
        query_as.fetch_all,
        AssertSqlSafe(sql),
        [..members.iter().copied()]
    );
    let rows = rows.into_iter();
    Ok(rows
        .map(|(member, per_day, per_month, own)| (member, (budget_of((per_day, per_month)), own)))
        .collect())
}

/// The columns of a budget: for each day, and for each month.
type StoredBudget = (Option<String>, Option<String>);

fn budget_of((per_day, per_month): StoredBudget) -> BudgetDocument {
    BudgetDocument {
        per_day,
        per_month,
        ..BudgetDocument::default()
    }
}

/// A budget of a member, an owner or a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeopleBudget {
    /// Member, owner or team.
    pub kind: SubjectKind,
    /// The id of the subject.
    pub subject: String,
    /// The budget.
    pub budget: BudgetDocument,
    /// Whether a manager has set it.
    pub own: bool,
}

type PeopleBudgetRow = (String, String, Option<String>, Option<String>, bool);

/// Budgets of members, owners and teams after one, in the order of kinds and ids.
///
/// # Errors
/// Those of the database.
pub async fn budgets(
    transaction: &mut Transaction,
    kind: &str,
    subject: &str,
    limit: i64,
) -> Result<Vec<PeopleBudget>, StoreError> {
    let rows: Vec<PeopleBudgetRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT kind, subject, per_day, per_month, own FROM spend_subjects \
         WHERE (per_day IS NOT NULL OR per_month IS NOT NULL) AND (kind, subject) > ($1, $2) ORDER BY kind, subject LIMIT $3",
        (kind, subject, limit)
    );
    let budget = |(kind, subject, per_day, per_month, own): (String, _, _, _, _)| {
        Ok::<_, StoreError>(PeopleBudget {
            kind: spend::kind(&kind)?,
            subject,
            budget: budget_of((per_day, per_month)),
            own,
        })
    };
    rows.into_iter().map(budget).collect()
}

/// The ids of the members of a team that have a budget, whoever is in it now.
///
/// # Errors
/// Those of the database.
pub async fn members_with_budgets(
    transaction: &mut Transaction,
    team: &str,
) -> Result<Vec<String>, StoreError> {
    let end = match transaction {
        Transaction::Sqlite(..) => "substr(subject, -length($1))",
        Transaction::Postgres(_) => "right(subject, length($1))",
    };
    let sql = format!(
        "SELECT subject FROM spend_subjects WHERE kind = 'member' AND {end} = $1 \
         AND (per_day IS NOT NULL OR per_month IS NOT NULL) ORDER BY subject"
    );
    Ok(fetch!(
        transaction,
        query_scalar.fetch_all,
        AssertSqlSafe(sql),
        (member_id("", team))
    ))
}

/// The days and months that gateways may be in while the console is in `today`: their clocks may be some hours off.
pub fn periods(today: Date) -> [String; 6] {
    let [day, month] = Window::ALL.map(|window| Period::of(window, today));
    let around = |period: Period| [-1, 0, 1].map(|count| period.plus(count).to_string());
    let ([a, b, c], [d, e, f]) = (around(day), around(month));
    [a, b, c, d, e, f]
}

type SubjectRow = (i64, String, String, Option<String>, Option<String>);
/// The subjects that have changed after a version, in the order of their versions.
///
/// # Errors
/// Those of the database.
pub async fn changes(
    transaction: &mut Transaction,
    after: i64,
    limit: i64,
    envoy: &str,
    today: Date,
) -> Result<Vec<SpendChange>, StoreError> {
    let subjects: Vec<SubjectRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT version, kind, subject, per_day, per_month FROM spend_subjects WHERE version > $1 ORDER BY version LIMIT $2",
        (after, limit)
    );
    let Some(last) = subjects.last().map(|row| row.0) else {
        return Ok(Vec::new());
    };
    let columns = amount_columns("amount").join(", ");
    let periods = periods(today);
    // What has changed, and then what it has spent.
    let join = |table: &str| {
        format!(
            "FROM (SELECT kind, subject FROM spend_subjects WHERE version > $1 AND version <= $2) AS changed \
             JOIN {table} USING (kind, subject) WHERE period IN ($3, $4, $5, $6, $7, $8)"
        )
    };
    let totals = format!(
        "SELECT {columns}, kind, subject, period, currency {}",
        join("spend")
    );
    let shares = format!(
        "SELECT {columns}, kind, subject, period, currency, instance {} AND envoy_id = $9",
        join("spend_shares")
    );
    let mut spent: BTreeMap<(String, String), BTreeMap<(String, String), SpentShares>> =
        BTreeMap::new();
    for (sql, of) in [(totals, None), (shares, Some(envoy))] {
        on_either!(&mut *transaction, connection => {
            let mut query = sqlx::query(AssertSqlSafe(sql)).bind(after).bind(last);
            for period in &periods {
                query = query.bind(period);
            }
            if let Some(envoy) = of {
                query = query.bind(envoy);
            }
            for row in query.fetch_all(connection).await? {
                let subject = (row.try_get("kind")?, row.try_get("subject")?);
                let period = (row.try_get("period")?, row.try_get("currency")?);
                let shares = spent.entry(subject).or_default().entry(period).or_default();
                let amount = amount(&row, 0)?;
                if of.is_some() {
                    shares.own.insert(row.try_get("instance")?, amount);
                } else {
                    shares.total = amount;
                }
            }
        });
    }
    let change = |(version, kind, subject, per_day, per_month): SubjectRow| {
        let kind = spend::kind(&kind)?;
        let spent = spent.remove(&(kind.name().to_owned(), subject.clone()));
        Ok::<_, StoreError>(SpendChange {
            version,
            kind,
            subject,
            budget: budget_of((per_day, per_month)),
            spent: spent.unwrap_or_default(),
        })
    };
    subjects.into_iter().map(change).collect()
}

/// The row of the feed, which whoever notes charges locks first.
const FEED: Option<&str> = Some("UPDATE spend_feed SET head = head");
/// Shares of days before a day.
const SHARES_OF_DAYS: OldRows = OldRows {
    table: "spend_shares",
    key: "kind, subject, period, envoy_id, instance, currency",
    condition: "length(period) = 10 AND period < $1",
    lock: FEED,
};
/// Shares of months before a month.
const SHARES_OF_MONTHS: OldRows = OldRows {
    table: "spend_shares",
    key: "kind, subject, period, envoy_id, instance, currency",
    condition: "length(period) = 7 AND period < $1",
    lock: FEED,
};
/// Subjects without a budget here that have spent nothing since a month.
const IDLE_SUBJECTS: OldRows = OldRows {
    table: "spend_subjects",
    key: "kind, subject",
    condition: "per_day IS NULL AND per_month IS NULL AND NOT EXISTS \
        (SELECT 1 FROM spend WHERE spend.kind = spend_subjects.kind AND spend.subject = spend_subjects.subject \
            AND length(period) = 7 AND period >= $1)",
    lock: FEED,
};

/// Forgets shares of periods in which no gateway is any more, and subjects that have spent nothing in those that are left and
/// have no budget here.
///
/// # Errors
/// Those of the database; some may be forgotten.
pub async fn forget(store: &Store, today: Date) -> Result<(), StoreError> {
    let [yesterday, .., last_month, _, _] = periods(today);
    let last_month = Cutoff::Period(last_month);
    SHARES_OF_DAYS
        .delete(store, &Cutoff::Period(yesterday))
        .await?;
    SHARES_OF_MONTHS.delete(store, &last_month).await?;
    IDLE_SUBJECTS.delete(store, &last_month).await?;
    Ok(())
}
