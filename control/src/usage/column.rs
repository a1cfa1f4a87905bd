//! The properties that records are grouped by.

use std::borrow::Cow;

use clap::ValueEnum;
use trilane::limits::{Period, Window};
use trilane_console::ledger::LedgerRecord;

use crate::timestamp;

/// A property that records are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Column {
    /// The account key's id
    Key,
    /// The owner that the key belongs to
    Owner,
    /// The team that the key belongs to
    Team,
    /// The key's group
    Group,
    /// The model's canonical name
    Model,
    /// The source group that had the model
    Source,
    /// The source's upstream account that answered, or was asked last
    Account,
    /// responses, vb_messages or vc_generate_content
    Entry,
    /// The outcome of the request
    Outcome,
    /// complete, estimated, partial, none or failed
    Status,
    /// UTC, as 2026-11-21T17
    Hour,
    /// UTC, as 2026-11-21
    Day,
    /// UTC, as 2026-11
    Month,
    /// The charge's currency
    Currency,
}

impl Column {
    /// Returns the name, which is the same in every format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Owner => "owner",
            Self::Team => "team",
            Self::Group => "group",
            Self::Model => "model",
            Self::Source => "source",
            Self::Account => "account",
            Self::Entry => "entry",
            Self::Outcome => "outcome",
            Self::Status => "status",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
            Self::Currency => "currency",
        }
    }

    /// The record's value; empty where it has none.
    pub fn value<'a>(self, record: &'a LedgerRecord<'_>) -> Cow<'a, str> {
        let time = record.time;
        Cow::Borrowed(match self {
            Self::Key => record.key(),
            Self::Owner => record.owner(),
            Self::Team => record.team(),
            Self::Group => record.group(),
            Self::Model => record.model(),
            Self::Source => record.source(),
            Self::Account => record.account(),
            Self::Entry => record.entry(),
            Self::Outcome => record.outcome(),
            Self::Status => record.status.name(),
            Self::Hour => return timestamp::hour(time).into(),
            Self::Day => return Period::of(Window::Day, time.date()).to_string().into(),
            Self::Month => return Period::of(Window::Month, time.date()).to_string().into(),
            Self::Currency => record.currency(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_time() {
        let line = br#"{"timestamp":"2026-11-01T00:30:00+01:00","trilane.usage.status":"none"}"#;
        let record = LedgerRecord::parse(line).unwrap();
        assert_eq!(Column::Month.value(&record), "2026-10");
        assert_eq!(Column::Day.value(&record), "2026-10-31");
        assert_eq!(Column::Hour.value(&record), "2026-10-31T23");
    }
}
