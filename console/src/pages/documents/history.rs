//! Drafts, and every version that was published.

use askama::Template;
use axum::extract::Path;
use trilane::limits::SubjectKind;

use super::parsed;
use crate::cases::documents::{self, DocumentHead, DocumentReach, PublishAgainBody};
use crate::cases::drafts;
use crate::cases::names::{self, Name, WantedNames};
use crate::cases::paging::PageParams;
use crate::cases::rights;
use crate::cases::{ApiProblem, ConsoleState};
use crate::documents::{Difference, differences};
use crate::pages::form::Fields;
use crate::pages::{
    FieldProblems, Notice, PageResult, PageShell, SignedForm, SignedIn, Visit, done, form_page,
    page,
};
use crate::store::documents::PublishedDocument;
use crate::timestamp::moment;

/// A draft, in a line.
struct DraftLine {
    path: String,
    /// Its note, or else what it changes.
    title: String,
    author: Name,
    changed_at: String,
    is_outdated: bool,
}

#[derive(Template)]
#[template(path = "documents.html")]
struct PublishPage {
    shell: PageShell,
    drafts: Vec<DraftLine>,
    may_change: bool,
    versions: Vec<(DocumentHead, Name)>,
    next: Option<String>,
    in_force: i64,
}

#[derive(Template)]
#[template(path = "document.html")]
struct VersionPage {
    shell: PageShell,
    version: i64,
    author: Name,
    note: String,
    at: String,
    in_force: i64,
    reach: DocumentReach,
    /// The changes that publishing it again would make to the version in force; for the version in force: those that it made.
    changes: Vec<Difference>,
    text: String,
    fields: Fields,
    problems: FieldProblems,
    may_publish: bool,
}

/// All drafts, and all versions, the latest first.
pub async fn list(Visit { state, signed_in }: Visit, asked: Fields) -> PageResult {
    let place = PageParams::at(asked.given("cursor"), 50);
    let found = documents::list(&state, &signed_in.caller, place).await?;
    let current = documents::in_force(&state, &signed_in.caller).await?;
    let version = current.as_ref().map_or(0, |current| current.version);
    let all = drafts::list(&state, &signed_in.caller, PageParams::default()).await?;
    let mut wanted = WantedNames::default();
    let authors = found.items.iter().map(|of| &of.author);
    let authors = authors.chain(all.items.iter().map(|draft| &draft.author));
    wanted.all(SubjectKind::Owner, authors.map(String::as_str));
    let names = wanted.find(&state, &signed_in.caller).await?;
    let mut lines = Vec::new();
    for draft in all.items {
        let title = if draft.note.is_empty() {
            let draft = drafts::get(&state, &signed_in.caller, &draft.id).await?;
            first_change(current.as_ref(), &draft.body)
        } else {
            draft.note
        };
        lines.push(DraftLine {
            path: format!("/drafts/{}", draft.id),
            title,
            author: names.owner(&draft.author),
            changed_at: draft.changed_at,
            is_outdated: draft.based_on != version,
        });
    }
    let versions = found.items.into_iter().map(|of| {
        let author = names.owner(&of.author);
        (of, author)
    });
    page(&PublishPage {
        versions: versions.collect(),
        drafts: lines,
        may_change: signed_in.caller.may(rights::CHANGE_DOCUMENTS),
        shell: signed_in.shell(t!("Publish")),
        next: found.next,
        in_force: version,
    })
}

/// The place that a draft changes first, and how many more: the title of a draft without a note.
fn first_change(current: Option<&PublishedDocument>, draft: &str) -> String {
    let before = current.and_then(|current| parsed(&current.body));
    let (Some(before), Some(after)) = (before, parsed(draft)) else {
        return t!("Without a note").into_owned();
    };
    let changes = differences(&before, &after);
    match changes.as_slice() {
        [] => t!("Changes nothing yet").into_owned(),
        [only] => only.place.clone(),
        [first, others @ ..] => t!(
            "{place} and {count} more",
            place = first.place,
            count = others.len()
        ),
    }
}

/// One version.
pub async fn version(Visit { state, signed_in }: Visit, Path(version): Path<i64>) -> PageResult {
    signed_in.caller.must(rights::SEE_DOCUMENTS)?;
    let (fields, problems) = (Fields::default(), FieldProblems::default());
    show(&state, &signed_in, version, fields, problems).await
}

async fn show(
    state: &ConsoleState,
    signed_in: &SignedIn,
    version: i64,
    fields: Fields,
    problems: FieldProblems,
) -> PageResult {
    let shown = documents::version(state, &signed_in.caller, version).await?;
    let shown = shown.ok_or_else(ApiProblem::not_found)?;
    let current = documents::in_force(state, &signed_in.caller).await?;
    let in_force = current.as_ref().map_or(0, |current| current.version);
    let text = |document: Option<&PublishedDocument>| {
        let parsed = document.and_then(|document| parsed(&document.body));
        parsed.unwrap_or_else(|| serde_json::json!({}))
    };
    let changes = if in_force == version {
        let before =
            documents::version(state, &signed_in.caller, version.saturating_sub(1)).await?;
        differences(&text(before.as_ref()), &text(Some(&shown)))
    } else {
        differences(&text(current.as_ref()), &text(Some(&shown)))
    };
    let failed = !problems.is_empty();
    let reach = documents::reach(state, &shown).await?;
    form_page(
        &VersionPage {
            reach,
            shell: signed_in.shell(t!("Version {version}", version = version)),
            version,
            author: names::person(state, &signed_in.caller, &shown.author).await?,
            note: shown.note,
            at: moment(shown.published_at),
            in_force,
            changes,
            text: shown.body,
            fields,
            problems,
            may_publish: in_force != version && signed_in.caller.may(rights::CHANGE_DOCUMENTS),
        },
        failed,
    )
}

/// Publishes a version again.
pub async fn again(Path(version): Path<i64>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let body = PublishAgainBody {
        note: fields.get("note").to_owned(),
    };
    let seen = fields.get("in_force").parse().unwrap_or(-1);
    let again = documents::publish_again(&state, &signed_in.caller, version, seen, body);
    match again.await {
        Ok(_) => Ok(done("/groups", Notice::Published)),
        Err(problem) if problem.status() == 412 => {
            let current = documents::in_force(&state, &signed_in.caller).await?;
            let mut problems = FieldProblems::default();
            if let Some(current) = current {
                let author = names::person(&state, &signed_in.caller, &current.author).await?;
                problems.general = Some(t!(
                    "{person} has published version {version} since you opened this page. Look at what would change now.",
                    person = author.text,
                    version = current.version
                ));
            }
            show(&state, &signed_in, version, fields, problems).await
        }
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            show(&state, &signed_in, version, fields, problems).await
        }
    }
}
