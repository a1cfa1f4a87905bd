//! Teams: who is in them, and which keys their members may make by themselves.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::Method;

use super::confirm::Confirm;
use super::documents::path_with;
use super::form::Fields;
use super::keys::{once, terms};
use super::{
    FieldProblems, Notice, PageProblem, PageShell, SignedForm, SignedIn, allowed, done, form_page,
    page,
};
use crate::allowance::KeyAllowance;
use crate::api::paging::PageParams;
use crate::api::parts::{Body, InPath, Params};
use crate::api::team_members::{self, TeamMemberBody, TeamMemberView};
use crate::api::teams::{self, NewTeamBody, TeamChangeBody, TeamView};
use crate::api::{ApiProblem, Caller, ConsoleState, key_models};

/// The teams, or the members, of a page.
const ROWS: u16 = 50;

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

/// A team, in a line.
struct TeamLine {
    path: String,
    budget: String,
    requests: String,
    allows: String,
    team: TeamView,
}

#[derive(Template)]
#[template(path = "teams.html")]
struct TeamsPage {
    shell: PageShell,
    lines: Vec<TeamLine>,
    next: Option<String>,
    may_change: bool,
    form: TeamForm,
}

#[derive(Template)]
#[template(path = "team.html")]
struct TeamPage {
    shell: PageShell,
    line: TeamLine,
    members: Vec<TeamMemberView>,
    next: Option<String>,
    may_change: bool,
    form: TeamForm,
    member: Fields,
    member_problems: FieldProblems,
}

/// The form of a team, new or not.
struct TeamForm {
    action: String,
    is_new: bool,
    fields: Fields,
    problems: FieldProblems,
    groups: String,
    names: Vec<&'static str>,
    numbers: Vec<(String, &'static str)>,
}

impl TeamForm {
    async fn new(
        state: &ConsoleState,
        action: String,
        is_new: bool,
        fields: Fields,
        problems: FieldProblems,
    ) -> Result<Self, PageProblem> {
        let groups = key_models::groups(state).await?;
        let groups: Vec<String> = groups.into_iter().map(|(id, _)| id).collect();
        let numbers = terms::NUMBERS.map(|(name, title)| (format!("limits.{name}"), title));
        let budgets = terms::BUDGETS.map(|(name, title)| (format!("limits.budget.{name}"), title));
        Ok(Self {
            action,
            is_new,
            fields,
            problems,
            groups: groups.join(", "),
            names: FIELDS.to_vec(),
            numbers: numbers.into_iter().chain(budgets).collect(),
        })
    }
}

/// The path of a team, or of what is done to it.
fn path_of(id: &str, act: &str) -> String {
    // Ids are letters, digits and - _ . : only, which a path has as they are.
    format!("/teams/{id}{act}")
}

fn line(team: TeamView) -> TeamLine {
    let allowance = team.allowance.as_ref();
    TeamLine {
        path: path_of(&team.id, ""),
        budget: path_with("/budgets", &[("kind", "team"), ("id", &team.id)]),
        requests: path_with("/requests", &[("team", &team.id)]),
        allows: allowance.map_or_else(
            || "No keys: an admin makes them.".to_owned(),
            |allowance| {
                format!(
                    "{} keys each. {}",
                    allowance.keys,
                    allowed::terms(allowance)
                )
            },
        ),
        team,
    }
}

/// The fields as they are for a team.
fn fields_of(team: &TeamView) -> Fields {
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

/// What a form allows; `None`: no keys.
fn allowance(
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
            problems.push(name, "must be a whole number");
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

/// What the API says of a team, at the fields of the form.
fn placed(problem: ApiProblem) -> Result<FieldProblems, PageProblem> {
    let below = problem.placed().to_vec();
    let mut problems = FieldProblems::of(problem)?;
    for placed in below {
        if let Some(field) = placed.path.strip_prefix("allowance.") {
            problems.push(field, &placed.reason);
        }
    }
    Ok(problems)
}

async fn show_all(
    state: ConsoleState,
    signed_in: &SignedIn,
    cursor: Option<String>,
    fields: Fields,
    problems: FieldProblems,
) -> Result<Response, PageProblem> {
    signed_in.api(Method::GET, "/api/v1/teams")?;
    let place = PageParams {
        cursor,
        limit: Some(ROWS),
    };
    let found = teams::list(State(state.clone()), Params(place)).await?.0;
    let form = TeamForm::new(&state, "/teams".to_owned(), true, fields, problems).await?;
    let failed = !form.problems.is_empty();
    let page = TeamsPage {
        shell: signed_in.shell("Teams"),
        lines: found.items.into_iter().map(line).collect(),
        next: found.next,
        may_change: signed_in.may(&Method::POST, "/api/v1/teams"),
        form,
    };
    form_page(&page, failed)
}

/// All teams.
pub async fn list(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    RawQuery(query): RawQuery,
) -> Result<Response, PageProblem> {
    let asked = Fields::parse(query.unwrap_or_default().as_bytes());
    let fields = Fields::once()?;
    show_all(
        state,
        &signed_in,
        asked.given("cursor"),
        fields,
        FieldProblems::default(),
    )
    .await
}

/// Adds a team.
pub async fn create(
    State(state): State<ConsoleState>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let SignedForm { signed_in, fields } = sent;
    let caller = signed_in.api(Method::POST, "/api/v1/teams")?;
    let mut problems = FieldProblems::default();
    let new = NewTeamBody {
        id: fields.get("id").to_owned(),
        name: fields.given("name"),
        allowance: allowance(&fields, None, &mut problems),
    };
    if problems.is_empty() {
        let id = new.id.clone();
        match teams::create(State(state.clone()), caller, once(&fields), Body(new)).await {
            Ok(_) => return Ok(done(&path_of(&id, ""), Notice::Saved)),
            Err(problem) => problems = placed(problem)?,
        }
    }
    show_all(state, &signed_in, None, fields, problems).await
}

async fn find(
    state: &ConsoleState,
    signed_in: &SignedIn,
    id: &str,
) -> Result<TeamView, PageProblem> {
    signed_in.api(Method::GET, "/api/v1/teams/{id}")?;
    Ok(teams::get(State(state.clone()), InPath(id.to_owned()))
        .await?
        .0)
}

/// What is shown of a team beside what is stored: a form that was sent, with what is wrong.
#[derive(Default)]
struct SentForms {
    cursor: Option<String>,
    team: Option<(Fields, FieldProblems)>,
    member: (Fields, FieldProblems),
}

async fn show_one(
    state: ConsoleState,
    signed_in: &SignedIn,
    id: &str,
    sent: SentForms,
) -> Result<Response, PageProblem> {
    let team = find(&state, signed_in, id).await?;
    signed_in.api(Method::GET, "/api/v1/teams/{id}/members")?;
    let place = PageParams {
        cursor: sent.cursor,
        limit: Some(ROWS),
    };
    let of = InPath(id.to_owned());
    let found = team_members::list(State(state.clone()), of, Params(place))
        .await?
        .0;
    let stored = || (fields_of(&team), FieldProblems::default());
    let (fields, problems) = sent.team.unwrap_or_else(stored);
    let form = TeamForm::new(&state, path_of(id, ""), false, fields, problems).await?;
    let (member, member_problems) = sent.member;
    let failed = !form.problems.is_empty() || !member_problems.is_empty();
    let page = TeamPage {
        shell: signed_in.shell(&team.name),
        line: line(team),
        members: found.items,
        next: found.next,
        may_change: signed_in.may(&Method::PATCH, "/api/v1/teams/{id}"),
        form,
        member,
        member_problems,
    };
    form_page(&page, failed)
}

/// One team.
pub async fn one(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageProblem> {
    let asked = Fields::parse(query.unwrap_or_default().as_bytes());
    let sent = SentForms {
        cursor: asked.given("cursor"),
        ..SentForms::default()
    };
    show_one(state, &signed_in, &id, sent).await
}

/// Changes a team.
pub async fn change(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let SignedForm { signed_in, fields } = sent;
    let caller = signed_in.api(Method::PATCH, "/api/v1/teams/{id}")?;
    let before = find(&state, &signed_in, &id).await?;
    let mut problems = FieldProblems::default();
    let change = TeamChangeBody {
        name: fields.given("name"),
        allowance: Some(allowance(&fields, before.allowance.as_ref(), &mut problems)),
    };
    if problems.is_empty() {
        let of = InPath(id.clone());
        match teams::change(State(state.clone()), caller, of, Body(change)).await {
            Ok(_) => return Ok(done(&path_of(&id, ""), Notice::Saved)),
            Err(problem) => problems = placed(problem)?,
        }
    }
    let sent = SentForms {
        team: Some((fields, problems)),
        ..SentForms::default()
    };
    show_one(state, &signed_in, &id, sent).await
}

/// Asks whether a team is to be removed.
pub async fn confirm_remove(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Response, PageProblem> {
    signed_in.api(Method::DELETE, "/api/v1/teams/{id}")?;
    let team = find(&state, &signed_in, &id).await?;
    page(&Confirm {
        shell: signed_in.shell("Remove the team?"),
        crumb: (team.name.clone(), path_of(&id, "")),
        text: format!(
            "Nobody is a member of {} any more, or makes keys of it. Its keys go on naming it, and its budget goes on holding.",
            team.name
        ),
        action: path_of(&id, "/remove"),
        hidden: Vec::new(),
        button: "Remove team",
        back: path_of(&id, ""),
    })
}

/// Removes a team.
pub async fn remove(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let caller = sent.signed_in.api(Method::DELETE, "/api/v1/teams/{id}")?;
    teams::remove(State(state), caller, InPath(id)).await?;
    Ok(done("/teams", Notice::Removed))
}

/// The caller, who may change members, and of whom.
fn member_of(
    signed_in: &SignedIn,
    method: Method,
    id: &str,
    fields: &Fields,
) -> Result<(Caller, InPath<(String, String)>), PageProblem> {
    let caller = signed_in.api(method, "/api/v1/teams/{id}/members/{person}")?;
    let person = fields.get("person").to_owned();
    Ok((caller, InPath((id.to_owned(), person))))
}

/// Adds a member, or says whether it is a manager.
pub async fn set_member(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let SignedForm { signed_in, fields } = sent;
    let (caller, of) = member_of(&signed_in, Method::PUT, &id, &fields)?;
    let body = TeamMemberBody {
        manager: fields.is_set("manager"),
    };
    match team_members::set(State(state.clone()), caller, of, Body(body)).await {
        Ok(_) => Ok(done(&path_of(&id, ""), Notice::Saved)),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            let sent = SentForms {
                member: (fields, problems),
                ..SentForms::default()
            };
            show_one(state, &signed_in, &id, sent).await
        }
    }
}

/// Asks whether a member is to leave.
pub async fn confirm_leave(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageProblem> {
    let asked = Fields::parse(query.unwrap_or_default().as_bytes());
    member_of(&signed_in, Method::DELETE, &id, &asked)?;
    let team = find(&state, &signed_in, &id).await?;
    let person = asked.get("person").to_owned();
    page(&Confirm {
        shell: signed_in.shell("Take the member out?"),
        crumb: (team.name.clone(), path_of(&id, "")),
        text: format!(
            "{person} makes no more keys of {}. Keys that were made stay: disable those too where that is meant.",
            team.name
        ),
        action: path_of(&id, "/leave"),
        hidden: vec![("person", person)],
        button: "Take out",
        back: path_of(&id, ""),
    })
}

/// Takes a member out.
pub async fn leave(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let (caller, of) = member_of(&sent.signed_in, Method::DELETE, &id, &sent.fields)?;
    team_members::remove(State(state), caller, of).await?;
    Ok(done(&path_of(&id, ""), Notice::Removed))
}
