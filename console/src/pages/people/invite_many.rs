//! Many people are invited: by their addresses, or by a table.

use std::borrow::Cow;

use askama::Template;
use csv::{ReaderBuilder, Trim};

use super::ROLES;
use crate::cases::ordered_keys::KeyOrderBody;
use crate::cases::people::NewPersonBody;
use crate::cases::people_bulk::{self, InvitedPerson, NewPeopleBody};
use crate::cases::rights;
use crate::cases::{ApiProblem, ConsoleState, Role};
use crate::language::{choices, translated};
use crate::pages::form::Fields;
use crate::pages::keys::{group_choices, terms};
use crate::pages::owner_field::{OwnerField, TEAM, is_search};
use crate::pages::{
    FieldProblems, PageProblem, PageResult, PageShell, SignedForm, SignedIn, Visit, currency,
    form_page, limit_fields, page,
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
    groups: Vec<(String, String)>,
    budgets: Vec<(String, &'static str)>,
    /// The currency and the days of the budgets.
    budget_hint: String,
    roles: Vec<(&'static str, Cow<'static, str>)>,
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
    let groups = ordered_groups(state, signed_in).await?;
    let (name, kind, _) = TEAM;
    // An invitation makes nobody a member of a team that there is not.
    let team = (name, kind, "");
    let team = OwnerField::of(state, &signed_in.caller, team, &fields, &problems).await?;
    form_page(
        &InvitePage {
            shell: signed_in.shell(t!("Invite many")),
            team,
            groups,
            budgets: limit_fields::budgets(),
            budget_hint: limit_fields::budget_hint(&currency::current()),
            fields,
            problems,
            roles: choices(&ROLES),
        },
        failed,
    )
}

/// The groups that an ordered key may be of, and none.
pub(super) async fn ordered_groups(
    state: &ConsoleState,
    signed_in: &SignedIn,
) -> Result<Vec<(String, String)>, PageProblem> {
    let none = (String::new(), t!("No key").into_owned());
    let groups = group_choices(state, signed_in).await?;
    Ok(core::iter::once(none).chain(groups).collect())
}

/// The key that a form orders; with no group where it orders none.
pub(super) fn ordered(fields: &Fields, problems: &mut FieldProblems) -> KeyOrderBody {
    KeyOrderBody {
        group: fields.get("key_group").to_owned(),
        label: fields.given("key_label"),
        team: fields.given("team"),
        models: None,
        expires_at: terms::expires_at(fields),
        limits: terms::limits(fields, None, problems),
    }
}

/// The people of a table: a line each, with an id and perhaps a name, a role, and the label and the group of a key. Ids are in lower case. What a
/// line does not say is as for everybody.
fn people(
    text: &str,
    role: Role,
    key: &KeyOrderBody,
    problems: &mut FieldProblems,
) -> Vec<NewPersonBody> {
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
                text!("is not a table: a line for each person, with commas between"),
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
            let reason = t!(
                "{person}: the role must be member, viewer or admin",
                person = id
            );
            problems.push("table", &reason);
        }
        let own = |number: usize| Some(cell(number).to_owned()).filter(|cell| !cell.is_empty());
        let (label, group) = (own(3), own(4).unwrap_or_else(|| key.group.clone()));
        if group.is_empty() && label.is_some() {
            let reason = t!(
                "{person}: the key needs a group, in the table or below",
                person = id
            );
            problems.push("table", &reason);
        }
        let ordered = KeyOrderBody {
            label: label.or_else(|| key.label.clone()),
            group,
            ..key.clone()
        };
        found.push(NewPersonBody {
            key: (!ordered.group.is_empty()).then_some(ordered),
            id,
            name: cell(1).to_owned(),
            role: named.unwrap_or(role),
        });
    }
    if found.is_empty() && problems.is_empty() {
        problems.push("table", text!("names nobody"));
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
            Some(id) => problems.push("table", &format!("{id}: {}", translated(&placed.reason))),
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
    let key = ordered(&fields, &mut problems);
    let people = people(fields.exact("table"), role, &key, &mut problems);
    if problems.is_empty() {
        let ids: Vec<String> = people.iter().map(|person| person.id.clone()).collect();
        let team = fields.given("team");
        let new = NewPeopleBody {
            people,
            team: team.clone(),
            key: None,
        };
        let once = Some(fields.get("once"));
        match people_bulk::create(&state, &signed_in.caller, once, new).await {
            Ok(made) => {
                let invited = made.body.invited;
                let first = invited.as_ref().and_then(|all| all.first());
                return page(&InvitedPage {
                    shell: signed_in.shell(t!("They are invited")),
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
            let found = people(table, Role::Member, &KeyOrderBody::default(), &mut problems);
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
            people(table, Role::Member, &KeyOrderBody::default(), &mut problems);
            assert_eq!(problems.at("table"), problem, "{table}");
        }
    }

    #[test]
    fn which_keys_a_table_orders() {
        let all = KeyOrderBody {
            group: "mixed".to_owned(),
            label: Some("Laptop".to_owned()),
            ..KeyOrderBody::default()
        };
        let none = KeyOrderBody::default();
        for (key, line, want) in [
            (&none, "ann", None),
            (&all, "ann", Some(("Laptop", "mixed"))),
            (&all, "ann,Ann,member,Notebook", Some(("Notebook", "mixed"))),
            (&all, "ann,,,,b-official", Some(("Laptop", "b-official"))),
            (
                &none,
                "ann,,,Notebook,b-official",
                Some(("Notebook", "b-official")),
            ),
        ] {
            let mut problems = FieldProblems::default();
            let found = people(line, Role::Member, key, &mut problems);
            let ordered = found[0].key.as_ref();
            let got =
                ordered.map(|key| (key.label.as_deref().unwrap_or_default(), key.group.as_str()));
            assert_eq!(got, want, "{line}");
            assert!(problems.is_empty(), "{line}");
        }
        let mut problems = FieldProblems::default();
        people("ann,,,Notebook", Role::Member, &none, &mut problems);
        assert_eq!(
            problems.at("table"),
            "ann: the key needs a group, in the table or below"
        );
    }
}
