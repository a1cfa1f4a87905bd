//! The changes of groups, their limits and their accounts by a document, in sentences.

use serde_json::Value;

use crate::language::translated;
use crate::text;

/// The members of an account in sentences: their names, titles, and values without them.
const ACCOUNT: [(&str, &str, &str); 12] = [
    ("url", text!("address"), ""),
    ("credential", text!("credential"), text!("none")),
    ("weight", text!("weight"), "1"),
    ("priority", text!("priority"), "0"),
    ("retries", text!("retries"), text!("none")),
    ("cost", text!("cost"), text!("not known")),
    ("header", text!("header"), text!("the usual one")),
    ("http", text!("HTTP version"), text!("as the host offers")),
    ("ca", text!("file of authorities"), text!("the system’s")),
    ("proxy", text!("proxy"), text!("none")),
    ("region", text!("region"), text!("none")),
    ("state", text!("state"), text!("none")),
];
/// The limits of a group in sentences: their paths and titles.
const LIMITS: [(&[&str], &str); 6] = [
    (&["requests_per_minute"], text!("requests a minute")),
    (&["input_tokens_per_minute"], text!("input tokens a minute")),
    (
        &["output_tokens_per_minute"],
        text!("output tokens a minute"),
    ),
    (&["concurrent_requests"], text!("requests at once")),
    (&["budget", "per_day"], text!("budget a day")),
    (&["budget", "per_month"], text!("budget a month")),
];

/// The changes from a document to another one, each as a sentence.
pub fn sentences(before: &Value, after: &Value) -> Vec<String> {
    let mut told = Vec::new();
    let (old, new) = (items(before, "groups"), items(after, "groups"));
    for group in new {
        match find(old, id_of(group)) {
            Some(was) => of_group(was, group, &mut told),
            None => told.push(t!("The group {group} is new.", group = name_of(group))),
        }
    }
    for group in old {
        if find(new, id_of(group)).is_none() {
            let name = name_of(group);
            told.push(t!(
                "The group {group} goes: gateways refuse the keys that are bound to it.",
                group = name
            ));
        }
    }
    told
}

fn of_group(was: &Value, is: &Value, told: &mut Vec<String>) {
    let name = name_of(is);
    of_limits(
        &t!("All keys of {group} together", group = name),
        was,
        is,
        told,
    );
    let multiplier = |of: &Value| written(of.get("multiplier"));
    if let (Some(before), Some(after)) = (multiplier(was), multiplier(is))
        && before != after
    {
        told.push(t!(
            "Requests of {group} are charged at {after} times the list price instead of {before}.",
            group = name,
            after = after,
            before = before
        ));
    }
    let (old, new) = (items(was, "accounts"), items(is, "accounts"));
    for account in new {
        let id = id_of(account);
        let Some(was) = find(old, id) else {
            let priority = account.get("priority").and_then(Value::as_u64);
            told.push(match priority.unwrap_or_default() {
                0 => t!(
                    "The account {account} of {group} is new. It shares the requests with the others.",
                    account = id,
                    group = name
                ),
                _ => t!(
                    "The account {account} of {group} is new. It is asked when the accounts before it fail.",
                    account = id,
                    group = name
                ),
            });
            continue;
        };
        of_limits(
            &t!(
                "The account {account} of {group}",
                account = id,
                group = name
            ),
            was,
            account,
            told,
        );
        for (member, title, without) in ACCOUNT {
            let of = |account: &Value| {
                let value = written(account.get(member));
                value.unwrap_or_else(|| translated(without).into_owned())
            };
            let (before, after) = (of(was), of(account));
            if before != after {
                told.push(t!(
                    "The account {account} of {group} has the {setting} {after} instead of {before}.",
                    account = id,
                    group = name,
                    setting = translated(title),
                    after = after,
                    before = before
                ));
            }
        }
    }
    for account in old {
        let id = id_of(account);
        if find(new, id).is_none() {
            told.push(t!(
                "The account {account} of {group} goes.",
                account = id,
                group = name
            ));
        }
    }
}

fn of_limits(whose: &str, was: &Value, is: &Value, told: &mut Vec<String>) {
    for (path, title) in LIMITS {
        let (before, after) = (limit(was, path), limit(is, path));
        if before != after {
            let none = || t!("no limit").into_owned();
            told.push(t!(
                "{whose}: {limit} {after} instead of {before}.",
                whose = whose,
                limit = translated(title),
                after = after.unwrap_or_else(none),
                before = before.unwrap_or_else(none)
            ));
        }
    }
}

fn limit(group: &Value, path: &[&str]) -> Option<String> {
    let mut value = group.get("limits")?;
    for name in path {
        value = value.get(name)?;
    }
    match value {
        Value::Number(number) => {
            let number = number.as_i64()?;
            Some(text::number(&number))
        }
        Value::String(amount) => Some(text::money(amount)),
        _ => None,
    }
}

fn written(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn items<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    let all = of.get(name).and_then(Value::as_array);
    all.map_or(&[], Vec::as_slice)
}

fn id_of(item: &Value) -> &str {
    item.get("id").and_then(Value::as_str).unwrap_or_default()
}

fn name_of(group: &Value) -> &str {
    let name = group.get("name").and_then(Value::as_str);
    name.filter(|name| !name.is_empty())
        .unwrap_or_else(|| id_of(group))
}

fn find<'a>(all: &'a [Value], id: &str) -> Option<&'a Value> {
    all.iter().find(|item| id_of(item) == id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_said_of_groups() {
        let before = json!({"groups": [
            {"id": "a", "name": "Alpha", "multiplier": "1", "limits": {"requests_per_minute": 1000, "budget": {"per_day": "5"}},
             "accounts": [{"id": "one", "url": "https://x"}, {"id": "gone"}]},
            {"id": "old"},
        ]});
        assert!(sentences(&before, &before).is_empty());
        let after = json!({"groups": [
            {"id": "a", "name": "Alpha", "multiplier": "0.5", "limits": {"requests_per_minute": 2000},
             "accounts": [{"id": "one", "url": "https://x", "weight": 3}, {"id": "two", "priority": 1}, {"id": "three"}]},
            {"id": "new"},
        ]});
        let want = [
            "All keys of Alpha together: requests a minute 2,000 instead of 1,000.",
            "All keys of Alpha together: budget a day no limit instead of 5.00.",
            "Requests of Alpha are charged at 0.5 times the list price instead of 1.",
            "The account one of Alpha has the weight 3 instead of 1.",
            "The account two of Alpha is new. It is asked when the accounts before it fail.",
            "The account three of Alpha is new. It shares the requests with the others.",
            "The account gone of Alpha goes.",
            "The group new is new.",
            "The group old goes: gateways refuse the keys that are bound to it.",
        ];
        assert_eq!(sentences(&before, &after), want);
    }
}
