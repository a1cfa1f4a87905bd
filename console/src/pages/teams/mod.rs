//! Teams: who is in them, and which keys their members may make by themselves.

mod form;
mod members;

use askama::Template;
use axum::extract::Path;
use trilane::limits::SubjectKind;

pub use self::members::{confirm_leave, leave, set_member};

use self::form::{TeamForm, allowance, fields_of, placed};
use super::confirm::Confirm;
use super::form::Fields;
use super::owner_field::OwnerField;
use super::text::path_with;
use super::{
    FieldProblems, Notice, PageProblem, PageResult, PageShell, SignedForm, SignedIn, Visit,
    allowed, done, form_page, page,
};
use crate::allowance::KeyAllowance;
use crate::cases::ConsoleState;
use crate::cases::names::{Name, Names, WantedNames};
use crate::cases::paging::PageParams;
use crate::cases::rights;
use crate::cases::team_members::{self, TeamMemberView};
use crate::cases::teams::{self, NewTeamBody, TeamChangeBody, TeamView};
use crate::language::gap;

/// The teams, or the members, of a page.
const ROWS: u16 = 50;

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
    members: Vec<(TeamMemberView, Name)>,
    next: Option<String>,
    /// Whether whoever looks says who is in it; an admin changes the team too, and says who manages it.
    may_manage: bool,
    keys: String,
    usage: String,
    statement: String,
    form: Option<TeamForm>,
    /// The people that an admin may choose among.
    person: OwnerField,
    member: Fields,
    member_problems: FieldProblems,
}

/// The path of a team, or of what is done to it.
fn path_of(id: &str, act: &str) -> String {
    // Ids are letters, digits and - _ . : only, which a path has as they are.
    format!("/teams/{id}{act}")
}

/// Adds the groups that members may make keys of to the names of a page.
fn want_groups(wanted: &mut WantedNames, team: &TeamView) {
    if let Some(allowance) = &team.allowance {
        let groups = allowance.groups.iter().map(String::as_str);
        wanted.all(SubjectKind::Group, groups);
    }
}

fn line(team: TeamView, names: &Names) -> TeamLine {
    let allowance = team.allowance.as_ref();
    TeamLine {
        path: path_of(&team.id, ""),
        budget: path_with("/budgets", &[("kind", "team"), ("id", &team.id)]),
        requests: path_with("/requests", &[("team", &team.id)]),
        allows: allowance.map_or_else(
            || t!("None, an admin makes them.").into_owned(),
            |allowance| {
                let keys = match allowance.keys {
                    1 => t!("1 key each.").into_owned(),
                    more => t!("{count} keys each.", count = more),
                };
                let groups = allowance.groups.iter();
                let named = KeyAllowance {
                    groups: groups.map(|id| names.group(id).text).collect(),
                    ..allowance.clone()
                };
                format!("{keys}{}{}", gap(), allowed::terms(&named))
            },
        ),
        team,
    }
}

async fn show_all(
    state: &ConsoleState,
    signed_in: &SignedIn,
    cursor: Option<String>,
    fields: Fields,
    problems: FieldProblems,
) -> PageResult {
    let place = PageParams::at(cursor, ROWS);
    let found = teams::list(state, &signed_in.caller, place).await?;
    let form = TeamForm::new(
        state,
        signed_in,
        "/teams".to_owned(),
        true,
        fields,
        problems,
    )
    .await?;
    let failed = !form.problems.is_empty();
    let mut wanted = WantedNames::default();
    for team in &found.items {
        want_groups(&mut wanted, team);
    }
    let names = wanted.find(state, &signed_in.caller).await?;
    let lines = found.items.into_iter().map(|team| line(team, &names));
    let page = TeamsPage {
        shell: signed_in.shell(t!("Teams")),
        lines: lines.collect(),
        next: found.next,
        may_change: signed_in.caller.may(rights::CHANGE_TEAMS),
        form,
    };
    form_page(&page, failed)
}

/// All teams.
pub async fn list(Visit { state, signed_in }: Visit, asked: Fields) -> PageResult {
    let fields = Fields::once()?;
    show_all(
        &state,
        &signed_in,
        asked.given("cursor"),
        fields,
        FieldProblems::default(),
    )
    .await
}

/// Adds a team.
pub async fn create(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let mut problems = FieldProblems::default();
    let new = NewTeamBody {
        id: fields.given("id"),
        name: fields.given("name"),
        allowance: allowance(&fields, None, &mut problems),
    };
    if problems.is_empty() {
        match teams::create(&state, &signed_in.caller, Some(fields.get("once")), new).await {
            Ok(made) => return Ok(done(&path_of(&made.body.id, ""), Notice::Saved)),
            Err(problem) => problems = placed(problem)?,
        }
    }
    show_all(&state, &signed_in, None, fields, problems).await
}

async fn find(
    state: &ConsoleState,
    signed_in: &SignedIn,
    id: &str,
) -> Result<TeamView, PageProblem> {
    Ok(teams::get(state, &signed_in.caller, id).await?)
}

/// The state of a team's page beside the stored one: a sent form, with its faults.
#[derive(Default)]
struct SentForms {
    cursor: Option<String>,
    team: Option<(Fields, FieldProblems)>,
    member: (Fields, FieldProblems),
}

async fn show_one(
    state: &ConsoleState,
    signed_in: &SignedIn,
    id: &str,
    sent: SentForms,
) -> PageResult {
    let team = find(state, signed_in, id).await?;
    let place = PageParams::at(sent.cursor, ROWS);
    let found = team_members::list(state, &signed_in.caller, id, place).await?;
    let stored = || (fields_of(&team), FieldProblems::default());
    let (fields, problems) = sent.team.unwrap_or_else(stored);
    let form = if signed_in.caller.may(rights::CHANGE_TEAMS) {
        let path = path_of(id, "");
        Some(TeamForm::new(state, signed_in, path, false, fields, problems).await?)
    } else {
        None
    };
    let (member, member_problems) = sent.member;
    let failed =
        form.as_ref().is_some_and(|form| !form.problems.is_empty()) || !member_problems.is_empty();
    let person = ("person", SubjectKind::Owner, "");
    let person =
        OwnerField::of(state, &signed_in.caller, person, &member, &member_problems).await?;
    let mut wanted = WantedNames::default();
    wanted.all(
        SubjectKind::Owner,
        found.items.iter().map(|of| of.person.as_str()),
    );
    want_groups(&mut wanted, &team);
    let names = wanted.find(state, &signed_in.caller).await?;
    let members = found.items.into_iter();
    let members = members.map(|of| {
        let name = names.owner(&of.person);
        (of, name)
    });
    let page = TeamPage {
        members: members.collect(),
        shell: signed_in.shell(&team.name),
        line: line(team, &names),
        next: found.next,
        may_manage: form.is_some() || signed_in.caller.manages(Some(id)),
        keys: path_with("/keys", &[("team", id)]),
        usage: path_with("/usage", &[("team", id)]),
        statement: path_with("/statement", &[("team", id)]),
        form,
        person,
        member,
        member_problems,
    };
    form_page(&page, failed)
}

/// One team.
pub async fn one(
    Visit { state, signed_in }: Visit,
    Path(id): Path<String>,
    asked: Fields,
) -> PageResult {
    let sent = SentForms {
        cursor: asked.given("cursor"),
        ..SentForms::default()
    };
    show_one(&state, &signed_in, &id, sent).await
}

/// Changes a team.
pub async fn change(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let before = find(&state, &signed_in, &id).await?;
    let mut problems = FieldProblems::default();
    let change = TeamChangeBody {
        name: fields.given("name"),
        allowance: Some(allowance(&fields, before.allowance.as_ref(), &mut problems)),
    };
    if problems.is_empty() {
        match teams::change(&state, &signed_in.caller, &id, change).await {
            Ok(_) => return Ok(done(&path_of(&id, ""), Notice::Saved)),
            Err(problem) => problems = placed(problem)?,
        }
    }
    let sent = SentForms {
        team: Some((fields, problems)),
        ..SentForms::default()
    };
    show_one(&state, &signed_in, &id, sent).await
}

/// Asks whether a team is to be removed.
pub async fn confirm_remove(
    Visit { state, signed_in }: Visit,
    Path(id): Path<String>,
) -> PageResult {
    signed_in.caller.must(rights::CHANGE_TEAMS)?;
    let team = find(&state, &signed_in, &id).await?;
    page(&Confirm {
        shell: signed_in.shell(t!("Remove the team {team}?", team = team.name)),
        crumb: (team.name.clone(), path_of(&id, "")),
        text: t!(
            "{team} loses its members, who can make no more keys of it. Keys made before go on working, and its budget still holds for them.",
            team = team.name
        ),
        action: path_of(&id, "/remove"),
        hidden: Vec::new(),
        button: text!("Remove team"),
        back: path_of(&id, ""),
    })
}

/// Removes a team.
pub async fn remove(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    teams::remove(&sent.state, &sent.signed_in.caller, &id).await?;
    Ok(done("/teams", Notice::Removed))
}
