//! Envoy as the pure rooms use it, in small traits. `src/filter` implements them with host calls, tests with a fake.
//!
//! Shared data has [a file of its own](crate::shared_data).

use core::fmt;
use core::time::Duration;

/// The clocks of the process. Each reading is a host call.
pub trait Clocks {
    /// Microseconds since the Unix epoch. Somebody may set this clock forward or back.
    fn wall_us(&self) -> u64;

    /// Microseconds of a clock that only goes forward, with one zero for all VMs of the process. Durations are measured
    /// by it.
    fn steady_us(&self) -> u64;

    /// [`wall_us`](Self::wall_us) in milliseconds.
    fn wall_ms(&self) -> u64 {
        self.wall_us() / 1000
    }

    /// [`steady_us`](Self::steady_us) in milliseconds.
    fn steady_ms(&self) -> u64 {
        self.steady_us() / 1000
    }
}

/// The client at the other end of a stream.
pub trait Peer {
    /// Envoy's text for its address and port, `192.0.2.7:4711`: behind proxies that Envoy trusts the one that they tell.
    fn peer(&self) -> Option<Vec<u8>>;
}

/// Numbers that no other VM draws.
pub trait Entropy {
    /// One of them.
    fn random(&self) -> u64;
}

/// The timer of a root context.
pub trait Timer {
    /// Ticks from now on at this period. Setting the same period again restarts it.
    fn tick_every(&self, period: Duration);
}

/// An HTTP call that was sent; its response, or its failure, names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId(pub u32);

/// A GET request to an Envoy cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchRequest<'a> {
    /// The Envoy cluster.
    pub cluster: &'a str,
    /// The `:authority`.
    pub authority: &'a str,
    /// The path, with its query.
    pub path: &'a str,
    /// More headers.
    pub headers: &'a [(&'a str, &'a str)],
}

/// HTTP calls of a root context.
pub trait Fetch {
    /// Sends a request. `None` where the cluster is unknown or has no host.
    fn fetch(&self, request: FetchRequest<'_>) -> Option<CallId>;
}

/// The response to a [`FetchRequest`]. Headers and body are copied out of Envoy only where they are read.
pub trait FetchResponse {
    /// The first value of a header.
    fn header(&self, name: &str) -> Option<String>;

    /// Returns the length of the body, in bytes.
    fn body_size(&self) -> usize;

    /// The body.
    fn body(&self) -> Vec<u8>;
}

/// The way in which a stat combines values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatKind {
    /// A sum that only grows.
    Counter,
    /// The value set last.
    Gauge,
    /// A distribution of values.
    Histogram,
}

/// The id of a defined stat; `None` where Envoy refused it, and then values go nowhere.
pub type StatId = Option<u32>;

/// Envoy's stats. A label is part of a stat's name, in the form `;label=value;`, which Envoy's `stats_tags` take apart.
pub trait Stats {
    /// Defines a stat, if it is not yet.
    fn define(&self, kind: StatKind, name: &str) -> StatId;

    /// Adds to a counter.
    fn add(&self, id: StatId, count: u64);

    /// Sets a gauge, or puts a value into a histogram.
    fn record(&self, id: StatId, value: u64);
}

/// Envoy's log.
pub trait Log {
    /// Writes a line.
    fn log(&self, level: log::Level, line: fmt::Arguments<'_>);
}

#[cfg(test)]
pub(crate) mod fake;
