//! The form of an upstream account of a source group in a draft.

use askama::Template;
use axum::extract::{Path, RawQuery};

use serde_json::{Map, Value};
use trilane::money::Multiplier;

use super::item_form::{ItemForm, ItemKind};
use super::{members, text_at};
use crate::pages::form::Fields;
use crate::pages::{FieldProblems, PageResult, PageShell, SignedForm, Visit, form_page};

/// The fields that are texts.
const TEXTS: [&str; 10] = [
    "id",
    "url",
    "credential",
    "header",
    "http",
    "ca",
    "proxy",
    "region",
    "cost",
    "state",
];
/// The fields that are whole numbers.
const NUMBERS: [&str; 3] = ["weight", "priority", "retries"];
/// The fields that have problems shown at them.
const FIELDS: [&str; 13] = [
    "id",
    "url",
    "credential",
    "header",
    "http",
    "ca",
    "proxy",
    "region",
    "weight",
    "priority",
    "retries",
    "cost",
    "state",
];

#[derive(Template)]
#[template(path = "draft_account.html")]
struct AccountFormPage {
    shell: PageShell,
    form: ItemForm,
    names: Vec<&'static str>,
}

const ACCOUNT: ItemKind = ItemKind {
    list: "accounts",
    one: "account",
    new_title: "Add an account",
    new_fields: Fields::default,
    fields_of,
    put,
    page: |shell, form, _, _| {
        let (failed, names) = (form.failed, FIELDS.to_vec());
        form_page(&AccountFormPage { shell, form, names }, failed)
    },
};

fn fields_of(account: &Value) -> Fields {
    let mut fields = Fields::default();
    for name in TEXTS {
        fields = fields.with(name, text_at(account, name));
    }
    for name in NUMBERS {
        let number = account.get(name).and_then(Value::as_u64);
        let text = number.map(|number| number.to_string());
        fields = fields.with(name, text.unwrap_or_default());
    }
    fields
}

/// Takes what a form says of an account.
fn put(account: &mut Map<String, Value>, fields: &Fields, problems: &mut FieldProblems) {
    for name in TEXTS {
        members::put_text(account, name, fields.get(name));
    }
    for name in NUMBERS {
        members::put_number(account, name, name, fields, problems);
    }
    let cost = fields.get("cost");
    if let Some(Err(reason)) = (!cost.is_empty()).then(|| Multiplier::parse(cost)) {
        problems.push("cost", reason);
    }
}

/// The form of an account, or for a new one.
pub async fn account(
    Visit { state, signed_in }: Visit,
    Path(draft): Path<String>,
    RawQuery(query): RawQuery,
) -> PageResult {
    ACCOUNT
        .form(&state, &signed_in, &draft, query.as_deref())
        .await
}

/// Changes an account, adds one, or removes one.
pub async fn save_account(
    Path(draft): Path<String>,
    RawQuery(query): RawQuery,
    sent: SignedForm,
) -> PageResult {
    ACCOUNT.save(sent, &draft, query.as_deref()).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_that_is_saved_as_it_is_changes_nothing() {
        let account = json!({"id": "a", "url": "https://x.example/base", "credential": "c", "weight": 2, "priority": 0, "cost": "0.85", "future": true});
        let mut after = account.clone();
        let mut problems = FieldProblems::default();
        put(
            after.as_object_mut().unwrap(),
            &fields_of(&account),
            &mut problems,
        );
        assert!(problems.is_empty());
        assert_eq!(after, account);
        let comma = Fields::parse(b"id=a&cost=0,85");
        put(after.as_object_mut().unwrap(), &comma, &mut problems);
        assert!(problems.at("cost").starts_with("has a comma"));
    }
}
