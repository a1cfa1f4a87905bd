//! The groups in force, with their models.

use askama::Template;
use axum::extract::Path;
use trilane::limits::SubjectKind;

use super::parsed;
use super::shown::{self, GroupShown, ModelShown};
use crate::cases::ApiProblem;
use crate::cases::documents;
use crate::cases::drafts;
use crate::cases::names::{Name, WantedNames};
use crate::cases::paging::PageParams;
use crate::cases::rights;
use crate::pages::form::Fields;
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
    /// The models of the source groups, each with its group, as many as the page shows.
    models: Vec<ModelLine>,
    /// The number of models that it does not show.
    more_models: usize,
    /// The part of a name that shown models have.
    part: String,
    drafts: usize,
    may_change: bool,
}

#[derive(Template)]
#[template(path = "group.html")]
struct GroupPage {
    shell: PageShell,
    group: GroupShown,
    keys: String,
    may_change: bool,
}

/// The models of the page.
const MODELS: usize = 100;

/// A model of a source group.
struct ModelLine {
    group: String,
    group_name: String,
    style: &'static str,
    protocol: String,
    model: ModelShown,
}

/// The models of the source groups, and how many more there are.
fn models(groups: &[GroupShown], part: &str) -> (Vec<ModelLine>, usize) {
    let part = part.to_lowercase();
    let mut all = Vec::new();
    for group in groups.iter().filter(|group| group.protocol != "Mixed") {
        for model in &group.models {
            let has = |name: &str| name.to_lowercase().contains(&part);
            if has(&model.id) || has(&model.name) {
                all.push(ModelLine {
                    group: group.id.clone(),
                    group_name: group.name.clone(),
                    style: group.kind,
                    protocol: group.protocol.clone(),
                    model: model.clone(),
                });
            }
        }
    }
    let more = all.len().saturating_sub(MODELS);
    all.truncate(MODELS);
    (all, more)
}

/// The groups in force.
pub async fn list(Visit { state, signed_in }: Visit, asked: Fields) -> PageResult {
    let current = documents::in_force(&state, &signed_in.caller).await?;
    let document = current.as_ref().and_then(|current| parsed(&current.body));
    let all = drafts::list(&state, &signed_in.caller, PageParams::default()).await?;
    let mut wanted = WantedNames::default();
    let author = current.iter().map(|current| current.author.as_str());
    wanted.all(SubjectKind::Owner, author);
    let names = wanted.find(&state, &signed_in.caller).await?;
    let groups = document
        .map(|document| shown::groups(&document))
        .unwrap_or_default();
    let part = asked.get("part").to_owned();
    let (models, more_models) = models(&groups, &part);
    page(&GroupsPage {
        models,
        more_models,
        part,
        shell: signed_in.shell(t!("Models")),
        in_force: current.map(|current| VersionInForce {
            version: current.version,
            author: names.owner(&current.author),
            note: current.note,
            at: moment(current.published_at),
        }),
        groups,
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
        may_change: signed_in.caller.may(rights::CHANGE_DOCUMENTS),
        group,
    })
}
