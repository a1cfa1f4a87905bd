//! The health of all models, for everybody: models, and nothing of accounts, keys or people.

use std::sync::Arc;

use tokio::sync::Mutex;
use trilane::config::{Compiled, compile};

use super::key_models::{KeyModel, document_in_force, letter};
use super::model_health::{HealthReader, ModelHealth};
use super::problem::ApiProblem;
use super::state::ConsoleState;

/// Microseconds for which what was read is shown again: nobody makes the console read more often.
const FRESH: i64 = 10_000_000;

/// The health of all models.
#[derive(Debug, Clone, Default)]
pub struct StatusView {
    /// The beginning of the time that it is of, as RFC 3339.
    pub since: String,
    /// The models that groups in force serve, each once with each protocol.
    pub models: Vec<(KeyModel, ModelHealth)>,
}

/// The status that was read last, and when.
#[derive(Debug, Clone, Default)]
pub struct StatusCache(Arc<Mutex<Option<(i64, StatusView)>>>);

/// The status of all models; there is none where the console does not show it.
pub async fn get(state: &ConsoleState) -> Result<StatusView, ApiProblem> {
    let cache = state.status.as_ref().ok_or_else(ApiProblem::not_found)?;
    let mut cache = cache.0.lock().await;
    let now = state.now();
    if let Some((at, view)) = &*cache
        && now.saturating_sub(*at).unsigned_abs() < FRESH.unsigned_abs()
    {
        return Ok(view.clone());
    }
    let view = read(state, now).await?;
    *cache = Some((now, view.clone()));
    Ok(view)
}

async fn read(state: &ConsoleState, now: i64) -> Result<StatusView, ApiProblem> {
    let mut transaction = state.store.read().await?;
    let health = HealthReader::read(&mut transaction, now).await?;
    let document = document_in_force(&mut transaction).await?;
    transaction.rollback().await;
    let compiled = document.and_then(|document| compile(&document).ok());
    let models = compiled
        .map(|compiled| served(&compiled))
        .unwrap_or_default();
    let with_health = |model: KeyModel| {
        let health = health.of_model(&model.id);
        (model, health)
    };
    Ok(StatusView {
        since: health.since().to_owned(),
        models: models.into_iter().map(with_health).collect(),
    })
}

/// The models that groups serve, in the order of the document.
fn served(compiled: &Compiled) -> Vec<KeyModel> {
    let groups = compiled.policy.groups().iter();
    let mut models = Vec::new();
    for of in groups.flat_map(|group| group.kind.usable()) {
        let model = KeyModel {
            id: of.model.id.to_string(),
            protocol: letter(of.source.protocol),
        };
        if !models.contains(&model) {
            models.push(model);
        }
    }
    models
}
