//! The actions on a draft as a whole: begin, annotate, write, take up, publish, discard.

use axum::extract::Path;
use axum::response::{IntoResponse as _, Redirect};
use serde_json::Value;

use super::draft::{show, show_text};
use super::editing::{overtaken, put, seen};
use super::parsed;
use crate::cases::drafts::{self, DraftBody};
use crate::cases::rights;
use crate::cases::{ApiProblem, ConsoleState, names};
use crate::documents::differences;
use crate::language::translated;
use crate::pages::confirm::Confirm;
use crate::pages::{FieldProblems, Notice, PageResult, SignedForm, SignedIn, Visit, done, page};

/// Begins a draft with the version in force.
pub async fn begin(sent: SignedForm) -> PageResult {
    let body = DraftBody {
        body: None,
        note: sent.fields.get("note").to_owned(),
        rebase: false,
    };
    let made = drafts::create(&sent.state, &sent.signed_in.caller, None, body).await?;
    Ok(Redirect::to(&format!("/drafts/{}", made.body.head.id)).into_response())
}

/// Says what a draft is for.
pub async fn save_note(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    signed_in.caller.must(rights::CHANGE_DOCUMENTS)?;
    let draft = drafts::read(&state, &signed_in.caller, &id).await?;
    // A note is put over another's only by who has seen it.
    let revision = fields.get("revision");
    if revision != draft.revision.to_string() {
        return refused(
            &state,
            &signed_in,
            &id,
            ApiProblem::precondition(overtaken(&state, &signed_in.caller, &draft).await?),
            Some(fields.exact("note").to_owned()),
        )
        .await;
    }
    let note = fields.get("note").to_owned();
    match put(&state, &signed_in.caller, &draft, None, note.clone(), false).await {
        Ok(_) => Ok(done(&format!("/drafts/{id}"), Notice::Saved)),
        Err(problem) => refused(&state, &signed_in, &id, problem, Some(note)).await,
    }
}

/// Writes the text of a draft.
pub async fn save_text(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    signed_in.caller.must(rights::CHANGE_DOCUMENTS)?;
    let draft = drafts::read(&state, &signed_in.caller, &id).await?;
    let body = fields.exact("body").replace("\r\n", "\n");
    let told = |problems, draft: &_| {
        let texts = parsed(fields.exact("body")).zip(parsed(draft_body(draft)));
        let differ = texts.map(|(mine, theirs)| differences(&theirs, &mine));
        show_text(
            &signed_in,
            draft,
            fields.clone(),
            problems,
            differ.unwrap_or_default(),
        )
    };
    if fields.get("revision") != draft.revision.to_string() {
        let mut problems = FieldProblems::default();
        problems.general = Some(overtaken(&state, &signed_in.caller, &draft).await?);
        return told(problems, &draft);
    }
    if let Err(error) = serde_json::from_str::<Value>(&body) {
        let mut problems = FieldProblems::default();
        problems.push("body", &t!("is not JSON: {error}", error = error));
        return show_text(&signed_in, &draft, fields, problems, Vec::new());
    }
    match put(
        &state,
        &signed_in.caller,
        &draft,
        Some(body),
        draft.note.clone(),
        false,
    )
    .await
    {
        Ok(_) => Ok(done(&format!("/drafts/{id}"), Notice::Saved)),
        Err(problem) => {
            let draft = drafts::read(&state, &signed_in.caller, &id).await?;
            told(FieldProblems::of(problem)?, &draft)
        }
    }
}

fn draft_body(draft: &crate::store::drafts::Draft) -> &str {
    &draft.body
}

/// Goes on from the version that was published meanwhile: whoever says so has seen what the draft would change of it.
pub async fn rebase(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let draft = drafts::read(&state, &signed_in.caller, &id).await?;
    let body = DraftBody {
        body: None,
        note: draft.note,
        rebase: true,
    };
    let changed = drafts::change(&state, &signed_in.caller, &id, seen(&fields), body);
    match changed.await {
        Ok(_) => Ok(done(&format!("/drafts/{id}"), Notice::Saved)),
        Err(problem) => refused(&state, &signed_in, &id, problem, None).await,
    }
}

/// Publishes a draft, with its note.
pub async fn publish(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let note = fields.get("note").to_owned();
    match publish_with_note(&state, &signed_in, &id, seen(&fields), note.clone()).await {
        Ok(()) => Ok(done("/groups", Notice::Published)),
        Err(problem) => refused(&state, &signed_in, &id, problem, Some(note)).await,
    }
}

async fn publish_with_note(
    state: &ConsoleState,
    signed_in: &SignedIn,
    id: &str,
    mut revision: i64,
    note: String,
) -> Result<(), ApiProblem> {
    let caller = &signed_in.caller;
    caller.must(rights::CHANGE_DOCUMENTS)?;
    let draft = drafts::read(state, caller, id).await?;
    // Of one who has not seen the last change neither the note is taken nor the rest.
    if draft.revision == revision && draft.note != note {
        revision = put(state, caller, &draft, None, note, false).await?;
    }
    drafts::publish(state, caller, id, revision).await?;
    Ok(())
}

/// Asks whether a draft is to be discarded.
pub async fn confirm_discard(
    Visit { state, signed_in }: Visit,
    Path(id): Path<String>,
) -> PageResult {
    signed_in.caller.must(rights::CHANGE_DOCUMENTS)?;
    let draft = drafts::read(&state, &signed_in.caller, &id).await?;
    let author = names::person(&state, &signed_in.caller, &draft.author).await?;
    let path = format!("/drafts/{id}");
    page(&Confirm {
        shell: signed_in.shell(t!("Discard the draft?")),
        crumb: (t!("Draft").into_owned(), path.clone()),
        text: t!(
            "What {person} and others have changed in it is lost. What is in force stays as it is.",
            person = author.text
        ),
        action: format!("{path}/discard"),
        hidden: vec![("revision", draft.revision.to_string())],
        button: text!("Discard draft"),
        back: path,
    })
}

/// Discards a draft.
pub async fn discard(Path(id): Path<String>, sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    match drafts::remove(&state, &signed_in.caller, &id, seen(&fields)).await {
        Ok(_) => Ok(done("/groups", Notice::Removed)),
        Err(problem) => refused(&state, &signed_in, &id, problem, None).await,
    }
}

/// The draft's page, with why something was not done. What is wrong with its text stands there anyway.
async fn refused(
    state: &ConsoleState,
    signed_in: &SignedIn,
    id: &str,
    problem: ApiProblem,
    typed: Option<String>,
) -> PageResult {
    if problem.status() == 400 {
        let problems = FieldProblems::of(problem)?;
        return show(state, signed_in, id, problems, typed).await;
    }
    let mut problems = FieldProblems::default();
    problems.general = Some(match problem.status() {
        412 => {
            let draft = drafts::read(state, &signed_in.caller, id).await?;
            let author = names::person(state, &signed_in.caller, &draft.author).await?;
            t!(
                "{person} has changed this draft since you opened it (revision {revision}). Look at what it changes now.",
                person = author.text,
                revision = draft.revision
            )
        }
        409 => translated(problem.detail()).into_owned(),
        422 => t!("A gateway would refuse it: see what is wrong below.").into_owned(),
        _ => return Err(problem.into()),
    });
    show(state, signed_in, id, problems, typed).await
}
