//! The usage record of one exchange: who made the request, for what, how it ended, what it used and cost.
//!
//! There is exactly one record for each request that reached the filter. It becomes one line of
//! Envoy's access log and the increments of the metrics.

mod attempts;
mod buffer;
mod ending;
mod json;
mod masked;
mod record;
mod rejections;
mod request_labels;
mod upstream_error;
pub mod writability;

pub use attempts::{AttemptFailure, Attempts, FailedAttempt};
pub use ending::{Ending, UsageStatus};
pub use record::{AccountCost, Record, RouteTaken};
pub use rejections::{AccountRejection, RejectionLog};
pub use request_labels::RequestLabels;
pub use upstream_error::{AccountFault, UpstreamError};
pub use writability::Writability;

#[cfg(test)]
mod tests;
