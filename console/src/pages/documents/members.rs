//! The members of groups, models and accounts that forms have fields for.

use serde_json::{Map, Value};
use trilane::money::Amount;

use super::{find_item, text_at};
use crate::pages::form::Fields;
use crate::pages::{FieldProblems, limit_fields};

/// The kinds of prices that a form has: names and titles.
pub const PRICES: [(&str, &str); 12] = [
    ("input", text!("Input")),
    ("cache_read", text!("Cache read")),
    ("cache_write_5m", text!("Cache write, 5 minutes")),
    ("cache_write_1h", text!("Cache write, 1 hour")),
    ("output", text!("Output")),
    ("reasoning", text!("Reasoning")),
    ("input_image", text!("Image input")),
    ("output_image", text!("Image output")),
    ("input_audio", text!("Audio input")),
    ("output_audio", text!("Audio output")),
    ("tool_use", text!("Tool use")),
    ("image", text!("Per image")),
];
/// The optional permissions of a group: names, titles, and the protocol that has them.
pub const GATES: [(&str, &str, &str); 3] = [
    ("image_generation", text!("Serve the images endpoints"), "A"),
    ("count_tokens", text!("The upstream counts tokens"), "B"),
    (
        "account_resources",
        text!("Forward files and caches, which all keys of the group share"),
        "C",
    ),
];
/// Takes an object out of another, or an empty one.
pub fn taken(of: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match of.remove(name) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

/// Takes a text of a form, or takes the member away where it is empty.
pub fn put_text(of: &mut Map<String, Value>, name: &str, typed: &str) {
    if typed.is_empty() {
        of.remove(name);
    } else {
        of.insert(name.to_owned(), typed.into());
    }
}

/// Takes a ticked box. One that says what holds without it stays away.
pub fn put_switch(of: &mut Map<String, Value>, name: &str, is_set: bool, without: bool) {
    let has = of.get(name).and_then(Value::as_bool);
    if has.unwrap_or(without) != is_set {
        of.insert(name.to_owned(), is_set.into());
    }
}

/// Takes a whole number.
pub fn put_number(
    of: &mut Map<String, Value>,
    name: &str,
    field: &str,
    fields: &Fields,
    problems: &mut FieldProblems,
) {
    let typed = fields.get(field).replace([',', ' '], "");
    if typed.is_empty() {
        of.remove(name);
        return;
    }
    match typed.parse::<u64>() {
        Ok(number) => {
            of.insert(name.to_owned(), number.into());
        }
        Err(_) => problems.push(field, text!("must be a whole number")),
    }
}

/// Takes the limits of a form, whose budgets must be amounts.
pub fn put_limits(group: &mut Map<String, Value>, fields: &Fields, problems: &mut FieldProblems) {
    for (field, _) in limit_fields::budgets() {
        let typed = fields.get(&field);
        if let Some(Err(reason)) = (!typed.is_empty()).then(|| Amount::parse(typed)) {
            problems.push(&field, reason);
        }
    }
    limit_fields::put(group, fields, problems);
}

/// The item of a list that has this id.
pub fn item<'a>(of: &'a mut Value, list: &str, id: &str) -> Option<&'a mut Value> {
    let (place, _) = find_item(of, list, id)?;
    of.get_mut(list)?.as_array_mut()?.get_mut(place)
}

/// Adds an item to a list, which is made if there is none.
pub fn add(of: &mut Value, list: &str, new: Value) {
    let Some(members) = of.as_object_mut() else {
        return;
    };
    let all = members
        .entry(list)
        .or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(all) = all {
        all.push(new);
    }
}

/// Takes the item of this id from a list.
pub fn remove(of: &mut Value, list: &str, id: &str) {
    if let Some(Value::Array(all)) = of.get_mut(list) {
        all.retain(|item| text_at(item, "id") != id);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_form_does_not_have_stays() {
        let mut group = json!({"id": "g", "limits": {"requests_per_minute": 5, "budget": {"per_day": "1", "spent": {"in_day": "0.5"}}}});
        let fields = Fields::parse(b"limits.requests_per_minute=1,000&limits.budget.per_day=2");
        let mut problems = FieldProblems::default();
        put_limits(group.as_object_mut().unwrap(), &fields, &mut problems);
        assert!(problems.is_empty());
        let want = json!({"requests_per_minute": 1000, "budget": {"per_day": "2", "spent": {"in_day": "0.5"}}});
        assert_eq!(group.get("limits"), Some(&want));
        put_limits(
            group.as_object_mut().unwrap(),
            &Fields::default(),
            &mut problems,
        );
        assert_eq!(group, json!({"id": "g"}), "empty fields take them away");
        let many = Fields::parse(b"limits.concurrent_requests=many");
        put_limits(group.as_object_mut().unwrap(), &many, &mut problems);
        assert_eq!(
            problems.at("limits.concurrent_requests"),
            "must be a whole number"
        );
        let amounts = Fields::parse(b"limits.budget.per_day=$10&limits.budget.per_month=1,000.50");
        put_limits(group.as_object_mut().unwrap(), &amounts, &mut problems);
        assert_eq!(problems.at("limits.budget.per_day"), "");
        let refused = problems.at("limits.budget.per_month");
        assert!(refused.contains("such as \"1000.50\""), "{refused}");
    }

    #[test]
    fn a_switch_that_says_nothing_new_stays_away() {
        for (case, mut of, is_set, without, want) in [
            ("off, as without it", json!({}), false, false, json!({})),
            ("on", json!({}), true, false, json!({"x": true})),
            (
                "off again",
                json!({"x": true}),
                false,
                false,
                json!({"x": false}),
            ),
            ("on, as without it", json!({}), true, true, json!({})),
            ("not", json!({}), false, true, json!({"x": false})),
        ] {
            put_switch(of.as_object_mut().unwrap(), "x", is_set, without);
            assert_eq!(of, want, "{case}");
        }
    }
}
