//! A model that is tried: what is sent, and what came of it.

use super::show;
use crate::cases::me::trial::{self, TrialBody, TriedModel};
use crate::cases::names::Names;
use crate::pages::requests::{ExplanationPart, line as line_of, parts};
use crate::pages::text::path_with;
use crate::pages::{FieldProblems, PageResult, ShownAmount, SignedForm};

/// The outcome of a trial.
pub struct TrialShown {
    /// The status: its kind for the eye, and a text.
    pub state: (&'static str, String),
    /// The text of the answer, or the words of the error.
    pub text: String,
    /// The charge; empty where there is none, or it is not known yet.
    pub charge: ShownAmount,
    /// The explanation: titles and texts.
    pub parts: Vec<ExplanationPart>,
    /// The page of the request, or of the list in which it will be.
    pub path: String,
    /// Whether its line has come.
    pub is_known: bool,
}

impl TrialShown {
    fn of(tried: &TriedModel) -> Self {
        let line = tried.request.as_ref().map(|of| &of.request.line);
        let member = |name: &str| Some(line?.get(name)?.as_str()?.to_owned());
        let charge = member("trilane.charge").map(|charge| {
            let currency = member("trilane.currency").unwrap_or_default();
            ShownAmount::of(&currency, &charge)
        });
        Self {
            state: match tried.status {
                200..=299 => ("good", t!("Answered: {status}", status = tried.status)),
                status => ("bad", t!("Failed: {status}", status = status)),
            },
            text: tried.text.clone(),
            charge: charge.unwrap_or_default(),
            parts: tried
                .request
                .as_ref()
                .map(|of| parts(&line_of(&of.request), &Names::default()))
                .unwrap_or_default(),
            path: tried.request.as_ref().map_or_else(
                || path_with("/requests", &[("key", &tried.key)]),
                |of| format!("/requests/{}", of.request.id),
            ),
            is_known: tried.request.is_some(),
        }
    }
}

/// Tries a model, and shows what came of it.
pub async fn run(sent: SignedForm) -> PageResult {
    let (state, signed_in, fields) = sent.parts();
    let asked = TrialBody {
        key: fields.get("key").to_owned(),
        model: fields.get("model").to_owned(),
        protocol: fields.get("style").to_owned(),
        prompt: fields.get("prompt").to_owned(),
    };
    match trial::run(&state, &signed_in.caller, asked).await {
        Ok(tried) => {
            let tried = Some(TrialShown::of(&tried));
            show::shown(&state, &signed_in, &fields, FieldProblems::default(), tried).await
        }
        Err(problem) => {
            let problems = FieldProblems::of(problem)?;
            show::shown(&state, &signed_in, &fields, problems, None).await
        }
    }
}
