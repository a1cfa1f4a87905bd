//! What records are grouped by.

use clap::ValueEnum;

use super::record::{Record, Status};

/// A property that records are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Column {
    /// The account key's id
    Key,
    /// Whose the key is
    Owner,
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
    /// How the request ended
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
    /// Its name in every format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Owner => "owner",
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

    /// The record's value, UTF-8; empty where it has none.
    pub fn value<'a>(self, record: &'a Record<'_>) -> &'a [u8] {
        match self {
            Self::Key => record.key().as_bytes(),
            Self::Owner => record.owner().as_bytes(),
            Self::Group => record.group().as_bytes(),
            Self::Model => record.model().as_bytes(),
            Self::Source => record.source().as_bytes(),
            Self::Account => record.account().as_bytes(),
            Self::Entry => record.entry().as_bytes(),
            Self::Outcome => record.outcome().as_bytes(),
            Self::Status => match record.status {
                Status::Complete => b"complete",
                Status::Estimated => b"estimated",
                Status::Partial => b"partial",
                Status::None => b"none",
                Status::Failed => b"failed",
            },
            Self::Hour => record.moment.hour(),
            Self::Day => record.moment.day(),
            Self::Month => record.moment.month(),
            Self::Currency => record.currency().as_bytes(),
        }
    }
}
