//! Metrics of a console, for Prometheus.
//!
//! Events of this process are counted where they happen. The state of the fleet is read from the database at each scrape
//! (`fleet`), so consoles that share a database say the same of it. The `server` serves what its sources write, on a listener
//! of its own: a proxy in front of the console does not have it. No label has a key, a token, an address or a name of a person.

mod console_metrics;
mod fleet;
mod requests;
mod server;

pub use console_metrics::ConsoleMetrics;
pub(crate) use requests::count_requests;
pub use server::{MetricsSource, MetricsText, RelayedPage, serve};
