//! The settings that clients ask gateways for.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::caller::Caller;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::client_settings::{LONGEST, SettingsEnvelope, SettingsFaults};
use crate::in_transaction;
use crate::store::audit;
use crate::store::client_settings::{self as stored, StoredSettings};
use crate::timestamp::moment;

/// The settings that clients ask gateways for.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClientSettingsView {
    /// The settings, as in Claude Code's `settings.json`.
    #[schema(value_type = Object)]
    pub(crate) settings: Map<String, Value>,
    /// The names of members that are not inert, each approved.
    pub(crate) approved: Vec<String>,
    /// The time at which they were written, as RFC 3339.
    pub(crate) changed_at: String,
}

/// Settings to be given to clients.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientSettingsBody {
    /// The settings, as in Claude Code's `settings.json`: at most 32 KiB.
    #[schema(value_type = Object)]
    pub(crate) settings: Map<String, Value>,
    /// The names of members that are not inert and are meant nevertheless: `hooks`, `env.NAME`, `permissions.allow`. It needs a right of its own.
    #[serde(default)]
    #[schema(max_items = 100)]
    pub(crate) approve: Vec<String>,
}

fn view(found: StoredSettings) -> ClientSettingsView {
    ClientSettingsView {
        settings: found.settings,
        approved: found.approved,
        changed_at: moment(found.changed_at),
    }
}

/// As an entry of the audit has them.
fn audited(of: &StoredSettings) -> Option<String> {
    let json = serde_json::json!({"settings": of.settings, "approved": of.approved});
    Some(json.to_string())
}

/// The settings, if there are any.
pub async fn find(
    state: &ConsoleState,
    caller: &Caller,
) -> Result<Option<ClientSettingsView>, ApiProblem> {
    caller.must(rights::SEE_CLIENT_SETTINGS)?;
    Ok(read(state).await?.map(view))
}

/// The settings.
pub async fn get(state: &ConsoleState, caller: &Caller) -> Result<ClientSettingsView, ApiProblem> {
    find(state, caller).await?.ok_or_else(ApiProblem::not_found)
}

async fn read(state: &ConsoleState) -> Result<Option<StoredSettings>, ApiProblem> {
    let mut transaction = state.store.read().await?;
    let found = stored::find(&mut transaction).await?;
    transaction.rollback().await;
    Ok(found)
}

/// Gives clients these settings. Those that are not inert are refused unless each is approved by its name.
pub async fn put(
    state: &ConsoleState,
    caller: &Caller,
    new: ClientSettingsBody,
) -> Result<ClientSettingsView, ApiProblem> {
    caller.must(rights::CHANGE_CLIENT_SETTINGS)?;
    let text = serde_json::to_string(&new.settings).unwrap_or_default();
    if text.len() > LONGEST || text.contains("\\u0000") {
        let reason = text!("must be at most 32 KiB without zero bytes");
        return Err(ApiProblem::invalid("settings", reason));
    }
    let faults = SettingsFaults::of(&new.settings);
    let mut problems = faults.refused;
    let mut approved = Vec::new();
    for (name, reason) in faults.beyond {
        if new.approve.contains(&name) {
            approved.push(name);
        } else {
            problems.push(name, reason);
        }
    }
    for problem in &mut problems.0 {
        problem.path = format!("settings.{}", problem.path);
    }
    ApiProblem::if_any(problems)?;
    if !approved.is_empty() {
        caller.must(rights::APPROVE_CLIENT_SETTINGS)?;
    }
    let new = StoredSettings {
        settings: new.settings,
        approved,
        changed_at: state.now(),
    };
    in_transaction!(state.store, transaction => {
        stored::lock(transaction).await?;
        let before = stored::find(transaction).await?;
        stored::put(transaction, &new).await?;
        let mut entry = caller.actor().entry(new.changed_at, "client_settings.change", "client_settings");
        entry.before = before.as_ref().and_then(audited);
        entry.after = audited(&new);
        audit::insert(transaction, &entry).await?;
        Ok::<_, ApiProblem>(())
    })?;
    Ok(view(new))
}

/// Gives clients no settings any more.
pub async fn remove(state: &ConsoleState, caller: &Caller) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_CLIENT_SETTINGS)?;
    in_transaction!(state.store, transaction => {
        stored::lock(transaction).await?;
        let before = stored::find(transaction).await?.ok_or_else(ApiProblem::not_found)?;
        stored::remove(transaction).await?;
        let mut entry = caller.actor().entry(state.now(), "client_settings.remove", "client_settings");
        entry.before = audited(&before);
        audit::insert(transaction, &entry).await?;
        Ok(())
    })
}

/// The settings as gateways give them to clients; `None`: there are none.
pub async fn for_agents(
    state: &ConsoleState,
    caller: &Caller,
) -> Result<Option<SettingsEnvelope>, ApiProblem> {
    caller.must(rights::RUN_ENVOY)?;
    let found = read(state).await?;
    Ok(found.map(|found| SettingsEnvelope::new(found.settings)))
}
