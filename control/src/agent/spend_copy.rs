//! The spend of budgets, on this machine: the gateway reads it here, also after a restart while the console is away.
//!
//! The console says of each subject the total, and what each process of this Envoy has in its own counters. A gateway asks
//! under the number of its process, and is told the rest. What [the ledger has and these totals lack](UnsentSpend) is added: with
//! the console away a process that begins is told what those before it have spent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use percent_encoding::percent_decode_str;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use time::OffsetDateTime;
use trilane::money::Amount;
use trilane::spend::{BudgetSpendDocument, SpendPageDocument, SpendSubjectDocument};
use trilane_console::cases::{SpendFeedAmount, SpendFeedPage, SpendFeedSubject};
use trilane_console::feed::PageError;
use trilane_console::ledger::Sum;
use trilane_console::secret;
use trilane_console::store::spend_feed;

use super::database::{self, DatabaseProblem};
use super::unsent_spend::{FilePositions, SubjectName, SubjectSpend, UnsentSpend};

/// The greatest page for a gateway, in subjects, and the default one.
const MOST: u32 = 1000;
const DEFAULT: u32 = 100;
/// The most that a gateway is told of a period: no budget is greater.
const MOST_SPENT: Amount = Amount::of_units(10_u128.pow(Amount::PLACES + 9));

/// The versions of its tables.
const TABLES: &[&str] = &["
CREATE TABLE spend_copy (
  one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  -- The name of this copy's own sequence of versions, and the greatest of them.
  feed     TEXT NOT NULL,
  head     INTEGER NOT NULL,
  -- Where the console's feed goes on. NULL: from its beginning, also where a reading from there was cut short.
  cursor   TEXT,
  -- Whether all was here once.
  complete INTEGER NOT NULL
);
-- Up to where the totals have each file of the ledger.
CREATE TABLE spend_positions (
  file     TEXT NOT NULL PRIMARY KEY,
  position INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE spend_subjects (
  kind    TEXT NOT NULL,
  id      TEXT NOT NULL,
  version INTEGER NOT NULL UNIQUE,
  -- Whether the reading from the beginning that is under way has named it.
  listed  INTEGER NOT NULL,
  -- As the console tells it, JSON.
  told    TEXT NOT NULL,
  PRIMARY KEY (kind, id)
) WITHOUT ROWID;
"];

/// The copy of the spend of budgets on this machine.
#[derive(Debug)]
pub struct SpendCopy {
    copy: Mutex<OpenCopy>,
    unsent: UnsentSpend,
}

#[derive(Debug)]
struct OpenCopy {
    connection: Connection,
    feed: String,
    /// The cursor of the next page of the console; `None`: at the beginning.
    cursor: Option<String>,
    /// Whether the pages are those of a reading from the beginning.
    listing: bool,
    complete: bool,
    /// Up to where the totals have each file of the ledger.
    positions: FilePositions,
}

impl SpendCopy {
    /// Opens it, and makes it where there is none.
    ///
    /// # Errors
    /// The reason that the copy cannot be used.
    pub fn open(file: &Path) -> Result<Self, DatabaseProblem> {
        let new = secret::new_id()?;
        let connection = database::open(file, TABLES)?;
        let opened = || -> rusqlite::Result<OpenCopy> {
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            connection.execute(
                "INSERT OR IGNORE INTO spend_copy (one, feed, head, cursor, complete) VALUES (1, ?1, 0, NULL, 0)",
                [new],
            )?;
            let select = "SELECT feed, cursor, complete FROM spend_copy";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let (feed, cursor, complete) = connection.query_row(select, [], row)?;
            let positions = positions(&connection)?;
            Ok(OpenCopy {
                positions,
                connection,
                feed,
                cursor,
                listing: false,
                complete,
            })
        };
        Ok(Self {
            copy: Mutex::new(opened()?),
            unsent: UnsentSpend::new(PathBuf::new(), FilePositions::new())?,
        })
    }

    /// The same with what this ledger has and the totals lack.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn with_ledger(self, ledger: PathBuf) -> Result<Self, String> {
        let positions = self.locked().positions.clone();
        let unsent = UnsentSpend::new(ledger, positions)?;
        // So that the first gateway that asks does not wait for all of it.
        unsent.catch_up("");
        Ok(Self { unsent, ..self })
    }

    /// The spend that the ledger has and the totals lack.
    pub const fn unsent(&self) -> &UnsentSpend {
        &self.unsent
    }

    fn locked(&self) -> MutexGuard<'_, OpenCopy> {
        self.copy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The greatest version of this copy's own sequence; 0 where it cannot be read.
    pub fn head(&self) -> u64 {
        let copy = self.locked();
        let select = "SELECT head FROM spend_copy";
        let head = copy.connection.query_row(select, [], |row| row.get(0));
        head.unwrap_or_default()
    }

    /// The cursor of the next page of the console; `None`: at the beginning.
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

    /// Takes a page of the console, all of it or nothing. `positions`: up to where the totals have each file of the ledger with
    /// this page, which is the last one for now.
    ///
    /// # Errors
    /// The reason that the page was not taken.
    pub fn take(
        &self,
        page: &SpendFeedPage,
        positions: Option<&FilePositions>,
    ) -> Result<(), String> {
        let mut copy = self.locked();
        let moved = positions.filter(|positions| **positions != copy.positions);
        let moved = moved.cloned();
        // Most pages have nothing new.
        let is_same = copy.cursor.as_deref() == Some(&page.cursor);
        let listing = page.anew || copy.listing;
        if page.subjects.is_empty() && !listing && is_same && moved.is_none() {
            return Ok(());
        }
        copy.write(page, moved.as_ref())?;
        if let Some(positions) = moved {
            // Before anybody is told the new totals.
            self.unsent.settle(&positions);
        }
        Ok(())
    }

    /// Finds out whether it is whole.
    ///
    /// # Errors
    /// The reason that it is not whole.
    pub fn checked(self) -> Result<Self, String> {
        let found: rusqlite::Result<String> = {
            let copy = self.locked();
            copy.connection
                .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        };
        match found {
            Ok(found) if found == "ok" => Ok(self),
            Ok(found) => Err(found),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Adds what the ledger has and the totals lack to the totals. Only where no console has any.
    ///
    /// # Errors
    /// That cannot be written; nothing is changed then.
    pub fn take_ledger(&self) -> Result<(), String> {
        self.unsent.catch_up("");
        let mut copy = self.locked();
        self.unsent.hand_over(|sums, positions| {
            if sums.is_empty() && *positions == copy.positions {
                return Ok(());
            }
            let mut subjects = Vec::with_capacity(sums.len());
            for (name, spent) in sums {
                let mut subject = copy.subject(name).map_err(|error| error.to_string())?;
                add_spent(&mut subject, spent)?;
                subjects.push(subject);
            }
            let page = SpendFeedPage {
                cursor: "ledger".to_owned(),
                more: false,
                anew: false,
                subjects,
            };
            copy.write(&page, Some(positions))
        })
    }

    /// A page for the gateway that asks with this query.
    ///
    /// # Errors
    /// The reason that there is no page.
    pub fn page(&self, query: &str) -> Result<Vec<u8>, PageError> {
        let unready = |why: String| PageError::Unready(why);
        let asked = AskedPage::read(query);
        self.unsent.catch_up(&asked.instance);
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
        let subjects: Result<Vec<_>, String> = rows
            .iter()
            .map(|(_, told)| {
                let subject = serde_json::from_str(told).map_err(|error| error.to_string())?;
                self.told_to(subject, &asked)
            })
            .collect();
        let mut subjects = subjects.map_err(unready)?;
        let mut more = more;
        let mut mark = asked.mark().to_owned();
        if !more {
            // Behind all totals, what the ledger alone has.
            let room = limit.saturating_sub(subjects.len());
            let mut changed = self.unsent.changed_since(&mark);
            more = changed.len() > room;
            changed.truncate(room);
            match changed.last() {
                Some((change, _)) if more => mark = self.unsent.mark(Some(*change)),
                None if more => {}
                _ => mark = self.unsent.mark(None),
            }
            for (_, name) in changed {
                let known = copy
                    .subject(&name)
                    .map_err(|error| unready(error.to_string()))?;
                subjects.push(self.told_to(known, &asked).map_err(unready)?);
            }
        }
        let page = SpendPageDocument {
            cursor: format!("{}.{next}.{mark}", copy.feed).into(),
            more,
            subjects,
        };
        serde_json::to_vec(&page).map_err(|error| unready(error.to_string()))
    }
}

impl SpendCopy {
    /// Gives a gateway's page its figures of a subject.
    fn told_to(
        &self,
        subject: SpendFeedSubject,
        asked: &AskedPage,
    ) -> Result<SpendSubjectDocument<'static>, String> {
        let name = (subject.kind, subject.id);
        let mut elsewhere = self
            .unsent
            .elsewhere(&name, &asked.currency, &asked.instance);
        for amount in subject.spent {
            if amount.currency == asked.currency {
                let rest = spent_elsewhere(&amount, &asked.instance)?;
                let sum = elsewhere.entry(amount.period).or_default();
                *sum = sum.plus(rest);
            }
        }
        let told = elsewhere
            .into_iter()
            .filter(|(_, rest)| *rest != Amount::ZERO);
        let told = told.map(|(period, rest)| {
            let rest = rest.min(MOST_SPENT).to_string();
            (period.into(), rest.into())
        });
        let has_budget = subject.per_day.is_some() || subject.per_month.is_some();
        let (kind, id) = name;
        Ok(SpendSubjectDocument {
            kind: kind.into(),
            id: id.into(),
            budget: has_budget.then_some(BudgetSpendDocument {
                per_day: subject.per_day,
                per_month: subject.per_month,
            }),
            elsewhere: told.collect(),
        })
    }
}

impl OpenCopy {
    /// Writes a page of totals, all of it or nothing, with the positions up to which they have the ledger's files.
    fn write(&mut self, page: &SpendFeedPage, moved: Option<&FilePositions>) -> Result<(), String> {
        let listing = page.anew || self.listing;
        let ends = listing && !page.more;
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
            if let Some(positions) = moved {
                transaction.execute("DELETE FROM spend_positions", [])?;
                for (file, position) in positions {
                    transaction
                        .prepare_cached(
                            "INSERT INTO spend_positions (file, position) VALUES (?1, ?2)",
                        )?
                        .execute(params![file, i64::try_from(*position).unwrap_or(i64::MAX)])?;
                }
            }
            transaction.commit()
        };
        taken(&mut self.connection).map_err(|error| format!("spend cannot be written: {error}"))?;
        self.cursor = Some(page.cursor.clone());
        self.listing = listing && !ends;
        self.complete |= ends;
        if let Some(positions) = moved {
            self.positions.clone_from(positions);
        }
        Ok(())
    }

    /// Finds a subject's totals; empty ones, if the console has told nothing of it.
    fn subject(&self, (kind, id): &SubjectName) -> rusqlite::Result<SpendFeedSubject> {
        let select = "SELECT told FROM spend_subjects WHERE kind = ?1 AND id = ?2";
        let mut statement = self.connection.prepare_cached(select)?;
        let told = statement.query_row(params![kind, id], |row| row.get::<_, String>(0));
        let known = told
            .optional()?
            .and_then(|told| serde_json::from_str(&told).ok());
        Ok(known.unwrap_or_else(|| SpendFeedSubject {
            kind: kind.clone(),
            id: id.clone(),
            per_day: None,
            per_month: None,
            spent: Vec::new(),
        }))
    }

    /// One row more than is asked for, and the greatest version.
    fn rows(&self, asked: &AskedPage) -> rusqlite::Result<(Vec<(i64, String)>, i64)> {
        let head = self
            .connection
            .query_row("SELECT head FROM spend_copy", [], |row| row.get(0))?;
        let after = asked.cursor.as_deref().and_then(|cursor| {
            let mut parts = cursor.splitn(3, '.');
            let (feed, version) = (parts.next()?, parts.next()?);
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

/// Adds the charges of lines to a subject's totals, and takes those of periods out in which no gateway is any more.
fn add_spent(subject: &mut SpendFeedSubject, spent: &SubjectSpend) -> Result<(), String> {
    let plus = |before: &str, more: Amount| {
        let mut sum = Sum::parse(before).map_err(|why| format!("an amount that {why}"))?;
        sum.add(more);
        Ok::<_, String>(sum.text())
    };
    let periods = spend_feed::periods(OffsetDateTime::now_utc().date());
    subject
        .spent
        .retain(|amount| periods.contains(&amount.period));
    for ((period, currency), (charge, shares)) in spent {
        let known = subject
            .spent
            .iter()
            .position(|amount| amount.period == *period && amount.currency == *currency);
        let place = known.unwrap_or_else(|| {
            subject.spent.push(SpendFeedAmount {
                period: period.clone(),
                currency: currency.clone(),
                total: "0".to_owned(),
                own: BTreeMap::new(),
            });
            subject.spent.len().saturating_sub(1)
        });
        let Some(amount) = subject.spent.get_mut(place) else {
            continue;
        };
        amount.total = plus(&amount.total, *charge)?;
        for (instance, share) in shares {
            let own = amount
                .own
                .entry(instance.clone())
                .or_insert_with(|| "0".to_owned());
            *own = plus(own, *share)?;
        }
    }
    Ok(())
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

/// Up to where the totals have each file of the ledger.
fn positions(connection: &Connection) -> rusqlite::Result<FilePositions> {
    let mut statement = connection.prepare("SELECT file, position FROM spend_positions")?;
    let rows = statement.query_map([], |row| {
        let position: i64 = row.get(1)?;
        Ok((row.get(0)?, u64::try_from(position).unwrap_or_default()))
    })?;
    rows.collect()
}

fn unlisted(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<(String, String)>> {
    let select = "SELECT kind, id FROM spend_subjects WHERE listed = 0 ORDER BY kind, id";
    let mut statement = transaction.prepare(select)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// The query of a gateway for a page of spend.
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
    /// Up to where it has what the ledger alone has.
    fn mark(&self) -> &str {
        let cursor = self.cursor.as_deref().unwrap_or_default();
        cursor.splitn(3, '.').nth(2).unwrap_or_default()
    }

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

/// Returns the spend of a period by all processes but this one.
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
