//! Counts of lines by what they were.

use crate::terminal::{printable, say};

/// Lines without a record, and the first of them.
#[derive(Debug, Default)]
pub struct Faults {
    /// Their number.
    pub count: u64,
    first: String,
}

impl Faults {
    /// Adds a line: its place, and why it gave no record.
    pub fn push(&mut self, place: impl std::fmt::Display, why: &str) {
        if self.count == 0 {
            self.first = printable(&format!("{place}: {why}"));
        }
        self.count = self.count.saturating_add(1);
    }

    /// Reports them, if there are any.
    fn tell(&self, what: impl Fn(bool) -> &'static str) {
        if self.count > 0 {
            let lines = if self.count == 1 {
                "1 line"
            } else {
                &format!("{} lines", self.count)
            };
            say(&format!(
                "note: {lines} {} (first: {})",
                what(self.count == 1),
                self.first
            ));
        }
    }
}

/// Counts of lines. Blank lines do not count.
#[derive(Debug, Default)]
pub struct LineTally {
    /// All lines.
    pub lines: u64,
    /// Lines of requests that were not selected.
    pub left_out: u64,
    /// Lines that are not ledger lines.
    pub skipped: Faults,
    /// Ledger lines with an invalid value: they are missing in the totals.
    pub damaged: Faults,
    /// Last lines that are not complete.
    pub torn: Faults,
}

impl LineTally {
    /// Reports what was not counted, and why.
    pub fn tell(&self) {
        self.skipped.tell(|one| {
            if one {
                "was no ledger line"
            } else {
                "were no ledger lines"
            }
        });
        self.torn.tell(|one| {
            if one {
                "at the end is not whole yet and not counted"
            } else {
                "at the ends of files are not whole yet and not counted"
            }
        });
        self.damaged.tell(|one| {
            if one {
                "of a request cannot be right and is MISSING from the totals"
            } else {
                "of requests cannot be right and are MISSING from the totals"
            }
        });
    }
}
