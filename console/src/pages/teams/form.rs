//! The form of a team: its name, and what its members may make.

use crate::allowance::KeyAllowance;
use crate::cases::teams::TeamView;
use crate::cases::{ApiProblem, ConsoleState, key_models};
use crate::pages::form::Fields;
use crate::pages::keys::terms;
use crate::pages::{FieldProblems, PageProblem, SignedIn, currency, limit_fields};

/// The fields of a team's form; `allowance` is what the API calls what lies below it.
const FIELDS: [&str; 8] = [
    "id",
    "name",
    "allowance",
    "keys",
    "groups",
    "models",
    "lifetime_days",
    "limits",
];

/// The form of a team, new or not.
pub(super) struct TeamForm {
    pub(super) action: String,
    pub(super) is_new: bool,
    pub(super) fields: Fields,
    pub(super) problems: FieldProblems,
    /// The hint of the groups: those there are.
    pub(super) groups: String,
    pub(super) budget_hint: String,
    pub(super) names: Vec<&'static str>,
    pub(super) numbers: Vec<(String, &'static str)>,
}

impl TeamForm {
    pub(super) async fn new(
        state: &ConsoleState,
        signed_in: &SignedIn,
        action: String,
        is_new: bool,
        fields: Fields,
        problems: FieldProblems,
    ) -> Result<Self, PageProblem> {
        let groups = key_models::groups(state, &signed_in.caller).await?;
        let groups: Vec<String> = groups.into_iter().map(|(id, _)| id).collect();
        let mut numbers = limit_fields::numbers();
        numbers.extend(limit_fields::budgets());
        Ok(Self {
            action,
            is_new,
            fields,
            problems,
            groups: if groups.is_empty() {
                t!("Ids with commas between. There are none yet.").into()
            } else {
                t!(
                    "Ids with commas between. There are: {ids}.",
                    ids = groups.join(", ")
                )
            },
            budget_hint: limit_fields::budget_hint(&currency::current()),
            names: FIELDS.to_vec(),
            numbers,
        })
    }
}

/// The fields as they are for a team.
pub(super) fn fields_of(team: &TeamView) -> Fields {
    let fields = Fields::default().with("name", &team.name);
    let Some(allowance) = &team.allowance else {
        return fields;
    };
    let days = allowance.lifetime_days.map(|days| days.to_string());
    let fields = fields
        .with("allow", "yes")
        .with("keys", allowance.keys.to_string())
        .with("groups", allowance.groups.join(", "))
        .with(
            "models",
            allowance
                .models
                .iter()
                .flatten()
                .cloned()
                .collect::<Vec<_>>()
                .join(", "),
        )
        .with("lifetime_days", days.unwrap_or_default());
    terms::with_limits(fields, allowance.limits.as_ref())
}

/// Reads the allowance from a form; `None`: no keys.
pub(super) fn allowance(
    fields: &Fields,
    before: Option<&KeyAllowance>,
    problems: &mut FieldProblems,
) -> Option<KeyAllowance> {
    if !fields.is_set("allow") {
        return None;
    }
    let mut number = |name: &str| {
        let typed = fields.given(name)?;
        let number = typed.parse::<u32>().ok();
        if number.is_none() {
            problems.push(name, text!("must be a whole number"));
        }
        number
    };
    let keys = number("keys").unwrap_or_default();
    let lifetime_days = number("lifetime_days");
    let groups = fields.get("groups").split([',', ' ']).map(str::trim);
    let groups = groups.filter(|group| !group.is_empty());
    let before = before.and_then(|before| before.limits.as_ref());
    Some(KeyAllowance {
        keys,
        groups: groups.map(str::to_owned).collect(),
        models: terms::models(fields),
        limits: terms::limits(fields, before, problems),
        lifetime_days,
    })
}

/// Places the faults that the API reports for a team at the fields of the form.
pub(super) fn placed(problem: ApiProblem) -> Result<FieldProblems, PageProblem> {
    let below = problem.placed().to_vec();
    let mut problems = FieldProblems::of(problem)?;
    for placed in below {
        if let Some(field) = placed.path.strip_prefix("allowance.") {
            problems.push(field, &placed.reason);
        }
    }
    Ok(problems)
}
