//! People: who there is, inviting by a link, roles, and an end to it.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, Method};

use super::confirm::ShownOnce;
use super::form::Fields;
use super::text;
use super::{
    FieldProblems, Notice, PageProblem, PageShell, SignedForm, SignedIn, done, form_page, page,
};
use crate::api::erasures::{self, ErasureView};
use crate::api::paging::PageParams;
use crate::api::parts::{Body, InPath, Params};
use crate::api::people::{self, NewPersonBody, PersonChangeBody, PersonView};
use crate::api::{ApiProblem, ConsoleState, Role, sign_in_links};

/// The people of a page.
const ROWS: u16 = 50;
/// The erasures of a page.
const ERASURES: u16 = 20;
/// The roles that people have. Agents are added on the page Settings.
const ROLES: [(&str, &str); 3] = [
    ("member", "Member: sees what is their own"),
    ("viewer", "Viewer: sees everything, changes nothing"),
    ("admin", "Admin: may do everything"),
];

/// A person, in a line.
struct PersonLine {
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
    roles: Vec<(&'static str, &'static str)>,
    /// The latest erasures, each with the path of what the pseudonym has used.
    erasures: Vec<(ErasureView, String)>,
}

#[derive(Template)]
#[template(path = "person_erase.html")]
struct ErasePage {
    shell: PageShell,
    person: PersonView,
    /// Whether it is whoever looks at it.
    is_own: bool,
    action: String,
}

/// The path of a person's forms. Ids may have any letters.
fn path_of(act: &str, id: &str) -> String {
    format!("/people/{}/{act}", text::in_path(id))
}

async fn show(
    state: ConsoleState,
    signed_in: &SignedIn,
    cursor: Option<String>,
    fields: Fields,
    problems: FieldProblems,
) -> Result<Response, PageProblem> {
    signed_in.api(Method::GET, "/api/v1/people")?;
    let place = PageParams {
        cursor,
        limit: Some(ROWS),
    };
    signed_in.api(Method::GET, "/api/v1/erasures")?;
    let latest = PageParams {
        cursor: None,
        limit: Some(ERASURES),
    };
    let erasures = erasures::list(State(state.clone()), Params(latest)).await?;
    let erasures = erasures.0.items.into_iter().map(|erasure| {
        let of = [("owner", erasure.pseudonym.as_str())];
        let usage = text::path_with("/usage", &of);
        (erasure, usage)
    });
    let found = people::list(State(state), Params(place)).await?.0;
    let lines = found.items.into_iter().map(|person| PersonLine {
        path: path_of("", &person.id),
        keys: super::text::path_with("/keys", &[("owner", &person.id)]),
        person,
    });
    let failed = !problems.is_empty();
    form_page(
        &PeoplePage {
            shell: signed_in.shell("People"),
            people: lines.collect(),
            next: found.next,
            may_change: signed_in.may(&Method::POST, "/api/v1/people"),
            fields,
            problems,
            roles: ROLES.to_vec(),
            erasures: erasures.collect(),
        },
        failed,
    )
}

/// Everybody.
pub async fn list(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    RawQuery(query): RawQuery,
) -> Result<Response, PageProblem> {
    let asked = Fields::parse(query.unwrap_or_default().as_bytes());
    let cursor = asked.given("cursor");
    let (fields, problems) = (Fields::default(), FieldProblems::default());
    show(state, &signed_in, cursor, fields, problems).await
}

/// The role of a form.
fn role(fields: &Fields, problems: &mut FieldProblems) -> Role {
    let role = Role::parse(fields.get("role")).filter(|role| *role != Role::Agent);
    if role.is_none() {
        problems.push("role", "must be one of those above");
    }
    role.unwrap_or(Role::Member)
}

/// Adds a person and shows the link that invites them, this once.
pub async fn invite(
    State(state): State<ConsoleState>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let SignedForm { signed_in, fields } = sent;
    let caller = signed_in.api(Method::POST, "/api/v1/people")?;
    let mut problems = FieldProblems::default();
    let new = NewPersonBody {
        id: fields.get("id").to_owned(),
        name: fields.get("name").to_owned(),
        role: role(&fields, &mut problems),
    };
    if problems.is_empty() {
        let made = people::create(State(state.clone()), caller, HeaderMap::new(), Body(new)).await;
        match made {
            Ok(_) => return link_page(state, &signed_in, fields.get("id")).await,
            Err(problem) => problems = FieldProblems::of(problem)?,
        }
    }
    show(state, &signed_in, None, fields, problems).await
}

/// Makes another link for a person, shown this once.
pub async fn link(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    link_page(state, &sent.signed_in, &id).await
}

/// Voids a link that was made for a person.
pub async fn revoke_link(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let signed_in = sent.signed_in;
    let caller = signed_in.api(Method::DELETE, "/api/v1/people/{id}/sign-in-link")?;
    sign_in_links::revoke(State(state), caller, InPath(id)).await?;
    Ok(done("/people", Notice::LinkRevoked))
}

async fn link_page(
    state: ConsoleState,
    signed_in: &SignedIn,
    id: &str,
) -> Result<Response, PageProblem> {
    let caller = signed_in.api(Method::POST, "/api/v1/people/{id}/sign-in-link")?;
    let made = sign_in_links::create(State(state), caller, InPath(id.to_owned())).await?;
    let link = made.1.0;
    page(&ShownOnce {
        shell: signed_in.shell(format!("A link for {id}")),
        crumb: ("People".to_owned(), "/people".to_owned()),
        value: Some(link.path),
        is_path: true,
        text: "Whoever opens it is signed in as this person, once. Send it where nobody else reads it. An earlier link is void.".to_owned(),
        until: Some(link.expires_at),
    })
}

/// Gives a person another name or role, or disables or enables them. Sessions of before end with the role.
pub async fn change(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let SignedForm { signed_in, fields } = sent;
    let caller = signed_in.api(Method::PATCH, "/api/v1/people/{id}")?;
    let mut problems = FieldProblems::default();
    let change = PersonChangeBody {
        name: None,
        role: fields.given("role").map(|_| role(&fields, &mut problems)),
        disabled: match fields.get("disabled") {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        },
    };
    if !problems.is_empty() {
        return Err(ApiProblem::invalid("role", "must be member, viewer or admin").into());
    }
    match people::change(State(state.clone()), caller, InPath(id), Body(change)).await {
        Ok(_) => Ok(done("/people", Notice::Saved)),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            show(state, &signed_in, None, Fields::default(), problems).await
        }
    }
}

/// Asks whether the data of a person is to be erased, and says what goes and what stays.
pub async fn confirm_erase(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Response, PageProblem> {
    signed_in.api(Method::DELETE, "/api/v1/people/{id}/data")?;
    let person = people::find(&state, &id).await?;
    page(&ErasePage {
        shell: signed_in.shell("Erase data"),
        is_own: signed_in.id() == person.id,
        action: path_of("erase", &person.id),
        person,
    })
}

/// Erases the data of a person.
pub async fn erase(
    State(state): State<ConsoleState>,
    Path(id): Path<String>,
    sent: SignedForm,
) -> Result<Response, PageProblem> {
    let signed_in = sent.signed_in;
    let caller = signed_in.api(Method::DELETE, "/api/v1/people/{id}/data")?;
    let begun = erasures::begin(State(state.clone()), caller, InPath(id)).await;
    match begun {
        Ok(_) => Ok(done("/people", Notice::DataErased)),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            show(state, &signed_in, None, Fields::default(), problems).await
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
