//! The groups in force, with their models.

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
    drafts: usize,
    may_change: bool,
}

#[derive(Template)]
#[template(path = "group.html")]
struct GroupPage {
    shell: PageShell,
    group: GroupShown,
    keys: String,
}

/// The groups in force.
pub async fn list(Visit { state, signed_in }: Visit) -> PageResult {
    let current = documents::in_force(&state, &signed_in.caller).await?;
    let document = current.as_ref().and_then(|current| parsed(&current.body));
    let all = drafts::list(&state, &signed_in.caller, PageParams::default()).await?;
    let mut wanted = WantedNames::default();
    let author = current.iter().map(|current| current.author.as_str());
    wanted.all(SubjectKind::Owner, author);
    let names = wanted.find(&state, &signed_in.caller).await?;
    page(&GroupsPage {
        shell: signed_in.shell("Models"),
        in_force: current.map(|current| VersionInForce {
            version: current.version,
            author: names.owner(&current.author),
            note: current.note,
            at: moment(current.published_at),
        }),
        groups: document
            .map(|document| shown::groups(&document))
            .unwrap_or_default(),
        drafts: all.items.len(),
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
