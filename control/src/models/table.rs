//! A list of models as a table.

use serde_json::Value;

use super::ModelListPage;
use crate::output::{OutputColumn, OutputTable};

/// A row for each model: its id, its name, and for a key of a Mixed group the entry and the multiplier.
pub fn of(pages: &[ModelListPage]) -> OutputTable<impl Iterator<Item = Vec<String>> + '_> {
    let columns = [
        OutputColumn::text("model"),
        OutputColumn::text("name").optional(),
        OutputColumn::text("entry").optional(),
        OutputColumn::text("multiplier").optional(),
    ];
    OutputTable::new(columns, pages.iter().flat_map(rows))
}

fn rows(page: &ModelListPage) -> Vec<Vec<String>> {
    let page = page.value();
    let models = page
        .get("data")
        .or_else(|| page.get("models"))
        .and_then(Value::as_array);
    let row = |model: &Value| {
        // Protocol C writes the same members otherwise.
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| model.get(*name)?.as_str());
            found.unwrap_or_default().to_owned()
        };
        let id = text(&["id", "name"]);
        let id = id.strip_prefix("models/").unwrap_or(&id).to_owned();
        let name = text(&["display_name", "displayName"]);
        vec![id, name, text(&["entry"]), text(&["multiplier"])]
    };
    models.into_iter().flatten().map(row).collect()
}

/// The id behind which the next page begins, where there is one.
pub fn next(page: &ModelListPage) -> Option<String> {
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
