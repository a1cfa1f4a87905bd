//! The groups in force.

use askama::Template;
use axum::extract::Path;
use trilane::limits::SubjectKind;

use super::parsed;
use super::shown::{self, GroupShown};
use crate::cases::ApiProblem;
use crate::cases::documents;
use crate::cases::drafts;
use crate::cases::names::{Name, WantedNames};
use crate::cases::paging::PageParams;
use crate::cases::rights;
use crate::pages::text::path_with;
use crate::pages::{PageResult, PageShell, Visit, page};
use crate::timestamp::moment;

/// A draft, in a line.
struct DraftLine {
    path: String,
    note: String,
    author: Name,
    changed_at: String,
    is_outdated: bool,
}

/// The published version that gateways use.
struct VersionInForce {
    version: i64,
    author: Name,
    note: String,
    at: String,
}

#[derive(Template)]
#[template(path = "groups.html")]
struct GroupsPage {
    shell: PageShell,
    in_force: Option<VersionInForce>,
    groups: Vec<GroupShown>,
    drafts: Vec<DraftLine>,
    may_change: bool,
}

#[derive(Template)]
#[template(path = "group.html")]
struct GroupPage {
    shell: PageShell,
    group: GroupShown,
    keys: String,
}

/// The groups in force, and drafts.
pub async fn list(Visit { state, signed_in }: Visit) -> PageResult {
    let current = documents::in_force(&state, &signed_in.caller).await?;
    let document = current.as_ref().and_then(|current| parsed(&current.body));
    let version = current.as_ref().map_or(0, |current| current.version);
    let all = drafts::list(&state, &signed_in.caller, PageParams::default()).await?;
    let mut wanted = WantedNames::default();
    let authors = all.items.iter().map(|draft| &draft.author);
    let authors = authors.chain(current.iter().map(|current| &current.author));
    wanted.all(SubjectKind::Owner, authors.map(String::as_str));
    let names = wanted.find(&state, &signed_in.caller).await?;
    let lines = all.items.into_iter().map(|draft| DraftLine {
        path: format!("/drafts/{}", draft.id),
        note: draft.note,
        author: names.owner(&draft.author),
        changed_at: draft.changed_at,
        is_outdated: draft.based_on != version,
    });
    page(&GroupsPage {
        shell: signed_in.shell("Groups & models"),
        in_force: current.map(|current| VersionInForce {
            version: current.version,
            author: names.owner(&current.author),
            note: current.note,
            at: moment(current.published_at),
        }),
        groups: document
            .map(|document| shown::groups(&document))
            .unwrap_or_default(),
        drafts: lines.collect(),
        may_change: signed_in.caller.may(rights::CHANGE_DOCUMENTS),
    })
}

/// One group in force.
pub async fn group(Visit { state, signed_in }: Visit, Path(id): Path<String>) -> PageResult {
    let current = documents::in_force(&state, &signed_in.caller).await?;
    let document = current.and_then(|current| parsed(&current.body));
    let groups = document.map(|document| shown::groups(&document));
    let group = groups.into_iter().flatten().find(|group| group.id == id);
    let group = group.ok_or_else(ApiProblem::not_found)?;
    page(&GroupPage {
        shell: signed_in.shell(group.name.as_str()),
        keys: path_with("/keys", &[("group", &group.id)]),
        group,
    })
}
