//! All budgets that are nearly spent.

use askama::Template;

use trilane::limits::{SubjectKind, member_parts};

use super::form::Fields;
use super::{PageResult, PageShell, Visit, page, text};
use crate::cases::names::{Name, Names, WantedNames};
use crate::cases::nearly_spent::{self, NearlySpentView};
use crate::cases::paging::PageParams;
use crate::pages::ShownAmount;

/// The budgets of a page.
const ROWS: u16 = 50;

/// A budget, in a line.
struct NearlySpentLine {
    path: String,
    budget: ShownAmount,
    spent: ShownAmount,
    kind: &'static str,
    name: Name,
    of: NearlySpentView,
}

#[derive(Template)]
#[template(path = "nearly_spent.html")]
struct NearlySpentPage {
    shell: PageShell,
    lines: Vec<NearlySpentLine>,
    next: Option<String>,
}

/// Returns the path of the page that changes a budget.
pub fn path_of(kind: SubjectKind, id: &str) -> String {
    match kind {
        SubjectKind::Key => format!("/keys/{}", text::in_path(id)),
        SubjectKind::Group => format!("/groups/{}", text::in_path(id)),
        SubjectKind::Member => {
            let team = member_parts(id).map_or(id, |(_, team)| team);
            format!("/teams/{}", text::in_path(team))
        }
        SubjectKind::Owner | SubjectKind::Team => {
            text::path_with("/budgets", &[("kind", kind.name()), ("id", id)])
        }
    }
}

fn line(of: NearlySpentView, names: &Names) -> NearlySpentLine {
    NearlySpentLine {
        path: path_of(of.kind, &of.id),
        budget: ShownAmount::of(&of.currency, &of.budget),
        spent: ShownAmount::of(&of.currency, &of.spent),
        kind: text::fullness(of.percent),
        name: names.of(of.kind, &of.id),
        of,
    }
}

/// Those of today and this month.
pub async fn list(Visit { state, signed_in }: Visit, asked: Fields) -> PageResult {
    let place = PageParams::at(asked.given("cursor"), ROWS);
    let found = nearly_spent::list(&state, &signed_in.caller, place).await?;
    let mut wanted = WantedNames::default();
    for of in &found.items {
        wanted.add(of.kind, &of.id);
    }
    let names = wanted.find(&state, &signed_in.caller).await?;
    page(&NearlySpentPage {
        shell: signed_in.shell(t!("Budgets nearly spent")),
        lines: found.items.into_iter().map(|of| line(of, &names)).collect(),
        next: found.next,
    })
}
