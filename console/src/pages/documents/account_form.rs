//! The form of an upstream account of a source group in a draft.

use askama::Template;
use axum::extract::{Path, RawQuery};

use serde_json::{Map, Value};
use trilane::money::Multiplier;
use zeroize::Zeroizing;

use super::group_form::named;
use super::item_form::{ItemForm, ItemKind};
use super::{members, text_at};
use crate::cases::credentials::{self, NewCredentialBody};
use crate::cases::{ApiProblem, rights};
use crate::pages::form::Fields;
use crate::pages::{
    FieldProblems, PageProblem, PageResult, PageShell, SignedForm, Visit, form_page,
};
use crate::vendors::another_account;

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
const FIELDS: [&str; 14] = [
    "id",
    "url",
    "credential",
    "value",
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
    add: text!("Add account"),
    remove: text!("Remove account"),
    new_title: text!("Add an account"),
    is_taken: text!("is another account's of this group"),
    new_fields: |document, group, query| {
        let like = named(query, "like");
        let another = (!like.is_empty()).then(|| another_account(document, group));
        another
            .flatten()
            .as_ref()
            .map(fields_of)
            .unwrap_or_default()
    },
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
    members::put_text(account, "credential", credential_of(fields));
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
    let (state, signed_in, mut fields) = sent.parts();
    // What was typed there is not shown again.
    let value = fields.take("value").map(Zeroizing::new);
    let caller = &signed_in.caller;
    if value.is_some() {
        caller.must(rights::CHANGE_CREDENTIALS)?;
    }
    let query = query.as_deref();
    let value = value.filter(|_| !fields.is_set("remove"));
    let name = credential_of(&fields).to_owned();
    let wrong = value.as_ref().map(|value| credentials::check(&name, value));
    if let Some(Err(problem)) = wrong {
        let (group, id) = (named(query, "group"), named(query, "account"));
        let refused = (at_value(problem)?, Vec::new());
        let names = (group.as_str(), id.as_str());
        return ACCOUNT
            .refused(&state, &signed_in, &draft, names, &fields, refused)
            .await;
    }
    let put = ACCOUNT.put(&state, &signed_in, &draft, query, &fields);
    if let Some(refused) = put.await? {
        return Ok(refused);
    }
    if let Some(value) = value {
        let destinations = credentials::destinations(&state, caller, &name, Some(&draft)).await?;
        let new = NewCredentialBody {
            value: value.to_string(),
            destinations: (!destinations.is_empty()).then_some(destinations),
        };
        if let Err(problem) = credentials::put(&state, caller, &name, new).await {
            let mut problems = at_value(problem)?;
            problems.general =
                Some(t!("The account is in the draft, without its key.").into_owned());
            let group = named(query, "group");
            let names = (group.as_str(), fields.get("id"));
            let refused = (problems, Vec::new());
            return ACCOUNT
                .refused(&state, &signed_in, &draft, names, &fields, refused)
                .await;
        }
    }
    Ok(ACCOUNT.saved(&draft, query, &fields))
}

/// The problems of a credential at its field.
fn at_value(problem: ApiProblem) -> Result<FieldProblems, PageProblem> {
    let all = FieldProblems::of(problem)?;
    let mut problems = FieldProblems::default();
    let of_value = Some(all.at("value")).filter(|told| !told.is_empty());
    let told: Vec<String> = of_value
        .into_iter()
        .chain(all.elsewhere(&["value"]))
        .collect();
    problems.push("value", &told.join(&*t!("; ")));
    Ok(problems)
}

/// The name of an account's credential: that of the form, or the account's id where one is given without a name.
fn credential_of(fields: &Fields) -> &str {
    let name = fields.get("credential");
    if name.is_empty() {
        fields.get("id")
    } else {
        name
    }
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
