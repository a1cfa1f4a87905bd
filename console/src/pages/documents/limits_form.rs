//! The form of the limits of all keys of a group together.

use askama::Template;
use axum::extract::{Path, RawQuery};

use serde_json::Value;

use super::edit::{DRAFT, THEN};
use super::editing::{self, Edited, FormOutcome};
use super::group_form::{find, named};
use super::{members, text_at};
use crate::cases::ApiProblem;
use crate::documents::Difference;
use crate::pages::form::Fields;
use crate::pages::text::path_with;
use crate::pages::{
    FieldProblems, Notice, PageResult, PageShell, SignedForm, SignedIn, Visit, done, form_page,
    limit_fields,
};

#[derive(Template)]
#[template(path = "draft_limits.html")]
struct LimitsPage {
    shell: PageShell,
    draft: String,
    group: String,
    group_path: String,
    action: String,
    revision: i64,
    fields: Fields,
    problems: FieldProblems,
    failed: bool,
    differences: Vec<Difference>,
    numbers: Vec<(String, &'static str)>,
    budgets: Vec<(String, &'static str)>,
}

fn show(
    signed_in: &SignedIn,
    edited: &Edited,
    id: &str,
    fields: Fields,
    (problems, refused): (FieldProblems, Option<Vec<Difference>>),
) -> PageResult {
    let (_, group) = find(&edited.document, id).ok_or_else(ApiProblem::not_found)?;
    let name = text_at(group, "name");
    let name = if name.is_empty() { id } else { name };
    let draft = format!("/drafts/{}", edited.draft.id);
    let failed = refused.is_some();
    form_page(
        &LimitsPage {
            shell: signed_in.shell(t!("Limits of {group}", group = name)),
            group: name.to_owned(),
            group_path: path_with(&format!("{draft}/group"), &[("group", id)]),
            action: path_with(&format!("{draft}/limits"), &[("group", id)]),
            revision: edited.draft.revision,
            fields,
            problems,
            failed,
            differences: refused.unwrap_or_default(),
            numbers: limit_fields::numbers(),
            budgets: limit_fields::budgets(),
            draft,
        },
        failed,
    )
}

/// The form of a group's limits.
pub async fn limits(
    Visit { state, signed_in }: Visit,
    Path(draft): Path<String>,
    RawQuery(query): RawQuery,
) -> PageResult {
    let edited = editing::open(&state, &signed_in, &draft).await?;
    let id = named(query.as_deref(), "group");
    let (at, group) = find(&edited.document, &id).ok_or_else(ApiProblem::not_found)?;
    let part = format!("groups[{at}]");
    let said = editing::said_of(&state, &signed_in.caller, &draft, &part).await?;
    let fields = Fields::default().with(THEN, named(query.as_deref(), THEN));
    let fields = limit_fields::with(fields, group.get("limits").unwrap_or(&Value::Null));
    show(&signed_in, &edited, &id, fields, (said, None))
}

/// Changes the limits of a group.
pub async fn save_limits(
    Path(draft): Path<String>,
    RawQuery(query): RawQuery,
    sent: SignedForm,
) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let edited = editing::open(&state, &signed_in, &draft).await?;
    let id = named(query.as_deref(), "group");
    find(&edited.document, &id).ok_or_else(ApiProblem::not_found)?;
    let edit = |document: &mut Value, problems: &mut FieldProblems| {
        let group = members::item(document, "groups", &id).and_then(Value::as_object_mut);
        if let Some(group) = group {
            members::put_limits(group, &fields, problems);
        }
    };
    match editing::save(&state, &signed_in.caller, edited, &fields, edit).await? {
        FormOutcome::Saved => {
            let path = format!("/drafts/{draft}");
            let group = path_with(&format!("{path}/group"), &[("group", &id)]);
            let is_quick = fields.get(THEN) == DRAFT;
            Ok(done(if is_quick { &path } else { &group }, Notice::Saved))
        }
        FormOutcome::Refused(problems, differences) => {
            let edited = editing::open(&state, &signed_in, &draft).await?;
            let refused = (problems, Some(differences));
            show(&signed_in, &edited, &id, fields, refused)
        }
    }
}
