//! The allowance of a team: the keys that each of its members may create without an admin, and the terms of those keys.

use serde::{Deserialize, Serialize};
use time::Duration;
use trilane::config::Problems;
use trilane::config::document::{BudgetDocument, KeyDocument, LimitsDocument};
use trilane::config::key::CheckedKey;
use trilane::money::Amount;
use utoipa::ToSchema;

use crate::timestamp;

/// The most keys that a member may be allowed.
const MOST_KEYS: u32 = 1000;
/// The greatest budget.
const MOST_BUDGET: Amount = Amount::of_units(10_u128.pow(Amount::PLACES + 9));
/// The longest life of a key, in days: ten years.
const LONGEST: u32 = 3653;

/// The keys that each member of a team may create without an admin.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyAllowance {
    /// The number of keys of this team that each member may have at once. Keys that have expired do not count; disabled ones do.
    #[schema(minimum = 1, maximum = 1000)]
    pub keys: u32,
    /// The groups that these keys may be of.
    #[schema(min_items = 1, max_items = 64)]
    pub groups: Vec<String>,
    /// The only models that these keys may use; without this, all of their group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 64)]
    pub models: Option<Vec<String>>,
    /// The limits of each key, as in a document. A budget among them is the most that one key may have, and `keys` times as much the
    /// most that a member may spend with all keys of the team, whatever keys there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub limits: Option<LimitsDocument>,
    /// For how many days a key may be good; without this it need not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 3653)]
    pub lifetime_days: Option<u32>,
}

/// The terms that a member requests for a key.
#[derive(Debug, Clone, Copy)]
pub struct WantedTerms<'a> {
    /// The id of the key's group.
    pub group: &'a str,
    /// The models of the group.
    pub served: &'a [String],
    /// The models that it may use; `None`: as many as may be.
    pub models: Option<&'a [String]>,
    /// The amounts that may be spent per day and per month; `None`: the most that the allowance permits.
    pub budget: [Option<&'a str>; 2],
    /// The time at which the key is to expire, as RFC 3339; `None`: the latest that the allowance permits.
    pub expires_at: Option<&'a str>,
}

/// The terms of a key that a member makes.
#[derive(Debug, Clone)]
pub struct AllowedTerms {
    /// The models that it may use; `None`: all of its group.
    pub models: Option<Vec<String>>,
    /// The limits of the key: those of the allowance, with the requested budget.
    pub limits: Option<LimitsDocument>,
    /// The time at which the key expires, as RFC 3339; `None`: never.
    pub expires_at: Option<String>,
}

impl KeyAllowance {
    /// The allowance of a team as it is stored; `None` where it has none.
    pub fn stored(text: Option<&str>) -> Option<Self> {
        text.and_then(|text| serde_json::from_str(text).ok())
    }

    /// Lists the faults of the allowance, each with its field.
    pub fn problems(&self) -> Problems {
        let mut problems = Problems::default();
        if !(1..=MOST_KEYS).contains(&self.keys) {
            problems.push("keys", text!("must be from 1 to 1000"));
        }
        if !(1..=64).contains(&self.groups.len()) {
            problems.push("groups", text!("must be 1 to 64 ids of groups"));
        }
        if self
            .lifetime_days
            .is_some_and(|days| !(1..=LONGEST).contains(&days))
        {
            problems.push("lifetime_days", text!("must be from 1 to 3653"));
        }
        let key = |group: &str| KeyDocument {
            id: Some("k".to_owned()),
            sha256: Some("0".repeat(64)),
            group: Some(group.to_owned()),
            models: self.models.clone(),
            limits: self.limits.clone(),
            ..KeyDocument::default()
        };
        for (group, place) in self.groups.iter().zip(0_usize..) {
            let Err(Problems(found)) = CheckedKey::of(&key(group)) else {
                continue;
            };
            for problem in found {
                if problem.path.starts_with("group") {
                    problems.push(format!("groups[{place}]"), problem.reason);
                } else if place == 0 {
                    problems.push(problem.path, problem.reason);
                }
            }
        }
        problems
    }

    /// The budget of a member with all keys of the team: so many keys with so much each. Of a key that has a budget in one window
    /// only, the other is unbounded.
    pub fn member_budget(&self) -> BudgetDocument {
        let each = self.limits.as_ref();
        let each = each.and_then(|limits| limits.budget.as_ref());
        let all = |amount: &Option<String>| {
            let amount = Amount::parse(amount.as_deref()?).ok()?;
            let units = amount.units().saturating_mul(self.keys.into());
            Some(Amount::of_units(units).min(MOST_BUDGET).to_string())
        };
        BudgetDocument {
            per_day: each.and_then(|budget| all(&budget.per_day)),
            per_month: each.and_then(|budget| all(&budget.per_month)),
            ..BudgetDocument::default()
        }
    }

    /// The terms of a key that a member wants: as wanted where that is allowed, and where nothing was said as much as is.
    ///
    /// # Errors
    /// Each term beyond the allowance, with its field.
    pub fn terms(
        &self,
        wanted: WantedTerms<'_>,
        now: time::OffsetDateTime,
    ) -> Result<AllowedTerms, Problems> {
        let mut problems = Problems::default();
        if !self.groups.iter().any(|group| group == wanted.group) {
            problems.push("group", text!("is not one that the team lets you use"));
        }
        let terms = AllowedTerms {
            models: self.models_of(wanted, &mut problems),
            limits: self.limits_of(wanted.budget, &mut problems),
            expires_at: self.expiry_of(wanted.expires_at, now, &mut problems),
        };
        if problems.is_empty() {
            Ok(terms)
        } else {
            Err(problems)
        }
    }

    fn models_of(&self, wanted: WantedTerms<'_>, problems: &mut Problems) -> Option<Vec<String>> {
        let Some(allowed) = &self.models else {
            return wanted.models.map(<[String]>::to_vec);
        };
        let models = match wanted.models {
            Some(models) => {
                let mut others = models.iter().filter(|model| !allowed.contains(model));
                if others.next().is_some() {
                    problems.push(
                        "models",
                        text!("has one that the team does not let you use"),
                    );
                }
                models.to_vec()
            }
            None => {
                let both = wanted.served.iter().filter(|model| allowed.contains(model));
                both.cloned().collect()
            }
        };
        if models.is_empty() {
            problems.push(
                "group",
                text!("has none of the models that the team lets you use"),
            );
        }
        Some(models)
    }

    fn limits_of(
        &self,
        [per_day, per_month]: [Option<&str>; 2],
        problems: &mut Problems,
    ) -> Option<LimitsDocument> {
        let limits = self.limits.clone();
        let most = limits.as_ref().and_then(|limits| limits.budget.clone());
        let most = most.unwrap_or_default();
        let budget = BudgetDocument {
            per_day: at_most("budget.per_day", per_day, most.per_day, problems),
            per_month: at_most("budget.per_month", per_month, most.per_month, problems),
            ..BudgetDocument::default()
        };
        if limits.is_none() && !budget.is_set() {
            return None;
        }
        Some(LimitsDocument {
            budget: budget.is_set().then_some(budget),
            ..limits.unwrap_or_default()
        })
    }

    fn expiry_of(
        &self,
        wanted: Option<&str>,
        now: time::OffsetDateTime,
        problems: &mut Problems,
    ) -> Option<String> {
        let Some(days) = self.lifetime_days else {
            return wanted.map(str::to_owned);
        };
        let latest = now.checked_add(Duration::days(i64::from(days)));
        let latest = latest.map(timestamp::text).unwrap_or_default();
        match wanted {
            // Times of this form are in the order of their texts. Another form is refused with the key.
            Some(wanted) if wanted > latest.as_str() => {
                problems.push("expires_at", t!("must be {time} or before", time = latest));
                None
            }
            Some(wanted) => Some(wanted.to_owned()),
            None => Some(latest),
        }
    }
}

/// An amount of a budget, which is at most the team's.
fn at_most(
    place: &str,
    wanted: Option<&str>,
    most: Option<String>,
    problems: &mut Problems,
) -> Option<String> {
    let (Some(wanted), Some(most)) = (wanted, &most) else {
        return wanted.map(str::to_owned).or(most);
    };
    match (Amount::parse(wanted), Amount::parse(most)) {
        (Ok(amount), Ok(bound)) if amount <= bound => {}
        (Ok(_), _) => problems.push(place, t!("must be at most {amount}", amount = most)),
        (Err(reason), _) => problems.push(place, reason),
    }
    Some(wanted.to_owned())
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    fn allowance() -> KeyAllowance {
        let limits = serde_json::json!({"requests_per_minute": 60, "budget": {"per_month": "20"}});
        KeyAllowance {
            keys: 2,
            groups: vec!["g".to_owned()],
            models: Some(vec!["m".to_owned(), "n".to_owned()]),
            limits: serde_json::from_value(limits).unwrap(),
            lifetime_days: Some(30),
        }
    }

    #[test]
    fn what_is_allowed() {
        let served = ["m".to_owned(), "x".to_owned()];
        let all = WantedTerms {
            group: "g",
            served: &served,
            models: None,
            budget: [None, None],
            expires_at: None,
        };
        let (m, x) = (["m".to_owned()], ["x".to_owned()]);
        let now = datetime!(2026-11-25 12:00 UTC);
        let cases: [(&str, WantedTerms<'_>, &str); 11] = [
            ("as much as may be", all, ""),
            (
                "less",
                WantedTerms {
                    models: Some(&m),
                    budget: [Some("1"), Some("20.00")],
                    expires_at: Some("2026-12-25T12:00:00Z"),
                    ..all
                },
                "",
            ),
            ("another group", WantedTerms { group: "h", ..all }, "group"),
            (
                "another model",
                WantedTerms {
                    models: Some(&x),
                    ..all
                },
                "models",
            ),
            (
                "no model",
                WantedTerms {
                    models: Some(&[]),
                    ..all
                },
                "group",
            ),
            (
                "no model of the group",
                WantedTerms { served: &x, ..all },
                "group",
            ),
            (
                "more money",
                WantedTerms {
                    budget: [None, Some("20.01")],
                    ..all
                },
                "budget.per_month",
            ),
            (
                "no money",
                WantedTerms {
                    budget: [None, Some("lots")],
                    ..all
                },
                "budget.per_month",
            ),
            (
                "a day's money, which has no bound",
                WantedTerms {
                    budget: [Some("999"), None],
                    ..all
                },
                "",
            ),
            (
                "longer",
                WantedTerms {
                    expires_at: Some("2026-12-25T12:00:01Z"),
                    ..all
                },
                "expires_at",
            ),
            (
                "never",
                WantedTerms {
                    expires_at: Some("never"),
                    ..all
                },
                "expires_at",
            ),
        ];
        for (case, wanted, want) in cases {
            let places = match allowance().terms(wanted, now) {
                Ok(_) => String::new(),
                Err(Problems(found)) => found[0].path.clone(),
            };
            assert_eq!(places, want, "{case}");
        }
        let terms = allowance().terms(all, now).unwrap();
        assert_eq!(terms.models, Some(vec!["m".to_owned()]));
        assert_eq!(terms.expires_at.as_deref(), Some("2026-12-25T12:00:00Z"));
        let limits = serde_json::to_value(terms.limits).unwrap();
        assert_eq!(
            limits,
            serde_json::json!({"requests_per_minute": 60, "budget": {"per_month": "20"}})
        );
    }

    #[test]
    fn what_is_wrong_with_an_allowance() {
        let good = allowance();
        let cases: [(&str, KeyAllowance, &str); 7] = [
            ("good", good.clone(), ""),
            (
                "no keys",
                KeyAllowance {
                    keys: 0,
                    ..good.clone()
                },
                "keys",
            ),
            (
                "no groups",
                KeyAllowance {
                    groups: Vec::new(),
                    ..good.clone()
                },
                "groups",
            ),
            (
                "a group of no name",
                KeyAllowance {
                    groups: vec!["g".to_owned(), "a b".to_owned()],
                    ..good.clone()
                },
                "groups[1]",
            ),
            (
                "no models",
                KeyAllowance {
                    models: Some(Vec::new()),
                    ..good.clone()
                },
                "models",
            ),
            (
                "no days",
                KeyAllowance {
                    lifetime_days: Some(0),
                    ..good.clone()
                },
                "lifetime_days",
            ),
            (
                "a budget of nothing",
                KeyAllowance {
                    limits: serde_json::from_str(r#"{"budget": {"per_day": "0"}}"#).unwrap(),
                    ..good
                },
                "limits.budget.per_day",
            ),
        ];
        for (case, allowance, want) in cases {
            let Problems(found) = allowance.problems();
            let places: Vec<&str> = found.iter().map(|problem| problem.path.as_str()).collect();
            assert_eq!(places.join(" "), want, "{case}");
        }
    }
}
