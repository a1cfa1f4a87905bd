//! The Envoy stats of the configuration. A label is part of a stat's name, in the form
//! `;label=value;`, which Envoy's `stats_tags` take apart again.

use proxy_wasm::types::MetricType::{Counter, Gauge};

use super::host;

/// Why a document did not come into force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// It has problems.
    Invalid,
    /// It could not be fetched.
    Unreachable,
    /// It is longer than allowed.
    Oversize,
}

/// The stats that loading keeps.
#[derive(Debug)]
pub(super) struct ConfigStats {
    generation: Option<u32>,
    age_seconds: Option<u32>,
    keys: Option<u32>,
    invalid: Option<u32>,
    unreachable: Option<u32>,
    oversize: Option<u32>,
}

impl ConfigStats {
    /// Defines them.
    pub(super) fn new() -> Self {
        let rejections = |reason| {
            host::metric(
                Counter,
                &format!("trilane_config_rejections_total;reason={reason};"),
            )
        };
        Self {
            generation: host::metric(Gauge, "trilane_config_generation"),
            age_seconds: host::metric(Gauge, "trilane_config_age_seconds"),
            keys: host::metric(Gauge, "trilane_config_keys"),
            invalid: rejections("invalid"),
            unreachable: rejections("unreachable"),
            oversize: rejections("oversize"),
        }
    }

    /// A document came into force.
    pub(super) fn published(&self, generation: u64, keys: usize) {
        host::record(self.generation, generation);
        host::record(self.keys, u64::try_from(keys).unwrap_or(u64::MAX));
    }

    /// How long ago the source last confirmed what is in force.
    pub(super) fn age(&self, milliseconds: u64) {
        host::record(self.age_seconds, milliseconds / 1000);
    }

    /// A document did not come into force.
    pub(super) fn rejected(&self, reason: Reason) {
        let counter = match reason {
            Reason::Invalid => self.invalid,
            Reason::Unreachable => self.unreachable,
            Reason::Oversize => self.oversize,
        };
        host::add(counter, 1);
    }
}
