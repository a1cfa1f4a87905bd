//! The state of a document's keys, to be printed.

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use trilane::config::document::{KeyDocument, LimitsDocument};
use trilane::keys::KeyRecord;

use super::terms;
use crate::output::{OutputColumn, OutputTable};
use crate::timestamp;

/// The properties of a key that are shown: neither its value nor its digest.
#[derive(Debug, Clone, Serialize)]
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
    state(record.disabled, record.expires_at, now)
}

/// The state of a key that is disabled, or ends at this second since 1970.
pub fn state(disabled: bool, ends: Option<i64>, now: OffsetDateTime) -> &'static str {
    let expired = ends.is_some_and(|end| end <= now.unix_timestamp());
    match (disabled, expired) {
        (true, _) => "disabled",
        (false, true) => "expired",
        (false, false) => "good",
    }
}

/// A key with all that is known of it.
#[derive(Debug, Serialize)]
pub struct KeyDetails {
    #[serde(flatten)]
    key: ListedKey,
    #[serde(flatten)]
    console: Option<ConsoleDetails>,
}

/// The properties that a console knows of a key beside those of a document.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ConsoleDetails {
    /// The greatest final multiplier that it pays.
    max_multiplier: Option<String>,
    /// The addresses from which it may be used.
    pub addresses: Option<Vec<String>>,
    /// Its name.
    label: Option<String>,
    /// The last characters of its value.
    hint: Option<String>,
    /// The time at which it was created.
    created_at: Option<String>,
    /// The id of the person who created it.
    created_by: Option<String>,
    /// The time of the latest use.
    last_used_at: Option<String>,
    /// The amounts spent this month (UTC), by currency.
    spent_this_month: Option<Vec<SpentAmount>>,
    /// The old values that are still good.
    #[serde(default)]
    pub old_values: Vec<OldValue>,
}

/// An amount.
#[derive(Debug, Serialize, Deserialize)]
pub struct SpentAmount {
    currency: String,
    amount: String,
}

/// An old value of a key, which is a key of its own for a while.
#[derive(Debug, Serialize, Deserialize)]
pub struct OldValue {
    /// The id of that key.
    pub id: String,
    /// Until when it is good.
    pub good_until: String,
}

impl KeyDetails {
    /// Those of a key, with what a console knows.
    pub const fn new(key: ListedKey, console: Option<ConsoleDetails>) -> Self {
        Self { key, console }
    }

    /// A row for each property that it has.
    pub fn table(&self) -> OutputTable<impl Iterator<Item = Vec<String>> + '_> {
        let own = NAMES.into_iter().zip(self.key.row());
        let console = self.console.iter().flat_map(ConsoleDetails::rows);
        let rows = own.chain(console).filter(|(_, value)| !value.is_empty());
        let columns = ["property", "value"].map(OutputColumn::text);
        let rows = rows.map(|(name, value)| vec![name.to_owned(), value]);
        OutputTable::new(columns.to_vec(), rows)
    }
}

impl ConsoleDetails {
    fn rows(&self) -> Vec<(&'static str, String)> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let spent = self.spent_this_month.iter().flatten();
        let spent = spent.map(|spent| format!("{} {}", spent.amount, spent.currency));
        let old = self.old_values.iter();
        let old = old.map(|old| format!("{} until {}", old.id, old.good_until));
        let list = |all: Vec<String>| all.join(", ");
        vec![
            ("max_multiplier", text(&self.max_multiplier)),
            (
                "addresses",
                list(self.addresses.clone().unwrap_or_default()),
            ),
            ("label", text(&self.label)),
            ("hint", text(&self.hint)),
            ("created_at", text(&self.created_at)),
            ("created_by", text(&self.created_by)),
            ("last_used_at", text(&self.last_used_at)),
            ("spent_this_month", list(spent.collect())),
            ("old_values", list(old.collect())),
        ]
    }
}

/// The names of the properties of a key, in their order.
const NAMES: [&str; 10] = [
    "id",
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
    let columns = NAMES.into_iter().map(|name| match name {
        "id" => OutputColumn::text(name),
        _ => OutputColumn::text(name).optional(),
    });
    OutputTable::new(
        columns.collect::<Vec<_>>(),
        states.iter().map(ListedKey::row),
    )
}
