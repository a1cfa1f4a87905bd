//! The document that Envoy has in force, as its admin interface reports it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::standing::AgentProgress;
use super::worker::{Next, PeriodicTask};
use crate::envoy_admin::AdminPlace;
use crate::render::PublishedAs;

/// The time for which Envoy may say nothing, or have another document in force, before that is reported: it starts, or is at it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Asks an Envoy again and again.
#[derive(Debug)]
pub struct EnvoyPoller {
    admin: AdminPlace,
    standing: Arc<AgentProgress>,
    published_as: Arc<PublishedAs>,
    /// Since when it does not have the document in force that is here.
    since: Option<Instant>,
}

impl EnvoyPoller {
    /// The one with this admin interface.
    pub fn new(
        admin: AdminPlace,
        standing: Arc<AgentProgress>,
        published_as: Arc<PublishedAs>,
    ) -> Self {
        // From now on what is not heard of Envoy is not so.
        standing.gateway_shows(None);
        Self {
            admin,
            standing,
            published_as,
            since: None,
        }
    }
}

impl PeriodicTask for EnvoyPoller {
    const NAME: &'static str = "gateway";
    const PAUSE: Duration = Duration::from_millis(500);

    fn run(&mut self) -> Result<Next, String> {
        let shown = self.admin.find().and_then(|admin| admin.document_hash());
        let source = shown.as_ref().ok();
        let source = source.map(|shown| self.published_as.source_of(*shown));
        let is_current = self.standing.gateway_shows(source);
        if is_current {
            self.since = None;
            return Ok(Next::Later);
        }
        let since = self.since.get_or_insert_with(Instant::now);
        if since.elapsed() < PATIENCE {
            return Ok(Next::Later);
        }
        Err(match shown {
            Ok(0) => "Envoy has no document in force".to_owned(),
            Ok(_) => "Envoy has another document in force than the one that came from the console; its log says why".to_owned(),
            Err(error) => format!("Envoy's admin interface does not say what is in force: {error}"),
        })
    }
}
