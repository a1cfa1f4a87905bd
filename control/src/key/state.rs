//! The state of a document's keys, to be printed.

use serde::Serialize;
use time::OffsetDateTime;
use trilane::config::document::{KeyDocument, LimitsDocument};
use trilane::keys::KeyRecord;

use super::terms;
use crate::output::{OutputColumn, OutputTable};
use crate::timestamp;

/// The properties of a key that are shown: neither its value nor its digest.
#[derive(Debug, Serialize)]
pub struct ListedKey {
    /// The id.
    pub id: String,
    /// The id of the owner.
    pub owner: Option<String>,
    /// The team that it belongs to.
    pub team: Option<String>,
    /// The id of its group.
    pub group: String,
    /// The models of its group that it may use; `None` for all.
    pub models: Option<Vec<String>>,
    /// The final multiplier of its requests; `None` for the group's.
    pub multiplier: Option<String>,
    /// `good`, `disabled` or `expired`.
    pub state: &'static str,
    /// The limits of the key, as in the document.
    pub limits: Option<LimitsDocument>,
    /// The time at which the key expires, as RFC 3339; `None`: never.
    pub expires_at: Option<String>,
}

/// The state of a key at a time.
pub fn of(record: &KeyRecord, now: OffsetDateTime) -> &'static str {
    let expired = record
        .expires_at
        .is_some_and(|end| end <= now.unix_timestamp());
    match (record.disabled, expired) {
        (true, _) => "disabled",
        (false, true) => "expired",
        (false, false) => "good",
    }
}

impl ListedKey {
    /// The state of a key at a time.
    pub fn of(record: &KeyRecord, says: &KeyDocument, now: OffsetDateTime) -> Self {
        Self {
            id: record.id.to_string(),
            owner: record.owner.clone().map(String::from),
            team: record.team.clone().map(String::from),
            group: record.group.to_string(),
            models: says.models.clone(),
            multiplier: says.multiplier.clone(),
            state: of(record, now),
            limits: says.limits.clone(),
            expires_at: record.expires_at.and_then(timestamp::unix_text),
        }
    }

    fn row(&self) -> Vec<String> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let models = self.models.as_ref();
        let limits = self.limits.as_ref();
        let budget = limits.and_then(|limits| limits.budget.as_ref());
        vec![
            self.id.clone(),
            text(&self.owner),
            self.group.clone(),
            self.state.to_owned(),
            limits.map(terms::shown).unwrap_or_default(),
            budget.map(terms::shown_budget).unwrap_or_default(),
            text(&self.expires_at),
            text(&self.team),
            models.map(|models| models.join(", ")).unwrap_or_default(),
            text(&self.multiplier),
        ]
    }
}

/// A row for each key.
pub fn table(states: &[ListedKey]) -> OutputTable<impl Iterator<Item = Vec<String>> + '_> {
    let others = [
        "owner",
        "group",
        "state",
        "limits",
        "budget",
        "expires_at",
        "team",
        "models",
        "multiplier",
    ];
    let others = others.map(|name| OutputColumn::text(name).optional());
    let columns = [OutputColumn::text("id")].into_iter().chain(others);
    OutputTable::new(
        columns.collect::<Vec<_>>(),
        states.iter().map(ListedKey::row),
    )
}
