//! The allowance of a team's members, in words.

use super::text;
use crate::allowance::KeyAllowance;

/// On what terms members make keys: `Groups mixed; at most 20.00 a month each, 40.00 with all keys; for 90 days
/// at most.`
pub fn terms(allowance: &KeyAllowance) -> String {
    let models = allowance
        .models
        .as_ref()
        .map(|models| format!("; models {}", models.join(", ")));
    let budget = allowance
        .limits
        .as_ref()
        .and_then(|limits| limits.budget.as_ref());
    let all = allowance.member_budget();
    let amounts = budget.map(|budget| {
        let each = [
            ("day", &budget.per_day, &all.per_day),
            ("month", &budget.per_month, &all.per_month),
        ];
        let each = each.into_iter().filter_map(|(window, amount, all)| {
            Some(format!(
                "; at most {} a {window} each, {} with all keys",
                text::money(amount.as_ref()?),
                text::money(all.as_ref()?)
            ))
        });
        each.collect::<String>()
    });
    let days = allowance
        .lifetime_days
        .map(|days| format!("; for {days} days at most"));
    let [models, amounts, days] = [models, amounts, days].map(Option::unwrap_or_default);
    format!(
        "Groups {}{models}{amounts}{days}.",
        allowance.groups.join(", ")
    )
}
