//! The audit: who changed what, from what to what.

use askama::Template;

use serde_json::Value;

use super::form::Fields;
use super::{PageResult, PageShell, Visit, page, text};
use crate::cases::audit::{self, AuditParams};
use crate::cases::paging::PageParams;
use crate::documents::{Difference, differences};

/// The entries of a page.
const ROWS: u16 = 50;
/// The filters.
const FILTERS: [&str; 5] = ["actor", "action", "object", "since", "until"];

/// An entry, in a line.
struct AuditLine {
    at: String,
    actor: String,
    address: String,
    action: String,
    object: String,
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
    let entries = found.items.into_iter().map(|entry| AuditLine {
        at: entry.at,
        actor: entry.actor,
        address: entry.address,
        action: entry.action,
        object: entry.object,
        changes: changes(entry.before, entry.after),
    });
    let (path, is_filtered) = filters.filtered("/audit", FILTERS);
    page(&AuditPage {
        shell: signed_in.shell("Audit"),
        entries: entries.collect(),
        next: found.next,
        is_filtered,
        path,
        filters,
    })
}
