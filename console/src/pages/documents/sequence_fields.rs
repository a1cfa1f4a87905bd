//! The fields of a group's form for sources in sequence: the order of an entry, and the fallback of a source group.

use serde_json::{Map, Value};

use super::{items, text_at};
use crate::pages::form::Fields;

/// The orders in which sources are asked, and their titles; the first holds without one.
pub const ORDERS: [(&str, &str); 2] = [
    ("listed", text!("as listed")),
    ("cheapest", text!("the cheapest for the model first")),
];

/// A group that may be another one's fallback.
pub struct FallbackChoice {
    pub id: String,
    pub is_set: bool,
}

/// The field of the order of an entry.
pub fn order_of(entry: &str) -> String {
    format!("entries.{entry}.order")
}

/// Fields with those of a group.
pub fn with(mut fields: Fields, group: &Value) -> Fields {
    let entries = group.get("entries").and_then(Value::as_object);
    for (name, entry) in entries.into_iter().flatten() {
        fields = fields.with(&order_of(name), text_at(entry, "order"));
    }
    for id in items(group, "fallback").iter().filter_map(Value::as_str) {
        fields = fields.with("fallback", id);
    }
    fields
}

/// Takes the order of an entry. One that says what holds without it stays away.
pub fn put_order(entry: &mut Map<String, Value>, name: &str, fields: &Fields) {
    let has = entry.get("order").and_then(Value::as_str);
    // An entry with one source to choose has no such field.
    let Some(order) = fields.given(&order_of(name)) else {
        return;
    };
    if has.unwrap_or(ORDERS[0].0) != order {
        entry.insert("order".to_owned(), order.into());
    }
}

/// The groups that may be a group's fallback: those that are, in the order in which they are asked, then the others of its
/// protocol.
pub fn choices(document: &Value, group: &Value, fields: &Fields) -> Vec<FallbackChoice> {
    let choice = |id: &str, is_set| FallbackChoice {
        id: id.to_owned(),
        is_set,
    };
    let set = fields.all("fallback").map(|id| choice(id, true));
    let others = items(document, "groups").iter().filter(|other| {
        let id = text_at(other, "id");
        text_at(other, "protocol") == text_at(group, "protocol")
            && id != text_at(group, "id")
            && !fields.all("fallback").any(|set| set == id)
    });
    let others = others.map(|other| choice(text_at(other, "id"), false));
    set.chain(others).collect()
}

/// Takes the fallback of a source group, in the order of the form.
pub fn put_fallback(group: &mut Map<String, Value>, fields: &Fields) {
    let ticked: Vec<Value> = fields.all("fallback").map(Value::from).collect();
    let before = group.get("fallback").and_then(Value::as_array);
    if before.map_or(&[][..], Vec::as_slice) == ticked {
        return;
    }
    if ticked.is_empty() {
        group.remove("fallback");
    } else {
        group.insert("fallback".to_owned(), ticked.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn which_groups_may_be_a_fallback() {
        let group = |id: &str, protocol: &str| json!({"id": id, "protocol": protocol});
        let mut own = group("own", "A");
        own["fallback"] = json!(["last", "gone"]);
        let groups = [
            group("first", "A"),
            own.clone(),
            group("b", "B"),
            group("last", "A"),
            group("all", "Mixed"),
        ];
        let fields = with(Fields::default(), &own);
        let found = choices(&json!({"groups": groups}), &own, &fields);
        let found: Vec<(&str, bool)> = found.iter().map(|of| (&*of.id, of.is_set)).collect();
        assert_eq!(found, [("last", true), ("gone", true), ("first", false)]);
    }

    #[test]
    fn what_a_form_changes() {
        let group = json!({"fallback": ["a", "b"], "entries": {"responses": {"order": "cheapest"}, "vb_messages": {}}});
        let entry = |order: Value| json!({"order": order});
        for (case, form, fallback, orders) in [
            (
                "nothing",
                "fallback=a&fallback=b&entries.responses.order=cheapest&entries.vb_messages.order=listed",
                json!(["a", "b"]),
                [entry(json!("cheapest")), json!({})],
            ),
            (
                "no fields for orders",
                "fallback=a&fallback=b",
                json!(["a", "b"]),
                [entry(json!("cheapest")), json!({})],
            ),
            (
                "other orders",
                "fallback=a&fallback=b&entries.responses.order=listed&entries.vb_messages.order=cheapest",
                json!(["a", "b"]),
                [entry(json!("listed")), entry(json!("cheapest"))],
            ),
            (
                "one for another",
                "fallback=b&fallback=c",
                json!(["b", "c"]),
                [entry(json!("cheapest")), json!({})],
            ),
            (
                "none",
                "",
                Value::Null,
                [entry(json!("cheapest")), json!({})],
            ),
        ] {
            let mut after = group.clone();
            let fields = Fields::parse(form.as_bytes());
            put_fallback(after.as_object_mut().unwrap(), &fields);
            for (name, want) in ["responses", "vb_messages"].into_iter().zip(orders) {
                let entry = &mut after["entries"][name];
                put_order(entry.as_object_mut().unwrap(), name, &fields);
                assert_eq!(*entry, want, "{case}: {name}");
            }
            let found = after.get("fallback").cloned().unwrap_or_default();
            assert_eq!(found, fallback, "{case}");
        }
    }
}
