//! Budgets of owners and teams, which hold for all of their keys together, and of members, which follow from allowances.

use std::borrow::Cow;

use askama::Template;

use trilane::limits::{SubjectKind, member_parts};

use super::form::Fields;
use super::me::sums;
use super::nearly_spent::path_of;
use super::owner_field::{OwnerField, is_search};
use super::people::page_of;
use super::{
    FieldProblems, Notice, PageProblem, PageResult, PageShell, SignedForm, SignedIn, Visit,
    currency, done, form_page, limit_fields, text,
};
use crate::cases::ConsoleState;
use crate::cases::budgets::{self, BudgetBody};
use crate::cases::names::{Name, WantedNames};
use crate::cases::paging::PageParams;
use crate::cases::rights;
use crate::pages::ShownAmount;

/// The budgets of a page.
const ROWS: u16 = 50;

/// A budget, in a line.
struct BudgetLine {
    kind: SubjectKind,
    id: String,
    name: Name,
    /// The page of the team or the person.
    page: String,
    per_day: ShownAmount,
    per_month: ShownAmount,
    today: ShownAmount,
    this_month: ShownAmount,
    keys: String,
    /// The team's page, where the budget of a member comes from.
    team: Option<String>,
}

#[derive(Template)]
#[template(path = "budgets.html")]
struct BudgetsPage {
    shell: PageShell,
    lines: Vec<BudgetLine>,
    next: Option<String>,
    may_change: bool,
    /// The field of the id: teams and people.
    whose: OwnerField,
    /// The currency and the days of the amounts.
    budget_hint: String,
    fields: Fields,
    problems: FieldProblems,
    kinds: Vec<(&'static str, Cow<'static, str>)>,
}

async fn show(
    state: &ConsoleState,
    signed_in: &SignedIn,
    cursor: Option<String>,
    fields: Fields,
    problems: FieldProblems,
) -> PageResult {
    let place = PageParams::at(cursor, ROWS);
    let found = budgets::list(state, &signed_in.caller, place).await?;
    let mut wanted = WantedNames::default();
    for of in &found.items {
        wanted.add(of.kind, &of.id);
    }
    let names = wanted.find(state, &signed_in.caller).await?;
    let mut lines = Vec::new();
    for of in found.items {
        let spent = budgets::get(state, &signed_in.caller, of.kind, &of.id).await?;
        let member = member_parts(&of.id).filter(|_| of.kind == SubjectKind::Member);
        let filter = match member {
            Some((owner, _)) => [("owner", owner)],
            None => [("search", of.id.as_str())],
        };
        lines.push(BudgetLine {
            keys: text::path_with("/keys", &filter),
            team: member.map(|_| path_of(of.kind, &of.id)),
            per_day: of
                .budget
                .per_day
                .map_or_else(ShownAmount::default, |amount| ShownAmount::of("", &amount)),
            per_month: of
                .budget
                .per_month
                .map_or_else(ShownAmount::default, |amount| ShownAmount::of("", &amount)),
            today: sums(&spent.today),
            this_month: sums(&spent.this_month),
            kind: of.kind,
            name: names.of(of.kind, &of.id),
            page: match of.kind {
                SubjectKind::Team => format!("/teams/{}", text::in_path(&of.id)),
                _ => page_of(&of.id),
            },
            id: of.id,
        });
    }
    let whose = teams_and_people(state, signed_in, &fields, &problems).await?;
    let failed = !problems.is_empty();
    form_page(
        &BudgetsPage {
            shell: signed_in.shell(t!("Budgets")),
            lines,
            next: found.next,
            may_change: signed_in.caller.may(rights::CHANGE_BUDGETS),
            whose,
            budget_hint: limit_fields::budget_hint(&currency::current()),
            fields,
            problems,
            kinds: vec![("team", t!("A team")), ("owner", t!("An owner of keys"))],
        },
        failed,
    )
}

/// The field of the id, which offers teams first and then people.
async fn teams_and_people(
    state: &ConsoleState,
    signed_in: &SignedIn,
    fields: &Fields,
    problems: &FieldProblems,
) -> Result<OwnerField, PageProblem> {
    let caller = &signed_in.caller;
    let team = ("id", SubjectKind::Team, "");
    let person = ("id", SubjectKind::Owner, "");
    let mut whose = OwnerField::of(state, caller, team, fields, problems).await?;
    let people = OwnerField::of(state, caller, person, fields, problems).await?;
    whose.offered.choices.extend(people.offered.choices);
    whose.offered.has_more |= people.offered.has_more;
    Ok(whose)
}

/// All budgets of members, owners and teams.
pub async fn list(Visit { state, signed_in }: Visit, asked: Fields) -> PageResult {
    let cursor = asked.given("cursor");
    // Another link may fill the form in.
    show(&state, &signed_in, cursor, asked, FieldProblems::default()).await
}

/// Gives an owner or a team a budget, or takes it.
pub async fn save(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let mut problems = FieldProblems::default();
    if is_search(&fields) {
        return show(&state, &signed_in, None, fields, problems).await;
    }
    let id = fields.get("id");
    if id.is_empty() {
        problems.push("id", text!("is missing"));
    }
    let kind = SubjectKind::named(fields.get("kind")).filter(|_| problems.is_empty());
    let Some(kind) = kind else {
        return show(&state, &signed_in, None, fields, problems).await;
    };
    let amount = |name: &str| fields.given(name);
    let saved = if fields.is_set("remove") {
        let removed = budgets::remove(&state, &signed_in.caller, kind, id).await;
        removed.map(|()| Notice::Removed)
    } else {
        let new = BudgetBody {
            per_day: amount("per_day"),
            per_month: amount("per_month"),
        };
        let set = budgets::set(&state, &signed_in.caller, kind, id, new).await;
        set.map(|_| Notice::Saved)
    };
    match saved {
        Ok(notice) => Ok(done("/budgets", notice)),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            show(&state, &signed_in, None, fields, problems).await
        }
    }
}
