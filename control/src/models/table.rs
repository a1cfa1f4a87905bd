//! A list of models for people.

use std::io::{self, Write};

use serde_json::Value;

use super::Page;
use crate::table;

/// A row for each model: its id, its name, and for a key of a Mixed group the entry and the multiplier.
pub fn write(pages: &[Page], out: &mut impl Write) -> io::Result<()> {
    let mut rows = vec![["model", "name", "entry", "multiplier"].map(str::to_owned)];
    for page in pages {
        let page = page.value();
        let models = page
            .get("data")
            .or_else(|| page.get("models"))
            .and_then(Value::as_array);
        for model in models.into_iter().flatten() {
            let text = |fields: [&str; 2]| {
                let found = fields.iter().find_map(|field| model.get(*field)?.as_str());
                found.unwrap_or_default().to_owned()
            };
            let id = text(["id", "name"]);
            let id = id.strip_prefix("models/").unwrap_or(&id).to_owned();
            let name = text(["display_name", "displayName"]);
            rows.push([
                id,
                name,
                text(["entry", "entry"]),
                text(["multiplier", "multiplier"]),
            ]);
        }
    }
    table::write(&rows, out)
}

/// The id behind which the next page begins, where there is one.
pub fn next(page: &Page) -> Option<String> {
    let page = page.value();
    let more = page
        .get("has_more")
        .and_then(Value::as_bool)
        .unwrap_or_default();
    let last = page.get("last_id").filter(|_| more);
    last.or_else(|| page.get("nextPageToken"))?
        .as_str()
        .map(str::to_owned)
}
