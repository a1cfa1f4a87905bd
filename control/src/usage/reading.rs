//! Reads ledger lines into totals.

use std::fmt;

use trilane_console::ledger::{LedgerRecord, Unread};

use super::args::UsageArgs;
use super::filter_values::FilterValues;
use super::groups::Groups;
use super::lines::LONGEST;
use super::source::LedgerSource;
use super::tally::LineTally;
use crate::failure::Failure;
use crate::terminal::printable;

/// A line of a source.
#[derive(Debug, Clone, Copy)]
pub struct LinePlace<'a> {
    /// The source.
    pub source: &'a LedgerSource,
    /// The line's number there, from 1.
    pub line: u64,
}

impl fmt::Display for LinePlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source.name(), self.line)
    }
}

/// An accumulator of records.
pub trait Book {
    /// Adds a record.
    ///
    /// # Errors
    /// It cannot be added up with the others. The sums are invalid then.
    fn add(&mut self, record: &LedgerRecord<'_>) -> Result<(), OtherCurrency>;
}

/// A charge has another currency than those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherCurrency;

impl Book for Groups {
    fn add(&mut self, record: &LedgerRecord<'_>) -> Result<(), OtherCurrency> {
        Self::add(self, record);
        Ok(())
    }
}

/// The lines read so far.
#[derive(Debug)]
pub struct LedgerReader<'a, B> {
    args: &'a UsageArgs,
    book: B,
    tally: LineTally,
    sought: FilterValues,
}

impl<'a, B: Book> LedgerReader<'a, B> {
    /// Begins without lines.
    pub fn new(args: &'a UsageArgs, book: B) -> Self {
        Self {
            args,
            book,
            tally: LineTally::default(),
            sought: FilterValues::new(args),
        }
    }

    /// The number of lines.
    pub fn lines(&self) -> u64 {
        self.tally.lines
    }

    /// Adds a line, `ended` by a line feed or by the end of its source.
    ///
    /// # Errors
    /// A charge cannot be added to those before.
    pub fn line(&mut self, line: &[u8], ended: bool, place: LinePlace<'_>) -> Result<(), Failure> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        self.count();
        match LedgerRecord::parse(line) {
            Ok(record) => {
                let counts = self.args.wants(&record);
                self.sought.see(&record, counts);
                if counts {
                    self.book
                        .add(&record)
                        .map_err(|OtherCurrency| unsummed(&record, place))?;
                } else {
                    self.tally.left_out = self.tally.left_out.saturating_add(1);
                }
            }
            Err(Unread::Cut) if !ended => self.tally.torn.push(place, "ends within a JSON object"),
            Err(Unread::Cut) => self
                .tally
                .skipped
                .push(place, "not JSON: ends within an object"),
            Err(Unread::Foreign(why)) => self.tally.skipped.push(place, &why),
            Err(Unread::Damaged(why)) => self.tally.damaged.push(place, &why),
        }
        Ok(())
    }

    /// Counts a line that is too long to be read.
    pub fn too_long(&mut self, place: LinePlace<'_>) {
        self.count();
        self.tally
            .skipped
            .push(place, &format!("longer than {LONGEST} bytes"));
    }

    fn count(&mut self) {
        self.tally.lines = self.tally.lines.saturating_add(1);
    }

    /// The results.
    pub fn finish(self) -> (B, LineTally, FilterValues) {
        (self.book, self.tally, self.sought)
    }
}

fn unsummed(record: &LedgerRecord<'_>, place: LinePlace<'_>) -> Failure {
    let charge = record.charge.unwrap_or_default();
    let currency = printable(record.currency());
    Failure::Data(format!(
        "{place}: this charge of {charge} {currency} is not of the currency of those before: a budget has one. Give the \
         ledger from where the currency changed"
    ))
}
