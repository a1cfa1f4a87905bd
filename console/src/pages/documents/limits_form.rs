//! The form of the limits of all keys of a group together, or of a key of the document.

use askama::Template;
use axum::extract::{Path, RawQuery};

use serde_json::Value;

use super::edit::{DRAFT, THEN};
use super::editing::{self, Edited, FormOutcome};
use super::group_form::named;
use super::{find_item, members, text_at};
use crate::cases::ApiProblem;
use crate::documents::Difference;
use crate::pages::form::Fields;
use crate::pages::text::path_with;
use crate::pages::{
    FieldProblems, Notice, PageResult, PageShell, SignedForm, SignedIn, Visit, done, form_page,
    keys, limit_fields,
};

#[derive(Template)]
#[template(path = "draft_limits.html")]
struct LimitsPage {
    shell: PageShell,
    draft: String,
    is_of_key: bool,
    name: String,
    path: String,
    action: String,
    revision: i64,
    fields: Fields,
    problems: FieldProblems,
    failed: bool,
    differences: Vec<Difference>,
    numbers: Vec<(String, &'static str)>,
    budgets: Vec<(String, &'static str)>,
    budget_hint: String,
}

/// A group or a key of a draft, by its list and its id.
struct Limited {
    list: &'static str,
    id: String,
}

impl Limited {
    fn named(query: Option<&str>) -> Self {
        let key = named(query, "key");
        if key.is_empty() {
            Self {
                list: "groups",
                id: named(query, "group"),
            }
        } else {
            Self {
                list: "keys",
                id: key,
            }
        }
    }

    fn is_key(&self) -> bool {
        self.list == "keys"
    }

    /// Its place in the list, and what stands there.
    fn find<'a>(&self, document: &'a Value) -> Result<(usize, &'a Value), ApiProblem> {
        find_item(document, self.list, &self.id).ok_or_else(ApiProblem::not_found)
    }

    /// The path of a form of it in a draft.
    fn path(&self, draft: &str, form: &str) -> String {
        let one = if self.is_key() { "key" } else { "group" };
        path_with(&format!("{draft}/{form}"), &[(one, &self.id)])
    }

    /// The page that one comes from.
    fn page(&self, draft: &str) -> String {
        if self.is_key() {
            keys::path_of(&self.id)
        } else {
            self.path(draft, "group")
        }
    }
}

fn show(
    signed_in: &SignedIn,
    edited: &Edited,
    of: &Limited,
    fields: Fields,
    (problems, refused): (FieldProblems, Option<Vec<Difference>>),
) -> PageResult {
    let (_, item) = of.find(&edited.document)?;
    let name = text_at(item, "name");
    let name = if name.is_empty() { &of.id } else { name };
    let draft = format!("/drafts/{}", edited.draft.id);
    let failed = refused.is_some();
    form_page(
        &LimitsPage {
            shell: signed_in.shell(t!("Limits of {group}", group = name)),
            is_of_key: of.is_key(),
            name: name.to_owned(),
            path: of.page(&draft),
            action: of.path(&draft, "limits"),
            revision: edited.draft.revision,
            fields,
            problems,
            failed,
            differences: refused.unwrap_or_default(),
            numbers: limit_fields::numbers(),
            budgets: limit_fields::budgets(),
            budget_hint: limit_fields::budget_hint(text_at(&edited.document, "currency")),
            draft,
        },
        failed,
    )
}

/// The form of the limits of a group or a key.
pub async fn limits(
    Visit { state, signed_in }: Visit,
    Path(draft): Path<String>,
    RawQuery(query): RawQuery,
) -> PageResult {
    let edited = editing::open(&state, &signed_in, &draft).await?;
    let of = Limited::named(query.as_deref());
    let (at, item) = of.find(&edited.document)?;
    let part = format!("{}[{at}]", of.list);
    let said = editing::said_of(&state, &signed_in.caller, &draft, &part).await?;
    // Other faults of a group or a key are told at its own form.
    let said = said.only("limits");
    let fields = Fields::default().with(THEN, named(query.as_deref(), THEN));
    let fields = limit_fields::with(fields, item.get("limits").unwrap_or(&Value::Null));
    show(&signed_in, &edited, &of, fields, (said, None))
}

/// Changes the limits of a group or a key.
pub async fn save_limits(
    Path(draft): Path<String>,
    RawQuery(query): RawQuery,
    sent: SignedForm,
) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let edited = editing::open(&state, &signed_in, &draft).await?;
    let of = Limited::named(query.as_deref());
    of.find(&edited.document)?;
    let edit = |document: &mut Value, problems: &mut FieldProblems| {
        let item = members::item(document, of.list, &of.id).and_then(Value::as_object_mut);
        if let Some(item) = item {
            members::put_limits(item, &fields, problems);
        }
    };
    match editing::save(&state, &signed_in.caller, edited, &fields, edit).await? {
        FormOutcome::Saved => {
            let path = format!("/drafts/{draft}");
            let is_quick = fields.get(THEN) == DRAFT || of.is_key();
            let group = of.page(&path);
            Ok(done(if is_quick { &path } else { &group }, Notice::Saved))
        }
        FormOutcome::Refused(problems, differences) => {
            let edited = editing::open(&state, &signed_in, &draft).await?;
            let refused = (problems, Some(differences));
            show(&signed_in, &edited, &of, fields, refused)
        }
    }
}
