//! Rules of an identity provider: which claims give which role, teams and group of keys.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::cases::role::Role;
use crate::identity_providers::Claims;

/// A rule: what a person gets who has a claim of this value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRule {
    /// The name of the claim: `groups`; a member of one: `realm_access.roles`; or `email` or `domain`, those of the verified address.
    #[schema(min_length = 1, max_length = 200)]
    pub(crate) claim: String,
    /// The value, or one of the values, that the claim must have.
    #[schema(min_length = 1, max_length = 200)]
    pub(crate) equals: String,
    /// The role that it gives. Of several that match, `admin` goes before `member`, and that before `viewer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<Role>,
    /// The ids of the teams that it puts a person into.
    #[serde(default)]
    #[schema(max_items = 50)]
    pub(crate) teams: Vec<String>,
    /// The group of keys that it chooses. Of several that match the first one holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64)]
    pub(crate) key_group: Option<String>,
}

/// The sum of what the rules that match give.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    /// Whether one matches.
    pub(super) any: bool,
    pub(super) role: Option<Role>,
    pub(super) teams: BTreeSet<String>,
    pub(super) key_group: Option<String>,
}

/// The names of the claims that are the verified address itself.
const EMAIL: &str = "email";
const DOMAIN: &str = "domain";

/// The domain of an address.
pub(super) fn domain_of(email: &str) -> &str {
    email.rsplit_once('@').map_or("", |(_, domain)| domain)
}

/// Whether a claim is the provider's, rather than made from the verified address.
pub(super) fn is_of_provider(claim: &str) -> bool {
    claim != EMAIL && claim != DOMAIN
}

const fn strength(role: Role) -> u8 {
    match role {
        Role::Admin => 3,
        Role::Member => 2,
        Role::Viewer => 1,
        Role::Agent => 0,
    }
}

/// Applies rules to the claims of the person of a verified address, in lower case.
pub(super) fn apply(rules: &[ClaimRule], claims: &Claims, email: &str) -> Given {
    let mut given = Given::default();
    for rule in rules {
        let matches = match rule.claim.as_str() {
            EMAIL => rule.equals.eq_ignore_ascii_case(email),
            DOMAIN => rule.equals.eq_ignore_ascii_case(domain_of(email)),
            claim => claims.has(claim, &rule.equals),
        };
        if !matches {
            continue;
        }
        given.any = true;
        given.teams.extend(rule.teams.iter().cloned());
        if rule.role.map(strength) > given.role.map(strength) {
            given.role = rule.role;
        }
        if given.key_group.is_none() {
            given.key_group.clone_from(&rule.key_group);
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(claim: &str, equals: &str, role: Option<Role>, team: &str, group: &str) -> ClaimRule {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        ClaimRule {
            claim: claim.to_owned(),
            equals: equals.to_owned(),
            role,
            teams: some(team).into_iter().collect(),
            key_group: some(group),
        }
    }

    #[test]
    fn what_rules_give() {
        let rules = [
            rule("groups", "staff", Some(Role::Viewer), "all", ""),
            rule("groups", "eng", Some(Role::Member), "eng", "mixed"),
            rule("groups", "ops", Some(Role::Admin), "ops", "ops"),
            rule("domain", "Example.com", None, "", "guests"),
            rule("email", "ann@example.com", None, "ann", ""),
        ];
        for (case, groups, email, any, role, teams, group) in [
            ("nobody", json!([]), "x@b.example", false, None, &[][..], ""),
            (
                "one",
                json!(["staff"]),
                "x@b.example",
                true,
                Some(Role::Viewer),
                &["all"][..],
                "",
            ),
            (
                "a text",
                json!("eng"),
                "x@b.example",
                true,
                Some(Role::Member),
                &["eng"],
                "mixed",
            ),
            (
                "the strongest role, the first group",
                json!(["ops", "staff", "eng"]),
                "x@b.example",
                true,
                Some(Role::Admin),
                &["all", "eng", "ops"],
                "mixed",
            ),
            (
                "by domain",
                json!([]),
                "x@example.com",
                true,
                None,
                &[],
                "guests",
            ),
            (
                "a domain below",
                json!([]),
                "x@a.example.com",
                false,
                None,
                &[],
                "",
            ),
            (
                "by address",
                json!([]),
                "ann@example.com",
                true,
                None,
                &["ann"],
                "guests",
            ),
        ] {
            let serde_json::Value::Object(claims) =
                json!({"groups": groups, "domain": "example.com", "email": "ann@example.com"})
            else {
                panic!("an object");
            };
            let given = apply(&rules, &Claims::new(claims), email);
            let teams: BTreeSet<String> = teams.iter().map(|team| (*team).to_owned()).collect();
            let key_group = (!group.is_empty()).then(|| group.to_owned());
            assert_eq!(
                given,
                Given {
                    any,
                    role,
                    teams,
                    key_group
                },
                "{case}"
            );
        }
    }
}
