//! Changing a draft by a form: nobody's change is lost.

use http::StatusCode;
use serde_json::Value;

use super::parsed;
use crate::cases::drafts::{self, DraftBody};
use crate::cases::{ApiProblem, Caller, ConsoleState, names, rights};
use crate::documents::{Difference, differences};
use crate::pages::form::Fields;
use crate::pages::{FieldProblems, PageProblem, SignedIn};
use crate::store::drafts::Draft;
use crate::timestamp::moment;

/// A draft that a form is of.
pub struct Edited {
    /// The draft.
    pub draft: Draft,
    /// The text of the draft as JSON: an object.
    pub document: Value,
}

/// The outcome of a form.
pub enum FormOutcome {
    /// It is in the draft.
    Saved,
    /// It is refused: the problems, and the differences to what somebody else has put there.
    Refused(FieldProblems, Vec<Difference>),
}

/// Authorizes a change of a draft, and reads the draft.
///
/// # Errors
/// The role may not change drafts, there is no such draft, or its text is no JSON, so that only the page of the text can change it.
pub async fn open(
    state: &ConsoleState,
    signed_in: &SignedIn,
    id: &str,
) -> Result<Edited, PageProblem> {
    signed_in.caller.must(rights::CHANGE_DOCUMENTS)?;
    let draft = drafts::read(state, &signed_in.caller, id).await?;
    let document = parsed(&draft.body).filter(Value::is_object);
    let document = document.ok_or_else(|| {
        ApiProblem::bad(text!(
            "The text of this draft is not a JSON object. Correct it under “Edit as JSON” first."
        ))
    })?;
    Ok(Edited { draft, document })
}

/// The revision that a form was shown with; none that there is, if the form has none.
pub fn seen(fields: &Fields) -> i64 {
    fields.get("revision").parse().unwrap_or(-1)
}

/// Makes the message for the second of two people who change the same draft.
///
/// # Errors
/// Those of the database.
pub async fn overtaken(
    state: &ConsoleState,
    caller: &Caller,
    draft: &Draft,
) -> Result<String, ApiProblem> {
    let author = names::person(state, caller, &draft.author).await?;
    Ok(t!(
        "{person} has changed this draft since you opened it ({moment}, revision {revision}). What you typed stands below; look at what differs, then save it over theirs or go back.",
        person = author.text,
        moment = moment(draft.changed_at),
        revision = draft.revision
    ))
}

/// Puts what a form says into the draft's text.
///
/// # Errors
/// A failure that the form did not cause.
pub async fn save(
    state: &ConsoleState,
    caller: &Caller,
    edited: Edited,
    fields: &Fields,
    edit: impl FnOnce(&mut Value, &mut FieldProblems),
) -> Result<FormOutcome, PageProblem> {
    let Edited { draft, document } = edited;
    let mut changed = document.clone();
    let mut problems = FieldProblems::default();
    edit(&mut changed, &mut problems);
    if fields.get("revision") != draft.revision.to_string() {
        problems.general = Some(overtaken(state, caller, &draft).await?);
        return Ok(FormOutcome::Refused(
            problems,
            differences(&document, &changed),
        ));
    }
    if !problems.is_empty() {
        return Ok(FormOutcome::Refused(problems, Vec::new()));
    }
    let text = serde_json::to_string_pretty(&changed).unwrap_or_default();
    match put(state, caller, &draft, Some(text), draft.note.clone(), false).await {
        Ok(_) => Ok(FormOutcome::Saved),
        Err(problem) if problem.status() == StatusCode::PRECONDITION_FAILED => {
            let now = drafts::read(state, caller, &draft.id).await?;
            problems.general = Some(overtaken(state, caller, &now).await?);
            let theirs = parsed(&now.body).unwrap_or_default();
            Ok(FormOutcome::Refused(
                problems,
                differences(&theirs, &changed),
            ))
        }
        Err(problem) => Ok(FormOutcome::Refused(
            FieldProblems::of(problem)?,
            Vec::new(),
        )),
    }
}

/// Changes a draft of this revision, and returns the next one.
///
/// # Errors
/// Those of the use case.
pub async fn put(
    state: &ConsoleState,
    caller: &Caller,
    draft: &Draft,
    body: Option<String>,
    note: String,
    rebase: bool,
) -> Result<i64, ApiProblem> {
    let body = DraftBody { body, note, rebase };
    let changed = drafts::change(state, caller, &draft.id, draft.revision, body).await?;
    Ok(changed.head.revision)
}

/// Lists the faults that a gateway would find in a part of a draft, such as `groups[2]`, by the names of fields.
///
/// # Errors
/// Those of the database.
pub async fn said_of(
    state: &ConsoleState,
    caller: &Caller,
    draft: &str,
    part: &str,
) -> Result<FieldProblems, PageProblem> {
    let checked = drafts::check(state, caller, draft).await?;
    let mut found = FieldProblems::default();
    for problem in &checked.problems {
        if let Some(rest) = problem.path.strip_prefix(part) {
            let field = rest.trim_start_matches('.');
            if rest.is_empty() || rest.starts_with('.') {
                found.push(field, &problem.reason);
            }
        }
    }
    Ok(found)
}
