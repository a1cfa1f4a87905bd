//! The stats of the configuration document.

use crate::config::document_hash;
use crate::host::{StatId, StatKind, Stats};

/// The reason why a document did not take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadFailure {
    /// It has problems.
    Invalid,
    /// It could not be fetched.
    Unreachable,
    /// It is longer than allowed.
    Oversize,
}

impl LoadFailure {
    /// All of them, in the order of their declaration.
    const ALL: [Self; 3] = [Self::Invalid, Self::Unreachable, Self::Oversize];

    /// The name in metrics.
    const fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Unreachable => "unreachable",
            Self::Oversize => "oversize",
        }
    }
}

/// The stats that a loader keeps of the document.
#[derive(Debug)]
pub struct ConfigStats {
    generation: StatId,
    age_seconds: StatId,
    keys: StatId,
    hash: StatId,
    rejections: [StatId; LoadFailure::ALL.len()],
}

impl ConfigStats {
    /// Defines them.
    pub fn define(stats: &impl Stats) -> Self {
        let gauge = |name| stats.define(StatKind::Gauge, name);
        Self {
            generation: gauge("trilane_config_generation"),
            age_seconds: gauge("trilane_config_age_seconds"),
            keys: gauge("trilane_config_keys"),
            hash: gauge(document_hash::GAUGE),
            rejections: LoadFailure::ALL.map(|failure| {
                let reason = failure.name();
                let name = format!("trilane_config_rejections_total;reason={reason};");
                stats.define(StatKind::Counter, &name)
            }),
        }
    }

    /// A document took effect, with this number of keys.
    pub fn published(&self, generation: u64, keys: usize, stats: &impl Stats) {
        stats.record(self.generation, generation);
        stats.record(self.keys, u64::try_from(keys).unwrap_or(u64::MAX));
    }

    /// The document with this SHA-256 is in effect.
    pub fn in_effect(&self, digest: &[u8; 32], stats: &impl Stats) {
        stats.record(self.hash, document_hash::of_digest(digest));
    }

    /// Records the time since the source last confirmed the document in effect.
    pub fn age(&self, milliseconds: u64, stats: &impl Stats) {
        stats.record(self.age_seconds, milliseconds / 1000);
    }

    /// A document did not take effect.
    pub fn rejected(&self, failure: LoadFailure, stats: &impl Stats) {
        let counter = self.rejections.get(failure as usize).copied().flatten();
        stats.add(counter, 1);
    }
}
