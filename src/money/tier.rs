//! The protocols' words for classes of service.

/// Words for ordinary service, which is what a model's own prices are for.
const ORDINARY: [&str; 9] = [
    "",
    "auto",
    "default",
    "on_demand",
    "service_tier_unspecified",
    "standard",
    "standard_only",
    "traffic_type_unspecified",
    "unspecified",
];

/// Whether this word, in any letter case, means ordinary service, at a model's own prices.
pub fn is_ordinary(class: &str) -> bool {
    ORDINARY.iter().any(|word| word.eq_ignore_ascii_case(class))
}

/// Protocol C says `ON_DEMAND_PRIORITY` and `ON_DEMAND_FLEX` for what the others call `priority` and `flex`.
pub(super) fn without_prefix(class: &str) -> &str {
    const PREFIX: &str = "on_demand_";
    match class.split_at_checked(PREFIX.len()) {
        Some((prefix, rest)) if prefix.eq_ignore_ascii_case(PREFIX) => rest,
        _ => class,
    }
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
