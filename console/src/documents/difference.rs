//! The differences between two documents, for people: place by place, with what has an id known by it.

use serde_json::Value;

/// A place that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The path of the value: `groups › mixed › models › gpt-5.1 › prices › input`.
    pub place: String,
    /// The value before; `None`: the place is new.
    pub before: Option<String>,
    /// The value after; `None`: the place is gone.
    pub after: Option<String>,
}

/// Every place where `after` differs from `before`, in the order of `before`.
pub fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare("", Some(before), Some(after), &mut found);
    found
}

fn compare(
    place: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    if before == after {
        return;
    }
    let (Some(old), Some(new)) = (before, after) else {
        push(place, before, after, found);
        return;
    };
    let (Some(old), Some(new)) = (members(old), members(new)) else {
        push(place, before, after, found);
        return;
    };
    let at = |name: &str| {
        if place.is_empty() {
            name.to_owned()
        } else {
            format!("{place} › {name}")
        }
    };
    let find = |all: &[(String, &Value)], name: &str| {
        let mut all = all.iter();
        all.position(|(of, _)| of == name)
    };
    for (name, value) in &old {
        let other = find(&new, name).and_then(|place| new.get(place));
        compare(
            &at(name),
            Some(value),
            other.map(|(_, value)| *value),
            found,
        );
    }
    for (name, value) in &new {
        if find(&old, name).is_none() {
            compare(&at(name), None, Some(value), found);
        }
    }
    let is_list = before.is_some_and(Value::is_array);
    let names = |all: &[(String, &Value)]| {
        let all = all.iter().map(|(name, _)| name.clone());
        all.collect::<Vec<_>>()
    };
    let both = |names: Vec<String>, others: &[String]| {
        let kept = names.into_iter().filter(|name| others.contains(name));
        kept.collect::<Vec<_>>()
    };
    let (was, is) = (names(&old), names(&new));
    let (was_kept, is_kept) = (both(was.clone(), &is), both(is, &was));
    if is_list && was_kept != is_kept {
        found.push(Difference {
            place: at("order"),
            before: Some(was_kept.join(", ")),
            after: Some(is_kept.join(", ")),
        });
    }
}

/// The members of an object; or the items of a list, if each has an id that no other has.
fn members(value: &Value) -> Option<Vec<(String, &Value)>> {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), value));
            Some(members.collect())
        }
        Value::Array(items) => {
            let named = items.iter().map(|item| Some((name_of(item)?, item)));
            let named: Vec<(String, &Value)> = named.collect::<Option<_>>()?;
            let mut names: Vec<&String> = named.iter().map(|(name, _)| name).collect();
            names.sort();
            names.dedup();
            (names.len() == named.len()).then_some(named)
        }
        _ => None,
    }
}

/// Returns the name that identifies an item of a list: its id, and the entry behind which a model of a Mixed group is.
fn name_of(item: &Value) -> Option<String> {
    let id = item.get("id")?.as_str()?;
    let entry = item.get("entry").and_then(Value::as_str);
    Some(entry.map_or_else(|| id.to_owned(), |entry| format!("{id} ({entry})")))
}

fn push(place: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Difference>) {
    let text = |value: Option<&Value>| {
        value.map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    };
    found.push(Difference {
        place: place.to_owned(),
        before: text(before),
        after: text(after),
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn place_by_place() {
        type Case<'a> = (
            &'a str,
            Value,
            Value,
            &'a [(&'a str, Option<&'a str>, Option<&'a str>)],
        );
        let a = || json!({"id": "a", "multiplier": "1"});
        let b = || json!({"id": "b"});
        let cases: [Case<'_>; 8] = [
            (
                "the same",
                json!({"groups": [a()]}),
                json!({"groups": [a()]}),
                &[],
            ),
            (
                "a value within",
                json!({"groups": [b(), a()]}),
                json!({"groups": [b(), {"id": "a", "multiplier": "2"}]}),
                &[("groups › a › multiplier", Some("1"), Some("2"))],
            ),
            (
                "one removed before it shifts nothing",
                json!({"groups": [b(), a()]}),
                json!({"groups": [a()]}),
                &[("groups › b", Some(r#"{"id":"b"}"#), None)],
            ),
            (
                "one added",
                json!({"groups": [a()]}),
                json!({"groups": [b(), a()]}),
                &[("groups › b", None, Some(r#"{"id":"b"}"#))],
            ),
            (
                "another order",
                json!({"groups": [a(), b()]}),
                json!({"groups": [b(), a()]}),
                &[("groups › order", Some("a, b"), Some("b, a"))],
            ),
            (
                "the same model behind two entries",
                json!([{"id": "m", "entry": "x"}, {"id": "m", "entry": "y"}]),
                json!([{"id": "m", "entry": "x"}]),
                &[("m (y)", Some(r#"{"entry":"y","id":"m"}"#), None)],
            ),
            (
                "what has no ids is one value",
                json!({"aliases": ["a", "b"]}),
                json!({"aliases": ["b"]}),
                &[("aliases", Some(r#"["a","b"]"#), Some(r#"["b"]"#))],
            ),
            (
                "ids that are not unique",
                json!([b(), b()]),
                json!([b()]),
                &[(
                    "",
                    Some(r#"[{"id":"b"},{"id":"b"}]"#),
                    Some(r#"[{"id":"b"}]"#),
                )],
            ),
        ];
        for (case, before, after, want) in cases {
            let found = differences(&before, &after);
            let found: Vec<_> = found
                .iter()
                .map(|of| (of.place.as_str(), of.before.as_deref(), of.after.as_deref()))
                .collect();
            assert_eq!(found, want, "{case}");
        }
    }
}
