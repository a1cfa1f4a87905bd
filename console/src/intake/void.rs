//! Lines of an Envoy are made void: they count nowhere, whenever they come.
//!
//! [`begin`] notes the time, while nobody takes lines in. From then on lines of it are kept aside with the reason `void`. Those that
//! had been counted are taken away by [`run`], a bounded number in each transaction: out of the lines that are kept, and from all
//! sums that they were added to. Whoever was killed is followed by the next that looks. While a person's data is erased, lines and
//! sums have different owners, so voids wait for it.

use std::collections::BTreeMap;

use serde_json::json;
use time::OffsetDateTime;

use super::batch_sums::BatchSums;
use super::sums;
use crate::in_transaction;
use crate::ledger::{LedgerRecord, Sum};
use crate::store::audit::{self, Actor};
use crate::store::erasures::{self, Pseudonyms};
use crate::store::lines_aside;
use crate::store::requests::{self, RequestColumn, RequestQuery, StoredRequest};
use crate::store::voids::{self, VoidRange};
use crate::store::{Store, StoreError, SumChange, Transaction, ledger_files};
use crate::timestamp::moment;

/// The most lines that one transaction takes away.
const MOST: i64 = 500;

/// The reason that no lines can be made void for a while.
pub const ERASURE: &str = "the data of a person is being erased: try again when that has ended";

/// Lines, and what they charge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountedLines {
    /// The number of lines.
    pub lines: u64,
    /// The sums of their charges, by currency.
    pub charges: BTreeMap<String, Sum>,
}

/// The work that is left of a void.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VoidProgress {
    /// There may be more lines.
    More,
    /// It waits until the data of a person is erased.
    Waits,
    /// Nothing.
    Done,
}

/// Counts the lines of an Envoy that began in a time, as far as they are kept.
///
/// # Errors
/// Those of the database.
pub async fn count(
    store: &Store,
    envoy: &str,
    (since, until): (i64, i64),
) -> Result<CountedLines, StoreError> {
    let mut counted = CountedLines::default();
    let mut before = None;
    loop {
        let query = RequestQuery {
            since: Some(since),
            until: Some(until),
            with: vec![(RequestColumn::Envoy, envoy)],
            before: before.as_ref(),
            limit: MOST,
            ..RequestQuery::default()
        };
        let mut transaction = store.read().await?;
        let found = requests::recent(&mut transaction, &query).await?;
        transaction.rollback().await;
        for line in &found.lines {
            counted.lines = counted.lines.saturating_add(1);
            if let Ok(record) = LedgerRecord::parse(line.line.as_bytes())
                && let Some(charge) = record.charge
            {
                let currency = record.currency().to_owned();
                counted.charges.entry(currency).or_default().add(charge);
            }
        }
        let last = found.lines.last().map(StoredRequest::place);
        let is_full = i64::try_from(found.lines.len()).is_ok_and(|count| count >= MOST);
        before = found.searched_to.or(last.filter(|_| is_full));
        if before.is_none() {
            return Ok(counted);
        }
    }
}

/// Makes a time of an Envoy void. `None`: the data of a person is being erased, which is waited for.
///
/// # Errors
/// Those of the database.
pub async fn begin(
    transaction: &mut Transaction,
    envoy: &str,
    (since, until): (i64, i64),
    actor: &Actor,
    now: i64,
) -> Result<Option<VoidRange>, StoreError> {
    erasures::lock(transaction).await?;
    if erasures::are_going_on(transaction).await? {
        return Ok(None);
    }
    let range = voids::insert(transaction, envoy, (since, until), now).await?;
    let mut entry = actor.entry(now, "envoy.void", envoy);
    entry.after = Some(json!({"from": moment(since), "to": moment(until)}).to_string());
    audit::insert(transaction, &entry).await?;
    Ok(Some(range))
}

/// Goes on with all voids that are not done.
///
/// # Errors
/// The first that there was; all others were tried.
pub async fn run_all(store: &Store) -> Result<(), StoreError> {
    let mut transaction = store.read().await?;
    let left = voids::unfinished(&mut transaction).await?;
    transaction.rollback().await;
    let mut done = Ok(());
    for range in left {
        done = done.and(run(store, &range).await.map(drop));
    }
    done
}

/// Takes the lines of a void away that had been counted. Whether all are.
///
/// # Errors
/// Those of the database; some may be taken away.
pub async fn run(store: &Store, range: &VoidRange) -> Result<bool, StoreError> {
    loop {
        match run_some(store, range).await? {
            VoidProgress::More => {}
            VoidProgress::Waits => return Ok(false),
            VoidProgress::Done => return Ok(true),
        }
    }
}

/// Takes a bounded number of lines away.
///
/// # Errors
/// Those of the database; nothing is changed then.
pub async fn run_some(store: &Store, range: &VoidRange) -> Result<VoidProgress, StoreError> {
    let now = OffsetDateTime::now_utc().unix_timestamp();
    let now = now.saturating_mul(1_000_000);
    in_transaction!(store, transaction => step(transaction, range, now).await)
}

async fn step(
    transaction: &mut Transaction,
    range: &VoidRange,
    now: i64,
) -> Result<VoidProgress, StoreError> {
    // The first lock of all: no erasure begins.
    Pseudonyms::share(transaction).await?;
    if erasures::are_going_on(transaction).await? {
        return Ok(VoidProgress::Waits);
    }
    let Some(mut range) = voids::lock(transaction, range).await? else {
        return Ok(VoidProgress::Done);
    };
    let time = (range.place, range.until);
    let lines = requests::take(transaction, &range.envoy, time, MOST).await?;
    let mut files: BTreeMap<&str, Vec<&StoredRequest>> = BTreeMap::new();
    for line in &lines {
        files.entry(&line.file_id).or_default().push(line);
    }
    let mut all = BatchSums::default();
    for (file, lines) in files {
        let count = i64::try_from(lines.len()).unwrap_or(i64::MAX);
        ledger_files::note_void(transaction, &range.envoy, file, count).await?;
        all.aside.clear();
        for line in lines {
            all.take_counted(line);
        }
        lines_aside::insert(transaction, &range.envoy, file, &all.aside, now).await?;
    }
    sums::change(transaction, &range.envoy, &all, (SumChange::Subtract, now)).await?;
    let taken = i64::try_from(lines.len()).unwrap_or(i64::MAX);
    range.lines = range.lines.saturating_add(taken);
    // Others of the same moment may be left.
    range.place = lines
        .iter()
        .map(|line| line.at)
        .max()
        .unwrap_or(range.place);
    if taken < MOST {
        range.ended_at = Some(now);
    }
    voids::set(transaction, &range).await?;
    Ok(match range.ended_at {
        Some(_) => VoidProgress::Done,
        None => VoidProgress::More,
    })
}
