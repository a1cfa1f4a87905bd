//! A draft: what it changes, what a gateway would say of it, and its text.

use askama::Template;
use axum::extract::Path;
use serde_json::Value;
use trilane::limits::SubjectKind;

use super::shown::{self, GroupShown};
use super::words::DraftWords;
use super::{items, parsed, text_at};
use crate::cases::names::{Name, WantedNames};
use crate::cases::problem::PlacedProblem;
use crate::cases::rights;
use crate::cases::{ConsoleState, documents, drafts};
use crate::documents::{Difference, differences};
use crate::language::translated;
use crate::pages::form::Fields;
use crate::pages::text::path_with;
use crate::pages::{FieldProblems, PageResult, PageShell, SignedIn, Visit, form_page};
use crate::store::drafts::Draft;
use crate::timestamp::moment;

/// The most differences that a page shows.
const MOST: usize = 200;

/// A group, in a line, with the paths of its forms.
struct GroupLine {
    group: GroupShown,
    path: String,
    problems: usize,
}

/// A problem, and where it is mended.
struct ProblemLine {
    place: String,
    reason: String,
    path: Option<String>,
}

#[derive(Template)]
#[template(path = "draft.html")]
struct DraftPage {
    shell: PageShell,
    path: String,
    new_group: String,
    revision: i64,
    based_on: i64,
    author: Name,
    changed_at: String,
    fields: Fields,
    problems: FieldProblems,
    /// The author, number and time of a version published since the draft was begun.
    overtaken: Option<(Name, i64, String)>,
    is_json: bool,
    is_valid: bool,
    wrong: Vec<ProblemLine>,
    warnings: Vec<ProblemLine>,
    /// The effects of publishing it.
    words: DraftWords,
    changes: Vec<Difference>,
    more_changes: usize,
    groups: Vec<GroupLine>,
    may_change: bool,
}

#[derive(Template)]
#[template(path = "draft_text.html")]
struct TextPage {
    shell: PageShell,
    path: String,
    revision: i64,
    fields: Fields,
    problems: FieldProblems,
    differences: Vec<Difference>,
    may_change: bool,
}

/// The number of the group that a place is in.
fn group_of(place: &str) -> Option<usize> {
    let rest = place.strip_prefix("groups[")?;
    rest.split_once(']')?.0.parse().ok()
}

fn lines(all: &[PlacedProblem], draft: &str, document: &Value) -> Vec<ProblemLine> {
    let lines = all.iter().map(|problem| {
        let group = group_of(&problem.path).and_then(|at| items(document, "groups").get(at));
        let id = group.map(|group| text_at(group, "id"));
        let place = match (id, problem.path.split_once(']')) {
            (Some(id), Some((_, rest))) => {
                let rest = rest.replace('.', " › ");
                t!("group {group}", group = format!("{id}{rest}"))
            }
            _ => problem.path.clone(),
        };
        ProblemLine {
            place,
            reason: translated(&problem.reason).into_owned(),
            path: id.map(|id| path_with(&format!("/drafts/{draft}/group"), &[("group", id)])),
        }
    });
    lines.collect()
}

/// One draft.
pub async fn draft(Visit { state, signed_in }: Visit, Path(id): Path<String>) -> PageResult {
    signed_in.caller.must(rights::SEE_DOCUMENTS)?;
    show(&state, &signed_in, &id, FieldProblems::default(), None).await
}

/// A draft's page, with what went wrong, and the note that was typed.
pub(super) async fn show(
    state: &ConsoleState,
    signed_in: &SignedIn,
    id: &str,
    problems: FieldProblems,
    typed: Option<String>,
) -> PageResult {
    let draft = drafts::read(state, &signed_in.caller, id).await?;
    let current = documents::in_force(state, &signed_in.caller).await?;
    let checked = drafts::check(state, &signed_in.caller, id).await?;
    let document = parsed(&draft.body);
    let is_json = document.as_ref().is_some_and(Value::is_object);
    let document = document.unwrap_or_default();
    let before = current.as_ref().and_then(|current| parsed(&current.body));
    let mut changes = if is_json {
        differences(&before.unwrap_or_else(|| serde_json::json!({})), &document)
    } else {
        Vec::new()
    };
    let more_changes = changes.len().saturating_sub(MOST);
    changes.truncate(MOST);
    let mut wanted = WantedNames::default();
    wanted.add(SubjectKind::Owner, &draft.author);
    let published = current.as_ref();
    wanted.all(
        SubjectKind::Owner,
        published.map(|current| current.author.as_str()),
    );
    let names = wanted.find(state, &signed_in.caller).await?;
    let overtaken = current
        .filter(|current| current.version != draft.based_on)
        .map(|current| {
            (
                names.owner(&current.author),
                current.version,
                moment(current.published_at),
            )
        });
    let groups = shown::groups(&document).into_iter().enumerate();
    let groups = groups.map(|(at, group)| GroupLine {
        path: path_with(&format!("/drafts/{id}/group"), &[("group", &group.id)]),
        problems: checked
            .problems
            .iter()
            .filter(|problem| group_of(&problem.path) == Some(at))
            .count(),
        group,
    });
    let words = DraftWords::of(state, &signed_in.caller, id, &checked).await?;
    let failed = !problems.is_empty();
    form_page(
        &DraftPage {
            shell: signed_in.shell(t!("Draft")),
            path: format!("/drafts/{id}"),
            new_group: format!("/drafts/{id}/group"),
            revision: draft.revision,
            based_on: draft.based_on,
            author: names.owner(&draft.author),
            changed_at: moment(draft.changed_at),
            fields: Fields::default().with("note", typed.unwrap_or(draft.note)),
            problems,
            overtaken,
            is_json,
            is_valid: checked.valid,
            wrong: lines(&checked.problems, id, &document),
            warnings: lines(&checked.warnings, id, &document),
            words,
            changes,
            more_changes,
            groups: groups.collect(),
            may_change: signed_in.caller.may(rights::CHANGE_DOCUMENTS),
        },
        failed,
    )
}

/// The text of a draft.
pub async fn text(Visit { state, signed_in }: Visit, Path(id): Path<String>) -> PageResult {
    let draft = drafts::read(&state, &signed_in.caller, &id).await?;
    let fields = Fields::default().with("body", draft.body.clone());
    show_text(
        &signed_in,
        &draft,
        fields,
        FieldProblems::default(),
        Vec::new(),
    )
}

/// The page of a draft's text, with what went wrong.
pub(super) fn show_text(
    signed_in: &SignedIn,
    draft: &Draft,
    fields: Fields,
    problems: FieldProblems,
    differences: Vec<Difference>,
) -> PageResult {
    let failed = !problems.is_empty();
    form_page(
        &TextPage {
            shell: signed_in.shell(t!("Text of the draft")),
            path: format!("/drafts/{}", draft.id),
            revision: draft.revision,
            fields,
            problems,
            differences,
            may_change: signed_in.caller.may(rights::CHANGE_DOCUMENTS),
        },
        failed,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_problem_is() {
        for (place, want) in [
            ("groups[2].models[0].id", Some(2)),
            ("groups[0]", Some(0)),
            ("groups", None),
            ("keys[1].group", None),
            ("", None),
        ] {
            assert_eq!(group_of(place), want, "{place}");
        }
    }
}
