//! The budgets that a manager sets in a team: of a member, and of a key.

use askama::Template;
use axum::extract::Path;

use super::form::Fields;
use super::keys::{name_of, path_of as path_of_key};
use super::{
    FieldProblems, Notice, PageResult, PageShell, SignedForm, SignedIn, Visit, currency, done,
    form_page, limit_fields,
};
use crate::cases::budgets::BudgetBody;
use crate::cases::keys::{self, KeyChangeBody, KeyView};
use crate::cases::{ApiProblem, ConsoleState, member_budgets, names, rights, team_members, teams};

#[derive(Template)]
#[template(path = "team_budget.html")]
struct TeamBudgetPage {
    shell: PageShell,
    crumbs: Vec<(String, String)>,
    text: String,
    action: String,
    back: String,
    hidden: Vec<(&'static str, String)>,
    hint: String,
    may_remove: bool,
    fields: Fields,
    problems: FieldProblems,
}

/// The amounts of a form.
fn amounts(fields: &Fields) -> BudgetBody {
    BudgetBody {
        per_day: fields.given("per_day"),
        per_month: fields.given("per_month"),
    }
}

fn with_amounts(fields: Fields, per_day: Option<&str>, per_month: Option<&str>) -> Fields {
    fields
        .with("per_day", per_day.unwrap_or_default())
        .with("per_month", per_month.unwrap_or_default())
}

async fn show_member(
    state: &ConsoleState,
    signed_in: &SignedIn,
    (id, person): (&str, &str),
    sent: Option<(Fields, FieldProblems)>,
) -> PageResult {
    let caller = &signed_in.caller;
    caller.must(rights::CHANGE_MEMBERS)?;
    let team = teams::get(state, caller, id).await?;
    let name = names::person(state, caller, person).await?;
    let found = team_members::get(state, caller, id, person).await?;
    let budget = found.budget.unwrap_or_default();
    let (fields, problems) = sent.unwrap_or_else(|| {
        let (day, month) = (budget.per_day.as_deref(), budget.per_month.as_deref());
        (
            with_amounts(Fields::default(), day, month),
            FieldProblems::default(),
        )
    });
    let failed = !problems.is_empty();
    let back = format!("/teams/{id}");
    form_page(
        &TeamBudgetPage {
            shell: signed_in.shell(t!("Budget of {person}", person = name.text)),
            crumbs: vec![(team.name.clone(), back.clone())],
            text: t!(
                "What {person} may spend with all keys of {team}, at most the team’s own budget. Empty: what the team lets each member spend.",
                person = name.text,
                team = team.name
            ),
            action: format!("{back}/budget"),
            back,
            hidden: vec![("person", person.to_owned())],
            hint: limit_fields::budget_hint(&currency::current()),
            may_remove: found.own_budget,
            fields,
            problems,
        },
        failed,
    )
}

/// Asks for the budget of a member.
pub async fn ask_member(
    Visit { state, signed_in }: Visit,
    Path(id): Path<String>,
    asked: Fields,
) -> PageResult {
    show_member(&state, &signed_in, (&id, asked.get("person")), None).await
}

/// Sets the budget of a member, or gives it back to the allowance.
pub async fn set_member(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let (caller, person) = (&signed_in.caller, fields.get("person"));
    let saved = if fields.is_set("remove") {
        let removed = member_budgets::remove(&state, caller, &id, person).await;
        removed.map(|()| Notice::Removed)
    } else {
        let set = member_budgets::set(&state, caller, &id, person, amounts(&fields)).await;
        set.map(|_| Notice::Saved)
    };
    match saved {
        Ok(notice) => Ok(done(&format!("/teams/{id}"), notice)),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            let person = person.to_owned();
            show_member(&state, &signed_in, (&id, &person), Some((fields, problems))).await
        }
    }
}

/// The key of a budget, for those who set it: a manager of its team, and an admin.
async fn managed_key(
    state: &ConsoleState,
    signed_in: &SignedIn,
    id: &str,
) -> Result<KeyView, ApiProblem> {
    let caller = &signed_in.caller;
    caller.must(rights::CHANGE_KEY)?;
    let key = keys::get(state, caller, id).await?;
    if caller.may(rights::CHANGE_KEYS) || caller.manages(key.team.as_deref()) {
        return Ok(key);
    }
    Err(ApiProblem::not_found())
}

fn show_key(
    signed_in: &SignedIn,
    key: &KeyView,
    sent: Option<(Fields, FieldProblems)>,
) -> PageResult {
    let budget = key
        .limits
        .as_ref()
        .and_then(|limits| limits.budget.as_ref());
    let (fields, problems) = sent.unwrap_or_else(|| {
        let day = budget.and_then(|budget| budget.per_day.as_deref());
        let month = budget.and_then(|budget| budget.per_month.as_deref());
        let fields = Fields::default().with("revision", key.revision.clone().unwrap_or_default());
        (with_amounts(fields, day, month), FieldProblems::default())
    });
    let failed = !problems.is_empty();
    let back = path_of_key(&key.id);
    let revision = fields.get("revision").to_owned();
    form_page(
        &TeamBudgetPage {
            shell: signed_in.shell(t!("Budget of {key}", key = name_of(key))),
            crumbs: vec![(t!("Keys").into_owned(), "/keys".to_owned()), (name_of(key).to_owned(), back.clone())],
            text: t!("What this key may spend, at most its team’s own budget. An empty field: no limit of its own.").into_owned(),
            action: format!("{back}/budget"),
            back,
            hidden: vec![("revision", revision)],
            hint: limit_fields::budget_hint(&currency::current()),
            may_remove: false,
            fields,
            problems,
        },
        failed,
    )
}

/// Asks for the budget of a key.
pub async fn ask_key(Visit { state, signed_in }: Visit, Path(id): Path<String>) -> PageResult {
    let key = managed_key(&state, &signed_in, &id).await?;
    show_key(&signed_in, &key, None)
}

/// Sets the budget of a key.
pub async fn set_key(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let key = managed_key(&state, &signed_in, &id).await?;
    let mut limits = key.limits.clone().unwrap_or_default();
    let mut budget = limits.budget.take().unwrap_or_default();
    budget.per_day = fields.given("per_day");
    budget.per_month = fields.given("per_month");
    if budget.is_set() {
        limits.budget = Some(budget);
    }
    let change = KeyChangeBody {
        limits: Some(Some(limits)),
        revision: fields.given("revision"),
        ..KeyChangeBody::default()
    };
    match keys::change(&state, &signed_in.caller, &id, change).await {
        Ok(_) => Ok(done(&path_of_key(&id), Notice::Saved)),
        Err(problem) => {
            let mut problems = FieldProblems::default();
            for placed in problem.placed() {
                let path = placed.path.strip_prefix("limits.budget.");
                problems.push(path.unwrap_or(&placed.path), &placed.reason);
            }
            if problems.is_empty() {
                problems = FieldProblems::of(problem)?;
            }
            show_key(&signed_in, &key, Some((fields, problems)))
        }
    }
}
