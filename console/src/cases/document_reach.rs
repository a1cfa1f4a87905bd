//! The rollout of a document: the Envoys that have it.

use std::collections::HashMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::problem::ApiProblem;
use crate::envoy_report::EnvoyReport;
use crate::store::{Transaction, envoys};

/// Of the Envoys whose agents have enrolled and were not revoked, how many have a document, as their agents said last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct DocumentReach {
    /// The number of these Envoys.
    pub(crate) envoys: u64,
    /// On how many the agent has it.
    pub(crate) delivered: u64,
    /// The number of Envoys that have it in force, by their agents' reports.
    pub(crate) in_force: u64,
}

/// The latest reports of all agents, counted by document.
#[derive(Debug, Default)]
pub(crate) struct FleetReports {
    envoys: u64,
    /// By the digest of a document: on how many it is, and is in force.
    documents: HashMap<String, (u64, u64)>,
}

impl FleetReports {
    /// Reads them.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) async fn read(transaction: &mut Transaction) -> Result<Self, ApiProblem> {
        let mut all = Self::default();
        for report in envoys::reports(transaction).await? {
            let report = report.and_then(|text| serde_json::from_str(&text).ok());
            all.add(report.unwrap_or_default());
        }
        Ok(all)
    }

    fn add(&mut self, report: EnvoyReport) {
        self.envoys = self.envoys.saturating_add(1);
        let mut count = |digest: Option<String>, of: fn(&mut (u64, u64)) -> &mut u64| {
            if let Some(digest) = digest.filter(|digest| !digest.is_empty()) {
                let number = of(self.documents.entry(digest).or_default());
                *number = number.saturating_add(1);
            }
        };
        count(report.document, |numbers| &mut numbers.0);
        count(report.in_force, |numbers| &mut numbers.1);
    }

    /// Counts the Envoys that have the document of this digest.
    pub(crate) fn of(&self, digest: &str) -> DocumentReach {
        let (delivered, in_force) = self.documents.get(digest).copied().unwrap_or_default();
        DocumentReach {
            envoys: self.envoys,
            delivered,
            in_force,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(document: Option<&str>, in_force: Option<&str>) -> EnvoyReport {
        EnvoyReport {
            document: document.map(str::to_owned),
            in_force: in_force.map(str::to_owned),
            ..EnvoyReport::default()
        }
    }

    #[test]
    fn each_counts_once_where_it_is() {
        let mut all = FleetReports::default();
        for (document, in_force) in [
            (Some("new"), Some("new")),
            (Some("new"), Some("old")),
            // It has none in force, its agent cannot ask it, and has nothing yet.
            (Some("new"), Some("")),
            (Some("old"), None),
            (None, None),
        ] {
            all.add(report(document, in_force));
        }
        let cases = [("new", 3, 1), ("old", 1, 1), ("older", 0, 0), ("", 0, 0)];
        for (digest, delivered, in_force) in cases {
            let want = DocumentReach {
                envoys: 5,
                delivered,
                in_force,
            };
            assert_eq!(all.of(digest), want, "{digest:?}");
        }
    }
}
