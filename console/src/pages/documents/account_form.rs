//! The form of an upstream account of a source group in a draft.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use serde_json::{Map, Value, json};
use trilane::money::Multiplier;

use super::editing::{self, Edited, FormOutcome};
use super::group_form::{find, named};
use super::{items, members, text_at};
use crate::cases::{ApiProblem, ConsoleState};
use crate::documents::Difference;
use crate::pages::form::Fields;
use crate::pages::text::path_with;
use crate::pages::{
    FieldProblems, Notice, PageProblem, PageShell, SignedForm, SignedIn, done, form_page,
};

/// The fields that are texts.
const TEXTS: [&str; 9] = [
    "id",
    "url",
    "credential",
    "header",
    "http",
    "ca",
    "proxy",
    "region",
    "cost",
];
/// The fields that are whole numbers.
const NUMBERS: [&str; 3] = ["weight", "priority", "retries"];
/// The fields that have problems shown at them.
const FIELDS: [&str; 12] = [
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
];

#[derive(Template)]
#[template(path = "draft_account.html")]
struct AccountFormPage {
    shell: PageShell,
    draft: String,
    group: String,
    group_path: String,
    action: String,
    revision: i64,
    is_new: bool,
    fields: Fields,
    problems: FieldProblems,
    names: Vec<&'static str>,
    failed: bool,
    differences: Vec<Difference>,
}

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

struct AccountFormShown<'a> {
    group: &'a str,
    account: &'a str,
    fields: Fields,
    problems: FieldProblems,
    failed: bool,
    differences: Vec<Difference>,
}

fn show(
    signed_in: &SignedIn,
    edited: &Edited,
    shown: AccountFormShown<'_>,
) -> Result<Response, PageProblem> {
    let draft = format!("/drafts/{}", edited.draft.id);
    let group = find(&edited.document, shown.group).map(|(_, group)| group);
    let is_known = group.is_some_and(|group| {
        let mut accounts = items(group, "accounts").iter();
        accounts.any(|account| text_at(account, "id") == shown.account)
    });
    let failed = shown.failed;
    let title = if is_known {
        shown.account
    } else {
        "Add an account"
    };
    form_page(
        &AccountFormPage {
            shell: signed_in.shell(title),
            group: shown.group.to_owned(),
            group_path: path_with(&format!("{draft}/group"), &[("group", shown.group)]),
            action: path_with(
                &format!("{draft}/account"),
                &[("group", shown.group), ("account", shown.account)],
            ),
            revision: edited.draft.revision,
            is_new: !is_known,
            fields: shown.fields,
            problems: shown.problems,
            names: FIELDS.to_vec(),
            failed,
            differences: shown.differences,
            draft,
        },
        failed,
    )
}

/// The form of an account, or for a new one.
pub async fn account(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    Path(draft): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageProblem> {
    let edited = editing::open(&state, &signed_in, &draft).await?;
    let group = named(query.as_deref(), "group");
    let id = named(query.as_deref(), "account");
    let (at, of) = find(&edited.document, &group).ok_or_else(ApiProblem::not_found)?;
    let found = items(of, "accounts")
        .iter()
        .enumerate()
        .find(|(_, account)| text_at(account, "id") == id);
    let (fields, problems) = match found {
        Some((number, account)) => {
            let part = format!("groups[{at}].accounts[{number}]");
            let said = editing::said_of(&state, &signed_in.caller, &draft, &part).await?;
            (fields_of(account), said)
        }
        None if id.is_empty() => (Fields::default(), FieldProblems::default()),
        None => return Err(ApiProblem::not_found().into()),
    };
    let shown = AccountFormShown {
        group: &group,
        account: &id,
        fields,
        problems,
        failed: false,
        differences: Vec::new(),
    };
    show(&signed_in, &edited, shown)
}

/// Changes an account, adds one, or removes one.
pub async fn save_account(
    State(state): State<ConsoleState>,
    Path(draft): Path<String>,
    RawQuery(query): RawQuery,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let SignedForm { signed_in, fields } = sent;
    let edited = editing::open(&state, &signed_in, &draft).await?;
    let group = named(query.as_deref(), "group");
    let id = named(query.as_deref(), "account");
    find(&edited.document, &group).ok_or_else(ApiProblem::not_found)?;
    let new_id = fields.get("id").to_owned();
    let is_removal = fields.is_set("remove");
    let edit = |document: &mut Value, problems: &mut FieldProblems| {
        let Some(group) = members::item(document, "groups", &group) else {
            problems.general = Some("The group was removed meanwhile.".to_owned());
            return;
        };
        if is_removal {
            members::remove(group, "accounts", &id);
            return;
        }
        if new_id.is_empty() {
            problems.push("id", "is missing");
            return;
        }
        if new_id != id && members::item(group, "accounts", &new_id).is_some() {
            problems.push("id", "is another account's of this group");
            return;
        }
        if members::item(group, "accounts", &id).is_none() {
            members::add(group, "accounts", json!({"id": new_id}));
        }
        let is_known = members::item(group, "accounts", &id).is_some();
        let of = if is_known { &id } else { &new_id };
        let account = members::item(group, "accounts", of).and_then(Value::as_object_mut);
        if let Some(account) = account {
            put(account, &fields, problems);
        }
    };
    let group_path = path_with(&format!("/drafts/{draft}/group"), &[("group", &group)]);
    match editing::save(&state, &signed_in.caller, edited, &fields, edit).await? {
        FormOutcome::Saved if is_removal => Ok(done(&group_path, Notice::Removed)),
        FormOutcome::Saved => {
            let path = format!("/drafts/{draft}/account");
            let path = path_with(&path, &[("group", &group), ("account", &new_id)]);
            Ok(done(&path, Notice::Saved))
        }
        FormOutcome::Refused(problems, differences) => {
            let edited = editing::open(&state, &signed_in, &draft).await?;
            let shown = AccountFormShown {
                group: &group,
                account: &id,
                fields,
                problems,
                failed: true,
                differences,
            };
            show(&signed_in, &edited, shown)
        }
    }
}

#[cfg(test)]
mod tests {
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
