//! The members of a team.

use axum::extract::Path;

use super::{SentForms, find, path_of, show_one};
use crate::cases::team_members::{self, TeamMemberBody};
use crate::cases::{names, rights};
use crate::pages::confirm::Confirm;
use crate::pages::form::Fields;
use crate::pages::owner_field::is_search;
use crate::pages::{FieldProblems, Notice, PageResult, SignedForm, Visit, done, page};

/// Adds a member, or says whether it is a manager.
pub async fn set_member(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let body = TeamMemberBody {
        manager: fields.is_set("manager"),
    };
    if is_search(&fields) {
        let sent = SentForms {
            member: (fields, FieldProblems::default()),
            ..SentForms::default()
        };
        return show_one(&state, &signed_in, &id, sent).await;
    }
    match team_members::set(&state, &signed_in.caller, &id, fields.get("person"), body).await {
        Ok(_) => Ok(done(&path_of(&id, ""), Notice::Saved)),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            let sent = SentForms {
                member: (fields, problems),
                ..SentForms::default()
            };
            show_one(&state, &signed_in, &id, sent).await
        }
    }
}

/// Asks whether a member is to leave.
pub async fn confirm_leave(
    Visit { state, signed_in }: Visit,
    Path(id): Path<String>,
    asked: Fields,
) -> PageResult {
    signed_in.caller.must(rights::CHANGE_MEMBERS)?;
    let team = find(&state, &signed_in, &id).await?;
    let person = asked.get("person").to_owned();
    let name = names::person(&state, &signed_in.caller, &person).await?;
    page(&Confirm {
        shell: signed_in.shell(t!(
            "Take {person} out of {team}?",
            person = name.text,
            team = team.name
        )),
        crumb: (team.name.clone(), path_of(&id, "")),
        text: t!(
            "{person} can make no more keys of {team}. Keys made before go on working: disable them too if they are to stop.",
            person = name.text,
            team = team.name
        ),
        action: path_of(&id, "/leave"),
        hidden: vec![("person", person)],
        button: text!("Take out"),
        back: path_of(&id, ""),
    })
}

/// Takes a member out.
pub async fn leave(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    team_members::remove(
        &sent.state,
        &sent.signed_in.caller,
        &id,
        sent.fields.get("person"),
    )
    .await?;
    Ok(done(&path_of(&id, ""), Notice::Removed))
}
