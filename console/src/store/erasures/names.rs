//! The authors of past changes: the creators of keys, and the audit. Both are walked through, a bounded number of rows at a time.

use serde_json::Value;

use crate::store::{StoreError, Transaction, execute, fetch};

/// The rows that one transaction looks at.
const LOOKED_AT: i64 = 1000;

/// Members of what the audit has that name a person.
const MEMBERS: [&str; 7] = [
    "owner",
    "person",
    "created_by",
    "disabled_with",
    "author",
    "actor",
    "set_by",
];

/// Erases the id in the makers of the next keys. The last key that was looked at; `None`: there was none.
pub(super) async fn key_makers(
    transaction: &mut Transaction,
    (person, pseudonym): (&str, &str),
    after: &str,
) -> Result<Option<String>, StoreError> {
    let last: Option<String> = fetch!(
        transaction,
        query_scalar.fetch_one,
        "SELECT max(id) FROM (SELECT id FROM keys WHERE id > $1 ORDER BY id LIMIT $2) AS next",
        (after, LOOKED_AT)
    );
    if let Some(last) = &last {
        execute!(
            transaction,
            "UPDATE keys SET created_by = $2 WHERE created_by = $1 AND id > $3 AND id <= $4",
            (person, pseudonym, after, last)
        )?;
        // The old value of a key of theirs may be another owner's.
        execute!(
            transaction,
            "UPDATE keys SET disabled_with = NULL WHERE disabled_with = $1 AND id > $2 AND id <= $3",
            (person, after, last)
        )?;
    }
    Ok(last)
}

/// An entry of the audit, with its number.
type ErasedAuditRow = (
    i64,
    String,
    String,
    String,
    String,
    Option<String>,
    Option<String>,
);

/// Erases the id in the next entries of the audit. The last that was looked at; `None`: there was none.
pub(super) async fn audit(
    transaction: &mut Transaction,
    both: (&str, &str),
    after: &str,
) -> Result<Option<String>, StoreError> {
    let after: i64 = after.parse().unwrap_or_default();
    let rows: Vec<ErasedAuditRow> = fetch!(
        transaction,
        query_as.fetch_all,
        "SELECT id, actor, address, action, object, before, after FROM audit WHERE id > $1 ORDER BY id LIMIT $2",
        (after, LOOKED_AT)
    );
    let last = rows.last().map(|row| row.0.to_string());
    for row in rows {
        let erased = entry(row.clone(), both);
        if erased == row {
            continue;
        }
        execute!(
            transaction,
            "UPDATE audit SET actor = $2, address = $3, object = $4, before = $5, after = $6 WHERE id = $1",
            (erased.0, erased.1, erased.2, erased.4, erased.5, erased.6)
        )?;
    }
    Ok(last)
}

fn entry(row: ErasedAuditRow, both: (&str, &str)) -> ErasedAuditRow {
    let (number, mut actor, mut address, action, mut object, before, after) = row;
    let (person, pseudonym) = both;
    if actor == person {
        pseudonym.clone_into(&mut actor);
        // Where somebody was is personal too.
        address.clear();
    }
    let is_of_people = action.starts_with("person.") || action.starts_with("session.");
    if is_of_people && object == person {
        pseudonym.clone_into(&mut object);
    }
    if object.strip_prefix("owner/") == Some(person) {
        object = format!("owner/{pseudonym}");
    }
    let state = |text: Option<String>| text.map(|text| json(text, both));
    (
        number,
        actor,
        address,
        action,
        object,
        state(before),
        state(after),
    )
}

/// Erases the id from the state of an audited object, as JSON.
fn json(text: String, both: (&str, &str)) -> String {
    let Ok(mut value) = serde_json::from_str(&text) else {
        return text;
    };
    if erase(&mut value, both) {
        value.to_string()
    } else {
        text
    }
}

/// Erases the id in a value, and with it what its person has written. Whether it was there.
fn erase(value: &mut Value, both: (&str, &str)) -> bool {
    let (person, pseudonym) = both;
    match value {
        Value::Array(items) => erase_all(items, both),
        Value::Object(members) => {
            let is = |members: &serde_json::Map<String, Value>, name: &str| {
                members.get(name).and_then(Value::as_str) == Some(person)
            };
            let mut found = false;
            // Itself: of what the audit has only people have a role.
            if is(members, "id") && members.contains_key("role") {
                members.insert("id".to_owned(), pseudonym.into());
                members.insert("name".to_owned(), "".into());
                found = true;
            }
            if is(members, "owner") {
                members.remove("label");
            }
            if is(members, "person") && members.contains_key("name") {
                members.insert("name".to_owned(), "".into());
            }
            for name in MEMBERS {
                if is(members, name) {
                    members.insert(name.to_owned(), pseudonym.into());
                    found = true;
                }
            }
            erase_all(members.values_mut(), both) || found
        }
        _ => false,
    }
}

fn erase_all<'a>(values: impl IntoIterator<Item = &'a mut Value>, both: (&str, &str)) -> bool {
    let mut found = false;
    for value in values {
        found |= erase(value, both);
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_erased_of_a_state() {
        let cases = [
            (
                "a person",
                json!({"id": "ann", "name": "Ann A.", "role": "admin"}),
                json!({"id": "P", "name": "", "role": "admin"}),
            ),
            (
                "a key",
                json!({"id": "ann", "owner": "ann", "label": "Ann's", "created_by": "root"}),
                json!({"id": "ann", "owner": "P", "created_by": "root"}),
            ),
            (
                "a token",
                json!({"person": "ann", "name": "laptop"}),
                json!({"person": "P", "name": ""}),
            ),
            (
                "another's key",
                json!({"owner": "bob", "label": "ann", "created_by": "ann"}),
                json!({"owner": "bob", "label": "ann", "created_by": "P"}),
            ),
            (
                "within a list",
                json!([{"a": {"author": "ann"}}]),
                json!([{"a": {"author": "P"}}]),
            ),
            (
                "another thing of this id",
                json!({"id": "ann", "group": "ann"}),
                json!({"id": "ann", "group": "ann"}),
            ),
        ];
        for (case, before, want) in cases {
            let text = json(before.to_string(), ("ann", "P"));
            let got: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(got, want, "{case}");
        }
        assert_eq!(json("not JSON".to_owned(), ("ann", "P")), "not JSON");
    }
}
