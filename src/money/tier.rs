//! The protocols' words for classes of service, speeds and places.

/// Words for ordinary service at any place, which is what a model's own prices are for.
const ORDINARY: [&str; 11] = [
    "",
    "auto",
    "default",
    "global",
    "not_available",
    "on_demand",
    "service_tier_unspecified",
    "standard",
    "standard_only",
    "traffic_type_unspecified",
    "unspecified",
];

/// Whether this word, in any letter case, means ordinary service, at a model's own prices.
pub fn is_ordinary(class: &str) -> bool {
    let is_one = |class: &str| ORDINARY.iter().any(|word| word.eq_ignore_ascii_case(class));
    is_one(class) || is_one(without_prefix(class))
}

/// Protocol C says `ON_DEMAND_PRIORITY` and `ON_DEMAND_FLEX`, or `SERVICE_TIER_PRIORITY`, for what the others call `priority`
/// and `flex`.
pub(super) fn without_prefix(class: &str) -> &str {
    let without = |prefix: &str| {
        let (before, rest) = class.split_at_checked(prefix.len())?;
        let is_prefix = before.eq_ignore_ascii_case(prefix) && !rest.is_empty();
        is_prefix.then_some(rest)
    };
    let mut known = ["on_demand_", "service_tier_"].into_iter();
    known.find_map(without).unwrap_or(class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::{Price, Prices};
    use crate::usage::Kind;

    #[test]
    fn words_for_classes_of_service() {
        let mut tier = Prices::default();
        tier.set_tokens(Kind::Input, Price::parse("6").unwrap());
        let prices = Prices::default().with_tiers(vec![("priority".to_owned(), tier)]);
        // (word, whether it is ordinary service, whether it has prices here)
        let cases = [
            ("default", true, false),
            ("standard", true, false),
            ("standard_only", true, false),
            ("auto", true, false),
            ("Default", true, false),
            ("", true, false),
            ("global", true, false),
            ("not_available", true, false),
            ("us", false, false),
            ("SERVICE_TIER_PRIORITY", false, true),
            ("SERVICE_TIER_UNSPECIFIED", true, false),
            ("SERVICE_TIER_STANDARD", true, false),
            ("ON_DEMAND_", false, false),
            ("ON_DEMAND", true, false),
            ("TRAFFIC_TYPE_UNSPECIFIED", true, false),
            ("priority", false, true),
            ("PRIORITY", false, true),
            ("ON_DEMAND_PRIORITY", false, true),
            ("on_demand_priority", false, true),
            ("ON_DEMAND_FLEX", false, false),
            ("flex", false, false),
            ("fast", false, false),
            ("priority ", false, false),
            ("PROVISIONED_THROUGHPUT", false, false),
            ("on_demand\u{e9}", false, false),
            ("in_demand_priority", false, false),
        ];
        for (word, ordinary, priced) in cases {
            assert_eq!(is_ordinary(word), ordinary, "{word:?}");
            assert_eq!(prices.tier(word).is_some(), priced, "{word:?}");
        }
    }
}
