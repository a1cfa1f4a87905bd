//! Tells the console how this agent stands.

use std::sync::Arc;
use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use trilane_console::cases::EnvoyReport;

use super::client::ConsoleClient;
use super::standing::AgentProgress;
use super::worker::{Next, PeriodicTask};

/// Reports now and then.
#[derive(Debug)]
pub struct StandingReport {
    console: ConsoleClient,
    path: String,
    standing: Arc<AgentProgress>,
}

impl StandingReport {
    /// Of the agent of this Envoy.
    pub fn new(console: ConsoleClient, envoy: &str, standing: Arc<AgentProgress>) -> Self {
        Self {
            console,
            path: format!("/api/v1/envoys/{envoy}/report"),
            standing,
        }
    }
}

impl PeriodicTask for StandingReport {
    const NAME: &'static str = "report";
    const PAUSE: Duration = Duration::from_secs(2);

    fn run(&mut self) -> Result<Next, String> {
        let report = EnvoyReport {
            clock: OffsetDateTime::now_utc().format(&Rfc3339).ok(),
            ..self.standing.report()
        };
        let report = serde_json::to_vec(&report).unwrap_or_default();
        let sent = self.console.put(&self.path, &report);
        sent.map_err(|error| error.to_string())?;
        Ok(Next::Later)
    }
}
