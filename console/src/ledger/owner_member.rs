//! The owner in the text of a ledger line, which another name takes the place of. All else stays as it was written.

use memchr::memmem;

use crate::json_span;

/// The member, and as it is written.
const NAME: &str = "trilane.key.owner";
const WRITTEN: &str = "\"trilane.key.owner\"";

/// A line that was read, with another owner.
pub fn replaced(line: &str, owner: &str) -> String {
    let bytes = line.as_bytes();
    let members = json_span::root(bytes).and_then(|root| json_span::members(bytes, &root));
    let mut text = line.to_owned();
    // From the last on, so that those before stay where they are.
    for member in members.unwrap_or_default().into_iter().rev() {
        if member.name == NAME {
            text.replace_range(member.value, &quoted(owner));
        }
    }
    text
}

/// A text that may be no line, or a part of one: every owner that has another name gets it.
pub fn replaced_within(text: &str, other: impl Fn(&str) -> Option<String>) -> String {
    let mut ranges = Vec::new();
    for at in memmem::find_iter(text.as_bytes(), WRITTEN) {
        let after = at.saturating_add(WRITTEN.len());
        let rest = text.get(after..).unwrap_or_default();
        let Some(value) = rest.trim_start().strip_prefix(':') else {
            continue;
        };
        let value = value.trim_start();
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<String>();
        let Some(Ok(owner)) = values.next() else {
            continue;
        };
        let start = text.len().saturating_sub(value.len());
        let end = start.saturating_add(values.byte_offset());
        ranges.extend(other(&owner).map(|other| (start..end, other)));
    }
    let mut text = text.to_owned();
    for (range, other) in ranges.into_iter().rev() {
        text.replace_range(range, &quoted(&other));
    }
    text
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_line() {
        let cases = [
            (
                r#"{"a":1, "trilane.key.owner" : "ann","b":"ann"}"#,
                r#"{"a":1, "trilane.key.owner" : "P","b":"ann"}"#,
            ),
            (
                r#"{"trilane.key.\u006fwner":"a\u006en","trilane.key.owner":"ann"}"#,
                r#"{"trilane.key.\u006fwner":"P","trilane.key.owner":"P"}"#,
            ),
            (
                r#"{"a":{"trilane.key.owner":"ann"}}"#,
                r#"{"a":{"trilane.key.owner":"ann"}}"#,
            ),
        ];
        for (line, want) in cases {
            assert_eq!(replaced(line, "P"), want);
        }
    }

    #[test]
    fn of_a_part() {
        let other = |owner: &str| (owner == "ann \"x\"").then(|| "P".to_owned());
        let cases = [
            (
                r#"{"trilane.key.owner": "ann \"x\"","trilane.ke"#,
                r#"{"trilane.key.owner": "P","trilane.ke"#,
            ),
            (
                r#"{"trilane.key.owner":"bob","trilane.key.owner":"ann \u0022x\u0022"}x"#,
                r#"{"trilane.key.owner":"bob","trilane.key.owner":"P"}x"#,
            ),
            (
                r#"{"trilane.key.owner":"ann \"x"#,
                r#"{"trilane.key.owner":"ann \"x"#,
            ),
            (r#"{"trilane.key.owner"#, r#"{"trilane.key.owner"#),
            ("no JSON", "no JSON"),
        ];
        for (text, want) in cases {
            assert_eq!(replaced_within(text, other), want);
        }
    }
}
