//! The members of a team.

use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::Method;

use super::{SentForms, find, path_of, show_one};
use crate::api::parts::{Body, InPath};
use crate::api::team_members::{self, TeamMemberBody};
use crate::api::{Caller, ConsoleState};
use crate::pages::confirm::Confirm;
use crate::pages::form::Fields;
use crate::pages::{FieldProblems, Notice, PageProblem, SignedForm, SignedIn, done, page};

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
