//! The result of a change of a key, to be printed.

use serde::Serialize;

use super::state::ListedKey;
use crate::failure::Failure;
use crate::output::{self, OutputColumn, OutputFormat, OutputTable};
use crate::terminal::say;

/// The result of a change, for a program. It may contain a key, so there is no `Debug`.
#[derive(Serialize)]
pub struct KeyReport<'a> {
    /// The id of the key.
    pub id: &'a str,
    /// The change: `created`, `disabled`, `enabled`, `expires`, `limited`, `access changed`, `rotated`, `removed`.
    pub done: &'static str,
    /// Whether anything was changed.
    pub changed: bool,
    /// The key's present state, unless it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<ListedKey>,
    /// The old value, if it stays valid for a while.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<ListedKey>,
    /// The new value. It is shown this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<&'a str>,
}

impl KeyReport<'_> {
    /// The same in a row.
    fn table(&self) -> OutputTable<[Vec<String>; 1]> {
        let columns = [
            "id",
            "done",
            "changed",
            "group",
            "state",
            "expires_at",
            "old_id",
            "key",
        ];
        let now = self.now.as_ref();
        let row = [
            Some(self.id),
            Some(self.done),
            Some(if self.changed { "true" } else { "false" }),
            now.map(|now| now.group.as_str()),
            now.map(|now| now.state),
            now.and_then(|now| now.expires_at.as_deref()),
            self.old.as_ref().map(|old| old.id.as_str()),
            self.key,
        ];
        let row = row.map(|cell| cell.unwrap_or_default().to_owned());
        OutputTable::new(columns.map(OutputColumn::text), [row.to_vec()])
    }
}

/// Prints the value alone on standard output, so that a script can read it, and the rest on standard error.
///
/// # Errors
/// The output cannot be written.
pub fn tell(told: &KeyReport<'_>, format: OutputFormat) -> Result<(), Failure> {
    match format {
        OutputFormat::Json => return output::print(|out| output::write_json(told, out)),
        OutputFormat::Csv => return output::print(|out| told.table().write_csv(out)),
        OutputFormat::Table => {}
    }
    let id = told.id;
    if !told.changed {
        say(&format!("{id}: nothing to change"));
        return Ok(());
    }
    let state = told.now.as_ref().map(|now| {
        let end = now
            .expires_at
            .as_ref()
            .map(|end| format!(", ends at {end}"));
        format!(
            ": {}, group {}{}",
            now.state,
            now.group,
            end.unwrap_or(", never ends".to_owned())
        )
    });
    say(&format!("{} {id}{}", told.done, state.unwrap_or_default()));
    if let Some(ListedKey { id, expires_at, .. }) = &told.old {
        let end = expires_at.as_deref().unwrap_or_default();
        say(&format!("the old value is {id} until {end}"));
    }
    if let Some(key) = told.key {
        say("the value, which nothing can show again:");
        output::print(|out| writeln!(out, "{key}"))?;
    }
    Ok(())
}

/// Notes an old value that is still good after its key is not.
pub fn note_old_value(id: &str) {
    say(&format!(
        "note: an old value of this key is still good, by itself: {id}"
    ));
}
