//! Making a key for oneself, within what a team allows.

use askama::Template;

use super::own::{add_groups, allows, has_room, own_teams};
use crate::cases::ConsoleState;
use crate::cases::budgets::BudgetBody;
use crate::cases::me::keys::{self, OwnKeyBody};
use crate::cases::names::WantedNames;
use crate::cases::rights;
use crate::pages::currency;
use crate::pages::form::Fields;
use crate::pages::keys::{MadeKeyPlace, group_choices, made_page, terms};
use crate::pages::{FieldProblems, PageResult, PageShell, SignedForm, SignedIn, Visit, form_page};

/// The names of the fields.
const FIELDS: [&str; 7] = [
    "team",
    "group",
    "label",
    "models",
    "budget.per_day",
    "budget.per_month",
    "expires_at",
];

#[derive(Template)]
#[template(path = "me_new_key.html")]
struct NewKeyPage {
    shell: PageShell,
    /// The teams that let one make one more, and what each allows.
    teams: Vec<(String, String)>,
    allowed: Vec<(String, String)>,
    groups: Vec<(String, String)>,
    /// The hint at the budgets, with their currency.
    budget_hint: String,
    fields: Fields,
    problems: FieldProblems,
    names: Vec<&'static str>,
}

fn budget_hint() -> String {
    let currency = currency::current();
    if currency.is_empty() {
        return t!("Empty: as much as your team allows.").into_owned();
    }
    t!(
        "In {currency}. Empty: as much as your team allows.",
        currency = currency
    )
}

async fn form(
    state: &ConsoleState,
    signed_in: &SignedIn,
    fields: Fields,
    problems: FieldProblems,
) -> PageResult {
    let mut teams = own_teams(state, signed_in).await?;
    teams.retain(has_room);
    let allowances = teams.iter().filter_map(|team| team.allowance.as_ref());
    let may: Vec<&String> = allowances.flat_map(|allowance| &allowance.groups).collect();
    let in_force = group_choices(state, signed_in).await?.into_iter();
    let groups = in_force.filter(|(id, _)| may.contains(&id));
    let mut wanted = WantedNames::default();
    add_groups(&mut wanted, &teams);
    let names = wanted.find(state, &signed_in.caller).await?;
    let failed = !problems.is_empty();
    form_page(
        &NewKeyPage {
            shell: signed_in.shell(t!("Create a key")),
            groups: groups.collect(),
            budget_hint: budget_hint(),
            allowed: teams
                .iter()
                .map(|team| (team.name.clone(), allows(team, &names)))
                .collect(),
            teams: teams.into_iter().map(|team| (team.id, team.name)).collect(),
            fields,
            problems,
            names: FIELDS.to_vec(),
        },
        failed,
    )
}

/// The form for a new key.
pub async fn new(Visit { state, signed_in }: Visit) -> PageResult {
    signed_in.caller.must(rights::CHANGE_OWN_KEYS)?;
    form(
        &state,
        &signed_in,
        Fields::once()?,
        FieldProblems::default(),
    )
    .await
}

/// Makes a key and shows it, this once.
pub async fn create(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let amount = |name: &str| fields.given(name);
    let budget = BudgetBody {
        per_day: amount("budget.per_day"),
        per_month: amount("budget.per_month"),
    };
    let has_budget = budget.per_day.is_some() || budget.per_month.is_some();
    let new = OwnKeyBody {
        team: fields.get("team").to_owned(),
        group: fields.get("group").to_owned(),
        label: fields.given("label"),
        models: terms::models(&fields),
        budget: has_budget.then_some(budget),
        expires_at: terms::expires_at(&fields),
    };
    match keys::create(&state, &signed_in.caller, Some(fields.get("once")), new).await {
        Ok(made) => made_page(&state, &signed_in, made.body, MadeKeyPlace::made()).await,
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            form(&state, &signed_in, fields, problems).await
        }
    }
}
