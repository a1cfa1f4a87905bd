//! The allowance of a team's members, in words.

use super::ShownAmount;
use crate::allowance::KeyAllowance;
use crate::language;

/// On what terms members make keys: `Group: mixed; at most 20.00 a month each, 40.00 with all keys; for 90 days
/// at most.`
pub fn terms(allowance: &KeyAllowance) -> String {
    let mut all = vec![match allowance.groups.as_slice() {
        [only] => t!("Group: {name}", name = only),
        groups => t!("Groups: {names}", names = language::list(groups)),
    }];
    let models = allowance.models.as_ref();
    all.extend(models.map(|models| t!("models {names}", names = language::list(models))));
    let limits = allowance.limits.as_ref();
    if let Some(budget) = limits.and_then(|limits| limits.budget.as_ref()) {
        let of_member = allowance.member_budget();
        if let (Some(each), Some(all_keys)) = (&budget.per_day, &of_member.per_day) {
            let [each, all_keys] = [each, all_keys].map(|of| ShownAmount::of("", of).exact);
            all.push(t!(
                "at most {amount} a day each, {all} with all keys",
                amount = each,
                all = all_keys
            ));
        }
        if let (Some(each), Some(all_keys)) = (&budget.per_month, &of_member.per_month) {
            let [each, all_keys] = [each, all_keys].map(|of| ShownAmount::of("", of).exact);
            all.push(t!(
                "at most {amount} a month each, {all} with all keys",
                amount = each,
                all = all_keys
            ));
        }
    }
    let days = allowance.lifetime_days;
    all.extend(days.map(|days| t!("for {count} days at most", count = days)));
    t!("{clauses}.", clauses = all.join(&t!("; ")))
}
