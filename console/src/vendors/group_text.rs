//! The text of a document: a new one, and one with further groups.

use core::ops::Range;

use serde_json::{Value, json};
use trilane::protocol::Protocol;

use super::chosen::ChosenModel;
use super::group_read::mixed_sources;
use super::mixed_group::{self, MIXED, MixedSource, mixed};
use super::vendor::Vendor;
use crate::json_span;

/// The indentation of the members of a group in `groups`.
pub(super) const INDENT: &str = "      ";

/// A vendor with its models: a group of the document.
#[derive(Debug)]
pub struct VendorGroup {
    /// The vendor.
    pub vendor: Vendor,
    /// The models.
    pub models: Vec<ChosenModel>,
    /// The proxy of its account.
    pub proxy: Option<String>,
    /// The file of certificate authorities of its account, absolute.
    pub ca: Option<String>,
}

impl VendorGroup {
    /// Writes it as an element of `groups`, indented as in [`new`]; its first line is not.
    pub fn text(&self) -> String {
        let vendor = &self.vendor;
        let mut account = vec![
            ("id", json!(vendor.account())),
            ("url", json!(vendor.url)),
            ("credential", json!(vendor.account())),
        ];
        account.extend(self.ca.as_ref().map(|file| ("ca", json!(file))));
        account.extend(self.proxy.as_ref().map(|proxy| ("proxy", json!(proxy))));
        let account = account
            .into_iter()
            .map(|(name, value)| format!("\"{name}\": {value}"));
        let account = account.collect::<Vec<_>>().join(", ");
        let mut members = vec![
            ("id", json!(vendor.group).to_string()),
            ("protocol", json!(vendor.protocol.to_string()).to_string()),
            ("clients", json!("current").to_string()),
            ("multiplier", json!("1.0000").to_string()),
        ];
        if vendor.protocol == Protocol::B && vendor.preset.counts_tokens {
            members.push(("count_tokens", json!(true).to_string()));
        }
        members.push(("accounts", format!("[{{{account}}}]")));
        members.push(("models", list(self.models.iter().map(ChosenModel::json))));
        object(&members)
    }
}

pub(super) fn list(elements: impl Iterator<Item = String>) -> String {
    let lines = elements.map(|element| format!("{INDENT}  {element}"));
    format!("[\n{}\n{INDENT}]", lines.collect::<Vec<_>>().join(",\n"))
}

pub(super) fn object(members: &[(&str, String)]) -> String {
    let lines = members
        .iter()
        .map(|(name, value)| format!("{INDENT}\"{name}\": {value}"));
    format!("{{\n{}\n    }}", lines.collect::<Vec<_>>().join(",\n"))
}

/// A document with these groups, and the group that its first key is for.
pub fn new(groups: &[VendorGroup]) -> (String, String) {
    let mut texts: Vec<String> = groups.iter().map(VendorGroup::text).collect();
    let first = groups.first().map(|group| group.vendor.group.clone());
    let mut of_key = first.unwrap_or_default();
    let sources: Vec<MixedSource> = groups.iter().map(MixedSource::from).collect();
    if let Some(mixed) = mixed(&sources) {
        texts.push(mixed);
        of_key = MIXED.to_owned();
    }
    let text = format!(
        "{{\n  \"currency\": \"USD\",\n  \"groups\": [\n    {}\n  ],\n  \"keys\": []\n}}\n",
        texts.join(",\n    ")
    );
    (text, of_key)
}

/// A document with these elements of `groups`, such as [`VendorGroup::text`], behind its own. `None` where it has no list of
/// groups.
pub fn added(document: &[u8], groups: &[String]) -> Option<Vec<u8>> {
    let list = groups_of(document)?;
    let elements = json_span::elements(document, &list)?;
    let texts = groups.join(",\n    ");
    let (at, with) = match elements.last() {
        Some(last) => (last.end, format!(",\n    {texts}")),
        None => (list.start.checked_add(1)?, format!("\n    {texts}\n  ")),
    };
    let (before, behind) = document.split_at_checked(at)?;
    Some([before, with.as_bytes(), behind].concat())
}

/// A document with these vendors behind its own groups, and the group that a key of theirs is for. The group that serves all vendors
/// has them too, unless they are to be `apart`; it is begun where there are just vendors. `None` where the text has no list of groups.
pub fn with_added(
    document: &[u8],
    groups: &[VendorGroup],
    apart: bool,
) -> Option<(Vec<u8>, String)> {
    let texts: Vec<String> = groups.iter().map(VendorGroup::text).collect();
    let after = added(document, &texts)?;
    let first = groups.first().map(|group| group.vendor.group.clone());
    let of_first = |text| Some((text, first.unwrap_or_default()));
    if apart {
        return of_first(after);
    }
    let was: Value = serde_json::from_slice(document).ok()?;
    let present = was.get("groups").and_then(Value::as_array)?;
    let has = |group: &Value, name: &str, text: &str| {
        group.get(name).and_then(Value::as_str) == Some(text)
    };
    let mut known = present.iter();
    let all = known.find(|group| has(group, "id", MIXED) && has(group, "protocol", "Mixed"));
    let text = match all {
        Some(group) => {
            let mut group = group.clone();
            for source in groups.iter().map(MixedSource::from) {
                mixed_group::add(&mut group, &source, &source.models);
            }
            Some(mixed_group::text(&group))
        }
        None if present.iter().all(is_vendor) => {
            mixed(&mixed_sources(&serde_json::from_slice(&after).ok()?))
        }
        None => None,
    };
    match text {
        Some(text) => Some((put(&after, MIXED, &text)?, MIXED.to_owned())),
        None => of_first(after),
    }
}

/// Whether a group is just a vendor with its models, however many accounts it has by now.
fn is_vendor(group: &Value) -> bool {
    let mut first = group.clone();
    let accounts = first.get_mut("accounts").and_then(Value::as_array_mut);
    if let Some(accounts) = accounts {
        accounts.truncate(1);
    }
    VendorGroup::read(&first).is_some()
}

/// The same for one element, in the place of the group that has this id, if there is one.
pub fn put(document: &[u8], id: &str, group: &str) -> Option<Vec<u8>> {
    let elements = json_span::elements(document, &groups_of(document)?)?;
    match elements.iter().find(|at| has_id(document, at, id)) {
        None => added(document, &[group.to_owned()]),
        Some(at) => {
            let (before, behind) = (document.get(..at.start)?, document.get(at.end..)?);
            Some([before, group.as_bytes(), behind].concat())
        }
    }
}

/// The document without the group that has this id. `None` where it has no list of groups, or no such group.
pub fn removed(document: &[u8], id: &str) -> Option<Vec<u8>> {
    let elements = json_span::elements(document, &groups_of(document)?)?;
    let place = elements.iter().position(|at| has_id(document, at, id))?;
    let at = elements.get(place)?;
    // With the comma before it, or that behind the first.
    let before = place.checked_sub(1).and_then(|before| elements.get(before));
    let next = place.checked_add(1).and_then(|next| elements.get(next));
    let (from, to) = match (before, next) {
        (Some(before), _) => (before.end, at.end),
        (None, Some(next)) => (at.start, next.start),
        (None, None) => (at.start, at.end),
    };
    let (before, behind) = (document.get(..from)?, document.get(to..)?);
    Some([before, behind].concat())
}

pub(super) fn has_id(document: &[u8], at: &Range<usize>, id: &str) -> bool {
    let text = document.get(at.clone()).unwrap_or_default();
    let value: Option<Value> = serde_json::from_slice(text).ok();
    value.is_some_and(|value| value.get("id").and_then(Value::as_str) == Some(id))
}

/// Finds the byte range of the list of groups.
pub(super) fn groups_of(document: &[u8]) -> Option<Range<usize>> {
    let members = json_span::members(document, &json_span::root(document)?)?;
    let list = members.into_iter().find(|member| member.name == "groups")?;
    Some(list.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_taken_out() {
        for (document, want) in [
            (
                r#"{"groups": [ {"id":"a"} ], "k": 1}"#,
                r#"{"groups": [  ], "k": 1}"#,
            ),
            (
                r#"{"groups": [{"id":"a"}, {"id":"b"}]}"#,
                r#"{"groups": [{"id":"b"}]}"#,
            ),
            (
                r#"{"groups": [{"id":"b"}, {"id":"a"}, {"id":"c"}]}"#,
                r#"{"groups": [{"id":"b"}, {"id":"c"}]}"#,
            ),
            (
                r#"{"groups": [{"id":"b"}, {"id":"a"}]}"#,
                r#"{"groups": [{"id":"b"}]}"#,
            ),
        ] {
            let got = removed(document.as_bytes(), "a").unwrap();
            assert_eq!(String::from_utf8(got).unwrap(), want);
        }
        assert_eq!(removed(br#"{"groups": [{"id":"b"}]}"#, "a"), None);
    }

    #[test]
    fn a_group_is_put_where_it_was() {
        let cases = [
            (
                "none yet",
                r#"{"groups": [], "keys": []}"#,
                "{\"groups\": [\n    {G}\n  ], \"keys\": []}",
            ),
            (
                "another",
                r#"{"groups": [{"id":"b"} ]}"#,
                "{\"groups\": [{\"id\":\"b\"},\n    {G} ]}",
            ),
            (
                "the same",
                r#"{"groups": [{"x":1}, {"id": "a", "z": []}, {"id":"b"}]}"#,
                r#"{"groups": [{"x":1}, {G}, {"id":"b"}]}"#,
            ),
        ];
        for (case, document, want) in cases {
            let got = put(document.as_bytes(), "a", "{G}").unwrap();
            assert_eq!(String::from_utf8(got).unwrap(), want, "{case}");
        }
        for wrong in ["", "[]", "{}", r#"{"groups": {}}"#] {
            assert_eq!(put(wrong.as_bytes(), "a", "{G}"), None, "{wrong}");
        }
    }
}
