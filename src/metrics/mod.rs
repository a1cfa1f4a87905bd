//! Envoy stats of the gateway, and the events that count in them.
//!
//! A label is part of a stat's name, in the form `;label=value;`, which Envoy's `stats_tags` take apart again. Stats
//! never expire, so nothing that a client can choose is ever a label.

mod accounts;
mod batch;
mod configuration;
mod ejections;
mod exchanges;
mod feed;
mod ledger;
mod limits;
mod metric;
mod spend;

pub use configuration::{ConfigStats, LoadFailure};
pub use ejections::{EjectionStats, tell_ejection};
pub use exchanges::{ExchangeStats, PROBES};
pub use feed::FeedStats;
pub use ledger::LedgerStats;
pub use spend::SpendStats;
