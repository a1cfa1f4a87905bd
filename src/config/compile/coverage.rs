//! The models that a budget of a group or a key leaves: those that it can count.

use super::diagnostics::Diagnostics;
use crate::config::policy::Group;
use crate::config::some_of::some_of;
use crate::keys::KeyAccess;

/// The maximum number of models that a finding names.
const MAX_NAMED: usize = 10;

/// Names the models that the budget at `path` takes from a group's keys, or from one of them (`key`) that has this of its own.
/// A budget that leaves none is a problem.
pub(super) fn check(
    group: &Group,
    (key, access): (Option<&str>, Option<&KeyAccess>),
    path: String,
    diagnostics: &mut Diagnostics,
) {
    let unpriced = group.unpriced(access);
    if unpriced.is_empty() {
        return;
    }
    let whose = match key {
        Some(id) => format!("the key \"{id}\""),
        None => format!("keys of the group \"{}\"", group.id),
    };
    let give = "give prices, or \"free\": true, to";
    let names = some_of(&unpriced, MAX_NAMED);
    if group.can_have_budget(access) {
        let reason = format!("{whose} may not use models without a price: {give} {names}");
        diagnostics.warnings.push(path, reason);
    } else {
        let reason = format!("leaves {whose} no model, as none has a price: {give} {names}");
        diagnostics.problems.push(path, reason);
    }
}
