//! Tells the console how this agent stands.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use trilane_console::cases::EnvoyReport;
use trilane_console::connections::certificate_end;

use super::client::ConsoleClient;
use super::feed_reads::FeedReads;
use super::standing::AgentProgress;
use super::worker::{Next, PeriodicTask};

/// The interval between reports that tell nothing new of keys.
const EVERY: Duration = Duration::from_secs(2);

/// Reports every two seconds, and as soon as Envoy has read keys that have changed: somebody may wait for one.
#[derive(Debug)]
pub struct StandingReport {
    console: ConsoleClient,
    path: String,
    standing: Arc<AgentProgress>,
    keys_read: Arc<FeedReads>,
    /// The file of Envoy's certificate.
    certificate: Option<PathBuf>,
    /// The latest report: when it was sent, and the keys that Envoy had.
    sent: Option<(Instant, Option<u64>)>,
}

impl StandingReport {
    /// Of the agent of this Envoy.
    pub fn new(
        console: ConsoleClient,
        envoy: &str,
        standing: Arc<AgentProgress>,
        keys_read: Arc<FeedReads>,
        certificate: Option<PathBuf>,
    ) -> Self {
        Self {
            console,
            path: format!("/api/v1/envoys/{envoy}/report"),
            standing,
            keys_read,
            certificate,
            sent: None,
        }
    }
}

/// The end of a certificate, as RFC 3339.
fn end(chain: &Path) -> Option<String> {
    let end = OffsetDateTime::from_unix_timestamp(certificate_end(chain)?).ok()?;
    end.format(&Rfc3339).ok()
}

impl PeriodicTask for StandingReport {
    const NAME: &'static str = "report";
    const PAUSE: Duration = Duration::from_millis(250);

    fn run(&mut self) -> Result<Next, String> {
        let keys_read = self.keys_read.version();
        let is_told =
            |(at, told): (Instant, Option<u64>)| at.elapsed() < EVERY && told == keys_read;
        if self.sent.is_some_and(is_told) {
            return Ok(Next::Later);
        }
        let report = EnvoyReport {
            clock: OffsetDateTime::now_utc().format(&Rfc3339).ok(),
            keys_read,
            certificate_ends_at: self.certificate.as_deref().and_then(end),
            ..self.standing.report()
        };
        let report = serde_json::to_vec(&report).unwrap_or_default();
        let sent = self.console.put(&self.path, &report);
        sent.map_err(|error| error.to_string())?;
        self.sent = Some((Instant::now(), keys_read));
        Ok(Next::Later)
    }
}
