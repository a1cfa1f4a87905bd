//! What is spent of budgets, on this machine: the gateway is told from here, after a restart with the console away too.
//!
//! The console says of each subject the total, and what each process of this Envoy has in its own counters. A gateway asks
//! under the number of its process, and is told the rest.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use percent_encoding::percent_decode_str;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use serde_json::{Value, json};
use trilane::money::Amount;
use trilane_console::api::{SpendFeedAmount, SpendFeedPage, SpendFeedSubject};
use trilane_console::feed::PageError;
use trilane_console::ledger::Sum;
use trilane_console::secret;

/// The greatest page for a gateway, in subjects, and the default one.
const MOST: u32 = 1000;
const DEFAULT: u32 = 100;
/// The most that a gateway is told of a period: no budget is greater.
const MOST_SPENT: Amount = Amount::of_units(10_u128.pow(Amount::PLACES + 9));

const TABLES: &str = "
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS spend_copy (
  one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  -- The name of this copy's own sequence of versions, and the greatest of them.
  feed     TEXT NOT NULL,
  head     INTEGER NOT NULL,
  -- Where the console's feed goes on. NULL: from its beginning, also where a reading from there was cut short.
  cursor   TEXT,
  -- Whether all was here once.
  complete INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS spend_subjects (
  kind    TEXT NOT NULL,
  id      TEXT NOT NULL,
  version INTEGER NOT NULL UNIQUE,
  -- Whether the reading from the beginning that is under way has named it.
  listed  INTEGER NOT NULL,
  -- As the console tells it, JSON.
  told    TEXT NOT NULL,
  PRIMARY KEY (kind, id)
) WITHOUT ROWID;
";

/// What is spent of budgets, on this machine.
#[derive(Debug)]
pub struct SpendCopy(Mutex<OpenCopy>);

#[derive(Debug)]
struct OpenCopy {
    connection: Connection,
    feed: String,
    /// Where the next page of the console begins; `None`: at the beginning.
    cursor: Option<String>,
    /// Whether the pages are those of a reading from the beginning.
    listing: bool,
    complete: bool,
}

impl SpendCopy {
    /// Opens it, and makes it where there is none.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn open(file: &Path) -> Result<Self, String> {
        let new = secret::new_id()?;
        let opened = || -> rusqlite::Result<OpenCopy> {
            let connection = Connection::open(file)?;
            connection.execute_batch(TABLES)?;
            connection.execute(
                "INSERT OR IGNORE INTO spend_copy (one, feed, head, cursor, complete) VALUES (1, ?1, 0, NULL, 0)",
                [new],
            )?;
            let select = "SELECT feed, cursor, complete FROM spend_copy";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let (feed, cursor, complete) = connection.query_row(select, [], row)?;
            Ok(OpenCopy {
                connection,
                feed,
                cursor,
                listing: false,
                complete,
            })
        };
        let opened = opened().map_err(|error| error.to_string())?;
        Ok(Self(Mutex::new(opened)))
    }

    fn locked(&self) -> MutexGuard<'_, OpenCopy> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The greatest version of this copy's own sequence; 0 where it cannot be read.
    pub fn head(&self) -> u64 {
        let copy = self.locked();
        let select = "SELECT head FROM spend_copy";
        let head = copy.connection.query_row(select, [], |row| row.get(0));
        head.unwrap_or_default()
    }

    /// Where the next page of the console begins; `None`: at the beginning.
    pub fn cursor(&self) -> Option<String> {
        self.locked().cursor.clone()
    }

    /// The console tells no spend at all.
    ///
    /// # Errors
    /// That cannot be noted.
    pub fn has_none(&self) -> Result<(), String> {
        let mut copy = self.locked();
        if !copy.complete {
            let done = copy
                .connection
                .execute("UPDATE spend_copy SET complete = 1", []);
            done.map_err(|error| format!("spend cannot be written: {error}"))?;
            copy.complete = true;
        }
        Ok(())
    }

    /// Takes a page of the console, all of it or nothing.
    ///
    /// # Errors
    /// Why not.
    pub fn take(&self, page: &SpendFeedPage) -> Result<(), String> {
        let mut copy = self.locked();
        let listing = page.anew || copy.listing;
        let ends = listing && !page.more;
        // Most pages have nothing new.
        if page.subjects.is_empty() && !listing && copy.cursor.as_deref() == Some(&page.cursor) {
            return Ok(());
        }
        let taken = |connection: &mut Connection| -> rusqlite::Result<()> {
            let behavior = TransactionBehavior::Immediate;
            let transaction = connection.transaction_with_behavior(behavior)?;
            if page.anew {
                transaction.execute("UPDATE spend_subjects SET listed = 0", [])?;
            }
            let mut head = transaction.query_row("SELECT head FROM spend_copy", [], |row| {
                row.get::<_, i64>(0)
            })?;
            for subject in &page.subjects {
                put(&transaction, subject, &mut head)?;
            }
            if ends {
                for (kind, id) in unlisted(&transaction)? {
                    // Neither budget nor spend any more.
                    let gone = SpendFeedSubject {
                        kind,
                        id,
                        per_day: None,
                        per_month: None,
                        spent: Vec::new(),
                    };
                    put(&transaction, &gone, &mut head)?;
                }
            }
            let cursor = (ends || !listing).then_some(&page.cursor);
            transaction.execute(
                "UPDATE spend_copy SET head = ?1, cursor = ?2, complete = complete OR ?3",
                params![head, cursor, ends],
            )?;
            transaction.commit()
        };
        taken(&mut copy.connection).map_err(|error| format!("spend cannot be written: {error}"))?;
        copy.cursor = Some(page.cursor.clone());
        copy.listing = listing && !ends;
        copy.complete |= ends;
        Ok(())
    }

    /// A page for the gateway that asks with this query.
    ///
    /// # Errors
    /// Why there is none.
    pub fn page(&self, query: &str) -> Result<Vec<u8>, PageError> {
        let unready = |why: String| PageError::Unready(why);
        let asked = AskedPage::read(query);
        let copy = self.locked();
        if !copy.complete {
            return Err(unready(
                "not all spend of the console has come yet".to_owned(),
            ));
        }
        let rows = copy.rows(&asked);
        let (mut rows, head) = rows.map_err(|error| unready(error.to_string()))?;
        let limit = usize::try_from(asked.limit).unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().map(|(version, _)| *version);
        let next = if more { last.unwrap_or(head) } else { head };
        let subjects: Result<Vec<Value>, String> = rows
            .iter()
            .map(|(_, told)| {
                let subject = serde_json::from_str(told).map_err(|error| error.to_string())?;
                told_to(&subject, &asked)
            })
            .collect();
        let subjects = subjects.map_err(unready)?;
        let cursor = format!("{}.{next}", copy.feed);
        let page = json!({"cursor": cursor, "more": more, "subjects": subjects});
        Ok(page.to_string().into_bytes())
    }
}

impl OpenCopy {
    /// One row more than is asked for, and the greatest version.
    fn rows(&self, asked: &AskedPage) -> rusqlite::Result<(Vec<(i64, String)>, i64)> {
        let head = self
            .connection
            .query_row("SELECT head FROM spend_copy", [], |row| row.get(0))?;
        let after = asked.cursor.as_deref().and_then(|cursor| {
            let (feed, version) = cursor.split_once('.')?;
            let version = version.parse::<i64>().ok()?;
            (feed == self.feed && version <= head).then_some(version)
        });
        let select =
            "SELECT version, told FROM spend_subjects WHERE version > ?1 ORDER BY version LIMIT ?2";
        let mut statement = self.connection.prepare_cached(select)?;
        let limit = i64::from(asked.limit).saturating_add(1);
        let rows = statement.query_map(params![after.unwrap_or(0), limit], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        Ok((rows.collect::<Result<_, _>>()?, head))
    }
}

fn put(
    transaction: &Transaction<'_>,
    subject: &SpendFeedSubject,
    head: &mut i64,
) -> rusqlite::Result<()> {
    *head = head.saturating_add(1);
    let told = serde_json::to_string(subject).unwrap_or_default();
    transaction
        .prepare_cached(
            "INSERT INTO spend_subjects (kind, id, version, listed, told) VALUES (?1, ?2, ?3, 1, ?4) \
             ON CONFLICT (kind, id) DO UPDATE SET version = excluded.version, listed = 1, told = excluded.told",
        )?
        .execute(params![subject.kind, subject.id, *head, told])
        .map(drop)
}

fn unlisted(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<(String, String)>> {
    let select = "SELECT kind, id FROM spend_subjects WHERE listed = 0 ORDER BY kind, id";
    let mut statement = transaction.prepare(select)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// What a gateway asks for.
#[derive(Debug)]
struct AskedPage {
    /// The number of its process.
    instance: String,
    /// The currency of its document; empty where that has none.
    currency: String,
    cursor: Option<String>,
    limit: u32,
}

impl AskedPage {
    /// Reads a query. Other parameters are passed over.
    fn read(query: &str) -> Self {
        let mut given: BTreeMap<&str, String> = query
            .split('&')
            .filter_map(|pair| {
                let (name, value) = pair.split_once('=')?;
                Some((
                    name,
                    percent_decode_str(value).decode_utf8_lossy().into_owned(),
                ))
            })
            .collect();
        let limit = given.get("limit").and_then(|limit| limit.parse().ok());
        Self {
            instance: given.remove("instance").unwrap_or_default(),
            currency: given.remove("currency").unwrap_or_default(),
            cursor: given.remove("cursor"),
            limit: limit.unwrap_or(DEFAULT).clamp(1, MOST),
        }
    }
}

/// What a gateway is told of a subject.
fn told_to(subject: &SpendFeedSubject, asked: &AskedPage) -> Result<Value, String> {
    let mut elsewhere = serde_json::Map::new();
    for amount in &subject.spent {
        if amount.currency == asked.currency {
            let rest = spent_elsewhere(amount, &asked.instance)?;
            if rest != Amount::ZERO {
                elsewhere.insert(amount.period.clone(), rest.to_string().into());
            }
        }
    }
    let has_budget = subject.per_day.is_some() || subject.per_month.is_some();
    let budget =
        has_budget.then(|| json!({"per_day": subject.per_day, "per_month": subject.per_month}));
    Ok(json!({"kind": subject.kind, "id": subject.id, "elsewhere": elsewhere, "budget": budget}))
}

/// What was spent in a period by all but one process.
fn spent_elsewhere(amount: &SpendFeedAmount, instance: &str) -> Result<Amount, String> {
    let read = |text: &str| {
        let sum = Sum::parse(text).map(|sum| sum.value());
        sum.map_err(|why| format!("an amount that {why}"))
    };
    let total = read(&amount.total)?;
    let own = amount
        .own
        .get(instance)
        .map_or(Ok(Amount::ZERO), |own| read(own))?;
    Ok(total.less(own).min(MOST_SPENT))
}

#[cfg(test)]
mod tests;
