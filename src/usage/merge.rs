//! The merging of the reports of one response: a later one stands for those before, but a poorer one erases nothing.

use super::numbers::{Numbers, SlotSet, bit, slots};
use super::table::{Merge, Roles, WireTable};

/// Adds a report to what is known. Whether all that it says is known now as it says it, so that one with greater
/// numbers would be known as it says, too.
///
/// A report of both input and output corrects what is known, and one with less of either stands alone where a report
/// stands for all before it. Of any other report the greater number counts. Zero erases nothing.
pub(super) fn merge(known: &mut Numbers, report: &Numbers, table: &WireTable) -> bool {
    let roles = &table.roles;
    let sides = [roles.input, roles.output];
    let whole = is_whole(report, table);
    let less = || {
        sides
            .iter()
            .any(|side| report.sum(*side) < known.sum(*side))
    };
    if whole && table.merge == Merge::Replace && less() {
        known.clear_but(table.beside);
    }
    let moving = roles.moves.iter();
    let moving = moving.filter(|set| report.sum(**set) >= known.sum(**set));
    let moving = moving.fold(roles.lists, |all, set| all | set);
    let firm = if whole { SlotSet::MAX } else { moving };
    let mut as_it_says = keep_total(known, report, roles, whole);
    for slot in slots(report.present() & !roles.scratch) {
        let (said, was) = (report.or_zero(slot), known.or_zero(slot));
        let counts = match said {
            0 => was == 0 || moving & bit(slot) != 0,
            _ => said >= was || firm & bit(slot) != 0,
        };
        if counts {
            known.set(slot, said);
        }
        as_it_says &= counts;
    }
    as_it_says
}

/// Whether a report has input and output.
pub(super) fn is_whole(report: &Numbers, table: &WireTable) -> bool {
    let sides = [table.roles.input, table.roles.output];
    sides.iter().all(|side| report.sum(*side) > 0)
}

/// A total belongs to its report: forgets it where another one has other sums and no total. Whether the report says
/// it where it is known.
fn keep_total(known: &mut Numbers, report: &Numbers, roles: &Roles, whole: bool) -> bool {
    let Some(total) = roles.total.filter(|total| known.or_zero(*total) > 0) else {
        return true;
    };
    if report.or_zero(total) > 0 {
        return true;
    }
    let mut sides = slots(report.present() & (roles.input | roles.output));
    if whole && sides.any(|slot| report.get(slot) != known.get(slot)) {
        known.forget(total);
    }
    false
}

#[cfg(test)]
mod tests;
