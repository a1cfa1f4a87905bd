//! The state of the fleet, as metrics.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::counted::{MetricLabels, counted, one};
use crate::envoy_report::EnvoyReport;
use crate::store::fleet::{EnvoyStanding, FleetStanding};

/// Seconds from a moment in microseconds since 1970 to `now` in seconds, never less than none.
fn age(moment: i64, now: i64) -> i64 {
    now.saturating_sub(moment.div_euclid(1_000_000)).max(0)
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Adds the metrics of a standing that was read at `now`, in seconds since 1970.
pub fn register(registry: &mut Registry, standing: &FleetStanding, now: i64) {
    let mut gauge = |name, help, value: i64| {
        let gauge: Gauge = Gauge::default();
        gauge.set(value);
        registry.register(name, help, gauge);
    };
    gauge(
        "document_version",
        "The version of the document in force; 0 where there is none",
        standing.document.map_or(0, |(version, _)| version),
    );
    if let Some((_, published_at)) = standing.document {
        gauge(
            "document_published_timestamp_seconds",
            "When that version was published, Unix time",
            published_at.div_euclid(1_000_000),
        );
    }
    gauge(
        "keys_feed_version",
        "The greatest version of the feed of keys",
        standing.keys,
    );
    gauge(
        "spend_feed_version",
        "The greatest version of the spend feed",
        standing.spend,
    );
    let messages = Family::<MetricLabels, Gauge>::default();
    for (state, count) in [
        ("waiting", standing.messages.waiting),
        ("failing", standing.messages.failing),
    ] {
        messages.get_or_create(&one("state", state)).set(count);
    }
    registry.register(
        "webhook_messages",
        "Messages that are not delivered yet; failing: an attempt has failed",
        messages,
    );
    OfEnvoys::new(&standing.envoys, standing.etag.as_deref(), now).register(registry);
}

/// The metrics of each Envoy.
#[derive(Debug, Default)]
struct OfEnvoys {
    seen: Family<MetricLabels, Gauge>,
    current: Family<MetricLabels, Gauge>,
    keys: Family<MetricLabels, Gauge>,
    waiting: Family<MetricLabels, Gauge>,
    troubles: Family<MetricLabels, Gauge>,
    approved: Family<MetricLabels, Gauge>,
    position: Family<MetricLabels, Gauge>,
    taken: Family<MetricLabels, Gauge>,
    clocks: Family<MetricLabels, Gauge>,
}

impl OfEnvoys {
    fn new(envoys: &[EnvoyStanding], etag: Option<&str>, now: i64) -> Self {
        let all = Self::default();
        for envoy in envoys {
            counted().expect_envoy(&envoy.id);
            all.add(envoy, etag, now);
        }
        all
    }

    fn add(&self, envoy: &EnvoyStanding, etag: Option<&str>, now: i64) {
        let of = one("envoy", &envoy.id);
        let set = |family: &Family<MetricLabels, Gauge>, value: i64| {
            family.get_or_create(&of).set(value);
        };
        // One that has enrolled and never said anything is missing since then.
        if let Some(seen) = envoy.seen_at.or(envoy.enrolled_at) {
            set(&self.seen, age(seen, now));
        }
        if envoy.enrolled_at.is_some() {
            set(&self.approved, i64::from(envoy.approved));
        }
        if let Some(offset) = envoy.clock_offset {
            set(&self.clocks, offset / 1000);
        }
        let report = envoy.report.as_deref();
        let report = report.and_then(|text| serde_json::from_str::<EnvoyReport>(text).ok());
        if let Some(report) = report {
            // An agent that cannot ask its Envoy says only what it has.
            let said = report.in_force.as_ref().or(report.document.as_ref());
            let has_current = etag.is_some() && said.map(String::as_str) == etag;
            set(&self.current, i64::from(has_current));
            set(&self.keys, whole(report.keys.unwrap_or_default()));
            set(&self.waiting, whole(report.ledger_waiting));
            let troubles = i64::try_from(report.troubles.len()).unwrap_or(i64::MAX);
            set(&self.troubles, troubles);
        }
        if let Some(ledger) = &envoy.ledger {
            set(&self.position, ledger.position);
            set(&self.taken, age(ledger.taken_at, now));
        }
    }

    fn register(self, registry: &mut Registry) {
        registry.register(
            "envoy_clock_offset_seconds",
            "How far the clock of an Envoy is ahead of the console's; less than 0: it is behind",
            self.clocks,
        );
        for (name, help, family) in [
            (
                "envoy_seen_age_seconds",
                "Since an Envoy's agent was last heard of",
                self.seen,
            ),
            (
                "envoy_document_current",
                "Whether an Envoy has the document in force, as it says itself if its agent asks it",
                self.current,
            ),
            (
                "envoy_keys_feed_version",
                "The version of the feed of keys that an Envoy's agent has",
                self.keys,
            ),
            (
                "envoy_ledger_waiting_bytes",
                "The bytes of its ledger that an Envoy's agent has not sent, as it said last",
                self.waiting,
            ),
            (
                "envoy_troubles",
                "What an Envoy's agent cannot do, as it said last",
                self.troubles,
            ),
            (
                "envoy_approved",
                "Whether an Envoy's agent gets credentials of accounts: somebody has approved it",
                self.approved,
            ),
            (
                "ledger_position_bytes",
                "The bytes of an Envoy's ledger that were taken in, of all its files",
                self.position,
            ),
            (
                "ledger_taken_age_seconds",
                "Since the last batch of an Envoy's ledger was taken in",
                self.taken,
            ),
        ] {
            registry.register(name, help, family);
        }
    }
}
