//! Whether a budget can count everything that the keys of a group may use.

use crate::config::policy::GroupKind;
use crate::keys::KeyAccess;

/// How many models a problem names.
const MAX_NAMED: usize = 10;

/// Whether all that a group's keys may use has prices, or is said to cost nothing.
pub(super) fn cover(kind: &GroupKind) -> bool {
    kind.usable().all(|(_, model)| model.is_priced())
}

/// Why a group can have no budget, nor a key of it that has this of its own, where that is so.
pub(super) fn why_no_budget(kind: &GroupKind, access: Option<&KeyAccess>) -> String {
    let allowed = |id: &str| access.is_none_or(|access| access.allows(id));
    let mut unpriced = kind
        .usable()
        .filter(|(_, model)| !model.is_priced() && allowed(&model.id));
    let named = unpriced.by_ref().take(MAX_NAMED);
    let named = named.map(|(source, model)| match kind {
        GroupKind::Source(_) => model.id.to_string(),
        GroupKind::Mixed(_) => format!("{} (of {})", model.id, source.group),
    });
    let mut names = named.collect::<Vec<_>>().join(", ");
    let more = unpriced.count();
    if more > 0 {
        names.push_str(&format!(" and {more} more"));
    }
    format!("would not count every model: give prices, or \"free\": true, to {names}")
}
