//! The format of the feed that a loader knows: it announces it, and one of 0.1 announces nothing.
//!
//! A gateway of 0.1 rejects a whole page, removals included, for one unknown member. So it gets the members that it knows,
//! and a key with terms that it could not enforce is disabled for it.

use http::header::HeaderMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use trilane::feed::FORMAT_HEADER;

use super::key::FeedKey;

/// The members of a page that a loader knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeedFormat {
    /// Those of 0.1.
    #[default]
    First,
    /// Also `owner`, `team`, `models` and `multiplier`.
    Second,
}

impl FeedFormat {
    /// The format that a request announces. Later releases also know this one; an unreadable value counts as none.
    pub fn announced(headers: &HeaderMap) -> Self {
        let announced = headers.get(FORMAT_HEADER);
        let number = announced.and_then(|value| value.to_str().ok()?.parse::<u32>().ok());
        if number.is_some_and(|number| number >= 2) {
            Self::Second
        } else {
            Self::First
        }
    }

    /// A key in this format.
    pub fn told(self, key: FeedKey<'_>) -> FeedKey<'_> {
        if self == Self::Second {
            return key;
        }
        let enforced = key
            .limits
            .is_none_or(|limits| serde_json::from_str::<FirstLimits>(limits).is_ok());
        let own = key.models.is_some() || key.multiplier.is_some();
        FeedKey {
            owner: None,
            team: None,
            models: None,
            multiplier: None,
            disabled: key.disabled || !enforced || own,
            limits: key.limits.filter(|_| enforced),
            ..key
        }
    }
}

/// The limits that 0.1 enforces. Never extend it: that release is out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstLimits {
    #[serde(default, rename = "requests_per_minute")]
    _requests: Option<u32>,
    #[serde(default, rename = "input_tokens_per_minute")]
    _input_tokens: Option<u32>,
    #[serde(default, rename = "output_tokens_per_minute")]
    _output_tokens: Option<u32>,
    #[serde(default, rename = "concurrent_requests")]
    _concurrent: Option<u32>,
    #[serde(default, rename = "budget")]
    _budget: Option<FirstBudget>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstBudget {
    #[serde(default, rename = "per_day")]
    _day: Option<String>,
    #[serde(default, rename = "per_month")]
    _month: Option<String>,
    #[serde(default, rename = "spent")]
    _spent: Option<FirstSpent>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FirstSpent {
    #[serde(default, rename = "at")]
    _at: Option<IgnoredAny>,
    #[serde(default, rename = "in_day")]
    _day: Option<IgnoredAny>,
    #[serde(default, rename = "in_month")]
    _month: Option<IgnoredAny>,
}

#[cfg(test)]
mod tests {
    use http::header::HeaderValue;

    use super::*;

    #[test]
    fn what_is_announced() {
        let cases = [
            ("nothing", None, FeedFormat::First),
            ("the first", Some("1"), FeedFormat::First),
            ("this one", Some(trilane::feed::FORMAT), FeedFormat::Second),
            ("a later one", Some("17"), FeedFormat::Second),
            ("no number", Some("two"), FeedFormat::First),
            ("empty", Some(""), FeedFormat::First),
            ("below", Some("-2"), FeedFormat::First),
        ];
        for (case, announced, want) in cases {
            let mut headers = HeaderMap::new();
            if let Some(announced) = announced {
                headers.insert(FORMAT_HEADER, HeaderValue::from_static(announced));
            }
            assert_eq!(FeedFormat::announced(&headers), want, "{case}");
        }
    }

    #[test]
    fn what_a_loader_is_told() {
        // (case, limits, whether the key is off, whether it is for a loader of 0.1)
        let cases = [
            ("no limits", None, false, false),
            ("off already", None, true, true),
            (
                "all that it knows",
                Some(
                    r#"{"requests_per_minute":1,"input_tokens_per_minute":2,"output_tokens_per_minute":3,"concurrent_requests":4,"budget":{"per_day":"1","per_month":"2","spent":{"at":"2026-11-22T00:00:00Z","in_day":"0","in_month":"1"}}}"#,
                ),
                false,
                false,
            ),
            (
                "another limit",
                Some(r#"{"requests_per_hour":5}"#),
                false,
                true,
            ),
            (
                "another beside one that it knows",
                Some(r#"{"requests_per_minute":1,"images_per_day":5}"#),
                false,
                true,
            ),
            (
                "another budget",
                Some(r#"{"budget":{"per_day":"1","per_week":"2"}}"#),
                false,
                true,
            ),
            (
                "another form",
                Some(r#"{"concurrent_requests":{"images":1}}"#),
                false,
                true,
            ),
            (
                "more of what was spent",
                Some(r#"{"budget":{"per_day":"1","spent":{"in_week":"2"}}}"#),
                false,
                true,
            ),
        ];
        for (case, limits, disabled, off) in cases {
            let key = FeedKey {
                sha256: "ab",
                id: "k",
                group: "g",
                owner: Some("sales"),
                team: Some("east"),
                models: None,
                multiplier: None,
                expires_at: Some("2027-01-01T00:00:00Z"),
                disabled,
                limits,
            };
            assert_eq!(FeedFormat::Second.told(key), key, "{case}");
            let enforced = !off || disabled;
            let want = FeedKey {
                owner: None,
                team: None,
                disabled: off,
                limits: limits.filter(|_| enforced),
                ..key
            };
            assert_eq!(FeedFormat::First.told(key), want, "{case}");
            for (own, key) in [
                (
                    "models of its own",
                    FeedKey {
                        models: Some(r#"["m"]"#),
                        ..key
                    },
                ),
                (
                    "a multiplier of its own",
                    FeedKey {
                        multiplier: Some("0.5"),
                        ..key
                    },
                ),
            ] {
                assert_eq!(FeedFormat::Second.told(key), key, "{case}, {own}");
                let want = FeedKey {
                    disabled: true,
                    ..want
                };
                assert_eq!(FeedFormat::First.told(key), want, "{case}, {own}");
            }
        }
    }
}
