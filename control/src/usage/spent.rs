//! The spend of keys and groups, in the form of a document's `limits.budget.spent`.

use std::io::{self, Write};

use hashbrown::HashMap;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use time::{Date, OffsetDateTime};
use trilane::limits::{Period, Window};
use trilane::money::Amount;
use trilane_console::ledger::{LedgerRecord, Sum};

use super::reading::{Book, OtherCurrency};
use crate::output::write_json;
use crate::timestamp;

/// Charges by key and by group, in the day and the month (UTC) of the last record. A request counts on the day when it
/// ended, as in the gateway. Memory grows with the number of keys and groups.
#[derive(Debug, Default)]
pub struct SpentBook {
    /// The selected keys; all keys and all groups if it is empty.
    only: Vec<String>,
    /// The end of the last request.
    last: Option<OffsetDateTime>,
    /// The currency of all charges: a budget has one.
    currency: Option<Box<str>>,
    keys: HashMap<Box<str>, ChargedPeriod>,
    groups: HashMap<Box<str>, ChargedPeriod>,
}

/// The charges of one key or group on its last day, and in the month of that day.
#[derive(Debug)]
struct ChargedPeriod {
    day: Date,
    in_day: Sum,
    in_month: Sum,
}

impl ChargedPeriod {
    /// Begins with nothing, on this day.
    fn on(day: Date) -> Self {
        Self {
            day,
            in_day: Sum::default(),
            in_month: Sum::default(),
        }
    }

    /// Adds a charge, unless it is of an earlier month than the last.
    fn add(&mut self, day: Date, charge: Amount) {
        if month(day) < month(self.day) {
            return;
        }
        if month(day) > month(self.day) {
            self.in_month = Sum::default();
        }
        if day > self.day {
            self.in_day = Sum::default();
            self.day = day;
        }
        self.in_month.add(charge);
        if day == self.day {
            self.in_day.add(charge);
        }
    }
}

fn month(day: Date) -> Period {
    Period::of(Window::Month, day)
}

impl Book for SpentBook {
    fn add(&mut self, record: &LedgerRecord<'_>) -> Result<(), OtherCurrency> {
        let end = record.end();
        self.last = self.last.max(Some(end));
        let Some(charge) = record.charge.filter(|charge| *charge != Amount::ZERO) else {
            return Ok(());
        };
        let currency = self
            .currency
            .get_or_insert_with(|| Box::from(record.currency()));
        if **currency != *record.currency() {
            return Err(OtherCurrency);
        }
        let (only, key) = (&self.only, record.counters());
        let (of_key, of_group) = (
            only.is_empty() || only.iter().any(|only| only == key),
            // Some of its keys do not add up to a group.
            only.is_empty(),
        );
        for (all, id, asked) in [
            (&mut self.keys, key, of_key),
            (&mut self.groups, record.group(), of_group),
        ] {
            if !id.is_empty() && asked {
                all.entry_ref(id)
                    .or_insert_with(|| ChargedPeriod::on(end.date()))
                    .add(end.date(), charge);
            }
        }
        Ok(())
    }
}

impl SpentBook {
    /// Adds up for these keys only, or for all keys and groups.
    pub fn of(only: &[String]) -> Self {
        Self {
            only: only.to_vec(),
            ..Self::default()
        }
    }

    /// Writes one JSON object: by id, what a document needs. Keys and groups without charges in the month are left out.
    ///
    /// # Errors
    /// As the output gives them.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let document = SpentReport {
            keys: ByTime(&self.keys, self.last),
            groups: ByTime(&self.groups, self.last),
        };
        write_json(&document, out)
    }
}

#[derive(Serialize)]
struct SpentReport<'a> {
    keys: ByTime<'a>,
    groups: ByTime<'a>,
}

/// The spend of each key or group until a time.
struct ByTime<'a>(&'a HashMap<Box<str>, ChargedPeriod>, Option<OffsetDateTime>);

impl Serialize for ByTime<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(all, Some(last)) = *self else {
            return serializer.serialize_map(Some(0))?.end();
        };
        let mut all: Vec<_> = all
            .iter()
            .filter(|(_, spending)| month(spending.day) == month(last.date()))
            .collect();
        all.sort_by_key(|(id, _)| *id);
        serializer.collect_map(all.into_iter().map(|(id, spending)| {
            let today = spending.day == last.date();
            let in_day = if today {
                spending.in_day
            } else {
                Sum::default()
            };
            let entry = SpentEntry {
                at: timestamp::text(last),
                in_day: in_day.text(),
                in_month: spending.in_month.text(),
            };
            (id, entry)
        }))
    }
}

/// A document's `limits.budget.spent`.
#[derive(Serialize)]
struct SpentEntry {
    at: String,
    in_day: String,
    in_month: String,
}
