//! Limits: how much a key and its group may use, and how much of that they have used.
//!
//! ```text
//!   request ──► Limiter::admit ──► forwarded … ended ──► Limiter::settle
//!                  │  one record for the key, one for the group, each changed in one stroke:
//!                  │  budget not spent, a slot free, room for a request and for the estimated tokens
//!                  └─► Refused: which limit, and how long until it would fit
//! ```
//!
//! [`terms`] is what a document grants, [`counters`] what has been used: rates by a leaky bucket
//! ([`rate`]), concurrent requests by leases ([`lease`]), money by the calendar ([`budget`]). The
//! counters stand in shared data, one truth for all workers of an Envoy; [`limiter`] changes them
//! there, and nothing else does.
//!
//! Tokens are not known before the upstream has answered. A request is admitted on an
//! [`estimate`], which the end corrects, up or down; a stream is never cut by a limit.

pub mod budget;
mod bytes;
pub mod count;
pub mod counters;
pub mod estimate;
pub mod figures;
pub mod lease;
pub mod limiter;
mod now;
pub mod rate;
pub mod shared;
mod subject;
pub mod terms;

pub use budget::Window;
pub use count::Count;
pub use counters::Limit;
pub use estimate::Estimate;
pub use figures::{Figures, Gauge, Purse};
pub use limiter::{Grant, Limiter, Refused, Settled, Spent, Used};
pub use now::Now;
pub use rate::Rate;
pub use subject::{Scope, Subject};
pub use terms::Limits;
