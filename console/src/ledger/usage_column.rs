//! The properties that usage is grouped by.

use std::borrow::Cow;

use serde::Deserialize;
use trilane::config::labels::Label;
use trilane::limits::{Period, Window};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::record::LedgerRecord;
use crate::timestamp;

/// A property that usage is grouped by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
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
    /// The name and version of the client.
    Client,
    /// The session that the client names.
    Session,
    /// The value of a label: the name of the column, which is [`LABEL`] and the name of the label.
    Label(String),
}

/// The prefix of the names of columns that are labels.
pub const LABEL: &str = "label:";

impl UsageColumn {
    /// All except labels.
    pub const ALL: [Self; 16] = [
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
        Self::Client,
        Self::Session,
    ];

    /// Returns the name, which is the same in every format.
    pub fn name(&self) -> &str {
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
            Self::Client => "client",
            Self::Session => "session",
            Self::Label(name) => name,
        }
    }

    /// The column of a name.
    pub fn of(name: &str) -> Option<Self> {
        let label = name.strip_prefix(LABEL);
        if label.is_some_and(Label::is_name) {
            return Some(Self::Label(name.to_owned()));
        }
        Self::ALL.into_iter().find(|column| column.name() == name)
    }

    /// Returns the meaning of its values, for the help of the command.
    pub fn help(&self) -> &'static str {
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
            Self::Client => "The name and version of the client",
            Self::Session => "The session that the client names",
            Self::Label(_) => "The value of this label",
        }
    }

    /// Whether a console adds up by it.
    pub fn is_stored(&self) -> bool {
        *self != Self::Status
    }

    /// Whether its values are what requests say of themselves: usage is added up by one such column at a time.
    pub fn is_dimension(&self) -> bool {
        matches!(self, Self::Client | Self::Session | Self::Label(_))
    }

    /// Whether its values are periods.
    pub fn is_period(&self) -> bool {
        matches!(self, Self::Hour | Self::Day | Self::Month)
    }

    /// The record's value; empty where it has none.
    pub fn value<'a>(&self, record: &'a LedgerRecord<'_>) -> Cow<'a, str> {
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
            Self::Client => record.client(),
            Self::Session => record.session(),
            Self::Label(name) => record.label(name.strip_prefix(LABEL).unwrap_or(name)),
        })
    }
}

impl TryFrom<String> for UsageColumn {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::of(&name).ok_or("is no column of usage")
    }
}

impl PartialSchema for UsageColumn {
    fn schema() -> RefOr<Schema> {
        let ranked = Self::ALL
            .into_iter()
            .filter(|column| !column.is_dimension());
        let names = ranked.map(|column| column.name().to_owned());
        let names = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(names));
        let named = names.description(Some("A property that usage is grouped by."));
        named.build().into()
    }
}

impl ToSchema for UsageColumn {}

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
        for (name, want) in [
            ("label:project", true),
            ("label:a-1_b", true),
            ("label:", false),
            ("label:Project", false),
            ("label", false),
            ("person", false),
        ] {
            let column = UsageColumn::of(name);
            assert_eq!(column.is_some(), want, "{name}");
            assert!(column.is_none_or(|column| column.name() == name && column.is_dimension()));
        }
    }

    #[test]
    fn what_a_request_says_of_itself() {
        let said = |members: &str| {
            let line = format!(
                r#"{{"timestamp":"2026-11-01T00:30:00Z","trilane.usage.status":"none"{members}}}"#
            );
            let record = LedgerRecord::parse(line.as_bytes()).unwrap();
            let columns = ["client", "session", "label:project", "label:task"];
            columns.map(|name| UsageColumn::of(name).unwrap().value(&record).into_owned())
        };
        for (case, members, want) in [
            ("nothing", "", ["", "", "", ""]),
            (
                "all",
                r#","trilane.client":"c/1.2","trilane.session":"s-1","trilane.labels":{"project":"p","task":"-"}"#,
                ["c/1.2", "s-1", "p", "-"],
            ),
            (
                "what Envoy writes for nothing",
                r#","trilane.client":"-","trilane.session":null,"trilane.labels":{}"#,
                ["", "", "", ""],
            ),
            (
                "what no gateway writes",
                r#","trilane.client":1,"trilane.session":["s"],"trilane.labels":{"project":1}"#,
                ["", "", "", ""],
            ),
        ] {
            assert_eq!(said(members), want, "{case}");
        }
    }
}
