//! The fields of a key's form, and what the API wants of them.

use serde_json::Map;
use trilane::config::document::LimitsDocument;

use crate::cases::keys::KeyView;
use crate::pages::form::Fields;
use crate::pages::{FieldProblems, limit_fields, text};

/// The names of all fields, for problems that belong to none.
pub const FIELDS: [&str; 15] = [
    "group",
    "owner",
    "team",
    "models",
    "multiplier",
    "max_multiplier",
    "addresses",
    "label",
    "expires_at",
    "limits.requests_per_minute",
    "limits.input_tokens_per_minute",
    "limits.output_tokens_per_minute",
    "limits.concurrent_requests",
    "limits.budget.per_day",
    "limits.budget.per_month",
];

/// Reads the limits from a form; `None`: there are none. A value that is not a number is reported at its field.
pub fn limits(
    fields: &Fields,
    before: Option<&LimitsDocument>,
    problems: &mut FieldProblems,
) -> Option<LimitsDocument> {
    let before = serde_json::to_value(before).unwrap_or_default();
    let mut key = Map::from_iter([("limits".to_owned(), before)]);
    limit_fields::put(&mut key, fields, problems);
    serde_json::from_value(key.remove("limits")?).ok()
}

/// The fields as they are for a key.
pub fn fields_of(key: &KeyView) -> Fields {
    let local = key.expires_at.as_deref().unwrap_or_default();
    let fields = Fields::default()
        .with("group", &key.group)
        .with("owner", key.owner.clone().unwrap_or_default())
        .with("team", key.team.clone().unwrap_or_default())
        .with(
            "models",
            key.models
                .iter()
                .flatten()
                .cloned()
                .collect::<Vec<_>>()
                .join(", "),
        )
        .with("multiplier", key.multiplier.clone().unwrap_or_default())
        .with(
            "max_multiplier",
            key.max_multiplier.clone().unwrap_or_default(),
        )
        .with("addresses", addresses_text(key.addresses.as_deref()))
        .with("label", key.label.clone().unwrap_or_default())
        .with("expires_at", local.trim_end_matches('Z'))
        .with("revision", key.revision.clone().unwrap_or_default());
    with_limits(fields, key.limits.as_ref())
}

/// Fields with those of limits.
pub fn with_limits(fields: Fields, limits: Option<&LimitsDocument>) -> Fields {
    limit_fields::with(fields, &serde_json::to_value(limits).unwrap_or_default())
}

/// The models that a form names, with commas or lines between; `None`: all of the group.
pub fn models(fields: &Fields) -> Option<Vec<String>> {
    listed(fields.get("models"))
}

/// The word for no address in a form, where nothing stands for any.
const NOWHERE: &str = "none";

/// The addresses that a form names, with commas or lines between; `None`: any.
pub fn addresses(fields: &Fields) -> Option<Vec<String>> {
    match fields.get("addresses") {
        NOWHERE => Some(Vec::new()),
        typed => listed(typed),
    }
}

/// Addresses as a form has them.
pub fn addresses_text(addresses: Option<&[String]>) -> String {
    match addresses {
        Some([]) => NOWHERE.to_owned(),
        Some(addresses) => addresses.join(", "),
        None => String::new(),
    }
}

fn listed(typed: &str) -> Option<Vec<String>> {
    let names = typed.split([',', '\n', ' ']).map(str::trim);
    let names: Vec<String> = names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    (!names.is_empty()).then_some(names)
}

/// Reads the time at which a key expires from the form.
pub fn expires_at(fields: &Fields) -> Option<String> {
    fields
        .given("expires_at")
        .map(|typed| text::from_local(&typed))
}

/// The limits of a key for reading: title and value.
pub fn shown(key: &KeyView) -> Vec<(&'static str, String)> {
    limit_fields::shown(&serde_json::to_value(&key.limits).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn of(text: &[u8]) -> (Option<Value>, FieldProblems) {
        let mut problems = FieldProblems::default();
        let limits = limits(&Fields::parse(text), None, &mut problems);
        (
            limits.map(|limits| serde_json::to_value(limits).unwrap()),
            problems,
        )
    }

    #[test]
    fn what_a_form_says_of_limits() {
        let cases: [(&str, &[u8], Value); 5] = [
            ("nothing", b"limits.requests_per_minute=", Value::Null),
            (
                "a number with commas",
                b"limits.requests_per_minute=1,000",
                serde_json::json!({"requests_per_minute": 1000}),
            ),
            (
                "a budget",
                b"limits.budget.per_month=$1500.50",
                serde_json::json!({"budget": {"per_month": "$1500.50"}}),
            ),
            (
                "a budget with a comma, which the API refuses",
                b"limits.budget.per_month=1,50",
                serde_json::json!({"budget": {"per_month": "1,50"}}),
            ),
            (
                "both",
                b"limits.concurrent_requests=3&limits.budget.per_day=2",
                serde_json::json!({"concurrent_requests": 3, "budget": {"per_day": "2"}}),
            ),
        ];
        for (case, text, want) in cases {
            let (limits, problems) = of(text);
            assert_eq!(limits.unwrap_or_default(), want, "{case}");
            assert!(problems.is_empty(), "{case}");
        }
        let (_, problems) = of(b"limits.requests_per_minute=many");
        assert_eq!(
            problems.at("limits.requests_per_minute"),
            "must be a whole number"
        );
    }

    #[test]
    fn which_models_a_form_names() {
        for (text, want) in [
            ("models=", None),
            ("models=a,+b%0Ac", Some(vec!["a", "b", "c"])),
            ("models=+,", None),
        ] {
            let models = models(&Fields::parse(text.as_bytes()));
            let want = want.map(|names| names.into_iter().map(str::to_owned).collect());
            assert_eq!(models, want, "{text}");
        }
    }

    #[test]
    fn which_addresses_a_form_names() {
        for (text, want) in [
            ("", None),
            ("10.0.0.0/8, ::1", Some(vec!["10.0.0.0/8", "::1"])),
            ("none", Some(vec![])),
        ] {
            let addresses = addresses(&Fields::default().with("addresses", text));
            let wanted: Option<Vec<String>> =
                want.map(|all| all.into_iter().map(str::to_owned).collect());
            assert_eq!(addresses, wanted, "{text}");
            assert_eq!(addresses_text(addresses.as_deref()), text);
        }
    }

    #[test]
    fn what_the_form_does_not_have_stays() {
        let before = serde_json::json!({"budget": {"per_day": "1", "spent": {"at": "2026-11-24T00:00:00Z", "in_day": "0.5"}}});
        let before: LimitsDocument = serde_json::from_value(before).unwrap();
        let fields = Fields::parse(b"limits.budget.per_day=2");
        let after = limits(&fields, Some(&before), &mut FieldProblems::default()).unwrap();
        let after = serde_json::to_value(after).unwrap();
        assert_eq!(after["budget"]["per_day"], "2");
        assert_eq!(after["budget"]["spent"]["in_day"], "0.5");
    }
}
