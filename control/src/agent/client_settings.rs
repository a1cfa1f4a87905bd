//! Brings the settings for clients to this machine, and gives them to clients that ask Envoy.
//!
//! Claude Code ends at anything but 200, 204, 304 and 404 when it starts. So whatever is in doubt is a 404: there are none.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, IF_NONE_MATCH};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use trilane_console::client_settings::SettingsEnvelope;

use super::client::ConsoleClient;
use super::worker::{Next, PeriodicTask};
use crate::agent_feeds::CLIENT_SETTINGS_PATH;
use crate::files;

/// The path of the console's API.
const PATH: &str = "/api/v1/feed/client-settings";

/// The settings of this machine; `None`: there are none.
pub type ServedSettings = Arc<RwLock<Option<SettingsEnvelope>>>;

/// Follows the settings.
#[derive(Debug)]
pub struct ClientSettingsCopy {
    console: ConsoleClient,
    file: PathBuf,
    served: ServedSettings,
}

impl ClientSettingsCopy {
    /// Those of this console, in this file, from which those of before are read.
    pub fn new(console: ConsoleClient, file: PathBuf) -> Self {
        let before = fs::read(&file).ok();
        let before = before.and_then(|bytes| SettingsEnvelope::parse(&bytes));
        Self {
            console,
            file,
            served: Arc::new(RwLock::new(before)),
        }
    }

    /// The settings that are given to clients.
    pub fn served(&self) -> ServedSettings {
        Arc::clone(&self.served)
    }

    fn keep(&self, new: Option<SettingsEnvelope>) -> std::io::Result<()> {
        match &new {
            Some(envelope) => files::put(&self.file, envelope.to_json().as_bytes()).map(drop),
            None => without(&self.file),
        }?;
        *self.served.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }
}

fn without(file: &Path) -> std::io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl PeriodicTask for ClientSettingsCopy {
    const NAME: &'static str = "settings of clients";
    const PAUSE: Duration = Duration::from_secs(2);

    fn run(&mut self) -> Result<Next, String> {
        let etag = current(&self.served).map(|envelope| etag(&envelope));
        let answer = self.console.get(PATH, etag.as_deref(), &[]);
        let Some(answer) = answer.map_err(|error| error.to_string())? else {
            return Ok(Next::Later);
        };
        let new = if answer.body.is_empty() {
            None
        } else {
            let read = SettingsEnvelope::parse(&answer.body);
            Some(read.ok_or("what the console gives are no settings")?)
        };
        let name = self.file.display();
        self.keep(new)
            .map_err(|error| format!("cannot write {name}: {error}"))?;
        Ok(Next::Later)
    }
}

fn current(served: &ServedSettings) -> Option<SettingsEnvelope> {
    served
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

fn etag(envelope: &SettingsEnvelope) -> String {
    format!("\"{}\"", envelope.checksum())
}

/// Gives the settings to clients.
pub fn router(served: ServedSettings) -> Router {
    // Any method, for a refusal would end the client.
    let answer = move |headers: HeaderMap| async move { answer(current(&served), &headers) };
    Router::new().route(CLIENT_SETTINGS_PATH, any(answer))
}

fn answer(envelope: Option<SettingsEnvelope>, headers: &HeaderMap) -> Response {
    let Some(envelope) = envelope else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let etag = etag(&envelope);
    let mut known = headers.get_all(IF_NONE_MATCH).iter();
    let is_known = known.any(|value| value.as_bytes() == etag.as_bytes());
    let head = [(CACHE_CONTROL, "no-cache"), (ETAG, etag.as_str())];
    if is_known {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    let json = [(CONTENT_TYPE, "application/json")];
    (head, json, envelope.to_json()).into_response()
}
