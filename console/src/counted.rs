//! The counters of this process since its start.

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::connections::ConnectionEvent;
use crate::workload::Workload;

/// The labels of a metric.
pub(crate) type MetricLabels = Vec<(&'static str, String)>;

/// The most Envoys that have a series of their own; more are counted as one.
pub(crate) const ENVOYS: usize = 1000;
/// The name under which the others are counted.
pub(crate) const OTHERS: &str = "(others)";

/// One console runs in a process, and errors of its database come from everywhere.
static COUNTED: LazyLock<ConsoleCounters> = LazyLock::new(ConsoleCounters::new);

/// The counters of this process.
pub fn counted() -> &'static ConsoleCounters {
    &COUNTED
}

/// The outcome of a batch of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchOutcome {
    /// It was taken in.
    Taken,
    /// It brought nothing new.
    Repeated,
    /// It does not begin where the batches before ended.
    Elsewhere,
    /// The database did not take it.
    Failed,
}

impl BatchOutcome {
    const ALL: [Self; 4] = [Self::Taken, Self::Repeated, Self::Elsewhere, Self::Failed];

    const fn name(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Repeated => "repeated",
            Self::Elsewhere => "elsewhere",
            Self::Failed => "failed",
        }
    }
}

/// The outcome of an attempt to sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInOutcome {
    /// A session began.
    SignedIn,
    /// Person or password is wrong.
    Wrong,
    /// The person or the address had too many failures before.
    TooMany,
    /// The link is not good, or no longer.
    Link,
    /// An identity provider did not vouch for the person, or the person is not admitted.
    Provider,
}

impl SignInOutcome {
    const ALL: [Self; 5] = [
        Self::SignedIn,
        Self::Wrong,
        Self::TooMany,
        Self::Link,
        Self::Provider,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::SignedIn => "signed_in",
            Self::Wrong => "wrong",
            Self::TooMany => "too_many",
            Self::Link => "link",
            Self::Provider => "provider",
        }
    }
}

/// The outcome of an attempt to deliver a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookOutcome {
    /// It was delivered.
    Delivered,
    /// It is tried again later.
    Failed,
    /// It is never tried again.
    GivenUp,
}

impl WebhookOutcome {
    const ALL: [Self; 3] = [Self::Delivered, Self::Failed, Self::GivenUp];

    const fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::GivenUp => "given_up",
        }
    }
}

/// The kinds of errors of the database that are counted. A rule that a change violates is none.
const ERRORS: [&str; 5] = ["unreachable", "conflict", "tables", "value", "other"];

/// Counters of this process. A series is there from the beginning, or its first event would go unseen by `increase()`.
#[derive(Debug)]
pub struct ConsoleCounters {
    requests: Family<MetricLabels, Counter>,
    request_seconds: Family<MetricLabels, Histogram>,
    lines: Family<MetricLabels, Counter>,
    batches: Family<MetricLabels, Counter>,
    sign_ins: Family<MetricLabels, Counter>,
    webhooks: Family<MetricLabels, Counter>,
    errors: Family<MetricLabels, Counter>,
    changes: Histogram,
    waits: Family<MetricLabels, Histogram>,
    without_connection: Family<MetricLabels, Counter>,
    connections: Gauge,
    closed: Family<MetricLabels, Counter>,
    propagations: Histogram,
    pending: Gauge,
    envoys: Mutex<BTreeSet<String>>,
}

impl ConsoleCounters {
    fn new() -> Self {
        let counters = Self {
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(seconds),
            lines: Family::default(),
            batches: Family::default(),
            sign_ins: Family::default(),
            webhooks: Family::default(),
            errors: Family::default(),
            changes: seconds(),
            waits: Family::new_with_constructor(seconds),
            without_connection: Family::default(),
            connections: Gauge::default(),
            closed: Family::default(),
            propagations: Histogram::new([
                0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.5, 10.0, 15.0, 30.0, 60.0, 300.0,
            ]),
            pending: Gauge::default(),
            envoys: Mutex::default(),
        };
        for kind in ERRORS {
            drop(counters.errors.get_or_create(&one("kind", kind)));
        }
        for workload in Workload::ALL {
            let labels = one("workload", workload.name());
            drop(counters.waits.get_or_create(&labels));
            drop(counters.without_connection.get_or_create(&labels));
        }
        for why in [
            ConnectionEvent::TimedOut,
            ConnectionEvent::AddressCrowded,
            ConnectionEvent::Crowded,
        ] {
            drop(counters.closed.get_or_create(&one("reason", reason(why))));
        }
        for outcome in SignInOutcome::ALL {
            drop(
                counters
                    .sign_ins
                    .get_or_create(&one("result", outcome.name())),
            );
        }
        for outcome in WebhookOutcome::ALL {
            drop(
                counters
                    .webhooks
                    .get_or_create(&one("result", outcome.name())),
            );
        }
        counters
    }

    /// Counts a request.
    pub fn request(&self, class: &'static str, status: u16, took: Duration) {
        let labels = vec![("class", class.to_owned()), ("status", status.to_string())];
        self.requests.get_or_create(&labels).inc();
        let seconds = self.request_seconds.get_or_create(&one("class", class));
        seconds.observe(took.as_secs_f64());
    }

    /// Counts a batch of the ledger, with the lines of it that were counted and kept aside now.
    pub fn batch(&self, envoy: &str, outcome: BatchOutcome, lines: usize, aside: usize) {
        let envoy = self.envoy(envoy);
        let of = |name, value: &str| vec![("envoy", envoy.clone()), (name, value.to_owned())];
        self.batches
            .get_or_create(&of("result", outcome.name()))
            .inc();
        for (result, count) in [("counted", lines), ("aside", aside)] {
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            self.lines
                .get_or_create(&of("result", result))
                .inc_by(count);
        }
    }

    /// Makes the series of an Envoy that is known.
    pub fn expect_envoy(&self, envoy: &str) {
        let envoy = self.envoy(envoy);
        let of = |value: &str| vec![("envoy", envoy.clone()), ("result", value.to_owned())];
        for outcome in BatchOutcome::ALL {
            drop(self.batches.get_or_create(&of(outcome.name())));
        }
        for result in ["counted", "aside"] {
            drop(self.lines.get_or_create(&of(result)));
        }
    }

    /// The label of an Envoy: there are never too many.
    fn envoy(&self, envoy: &str) -> String {
        let mut known = self.envoys.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(envoy) {
            return envoy.to_owned();
        }
        if known.len() >= ENVOYS {
            return OTHERS.to_owned();
        }
        known.insert(envoy.to_owned());
        envoy.to_owned()
    }

    /// Counts an attempt to sign in.
    pub fn sign_in(&self, outcome: SignInOutcome) {
        let labels = one("result", outcome.name());
        self.sign_ins.get_or_create(&labels).inc();
    }

    /// Counts an attempt to deliver a message.
    pub fn webhook(&self, outcome: WebhookOutcome) {
        let labels = one("result", outcome.name());
        self.webhooks.get_or_create(&labels).inc();
    }

    /// Counts an error of the database, of this kind.
    pub fn database_error(&self, kind: &'static str) {
        self.errors.get_or_create(&one("kind", kind)).inc();
    }

    /// Counts how long a workload waited for a connection of the database, and whether there was one.
    pub fn database_wait(&self, workload: Workload, took: Duration, got: bool) {
        let labels = one("workload", workload.name());
        self.waits
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
        if !got {
            self.without_connection.get_or_create(&labels).inc();
        }
    }

    /// Counts what becomes of a client's connection.
    pub fn connection(&self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Opened => drop(self.connections.inc()),
            ConnectionEvent::Ended => drop(self.connections.dec()),
            why => drop(self.closed.get_or_create(&one("reason", reason(why))).inc()),
        }
    }

    /// Counts how long it took until all Envoys that are there had a change of keys.
    pub fn key_change(&self, took: Duration) {
        self.propagations.observe(took.as_secs_f64());
    }

    /// Notes since when a change of keys waits that some Envoy does not have.
    pub fn key_change_pending(&self, since: Duration) {
        self.pending
            .set(i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    }

    /// Counts a change of the database, from its first attempt to its end.
    pub fn database_change(&self, took: Duration) {
        self.changes.observe(took.as_secs_f64());
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "requests",
            "Requests, by class of route and status",
            self.requests.clone(),
        );
        registry.register(
            "request_seconds",
            "How long requests took, by class of route",
            self.request_seconds.clone(),
        );
        registry.register(
            "ledger_lines",
            "Lines of the ledger that were counted, and kept aside",
            self.lines.clone(),
        );
        registry.register(
            "ledger_batches",
            "Batches of the ledger, by what became of them",
            self.batches.clone(),
        );
        registry.register(
            "sign_ins",
            "Attempts to sign in, by what became of them",
            self.sign_ins.clone(),
        );
        registry.register(
            "webhook_attempts",
            "Attempts to deliver messages, by what became of them",
            self.webhooks.clone(),
        );
        registry.register(
            "database_errors",
            "Errors of the database, by kind",
            self.errors.clone(),
        );
        registry.register(
            "database_wait_seconds",
            "How long was waited for a connection of the database, by workload",
            self.waits.clone(),
        );
        registry.register(
            "database_without_connection",
            "How often there was no connection of the database in time, by workload",
            self.without_connection.clone(),
        );
        registry.register(
            "connections",
            "Connections of clients",
            self.connections.clone(),
        );
        registry.register(
            "connections_closed",
            "Connections of clients that this console closed, by why",
            self.closed.clone(),
        );
        registry.register(
            "key_change_seconds",
            "How long it took until all Envoys that were heard of had a change of keys",
            self.propagations.clone(),
        );
        registry.register(
            "key_change_pending_seconds",
            "Since when a change of keys waits that some Envoy that was heard of does not have; 0: there is none",
            self.pending.clone(),
        );
        registry.register(
            "database_change_seconds",
            "How long changes of the database took, waiting for others included",
            self.changes.clone(),
        );
    }
}

/// Returns the reason that a connection is closed, as a metric label; empty for other events.
const fn reason(event: ConnectionEvent) -> &'static str {
    match event {
        ConnectionEvent::TimedOut => "timed_out",
        ConnectionEvent::AddressCrowded => "address_crowded",
        ConnectionEvent::Crowded => "crowded",
        ConnectionEvent::Opened | ConnectionEvent::Ended => "",
    }
}

pub(crate) fn one(name: &'static str, value: &str) -> MetricLabels {
    vec![(name, value.to_owned())]
}

/// From a millisecond to ten seconds.
fn seconds() -> Histogram {
    Histogram::new([
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_too_many_envoys() {
        let counters = ConsoleCounters::new();
        for number in 0..ENVOYS {
            assert_eq!(counters.envoy(&format!("e{number}")), format!("e{number}"));
        }
        assert_eq!(counters.envoy("one more"), OTHERS);
        assert_eq!(counters.envoy("e0"), "e0", "one that is known stays");
    }
}
