//! Another account of a group that is there: a second credential of the vendor, used where the first accounts fail.

use core::ops::Range;

use serde_json::{Value, json};
use trilane::config::origin::Origin;

use super::group_text::{groups_of, has_id};
use super::setup_text::group_of;
use super::vendor::Vendor;
use crate::json_span;

/// The greatest priority.
const LAST_PRIORITY: u64 = 9;
/// The members that an account does not have from another one.
const OWN: [&str; 3] = ["id", "credential", "priority"];

/// An account that a group gets.
#[derive(Debug, PartialEq, Eq)]
pub struct AnotherAccount {
    /// The document with it.
    pub document: Vec<u8>,
    /// The id of the account, and the name of its credential.
    pub id: String,
    /// The ids of the accounts before it.
    pub before: Vec<String>,
}

/// Finds the group with an account of this vendor: at the same host, in the same protocol.
pub fn group_at(document: &Value, vendor: &Vendor) -> Option<String> {
    let is_there = |account: &Value| {
        let url = account.get("url").and_then(Value::as_str);
        let origin = url.and_then(|url| Origin::parse(url).ok());
        origin.is_some_and(|origin| origin.site() == vendor.origin.site())
    };
    let mut groups = document.get("groups")?.as_array()?.iter();
    let group = groups.find(|group| {
        let protocol = group.get("protocol").and_then(Value::as_str);
        protocol == Some(&vendor.protocol.to_string()) && accounts(group).any(is_there)
    })?;
    Some(group.get("id")?.as_str()?.to_owned())
}

/// Adds an account behind those of a group. It is as the first of them, with an id and a credential of its own, and
/// is asked after all others. The rest of the text stays. `None` where there is no such group, or it has no accounts.
pub fn with_another_account(document: &[u8], group: &str) -> Option<AnotherAccount> {
    let parsed: Value = serde_json::from_slice(document).ok()?;
    let of_group = group_of(&parsed, group)?;
    let before: Vec<String> = accounts(of_group)
        .filter_map(|account| Some(account.get("id")?.as_str()?.to_owned()))
        .collect();
    let (id, priority) = place(&parsed, group)?;
    let groups = json_span::elements(document, &groups_of(document)?)?;
    let at = groups.iter().find(|at| has_id(document, at, group))?;
    let list = member(document, at, "accounts")?;
    let places = json_span::elements(document, &list)?;
    let kept = json_span::members(document, places.first()?)?.into_iter();
    let kept = kept.filter(|member| !OWN.contains(&member.name.as_str()));
    let kept = kept.map(|member| {
        let value = document.get(member.value).unwrap_or_default();
        format!("\"{}\": {}", member.name, String::from_utf8_lossy(value))
    });
    let text = [
        format!("\"id\": {}", json!(id)),
        kept.collect::<Vec<_>>().join(", "),
        format!("\"credential\": {}", json!(id)),
        format!("\"priority\": {priority}"),
    ];
    let (first, rest) = document.split_at_checked(places.last()?.end)?;
    Some(AnotherAccount {
        document: [first, format!(", {{{}}}", text.join(", ")).as_bytes(), rest].concat(),
        id,
        before,
    })
}

/// The account that [`with_another_account`] adds.
pub fn another_account(document: &Value, group: &str) -> Option<Value> {
    let (id, priority) = place(document, group)?;
    let mut account = accounts(group_of(document, group)?).next()?.clone();
    let members = account.as_object_mut()?;
    members.insert("id".to_owned(), id.as_str().into());
    members.insert("credential".to_owned(), id.into());
    members.insert("priority".to_owned(), priority.into());
    Some(account)
}

/// The id of another account of a group, and its priority: behind all others. `None`: the group has no accounts.
fn place(document: &Value, group: &str) -> Option<(String, u64)> {
    let named = names(document);
    let id = (2_usize..)
        .map(|number| format!("{group}-{number}"))
        .find(|id| !named.contains(id))?;
    let accounts = accounts(group_of(document, group)?);
    let priorities = accounts.map(|account| account.get("priority")?.as_u64());
    let last = priorities.map(Option::unwrap_or_default).max()?;
    Some((id, last.saturating_add(1).min(LAST_PRIORITY)))
}

fn member(document: &[u8], object: &Range<usize>, name: &str) -> Option<Range<usize>> {
    let mut members = json_span::members(document, object)?.into_iter();
    Some(members.find(|member| member.name == name)?.value)
}

fn accounts(group: &Value) -> impl Iterator<Item = &Value> {
    let accounts = group.get("accounts").and_then(Value::as_array);
    accounts.into_iter().flatten()
}

/// The ids of all accounts, and the names of all credentials.
fn names(document: &Value) -> Vec<String> {
    let groups = document.get("groups").and_then(Value::as_array);
    let all = groups.into_iter().flatten().flat_map(accounts);
    let named = all.flat_map(|account| [account.get("id"), account.get("credential")]);
    named
        .flatten()
        .filter_map(|name| Some(name.as_str()?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::vendor::VendorPreset;
    use super::*;

    #[test]
    fn the_text_around_it_stays() {
        let before = r#"{"groups": [
    {"id": "mixed", "protocol": "mixed", "entries": {}},
    {"id": "o",  "accounts": [{"id": "o-1", "url": "https://a.example", "credential": "o-1",  "ca":"/own.pem"}"#;
        let behind = " ], \"models\": []}\n]}";
        let document = format!("{before}{behind}");
        let second = r#", {"id": "o-2", "url": "https://a.example", "ca": "/own.pem", "credential": "o-2", "priority": 1}"#;
        let once = with_another_account(document.as_bytes(), "o").unwrap();
        let want = AnotherAccount {
            document: format!("{before}{second}{behind}").into_bytes(),
            id: "o-2".to_owned(),
            before: vec!["o-1".to_owned()],
        };
        assert_eq!(once, want);
        let parsed: Value = serde_json::from_str(&document).unwrap();
        let added: Value = serde_json::from_slice(&once.document).unwrap();
        let another = another_account(&parsed, "o").unwrap();
        assert_eq!(
            another, added["groups"][1]["accounts"][1],
            "the same by a form"
        );
        let twice = with_another_account(&once.document, "o").unwrap();
        assert_eq!(twice.before, ["o-1", "o-2"]);
        let third = r#", {"id": "o-3", "url": "https://a.example", "ca": "/own.pem", "credential": "o-3", "priority": 2}"#;
        let want = format!("{before}{second}{third}{behind}");
        assert_eq!(String::from_utf8(twice.document).unwrap(), want);
        for (case, group) in [("no such group", "p"), ("no accounts", "mixed")] {
            let got = with_another_account(document.as_bytes(), group);
            assert_eq!(got, None, "{case}");
        }
    }

    #[test]
    fn the_group_of_a_vendor() {
        let document = json!({"groups": [
            {"id": "b", "protocol": "B", "accounts": [{"url": "https://api.openai.com"}]},
            {"id": "a", "protocol": "A", "accounts": [{"url": "https://api.openai.com/"}]},
        ]});
        let of = |name: &str| {
            let vendor = Vendor::new(VendorPreset::named(name).unwrap(), None, None, None).unwrap();
            group_at(&document, &vendor)
        };
        assert_eq!(of("openai").as_deref(), Some("a"));
        assert_eq!(of("anthropic"), None);
    }
}
