//! Waits until Envoy has a document's clusters, by its own word.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use trilane::config::some_of;

use super::stop::Stop;
use crate::envoy_admin::AdminPlace;

/// The longest time for Envoy: as long as it waits itself for what a cluster needs before that is warm, and a little more.
const PATIENCE: Duration = Duration::from_secs(20);
/// The interval at which it is asked.
const EVERY: Duration = Duration::from_millis(50);
/// The most clusters that a message names.
const NAMED: usize = 5;

/// The result of waiting for Envoy to acknowledge the clusters.
#[derive(Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// Envoy has all of them, warm.
    All,
    /// A signal came before.
    Stopped,
    /// Envoy cannot be asked.
    Silent(String),
    /// Envoy does not have all of them, in words.
    Missing(String),
}

/// An Envoy that was asked before clusters are written, so that what it refuses of them is known.
#[derive(Debug)]
pub struct EnvoyAsked<'a> {
    admin: &'a AdminPlace,
    /// The number of rejected updates of clusters before the write; `None`: Envoy did not answer in time.
    refused: Option<u64>,
}

impl<'a> EnvoyAsked<'a> {
    /// Asks it. One that is there and does not answer in time is asked again later.
    ///
    /// # Errors
    /// It is not there.
    pub fn new(admin: &'a AdminPlace) -> Result<Self, String> {
        let refused = match admin.find().and_then(|found| found.refused_clusters()) {
            Ok(refused) => Some(refused),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => None,
            Err(error) => return Err(error.to_string()),
        };
        Ok(Self { admin, refused })
    }

    /// Waits until it has these clusters, by name and digest.
    pub fn wait(&self, needed: &BTreeMap<String, String>, stop: &Stop) -> Acknowledged {
        let begun = Instant::now();
        loop {
            let missing = match self.missing(needed) {
                Ok((missing, _)) if missing.is_empty() => return Acknowledged::All,
                Ok((missing, true)) => {
                    return Acknowledged::Missing(format!(
                        "Envoy refuses to take {}: its log says why, in the line \"config rejected\"",
                        listed(&missing)
                    ));
                }
                Ok((missing, false)) => missing,
                Err(error) if error.kind() == io::ErrorKind::TimedOut => Vec::new(),
                Err(error) => return Acknowledged::Silent(error.to_string()),
            };
            if begun.elapsed() >= PATIENCE {
                let of = if missing.is_empty() {
                    "the clusters, as it answers nothing".to_owned()
                } else {
                    format!("{}: does it read the file of clusters?", listed(&missing))
                };
                let seconds = PATIENCE.as_secs();
                return Acknowledged::Missing(format!(
                    "Envoy has not within {seconds} s taken {of}"
                ));
            }
            if stop.came_within(EVERY) {
                return Acknowledged::Stopped;
            }
        }
    }

    /// The clusters that it does not have, and whether it has refused some meanwhile.
    fn missing(&self, needed: &BTreeMap<String, String>) -> io::Result<(Vec<String>, bool)> {
        let admin = self.admin.find()?;
        // First: what is refused after this is found the next time.
        let refused = admin.refused_clusters()?;
        let there = admin.active_clusters()?;
        let is_missing = |(name, digest): &(&String, &String)| there.get(*name) != Some(*digest);
        let missing = needed.iter().filter(is_missing);
        let missing = missing.map(|(name, _)| name.clone()).collect();
        // One that is warming is not refused.
        let has_refused =
            self.refused.is_some_and(|before| refused > before) && admin.warming_clusters()? == 0;
        Ok((missing, has_refused))
    }
}

fn listed(names: &[String]) -> String {
    format!("the clusters {}", some_of(names, NAMED))
}
