//! The properties that usage is grouped by.

use std::borrow::Cow;

use serde::Deserialize;
use trilane::limits::{Period, Window};
use utoipa::ToSchema;

use super::record::LedgerRecord;
use crate::timestamp;

/// A property that usage is grouped by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum UsageColumn {
    /// The account key's id.
    #[default]
    Key,
    /// The owner that the key belongs to.
    Owner,
    /// The team that the key belongs to.
    Team,
    /// The key's group.
    Group,
    /// The model's canonical name.
    Model,
    /// The source group that had the model.
    Source,
    /// The source's upstream account that answered, or was asked last.
    Account,
    /// `responses`, `vb_messages` or `vc_generate_content`.
    Entry,
    /// The outcome of the request.
    Outcome,
    /// The reliability of the numbers. A console adds up nothing by it: it has a count for each.
    Status,
    /// `2026-11-24T17`.
    Hour,
    /// `2026-11-24`.
    Day,
    /// `2026-11`.
    Month,
    /// The charge's currency.
    Currency,
}

impl UsageColumn {
    /// All.
    pub const ALL: [Self; 14] = [
        Self::Key,
        Self::Owner,
        Self::Team,
        Self::Group,
        Self::Model,
        Self::Source,
        Self::Account,
        Self::Entry,
        Self::Outcome,
        Self::Status,
        Self::Hour,
        Self::Day,
        Self::Month,
        Self::Currency,
    ];

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

    /// The column of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.name() == name)
    }

    /// Returns the meaning of its values, for the help of the command.
    pub fn help(self) -> &'static str {
        match self {
            Self::Key => "The account key's id",
            Self::Owner => "The owner that the key belongs to",
            Self::Team => "The team that the key belongs to",
            Self::Group => "The key's group",
            Self::Model => "The model's canonical name",
            Self::Source => "The source group that had the model",
            Self::Account => "The source's upstream account that answered, or was asked last",
            Self::Entry => "responses, vb_messages or vc_generate_content",
            Self::Outcome => "The outcome of the request",
            Self::Status => "complete, estimated, partial, none or failed",
            Self::Hour => "UTC, as 2026-11-21T17",
            Self::Day => "UTC, as 2026-11-21",
            Self::Month => "UTC, as 2026-11",
            Self::Currency => "The charge's currency",
        }
    }

    /// Whether a console adds up by it.
    pub fn is_stored(self) -> bool {
        self != Self::Status
    }

    /// Whether its values are periods.
    pub fn is_period(self) -> bool {
        matches!(self, Self::Hour | Self::Day | Self::Month)
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
        assert_eq!(UsageColumn::Month.value(&record), "2026-10");
        assert_eq!(UsageColumn::Day.value(&record), "2026-10-31");
        assert_eq!(UsageColumn::Hour.value(&record), "2026-10-31T23");
    }

    #[test]
    fn names() {
        for column in UsageColumn::ALL {
            assert_eq!(UsageColumn::of(column.name()), Some(column));
        }
        assert_eq!(UsageColumn::of("person"), None);
    }
}
