//! The verified claims of a person.

use serde_json::{Map, Value};

/// The verified claims of a person: those of the ID token, and what the provider says of the person beside it. `Debug` prints none.
#[derive(Clone, PartialEq, Eq)]
pub struct Claims(Map<String, Value>);

impl core::fmt::Debug for Claims {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Claims({})", self.0.len())
    }
}

impl Claims {
    /// Claims that were verified.
    pub const fn new(claims: Map<String, Value>) -> Self {
        Self(claims)
    }

    /// Adds those of another source that are not there.
    pub(super) fn add(&mut self, others: Map<String, Value>) {
        for (name, value) in others {
            self.0.entry(name).or_insert(value);
        }
    }

    /// Removes the claim of a name; of a member the whole.
    pub(super) fn remove(&mut self, name: &str) {
        if self.0.remove(name).is_none()
            && let Some((first, _)) = name.split_once('.')
        {
            self.0.remove(first);
        }
    }

    /// The claim of a name: `groups`; or, with dots, a member of one: `realm_access.roles`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        if let Some(value) = self.0.get(name) {
            return Some(value);
        }
        let (first, rest) = name.split_once('.')?;
        rest.split('.')
            .try_fold(self.0.get(first)?, |value, part| value.get(part))
    }

    /// The text of a claim.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Whether a claim is this text, or a list in which it is.
    pub fn has(&self, name: &str, wanted: &str) -> bool {
        match self.get(name) {
            Some(Value::Array(items)) => items.iter().any(|item| is(item, wanted)),
            Some(value) => is(value, wanted),
            None => false,
        }
    }
}

fn is(value: &Value, wanted: &str) -> bool {
    match value {
        Value::String(text) => text == wanted,
        Value::Bool(flag) => flag.to_string() == wanted,
        Value::Number(number) => number.to_string() == wanted,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_claims_have() {
        let Value::Object(claims) = json!({
            "groups": ["eng", "ops"], "department": "R&D", "level": 3, "staff": true, "none": null,
            "realm_access": {"roles": ["admin"]}, "https://example.com/teams": ["red"],
        }) else {
            panic!("an object");
        };
        let claims = Claims::new(claims);
        for (name, wanted, want) in [
            ("groups", "eng", true),
            ("groups", "en", false),
            ("groups", "eng,ops", false),
            ("groups", "ENG", false),
            ("department", "R&D", true),
            ("level", "3", true),
            ("staff", "true", true),
            ("none", "null", false),
            ("missing", "", false),
            ("realm_access.roles", "admin", true),
            ("realm_access", "admin", false),
            ("realm_access.roles.admin", "admin", false),
            ("https://example.com/teams", "red", true),
        ] {
            assert_eq!(claims.has(name, wanted), want, "{name} {wanted}");
        }
        assert_eq!(format!("{claims:?}"), "Claims(7)");
    }
}
