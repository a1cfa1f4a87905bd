//! The data of persons is erased: a pseudonym takes the place of an id, wherever it stands, and sums stay what they are.
//!
//! [`begin`] notes the pseudonym, in the transaction that removes the person. From then on lines of the ledger that come late are
//! counted under it (`pseudonyms.rs`), so what is left of the id only gets less. [`run`] erases it table by table (`step.rs`), a
//! bounded number of rows in each transaction, and notes in the same transaction how far it is: whoever was killed is followed by
//! the next that looks, and two at once wait for each other. At the end the id itself goes, and a digest of it stays.

mod bounded;
mod lines;
mod names;
mod pseudonyms;
mod step;
mod sums;

use sqlx::AssertSqlSafe;

pub use pseudonyms::Pseudonyms;
pub use step::ErasureStep;

use super::{Store, StoreError, Transaction, execute, fetch, on_either};
use crate::in_transaction;
use crate::secret;

/// The prefix of pseudonyms.
const PREFIX: &str = "erased-";

/// An erasure of a person's data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    /// The pseudonym that replaces the person's id.
    pub pseudonym: String,
    /// The id; `None`: it is erased everywhere.
    pub person: Option<String>,
    /// The current step.
    pub step: ErasureStep,
    /// Up to where that is done, as the step counts.
    pub place: String,
    /// The time at which the erasure began, in microseconds since 1970.
    pub begun_at: i64,
    /// The time at which the erasure ended, in microseconds since 1970; `None`: it is going on.
    pub ended_at: Option<i64>,
}

const COLUMNS: &str = "pseudonym, person_id, step, place, begun_at, ended_at";

type ErasureRow = (String, Option<String>, String, String, i64, Option<i64>);

fn of(row: ErasureRow) -> Result<Erasure, StoreError> {
    let step = ErasureStep::parse(&row.2);
    Ok(Erasure {
        pseudonym: row.0,
        person: row.1,
        step: step.ok_or_else(|| StoreError::Value("a step of an erasure".to_owned()))?,
        place: row.3,
        begun_at: row.4,
        ended_at: row.5,
    })
}

/// Lets nobody else take lines in, or make something under an id that may be about to be erased, until the transaction ends.
/// Before all other locks.
///
/// # Errors
/// [`StoreError::Conflict`]: somebody takes lines in for longer than it is waited for.
pub async fn lock(transaction: &mut Transaction) -> Result<(), StoreError> {
    pseudonyms::lock_alone(transaction).await
}

/// Whether an id is being erased.
///
/// # Errors
/// Those of the database.
pub async fn are_going_on(transaction: &mut Transaction) -> Result<bool, StoreError> {
    Ok(fetch!(
        transaction,
        query_scalar.fetch_one,
        "SELECT EXISTS (SELECT 1 FROM erasures WHERE person_id IS NOT NULL)",
        ()
    ))
}

/// Begins to erase a person's data: from now on there is a pseudonym. The transaction has the [`lock`].
///
/// # Errors
/// Those of the database, or the system gives no randomness.
pub async fn begin(
    transaction: &mut Transaction,
    person: &str,
    now: i64,
) -> Result<Erasure, StoreError> {
    let new_id = || secret::new_id().map_err(StoreError::Other);
    let erasure = Erasure {
        pseudonym: format!("{PREFIX}{}", new_id()?),
        person: Some(person.to_owned()),
        step: ErasureStep::FIRST,
        place: String::new(),
        begun_at: now,
        ended_at: None,
    };
    let digest = pseudonyms::new_digest(transaction, person).await?;
    execute!(
        transaction,
        "INSERT INTO erasures (pseudonym, digest, person_id, step, place, begun_at) VALUES ($1, $2, $3, $4, $5, $6)",
        (
            &erasure.pseudonym,
            &digest,
            person,
            erasure.step.name(),
            &erasure.place,
            now
        )
    )?;
    // Keys first: what they still did would only be more to erase.
    step::run(transaction, &erasure, person).await?;
    Ok(erasure)
}

/// Erasures before one, the latest first.
///
/// # Errors
/// Those of the database.
pub async fn list(
    transaction: &mut Transaction,
    before: Option<(i64, String)>,
    limit: i64,
) -> Result<Vec<Erasure>, StoreError> {
    let (begun_at, pseudonym) = before.unwrap_or((i64::MAX, String::new()));
    let sql = format!(
        "SELECT {COLUMNS} FROM erasures WHERE (begun_at, pseudonym) < ($1, $2) ORDER BY begun_at DESC, pseudonym DESC LIMIT $3"
    );
    let rows: Vec<ErasureRow> = on_either!(transaction, connection => {
        let query = sqlx::query_as(AssertSqlSafe(sql)).bind(begun_at).bind(pseudonym);
        query.bind(limit).fetch_all(connection).await?
    });
    rows.into_iter().map(of).collect()
}

/// Erases what is left of all ids that are to be erased.
///
/// # Errors
/// The first that there was; all others were tried.
pub async fn run_all(store: &Store) -> Result<(), StoreError> {
    let mut transaction = store.read().await?;
    let left: Vec<String> = fetch!(
        &mut transaction,
        query_scalar.fetch_all,
        "SELECT pseudonym FROM erasures WHERE person_id IS NOT NULL ORDER BY begun_at",
        ()
    );
    transaction.rollback().await;
    let mut done = Ok(());
    for pseudonym in left {
        done = done.and(run(store, &pseudonym).await);
    }
    done
}

/// Erases what is left of the id that a pseudonym takes the place of.
///
/// # Errors
/// Those of the database; some may be erased.
pub async fn run(store: &Store, pseudonym: &str) -> Result<(), StoreError> {
    while run_some(store, pseudonym).await? {}
    Ok(())
}

/// Erases a bounded number of rows. Whether there may be more.
///
/// # Errors
/// Those of the database; nothing is erased then.
pub async fn run_some(store: &Store, pseudonym: &str) -> Result<bool, StoreError> {
    let now = time::OffsetDateTime::now_utc().unix_timestamp();
    let now = now.saturating_mul(1_000_000);
    in_transaction!(store, transaction => go_on(transaction, pseudonym, now).await)
}

/// Does the same as [`run_some`] in this transaction: others that go on with the same erasure wait until it ends.
///
/// # Errors
/// Those of the database.
pub async fn go_on(
    transaction: &mut Transaction,
    pseudonym: &str,
    now: i64,
) -> Result<bool, StoreError> {
    // Locked: of several that go on with it one is at it.
    let sql = format!(
        "UPDATE erasures SET step = step WHERE pseudonym = $1 AND person_id IS NOT NULL RETURNING {COLUMNS}"
    );
    let row: Option<ErasureRow> = fetch!(
        transaction,
        query_as.fetch_optional,
        AssertSqlSafe(sql),
        (pseudonym)
    );
    let Some(erasure) = row.map(of).transpose()? else {
        return Ok(false);
    };
    let Some(person) = &erasure.person else {
        return Ok(false);
    };
    let (step, place) = match step::run(transaction, &erasure, person).await? {
        Some(place) => (Some(erasure.step), place),
        None => (erasure.step.next(), String::new()),
    };
    on_either!(transaction, connection => {
        let noted = match step {
            Some(step) => sqlx::query("UPDATE erasures SET step = $2, place = $3 WHERE pseudonym = $1")
                .bind(pseudonym)
                .bind(step.name())
                .bind(place),
            None => sqlx::query("UPDATE erasures SET person_id = NULL, place = '', ended_at = $2 WHERE pseudonym = $1")
                .bind(pseudonym)
                .bind(now),
        };
        noted.execute(connection).await?;
    });
    Ok(step.is_some())
}
