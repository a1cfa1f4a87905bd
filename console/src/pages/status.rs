//! The health of all models, without signing in.

use askama::Template;
use axum::extract::State;
use http::HeaderMap;

use super::models::health;
use super::shell::Appearance;
use super::{PageResult, PageShell, page};
use crate::cases::ConsoleState;
use crate::cases::model_health::HealthState;
use crate::cases::status;
use crate::vendors::api_style;

/// A model in a line.
struct StatusLine {
    id: String,
    style: &'static str,
    protocol: &'static str,
    health: (&'static str, String),
}

#[derive(Template)]
#[template(path = "status.html")]
struct StatusPage {
    shell: PageShell,
    models: Vec<StatusLine>,
    /// The health of all together: its kind for the eye, and a sentence.
    all: (&'static str, String),
    since: String,
}

/// Says how many models fail.
fn summary(states: &[HealthState]) -> (&'static str, String) {
    let failing = |of: &&HealthState| matches!(of, HealthState::Fails | HealthState::SomeFail);
    let count = states.iter().filter(failing).count();
    match count {
        0 => (
            "good",
            t!("No model has failed in the last hour.").into_owned(),
        ),
        1 => (
            "warn",
            t!("Requests to 1 model fail, or some of them.").into_owned(),
        ),
        _ => (
            "warn",
            t!(
                "Requests to {count} models fail, or some of them.",
                count = count
            ),
        ),
    }
}

/// Shows it, where the console is told to.
pub async fn show(State(state): State<ConsoleState>, headers: HeaderMap) -> PageResult {
    let found = status::get(&state).await?;
    let states: Vec<HealthState> = found.models.iter().map(|(_, of)| of.state).collect();
    let models = found.models.into_iter().map(|(model, of)| StatusLine {
        style: api_style(model.protocol),
        protocol: model.protocol,
        id: model.id,
        health: health(of),
    });
    page(&StatusPage {
        shell: PageShell::new(t!("Status"), Appearance::of(&headers)),
        models: models.collect(),
        all: summary(&states),
        since: found.since,
    })
}
