//! The metrics of an agent.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use trilane_console::metrics::{MetricsSource, MetricsText};

use super::contact::ConsoleContact;
use super::feed_reads::FeedReads;
use super::spend_copy::SpendCopy;
use super::standing::{AgentProgress, AgentStanding};

/// The prefix of all metric names.
const PREFIX: &str = "trilane_agent";

/// The source of an agent's Prometheus metrics.
#[derive(Debug, Clone)]
pub struct AgentMetrics {
    pub(super) standing: Arc<AgentProgress>,
    pub(super) contact: Arc<ConsoleContact>,
    pub(super) spent: Arc<SpendCopy>,
    pub(super) keys_read: Arc<FeedReads>,
    pub(super) spend_read: Arc<FeedReads>,
    /// The number of accounts without a credential, as far as this process puts documents in force.
    pub(super) without_credential: Option<Arc<AtomicU64>>,
}

impl AgentMetrics {
    /// The same with the number of accounts that have no credential.
    pub fn with_accounts(mut self, without_credential: Option<Arc<AtomicU64>>) -> Self {
        self.without_credential = without_credential;
        self
    }

    fn registry(&self) -> Registry {
        let mut registry = Registry::with_prefix(PREFIX);
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The release of this agent", version);
        self.contact_in(&mut registry);
        let standing = self.standing.now();
        feeds_in(&mut registry, &standing);
        ledger_in(&mut registry, &standing);
        gauge(
            &mut registry,
            "spend_feed_version",
            "The version of the spend feed that the gateway is told from",
            self.spent.head(),
        );
        let reads = Family::<FeedLabels, Gauge>::default();
        for (feed, read) in [("keys", &self.keys_read), ("spend", &self.spend_read)] {
            let age = seconds(read.age());
            reads.get_or_create(&one("feed", feed)).set(age);
        }
        registry.register(
            "feed_read_age_seconds",
            "Since the gateway last read a feed of this agent",
            reads,
        );
        if let Some(number) = &self.without_credential {
            gauge(
                &mut registry,
                "accounts_without_credential",
                "Accounts of the document that have no credential",
                number.load(Ordering::Relaxed),
            );
        }
        registry
    }

    fn contact_in(&self, registry: &mut Registry) {
        let counts = self.contact.counts();
        gauge(
            registry,
            "console_answer_age_seconds",
            "Since the console last answered",
            self.contact.age().as_secs(),
        );
        gauge(
            registry,
            "credential_refused",
            "Whether the console does not take this agent's credential",
            u64::from(self.contact.is_refused()),
        );
        let requests = [
            ("answered", counts.answered),
            ("away", counts.away),
            ("refused", counts.refused),
        ];
        counters(
            registry,
            "console_requests",
            "Requests to the console, by how they ended",
            &requests,
        );
    }
}

impl MetricsSource for AgentMetrics {
    fn write<'a>(
        &'a self,
        text: &'a mut MetricsText,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async move { text.add(&self.registry()) })
    }
}

/// Document, keys, credentials and spend, as they are here.
fn feeds_in(registry: &mut Registry, standing: &AgentStanding) {
    if let Some(digest) = &standing.document {
        let document = Info::new(vec![("digest", digest.clone())]);
        let help = "The document that this agent has, by its digest";
        registry.register("document", help, document);
    }
    gauge(
        registry,
        "keys_feed_version",
        "The version of the feed of keys up to which all are here",
        standing.keys.unwrap_or_default(),
    );
    let ages = Family::<FeedLabels, Gauge>::default();
    let troubles = Family::<FeedLabels, Gauge>::default();
    for (part, age, is_well) in &standing.parts {
        let of = one("part", part);
        ages.get_or_create(&of).set(seconds(*age));
        troubles.get_or_create(&of).set(i64::from(!is_well));
    }
    registry.register(
        "up_to_date_age_seconds",
        "Since a part of the work had nothing left to do",
        ages,
    );
    registry.register("trouble", "Whether something is in its way", troubles);
}

fn ledger_in(registry: &mut Registry, standing: &AgentStanding) {
    gauge(
        registry,
        "ledger_waiting_bytes",
        "The bytes of the ledger that the console has not acknowledged",
        standing.ledger_waiting,
    );
    gauge(
        registry,
        "ledger_waiting_age_seconds",
        "Since the oldest of them is waiting",
        standing.ledger_age.as_secs(),
    );
    let sent = &standing.sent;
    let lines = [("counted", sent.counted), ("aside", sent.aside)];
    let help = "Lines of the ledger that the console has counted, and kept aside";
    counters(registry, "ledger_lines", help, &lines);
    let batches = [
        ("taken", sent.taken),
        ("elsewhere", sent.elsewhere),
        ("failed", sent.failed),
    ];
    let help = "Batches of the ledger, by what became of them";
    counters(registry, "ledger_batches", help, &batches);
    let faults = [
        ("shortened", standing.faults.shortened),
        ("gone", standing.faults.gone),
    ];
    let help = "What somebody else has done to files of the ledger: made the open one shorter, taken one away that was not sent";
    counters(registry, "ledger_faults", help, &faults);
    let lost: Counter = Counter::default();
    lost.inc_by(standing.lost);
    let help = "Requests that an Envoy had begun when it was killed and that the ledger has no line of, at least";
    registry.register("ledger_lines_lost", help, lost);
    gauge(
        registry,
        "ledger_ballast_bytes",
        "The room beside the ledger that is given up when its disk is full; 0: it was, or there is too little",
        standing.ballast,
    );
}

type FeedLabels = Vec<(&'static str, String)>;

fn one(name: &'static str, value: &str) -> FeedLabels {
    vec![(name, value.to_owned())]
}

fn seconds(age: Duration) -> i64 {
    i64::try_from(age.as_secs()).unwrap_or(i64::MAX)
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let gauge: Gauge = Gauge::default();
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    registry.register(name, help, gauge);
}

fn counters(registry: &mut Registry, name: &str, help: &str, results: &[(&str, u64)]) {
    let family = Family::<FeedLabels, Counter>::default();
    for (result, count) in results {
        family.get_or_create(&one("result", result)).inc_by(*count);
    }
    registry.register(name, help, family);
}
