//! The members of groups, models and accounts that forms have fields for.

use serde_json::{Map, Value};

use super::{items, text_at};
use crate::pages::FieldProblems;
use crate::pages::form::Fields;

/// The kinds of prices that a form has: names and titles.
pub const PRICES: [(&str, &str); 12] = [
    ("input", "Input"),
    ("cache_read", "Cache read"),
    ("cache_write_5m", "Cache write, 5 minutes"),
    ("cache_write_1h", "Cache write, 1 hour"),
    ("output", "Output"),
    ("reasoning", "Reasoning"),
    ("input_image", "Image input"),
    ("output_image", "Image output"),
    ("input_audio", "Audio input"),
    ("output_audio", "Audio output"),
    ("tool_use", "Tool use"),
    ("image", "An image"),
];
/// The fields of prices above a length of the input: names and titles.
pub const PRICES_ABOVE: [(&str, &str); 4] = [
    ("input_tokens", "Above so many tokens"),
    ("input", "Input of long requests"),
    ("cache_read", "Cache read of long requests"),
    ("output", "Output of long requests"),
];
/// What a group allows: names, titles, and the protocol that has it.
pub const GATES: [(&str, &str, &str); 3] = [
    ("image_generation", "Serve the images endpoints", "A"),
    ("count_tokens", "The upstream counts tokens", "B"),
    (
        "account_resources",
        "Forward files and caches, which all keys of the group share",
        "C",
    ),
];
/// The limits that are whole numbers.
pub const NUMBERS: [(&str, &str); 4] = [
    ("requests_per_minute", "Requests a minute"),
    ("input_tokens_per_minute", "Input tokens a minute"),
    ("output_tokens_per_minute", "Output tokens a minute"),
    ("concurrent_requests", "Requests at once"),
];
/// The budgets.
pub const BUDGETS: [(&str, &str); 2] =
    [("per_day", "Budget a day"), ("per_month", "Budget a month")];

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
        Err(_) => problems.push(field, "must be a whole number"),
    }
}

/// The prices above a length of the input as fields. Several lengths have none.
pub fn with_above(mut fields: Fields, prices: &Value) -> Fields {
    let [set] = items(prices, "above") else {
        return fields;
    };
    let tokens = set.get("input_tokens").and_then(Value::as_u64);
    let within = set.get("prices").cloned().unwrap_or_default();
    for (name, _) in PRICES_ABOVE {
        let text = match name {
            "input_tokens" => tokens.map(|tokens| tokens.to_string()).unwrap_or_default(),
            of => text_at(&within, of).to_owned(),
        };
        fields = fields.with(&format!("above.{name}"), text);
    }
    fields
}

/// Takes the prices above a length of the input. Those of several lengths stay as they are.
pub fn put_above(prices: &mut Map<String, Value>, fields: &Fields, problems: &mut FieldProblems) {
    let before = prices.get("above").and_then(Value::as_array);
    if before.is_some_and(|sets| sets.len() > 1) {
        return;
    }
    let mut set = before
        .and_then(|sets| sets.first()?.as_object().cloned())
        .unwrap_or_default();
    let typed = |name: &str| fields.get(&format!("above.{name}")).replace(',', "");
    if PRICES_ABOVE.iter().all(|(name, _)| typed(name).is_empty()) {
        prices.remove("above");
        return;
    }
    let mut within = taken(&mut set, "prices");
    for (name, _) in PRICES_ABOVE {
        match name {
            "input_tokens" if typed(name).is_empty() => {
                set.remove(name);
                problems.push("above.input_tokens", "is missing");
            }
            "input_tokens" => {
                put_number(&mut set, name, "above.input_tokens", fields, problems);
            }
            of => put_text(&mut within, of, &typed(of)),
        }
    }
    set.insert("prices".to_owned(), Value::Object(within));
    prices.insert("above".to_owned(), Value::Array(vec![Value::Object(set)]));
}

/// The limits of a group as fields.
pub fn with_limits(mut fields: Fields, group: &Value) -> Fields {
    let limits = group.get("limits").cloned().unwrap_or_default();
    for (name, _) in NUMBERS {
        let number = limits.get(name).and_then(Value::as_u64);
        let text = number.map(|number| number.to_string());
        fields = fields.with(&format!("limits.{name}"), text.unwrap_or_default());
    }
    let budget = limits.get("budget").cloned().unwrap_or_default();
    for (name, _) in BUDGETS {
        fields = fields.with(&format!("limits.budget.{name}"), text_at(&budget, name));
    }
    fields
}

/// Takes the limits of a form.
pub fn put_limits(group: &mut Map<String, Value>, fields: &Fields, problems: &mut FieldProblems) {
    let mut members = taken(group, "limits");
    for (name, _) in NUMBERS {
        put_number(
            &mut members,
            name,
            &format!("limits.{name}"),
            fields,
            problems,
        );
    }
    let mut amounts = taken(&mut members, "budget");
    for (name, _) in BUDGETS {
        let typed = fields.get(&format!("limits.budget.{name}"));
        put_text(&mut amounts, name, &typed.replace(',', ""));
    }
    if BUDGETS.iter().any(|(name, _)| amounts.contains_key(*name)) {
        members.insert("budget".to_owned(), Value::Object(amounts));
    }
    if !members.is_empty() {
        group.insert("limits".to_owned(), Value::Object(members));
    }
}

/// The item of a list that has this id.
pub fn item<'a>(of: &'a mut Value, list: &str, id: &str) -> Option<&'a mut Value> {
    let place = items(of, list)
        .iter()
        .position(|item| text_at(item, "id") == id);
    let all = of.get_mut(list)?.as_array_mut()?;
    all.get_mut(place?)
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
