//! What a document says of its keys, for a reader or for a program.

use std::io::{self, Write};

use serde::Serialize;
use time::OffsetDateTime;
use trilane::config::record::KeyRecord;

use crate::table;
use crate::terminal::moment;

/// What is to be known of a key. Neither its value nor its digest is.
#[derive(Debug, Serialize)]
pub struct State {
    /// The id.
    pub id: String,
    /// The id of its group.
    pub group: String,
    /// `good`, `disabled` or `expired`.
    pub state: &'static str,
    /// When it ends, if ever.
    pub expires_at: Option<String>,
}

impl State {
    /// Of a key, at this moment.
    pub fn of(record: &KeyRecord, now: OffsetDateTime) -> Self {
        let expired = record
            .expires_at
            .is_some_and(|end| end <= now.unix_timestamp());
        let end = record
            .expires_at
            .and_then(|end| OffsetDateTime::from_unix_timestamp(end).ok());
        Self {
            id: record.id.clone(),
            group: record.group.clone(),
            state: match (record.disabled, expired) {
                (true, _) => "disabled",
                (false, true) => "expired",
                (false, false) => "good",
            },
            expires_at: end.map(moment),
        }
    }
}

/// A row for each key.
pub fn write(states: &[State], out: &mut impl Write) -> io::Result<()> {
    let head = ["id", "group", "state", "expires_at"].map(str::to_owned);
    let row = |state: &State| {
        let end = state.expires_at.clone().unwrap_or_default();
        [
            state.id.clone(),
            state.group.clone(),
            state.state.to_owned(),
            end,
        ]
    };
    let rows: Vec<_> = [head].into_iter().chain(states.iter().map(row)).collect();
    table::write(&rows, out)
}
