//! Lines in, totals out.

use std::fmt;

use super::args::Args;
use super::groups::Groups;
use super::lines::LONGEST;
use super::record::{Record, Unread};
use super::report::Report;
use super::source::Source;
use super::tally::Tally;
use crate::failure::Failure;

/// A line of a source.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The source.
    pub source: &'a Source,
    /// The line's number there, from 1.
    pub line: u64,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source.name(), self.line)
    }
}

/// What has been read so far.
#[derive(Debug)]
pub struct Reading<'a> {
    args: &'a Args,
    groups: Groups,
    tally: Tally,
}

impl<'a> Reading<'a> {
    /// Nothing yet.
    pub fn new(args: &'a Args) -> Self {
        Self {
            args,
            groups: Groups::new(&args.by),
            tally: Tally::default(),
        }
    }

    /// How many lines there were.
    pub fn lines(&self) -> u64 {
        self.tally.lines
    }

    /// Takes a line, `ended` by a line feed or by the end of its source.
    ///
    /// # Errors
    /// A sum of charges would not be exact any more.
    pub fn line(&mut self, line: &[u8], ended: bool, place: Place<'_>) -> Result<(), Failure> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        self.count();
        match Record::parse(line) {
            Ok(record) if self.args.wants(&record) => {
                self.groups
                    .add(&record)
                    .map_err(|_| inexact(&record, place))?;
            }
            Ok(_) => self.tally.left_out = self.tally.left_out.saturating_add(1),
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

    /// Takes a line that is too long to be kept.
    pub fn too_long(&mut self, place: Place<'_>) {
        self.count();
        self.tally
            .skipped
            .push(place, &format!("longer than {LONGEST} bytes"));
    }

    fn count(&mut self) {
        self.tally.lines = self.tally.lines.saturating_add(1);
    }

    /// What came of it.
    pub fn finish(self) -> (Report, Tally) {
        (self.groups.into_report(), self.tally)
    }
}

fn inexact(record: &Record<'_>, place: Place<'_>) -> Failure {
    let charge = record.charge.unwrap_or_default();
    let currency = record.currency();
    Failure::Data(format!(
        "{place}: with this charge of {charge} {currency} a sum needs more than 28 digits, and nothing is rounded: \
         add up shorter periods (--since, --until) or single groups (--group)"
    ))
}
