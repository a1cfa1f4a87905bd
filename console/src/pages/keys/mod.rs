//! Keys: the list, one key, and what is done to it.

mod act;
mod bulk;
mod change;
mod groups;
mod list;
mod one;
pub(super) mod rotate;
mod search;
pub(super) mod terms;
pub(super) mod waiting;

pub use act::{confirm_remove, disable, remove};
pub use bulk::{ask_change, change_all};
pub(super) use change::{MadeKeyPlace, made_page};
pub use change::{change, create, edit, new};
pub(super) use groups::group_choices;
pub use list::list;
pub use one::one;
pub(super) use one::{ModelUse, by_model_only};
pub use rotate::{confirm_rotate, end_old, rotate};
pub use search::{key_of_value, search};

use super::me::sums;
use super::text;
use crate::cases::ConsoleState;
use crate::cases::keys::KeyView;
use crate::pages::ShownAmount;

/// The address in the lines for clients where nobody has named the gateway's.
const SOME_GATEWAY: &str = "https://YOUR-GATEWAY";
/// The key in the lines for clients where it is not known.
pub(super) const SOME_KEY: &str = "tl-YOUR-KEY";

/// The path of a key's page.
pub(super) fn path_of(id: &str) -> String {
    // Ids are letters, digits and - _ . : only, which a path has as they are.
    format!("/keys/{id}")
}

/// Returns the name of a key for people: its label, or its id.
pub(super) fn name_of(key: &KeyView) -> &str {
    key.label.as_deref().unwrap_or(&key.id)
}

/// A key's state: its kind for the eye, and its name.
pub(super) fn state_of(key: &KeyView, now: &str) -> (&'static str, &'static str) {
    let is_past = |end: &String| end.as_str() <= now;
    if key.disabled {
        ("off", text!("Disabled"))
    } else if key.expires_at.as_ref().is_some_and(is_past) {
        ("off", text!("Expired"))
    } else if meter_of(key).is_some_and(|meter| meter.percent >= 100) {
        ("warn", text!("Budget spent"))
    } else {
        ("good", text!("Active"))
    }
}

/// The part of a month's budget that is spent.
struct BudgetMeter {
    budget: ShownAmount,
    percent: u64,
    kind: &'static str,
}

fn meter_of(key: &KeyView) -> Option<BudgetMeter> {
    let budget = key.limits.as_ref()?.budget.as_ref()?.per_month.clone()?;
    let spent = key.spent_this_month.as_ref()?.first();
    let percent = spent.map_or(0, |spent| text::percent(&spent.amount, &budget));
    let currency = spent.map_or("", |spent| spent.currency.as_str());
    Some(BudgetMeter {
        budget: ShownAmount::of(currency, &budget),
        percent,
        kind: text::fullness(percent),
    })
}

/// The budget a day.
fn budget_of_day(key: &KeyView) -> Option<ShownAmount> {
    let budget = key.limits.as_ref()?.budget.as_ref()?.per_day.as_deref()?;
    let spent = key.spent_this_month.as_ref().and_then(|all| all.first());
    let currency = spent.map_or("", |spent| spent.currency.as_str());
    Some(ShownAmount::of(currency, budget))
}

/// The amounts of this month.
pub(super) fn spent_text(key: &KeyView) -> ShownAmount {
    sums(key.spent_this_month.as_deref().unwrap_or_default())
}

pub(super) fn gateway(state: &ConsoleState) -> &str {
    let gateway = state.gateway.as_deref();
    gateway.map_or(SOME_GATEWAY, |gateway| gateway.trim_end_matches('/'))
}
