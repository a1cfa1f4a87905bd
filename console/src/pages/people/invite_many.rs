//! Many people are invited: by their addresses, or by a table.

use askama::Template;
use csv::{ReaderBuilder, Trim};

use super::ROLES;
use crate::cases::people::NewPersonBody;
use crate::cases::people_bulk::{self, InvitedPerson, NewPeopleBody};
use crate::cases::rights;
use crate::cases::{ApiProblem, ConsoleState, Role};
use crate::pages::form::Fields;
use crate::pages::owner_field::{OwnerField, TEAM, is_search};
use crate::pages::{
    FieldProblems, PageResult, PageShell, SignedForm, SignedIn, Visit, form_page, page,
};

/// The headings that a first line may have.
const HEADINGS: [&str; 4] = ["id", "address", "email", "e-mail"];

#[derive(Template)]
#[template(path = "people_invite.html")]
struct InvitePage {
    shell: PageShell,
    fields: Fields,
    problems: FieldProblems,
    team: OwnerField,
    roles: Vec<(&'static str, &'static str)>,
}

#[derive(Template)]
#[template(path = "people_invited.html")]
struct InvitedPage {
    shell: PageShell,
    invited: Option<Vec<InvitedPerson>>,
    until: Option<String>,
    team: Option<String>,
}

async fn show(
    state: &ConsoleState,
    signed_in: &SignedIn,
    fields: Fields,
    problems: FieldProblems,
) -> PageResult {
    let failed = !problems.is_empty();
    let (name, kind, _) = TEAM;
    // An invitation makes nobody a member of a team that there is not.
    let team = (name, kind, "");
    let team = OwnerField::of(state, &signed_in.caller, team, &fields, &problems).await?;
    form_page(
        &InvitePage {
            shell: signed_in.shell("Invite many"),
            team,
            fields,
            problems,
            roles: ROLES.to_vec(),
        },
        failed,
    )
}

/// The people of a table: a line each, with an id and perhaps a name and a role. Ids are in lower case.
fn people(text: &str, role: Role, problems: &mut FieldProblems) -> Vec<NewPersonBody> {
    let semicolons = text.lines().next().is_some_and(|line| line.contains(';'));
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .delimiter(if semicolons { b';' } else { b',' })
        .from_reader(text.as_bytes());
    let mut found = Vec::new();
    for (place, record) in reader.records().enumerate() {
        let Ok(record) = record else {
            problems.push(
                "table",
                "is not a table: a line for each person, with commas between",
            );
            break;
        };
        let cell = |number: usize| record.get(number).unwrap_or_default();
        let id = cell(0).to_ascii_lowercase();
        if id.is_empty() || place == 0 && HEADINGS.contains(&id.as_str()) {
            continue;
        }
        let named = Role::parse(&cell(2).to_ascii_lowercase()).filter(|role| *role != Role::Agent);
        if named.is_none() && !cell(2).is_empty() {
            let reason = format!("{id}: the role must be member, viewer or admin");
            problems.push("table", &reason);
        }
        found.push(NewPersonBody {
            id,
            name: cell(1).to_owned(),
            role: named.unwrap_or(role),
        });
    }
    if found.is_empty() && problems.is_empty() {
        problems.push("table", "names nobody");
    }
    found
}

/// Asks who is to be invited.
pub async fn invite_many_form(Visit { state, signed_in }: Visit) -> PageResult {
    signed_in.caller.must(rights::CHANGE_PEOPLE)?;
    let fields = Fields::once()?.with("role", "member");
    show(&state, &signed_in, fields, FieldProblems::default()).await
}

/// Problems of people, each with the id that stands in its line.
fn at_lines(problem: &ApiProblem, ids: &[String], problems: &mut FieldProblems) {
    for placed in problem.placed() {
        let line = placed.path.strip_prefix("people[").and_then(|rest| {
            let (place, _) = rest.split_once(']')?;
            ids.get(place.parse::<usize>().ok()?)
        });
        match line {
            Some(id) => problems.push("table", &format!("{id}: {}", placed.reason)),
            None if placed.path == "people" => problems.push("table", &placed.reason),
            None => problems.push(&placed.path, &placed.reason),
        }
    }
}

/// Adds people and shows their links, this once.
pub async fn invite_many(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    signed_in.caller.must(rights::CHANGE_PEOPLE)?;
    let mut problems = FieldProblems::default();
    if is_search(&fields) {
        return show(&state, &signed_in, fields, problems).await;
    }
    let role = super::role(&fields, &mut problems);
    let people = people(fields.exact("table"), role, &mut problems);
    if problems.is_empty() {
        let ids: Vec<String> = people.iter().map(|person| person.id.clone()).collect();
        let team = fields.given("team");
        let new = NewPeopleBody {
            people,
            team: team.clone(),
        };
        let once = Some(fields.get("once"));
        match people_bulk::create(&state, &signed_in.caller, once, new).await {
            Ok(made) => {
                let invited = made.body.invited;
                let first = invited.as_ref().and_then(|all| all.first());
                return page(&InvitedPage {
                    shell: signed_in.shell("They are invited"),
                    until: first.map(|person| person.link.expires_at.clone()),
                    invited,
                    team,
                });
            }
            Err(problem) if problem.placed().is_empty() => problems = FieldProblems::of(problem)?,
            Err(problem) => at_lines(&problem, &ids, &mut problems),
        }
    }
    show(&state, &signed_in, fields, problems).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_people_a_table_has() {
        for (table, want) in [
            (
                "ann@example.com\nBOB@Example.com\n\n",
                vec![
                    ("ann@example.com", "", Role::Member),
                    ("bob@example.com", "", Role::Member),
                ],
            ),
            (
                "id,name,role\nann,\"Archer, Ann\",Admin\n",
                vec![("ann", "Archer, Ann", Role::Admin)],
            ),
            (
                "E-Mail;Name\r\nann;Ann\r\n",
                vec![("ann", "Ann", Role::Member)],
            ),
            (" ann , Ann ", vec![("ann", "Ann", Role::Member)]),
        ] {
            let mut problems = FieldProblems::default();
            let found = people(table, Role::Member, &mut problems);
            let found: Vec<_> = found
                .iter()
                .map(|new| (new.id.as_str(), new.name.as_str(), new.role))
                .collect();
            assert_eq!(found, want, "{table}");
            assert!(problems.is_empty(), "{table}");
        }
        for (table, problem) in [
            ("", "names nobody"),
            ("id,name", "names nobody"),
            (
                "ann,Ann,agent",
                "ann: the role must be member, viewer or admin",
            ),
        ] {
            let mut problems = FieldProblems::default();
            people(table, Role::Member, &mut problems);
            assert_eq!(problems.at("table"), problem, "{table}");
        }
    }
}
