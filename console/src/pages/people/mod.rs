//! People: who there is, inviting by a link, roles, and an end to it.

mod invite_many;
mod one;

pub use self::invite_many::{invite_many, invite_many_form};
pub use self::one::{
    cancel_key, confirm_disable, disable, enable, end_sign_in, one, save_notices, unlink,
};

use std::borrow::Cow;

use askama::Template;
use axum::extract::Path;

use crate::cases::erasures::{self, ErasureView};
use crate::cases::paging::PageParams;
use crate::cases::people::{self, NewPersonBody, PersonChangeBody, PersonView};
use crate::cases::rights;
use crate::cases::{ApiProblem, ConsoleState, Role, ordered_keys, sign_in_links};
use crate::language::choices;
use crate::pages::confirm::ShownOnce;
use crate::pages::form::Fields;
use crate::pages::keys::terms;
use crate::pages::{
    FieldProblems, Notice, PageProblem, PageResult, PageShell, SignedForm, SignedIn, Visit,
    currency, done, form_page, limit_fields, page, text,
};

/// The people of a page.
const ROWS: u16 = 50;
/// The erasures of a page.
const ERASURES: u16 = 20;
/// The roles that people have. Agents are added on the page Settings.
const ROLES: [(&str, &str); 3] = [
    ("member", text!("Member: sees their own")),
    ("viewer", text!("Viewer: sees everything, changes nothing")),
    ("admin", text!("Admin: may do everything")),
];

/// A person, in a line.
struct PersonLine {
    page: String,
    path: String,
    keys: String,
    person: PersonView,
}

#[derive(Template)]
#[template(path = "people.html")]
struct PeoplePage {
    shell: PageShell,
    people: Vec<PersonLine>,
    next: Option<String>,
    may_change: bool,
    fields: Fields,
    problems: FieldProblems,
    roles: Vec<(&'static str, Cow<'static, str>)>,
    /// The groups of the key that an invitation may order.
    groups: Vec<(String, String)>,
    budgets: Vec<(String, &'static str)>,
    /// The currency and the days of the budgets.
    budget_hint: String,
    may_order: bool,
    /// The latest erasures, each with the path of what the pseudonym has used.
    erasures: Vec<(ErasureView, String)>,
}

#[derive(Template)]
#[template(path = "person_erase.html")]
struct ErasePage {
    shell: PageShell,
    person: PersonView,
    /// The name, or the id of a person without one.
    name: String,
    page: String,
    /// Whether it is whoever looks at it.
    is_own: bool,
    action: String,
}

/// The path of a person's page.
pub fn page_of(id: &str) -> String {
    format!("/people/{}", text::in_path(id))
}

/// The path of a person's forms. Ids may have any letters.
fn path_of(act: &str, id: &str) -> String {
    format!("{}/{act}", page_of(id))
}

async fn show(
    state: &ConsoleState,
    signed_in: &SignedIn,
    cursor: Option<String>,
    fields: Fields,
    problems: FieldProblems,
) -> PageResult {
    let place = PageParams::at(cursor, ROWS);
    let latest = PageParams::first(ERASURES);
    let erasures = erasures::list(state, &signed_in.caller, latest).await?;
    let erasures = erasures.items.into_iter().map(|erasure| {
        let of = [("owner", erasure.pseudonym.as_str())];
        let usage = text::path_with("/usage", &of);
        (erasure, usage)
    });
    let may_order = signed_in.caller.may(rights::CHANGE_KEYS);
    let groups = if may_order {
        invite_many::ordered_groups(state, signed_in).await?
    } else {
        Vec::new()
    };
    let found = people::list(state, &signed_in.caller, place).await?;
    let lines = found.items.into_iter().map(|person| PersonLine {
        page: page_of(&person.id),
        path: path_of("", &person.id),
        keys: text::path_with("/keys", &[("owner", &person.id)]),
        person,
    });
    let failed = !problems.is_empty();
    form_page(
        &PeoplePage {
            shell: signed_in.shell(t!("People")),
            people: lines.collect(),
            next: found.next,
            may_change: signed_in.caller.may(rights::CHANGE_PEOPLE),
            fields,
            problems,
            roles: choices(&ROLES),
            groups,
            budgets: limit_fields::budgets(),
            budget_hint: limit_fields::budget_hint(&currency::current()),
            may_order,
            erasures: erasures.collect(),
        },
        failed,
    )
}

/// Everybody.
pub async fn list(Visit { state, signed_in }: Visit, asked: Fields) -> PageResult {
    let cursor = asked.given("cursor");
    let (fields, problems) = (Fields::default(), FieldProblems::default());
    show(&state, &signed_in, cursor, fields, problems).await
}

/// The role of a form.
fn role(fields: &Fields, problems: &mut FieldProblems) -> Role {
    let role = Role::parse(fields.get("role")).filter(|role| *role != Role::Agent);
    if role.is_none() {
        problems.push("role", text!("must be one of those above"));
    }
    role.unwrap_or(Role::Member)
}

/// Adds a person and shows the link that invites them, this once.
pub async fn invite(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let mut problems = FieldProblems::default();
    let key = invite_many::ordered(&fields, &mut problems);
    let is_ordered = !key.group.is_empty();
    if !is_ordered && (key.label.is_some() || key.limits.is_some()) {
        problems.push("key_group", text!("is missing: the key needs one"));
    }
    let new = NewPersonBody {
        id: fields.get("id").to_owned(),
        name: fields.get("name").to_owned(),
        role: role(&fields, &mut problems),
        key: is_ordered.then_some(key),
    };
    if problems.is_empty() {
        let made = people::create(&state, &signed_in.caller, None, new).await;
        match made {
            Ok(_) => return link_page(&state, &signed_in, fields.get("id")).await,
            Err(problem) => problems = at_fields(problem)?,
        }
    }
    show(&state, &signed_in, None, fields, problems).await
}

/// The problems of an invitation at its fields: those of the key have names of their own there.
fn at_fields(problem: ApiProblem) -> Result<FieldProblems, PageProblem> {
    let placed: Vec<(String, String)> = problem
        .placed()
        .iter()
        .map(|of| (of.path.clone(), of.reason.clone()))
        .collect();
    let mut problems = FieldProblems::of(problem)?;
    for (path, reason) in placed {
        let Some(of_key) = path.strip_prefix("key.") else {
            continue;
        };
        let field = match of_key {
            "group" | "label" => format!("key_{of_key}"),
            other => other.to_owned(),
        };
        problems.push(&field, &reason);
    }
    Ok(problems)
}

/// Makes another link for a person, shown this once.
pub async fn link(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    link_page(&sent.state, &sent.signed_in, &id).await
}

/// Voids a link that was made for a person.
pub async fn revoke_link(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    sign_in_links::revoke(&sent.state, &sent.signed_in.caller, &id).await?;
    Ok(done("/people", Notice::LinkRevoked))
}

async fn link_page(state: &ConsoleState, signed_in: &SignedIn, id: &str) -> PageResult {
    let link = sign_in_links::create(state, &signed_in.caller, id).await?;
    let ordered = ordered_keys::list(state, &signed_in.caller, id, PageParams::first(1)).await?;
    let text = if ordered.items.is_empty() {
        t!(
            "Whoever opens it is signed in as this person, once. Send it where nobody else reads it. An earlier link is void."
        )
    } else {
        t!(
            "Whoever opens it is signed in as this person, once, and is led to the key that is ordered for them. Send it where nobody else reads it. An earlier link is void."
        )
    };
    page(&ShownOnce {
        shell: signed_in.shell(t!("A link for {person}", person = id)),
        crumb: (t!("People").into_owned(), "/people".to_owned()),
        value: Some(link.path),
        is_path: true,
        text: text.into_owned(),
        until: Some(link.expires_at),
    })
}

/// Gives a person another name, role or group of keys. Sessions of before end with the role.
pub async fn change(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    signed_in.caller.must(rights::CHANGE_PEOPLE)?;
    let mut problems = FieldProblems::default();
    let change = PersonChangeBody {
        name: fields.has("name").then(|| fields.get("name").to_owned()),
        role: fields.given("role").map(|_| role(&fields, &mut problems)),
        disabled: None,
        key_group: fields.has("key_group").then(|| fields.given("key_group")),
        addresses: fields.has("addresses").then(|| terms::addresses(&fields)),
    };
    if !problems.is_empty() {
        return Err(ApiProblem::invalid("role", text!("must be member, viewer or admin")).into());
    }
    match people::change(&state, &signed_in.caller, &id, change).await {
        Ok(_) => Ok(done(&page_of(&id), Notice::Saved)),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            one::show(&state, &signed_in, &id, Some((Some(fields), problems))).await
        }
    }
}

/// Asks whether the data of a person is to be erased, and says what goes and what stays.
pub async fn confirm_erase(
    Visit { state, signed_in }: Visit,
    Path(id): Path<String>,
) -> PageResult {
    signed_in.caller.must(rights::CHANGE_PEOPLE)?;
    let person = people::get(&state, &signed_in.caller, &id).await?;
    page(&ErasePage {
        shell: signed_in.shell(t!("Erase data")),
        is_own: signed_in.caller.id == person.id,
        action: path_of("erase", &person.id),
        name: one::name(&person).to_owned(),
        page: page_of(&person.id),
        person,
    })
}

/// Erases the data of a person.
pub async fn erase(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let signed_in = sent.signed_in;
    let begun = erasures::begin(&sent.state, &signed_in.caller, &id).await;
    match begun {
        Ok(_) => Ok(done("/people", Notice::DataErased)),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            show(&sent.state, &signed_in, None, Fields::default(), problems).await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_any_id() {
        for (id, want) in [
            ("ann", "/people/ann/link"),
            ("Data team", "/people/Data%20team/link"),
            ("a/b?c+d", "/people/a%2Fb%3Fc%2Bd/link"),
        ] {
            assert_eq!(path_of("link", id), want, "{id}");
        }
    }
}
