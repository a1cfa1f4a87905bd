//! The configuration document: what is in force, drafts of what comes next, and every version that was.

mod account_form;
mod draft;
mod draft_acts;
mod edit;
mod editing;
mod group_form;
mod groups;
mod history;
mod item_form;
mod limits_form;
mod members;
mod model_form;
mod price_sets;
mod sequence_fields;
mod shown;
mod words;

pub use account_form::{account, save_account};
pub use draft::{draft, text};
pub use draft_acts::{begin, confirm_discard, discard, publish, rebase, save_note, save_text};
pub use edit::edit;
pub use editing::seen;
pub use group_form::{group as draft_group, save_group};
pub use groups::{group, list as groups};
pub use history::{again, list as history, version};
pub use limits_form::{limits, save_limits};
pub(super) use members::{put_number, put_text, taken};
pub use model_form::{model, save_model};
pub use shown::{AccountShown, accounts_of};

use serde_json::Value;

/// The text of a member; empty where there is none.
pub(super) fn text_at<'a>(of: &'a Value, name: &str) -> &'a str {
    of.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The items of a list; none where there is no list.
pub(super) fn items<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of.get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Finds the item of a list that has this id, with its place in the list.
fn find_item<'a>(of: &'a Value, list: &str, id: &str) -> Option<(usize, &'a Value)> {
    let mut all = items(of, list).iter().enumerate();
    all.find(|(_, item)| text_at(item, "id") == id)
}

/// The groups of a document's text; none where it is no JSON.
pub(super) fn parsed(body: &str) -> Option<Value> {
    serde_json::from_str(body).ok()
}
