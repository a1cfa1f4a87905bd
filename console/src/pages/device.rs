//! A person lets a client in, such as a coding agent, or refuses it.

use askama::Template;

use trilane::limits::SubjectKind;

use super::form::Fields;
use super::{
    FieldProblems, Notice, PageResult, PageShell, SignedForm, SignedIn, Visit, done, form_page,
};
use crate::cases::client_sign_ins::grants::{self, GrantDecision, WaitingClient};
use crate::cases::client_sign_ins::list::client_name;
use crate::cases::names::WantedNames;
use crate::cases::rights;
use crate::cases::{ApiProblem, ConsoleState};
use crate::language::translated;

#[derive(Template)]
#[template(path = "device.html")]
struct DevicePage {
    shell: PageShell,
    /// The client that waits; `None`: the code is to be typed.
    waiting: Option<WaitingClient>,
    name: String,
    /// The teams and groups of its key: the value of each, and its text.
    choices: Vec<(String, String)>,
    fields: Fields,
    problems: FieldProblems,
}

/// Asks for a code, or whether the client that waits with it is to be let in. Nothing is approved by this: a link may come from anybody.
pub async fn ask(Visit { state, signed_in }: Visit, asked: Fields) -> PageResult {
    signed_in.caller.must(rights::CHANGE_TOKENS)?;
    show(&state, &signed_in, asked, FieldProblems::default()).await
}

async fn show(
    state: &ConsoleState,
    signed_in: &SignedIn,
    fields: Fields,
    problems: FieldProblems,
) -> PageResult {
    let (mut waiting, mut problems) = (None, problems);
    if let Some(code) = fields.given("user_code") {
        match grants::look(state, &signed_in.caller, &code).await {
            Ok(found) => waiting = Some(found),
            Err(problem) if problems.is_empty() => problems = FieldProblems::of(problem)?,
            Err(_) => {}
        }
    }
    let choices = || waiting.iter().flat_map(|client| &client.choices);
    let mut wanted = WantedNames::default();
    let groups = choices().map(|choice| choice.group.as_str());
    wanted.all(SubjectKind::Group, groups);
    let names = wanted.find(state, &signed_in.caller).await?;
    let choices = choices().map(|choice| match &choice.team {
        Some(team) => (
            format!("{team}/{}", choice.group),
            t!(
                "{team}, group {group}",
                team = choice.team_name,
                group = names.group(&choice.group).text
            ),
        ),
        None => (
            format!("/{}", choice.group),
            t!("group {group}", group = names.group(&choice.group).text),
        ),
    });
    let failed = !problems.is_empty();
    form_page(
        &DevicePage {
            shell: signed_in.shell(t!("Let a client in")),
            choices: choices.collect(),
            name: waiting
                .as_ref()
                .map(|client| translated(client_name(&client.client)).into_owned())
                .unwrap_or_default(),
            waiting,
            fields,
            problems,
        },
        failed,
    )
}

/// Lets the client in, or refuses it.
pub async fn decide(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let code = fields.get("user_code");
    let (decision, notice) = match fields.get("decision") {
        "approve" => (chosen(fields.get("choice")), Notice::ClientApproved),
        "approve_token" => (Some(GrantDecision::Token), Notice::ClientApproved),
        _ => (Some(GrantDecision::Deny), Notice::ClientDenied),
    };
    let decided = match decision {
        Some(decision) => grants::decide(&state, &signed_in.caller, code, decision).await,
        None => Err(ApiProblem::invalid("choice", "must be one of these")),
    };
    match decided {
        Ok(()) => Ok(done("/me", notice)),
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            show(&state, &signed_in, fields, problems).await
        }
    }
}

/// Reads a choice: `team/group`, or `/group` without a team.
fn chosen(choice: &str) -> Option<GrantDecision<'_>> {
    let (team, group) = choice.split_once('/')?;
    let team = Some(team).filter(|team| !team.is_empty());
    Some(GrantDecision::Key(team, group))
}
