//! The feeds that an agent serves to its gateway, and how a document names them.

use serde_json::Value;
use trilane::ledger::writability;
use trilane_console::json_span;

/// The cluster at which Envoy reaches this agent.
pub const CLUSTER: &str = writability::CLUSTER;
/// The path at which this agent serves the document in force.
pub const DOCUMENT_PATH: &str = "/gateway.json";
/// The path at which this agent serves the feed.
pub const FEED_PATH: &str = "/keys";
/// The path at which this agent serves what is spent of budgets.
pub const SPEND_PATH: &str = "/spend";
/// The path at which this agent says whether the ledger can be written.
pub const LEDGER_PATH: &str = writability::PATH;

/// The path at which this agent gives clients their settings: that of the gateway.
pub const CLIENT_SETTINGS_PATH: &str = "/managed/settings";

/// The document with the feeds of this agent, and otherwise as it is. `None`: it is no JSON object.
pub fn with_feeds(text: &[u8]) -> Option<Vec<u8>> {
    serde_json::from_slice::<serde::de::IgnoredAny>(text).ok()?;
    let text = with_feed(text, "spend_feed", SPEND_PATH)?;
    with_feed(&text, "keys_feed", FEED_PATH)
}

/// The document with the spend feed that is served beside its gateway, unless it names a feed, whose keys may say what is spent,
/// or says that itself. `None`: it is no JSON object.
pub fn with_spend_feed(text: &[u8]) -> Option<Vec<u8>> {
    let document: Value = serde_json::from_slice(text).ok()?;
    if says_spent(&document) {
        return Some(text.to_vec());
    }
    let root = json_span::root(text)?;
    let members = json_span::members(text, &root)?;
    let feeds = ["spend_feed", "keys_feed"];
    if members.iter().any(|member| feeds.contains(&&*member.name)) {
        return Some(text.to_vec());
    }
    with_feed(text, "spend_feed", SPEND_PATH)
}

/// Whether a budget somewhere in it says what is spent.
fn says_spent(part: &Value) -> bool {
    match part {
        Value::Object(members) => {
            let budget = members.get("budget").and_then(Value::as_object);
            budget.is_some_and(|budget| budget.contains_key("spent"))
                || members.values().any(says_spent)
        }
        Value::Array(parts) => parts.iter().any(says_spent),
        _ => false,
    }
}

/// The document with this feed.
fn with_feed(text: &[u8], name: &str, path: &str) -> Option<Vec<u8>> {
    let feed = format!(r#"{{"cluster": "{CLUSTER}", "path": "{path}"}}"#);
    let root = json_span::root(text)?;
    let members = json_span::members(text, &root)?;
    let (place, new) = match members.iter().find(|member| member.name == name) {
        Some(member) => (member.value.clone(), feed),
        None => {
            let at = root.start.checked_add(1)?;
            let comma = if members.is_empty() { "" } else { ", " };
            (at..at, format!(r#""{name}": {feed}{comma}"#))
        }
    };
    let (before, after) = (text.get(..place.start)?, text.get(place.end..)?);
    Some([before, new.as_bytes(), after].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_gateway_without_a_console_gets_a_spend_feed() {
        let spend = r#"{"cluster": "trilane_agent", "path": "/spend"}"#;
        for (text, want) in [
            (
                r#"{"a": 1}"#,
                Some(format!(r#"{{"spend_feed": {spend}, "a": 1}}"#)),
            ),
            (r#"{"spend_feed": 1}"#, None),
            (r#"{"keys_feed": 1}"#, None),
            (r#"{"keys": [{"limits": {"budget": {"spent": {}}}}]}"#, None),
            (
                r#"{"groups": [{"limits": {"budget": {"spent": {}}}}]}"#,
                None,
            ),
        ] {
            let got = with_spend_feed(text.as_bytes()).unwrap();
            let want = want.unwrap_or_else(|| text.to_owned());
            assert_eq!(String::from_utf8(got).unwrap(), want, "{text}");
        }
        assert_eq!(with_spend_feed(b"[]"), None);
        assert_eq!(with_spend_feed(b"{"), None);
    }

    #[test]
    fn the_feeds_are_those_of_the_agent() {
        let keys = r#"{"cluster": "trilane_agent", "path": "/keys"}"#;
        let spend = r#"{"cluster": "trilane_agent", "path": "/spend"}"#;
        for (text, want) in [
            (
                "{}",
                Some(format!(r#"{{"keys_feed": {keys}, "spend_feed": {spend}}}"#)),
            ),
            (
                r#" { "groups": [1.50] }"#,
                Some(format!(
                    r#" {{"keys_feed": {keys}, "spend_feed": {spend},  "groups": [1.50] }}"#
                )),
            ),
            (
                r#"{"a": {"keys_feed": 1}, "keys_feed": {"cluster": "x"}, "spend_feed": 7, "b": 2}"#,
                Some(format!(
                    r#"{{"a": {{"keys_feed": 1}}, "keys_feed": {keys}, "spend_feed": {spend}, "b": 2}}"#
                )),
            ),
            (
                r#"{"keys_feed": null}"#,
                Some(format!(r#"{{"spend_feed": {spend}, "keys_feed": {keys}}}"#)),
            ),
            ("[]", None),
            ("{", None),
            ("", None),
        ] {
            let got = with_feeds(text.as_bytes()).map(|text| String::from_utf8(text).unwrap());
            assert_eq!(got, want, "{text}");
        }
    }
}
