//! The audit: who changed what, from what to what.

use askama::Template;
use serde_json::Value;
use trilane::limits::SubjectKind;

use super::form::Fields;
use super::{PageResult, PageShell, Visit, page, text};
use crate::cases::audit::{self, AuditParams};
use crate::cases::names::{Name, WantedNames};
use crate::cases::paging::PageParams;
use crate::documents::{Difference, differences};

/// The entries of a page.
const ROWS: u16 = 50;
/// The filters.
const FILTERS: [&str; 5] = ["actor", "action", "object", "since", "until"];

/// An entry, in a line.
struct AuditLine {
    at: String,
    actor: Name,
    address: String,
    action: String,
    object: Name,
    changes: Vec<Difference>,
}

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    shell: PageShell,
    entries: Vec<AuditLine>,
    next: Option<String>,
    filters: Fields,
    is_filtered: bool,
    path: String,
}

/// Names the subject of an entry; `None`: it is of no kind that has names.
fn subject<'a>(action: &str, object: &'a str) -> Option<(SubjectKind, &'a str)> {
    match action.split('.').next()? {
        "budget" => {
            let (kind, id) = object.split_once('/')?;
            Some((SubjectKind::named(kind)?, id))
        }
        "key" => Some((SubjectKind::Key, object)),
        "person" | "session" => Some((SubjectKind::Owner, object)),
        "team" => Some((SubjectKind::Team, object)),
        _ => None,
    }
}

fn changes(before: Option<Value>, after: Option<Value>) -> Vec<Difference> {
    match (before, after) {
        (None, None) => Vec::new(),
        (before, after) => {
            let whole = |value: Option<Value>| value.unwrap_or_else(|| serde_json::json!({}));
            differences(&whole(before), &whole(after))
        }
    }
}

/// Shows the audit log, latest first.
pub async fn list(Visit { state, signed_in }: Visit, filters: Fields) -> PageResult {
    let moment = |name: &str| filters.given(name).map(|typed| text::from_local(&typed));
    let asked = AuditParams {
        actor: filters.given("actor"),
        action: filters.given("action"),
        object: filters.given("object"),
        since: moment("since"),
        until: moment("until"),
    };
    let place = PageParams::at(filters.given("cursor"), ROWS);
    let found = audit::list(&state, &signed_in.caller, asked, place).await?;
    let mut wanted = WantedNames::default();
    for entry in &found.items {
        wanted.add(SubjectKind::Owner, &entry.actor);
        if let Some((kind, id)) = subject(&entry.action, &entry.object) {
            wanted.add(kind, id);
        }
    }
    let names = wanted.find(&state, &signed_in.caller).await?;
    let entries = found.items.into_iter().map(|entry| AuditLine {
        at: entry.at,
        actor: names.owner(&entry.actor),
        object: match subject(&entry.action, &entry.object) {
            Some((kind, id)) => Name {
                id: entry.object.clone(),
                ..names.of(kind, id)
            },
            None => Name::of_itself(&entry.object),
        },
        address: entry.address,
        action: entry.action,
        changes: changes(entry.before, entry.after),
    });
    let (path, is_filtered) = filters.filtered("/audit", FILTERS);
    page(&AuditPage {
        shell: signed_in.shell(t!("Audit")),
        entries: entries.collect(),
        next: found.next,
        is_filtered,
        path,
        filters,
    })
}
