//! Limits: how much a key, its owner, alone and as a member of its team, its team and its group may use, and how much of that they have used.
//!
//! ```text
//!   request ──► Limiter::admit ──► Reservation … ended ──► Limiter::settle ──► Settlement ──► the record
//!                  │  a record for each of them that has limits, changed by compare-and-swap:
//!                  │  budget not spent, a slot free, room for a request and for the estimated tokens
//!                  └─► LimitViolation: whose limit, which, and how long until it would fit
//! ```
//!
//! [`terms`] is what a document grants, [`counters`] what has been used: rates by a leaky bucket
//! ([`rate`]), concurrent requests by leases ([`lease`]), money by the calendar ([`budget`]). The
//! counters are in shared data, one truth for all workers of an Envoy; only [`limiter`] changes them there.
//!
//! [`Reservations`] has all that one request has reserved, and is settled by value: once, however the request ends.
//!
//! Tokens are not known before the upstream has answered. A request is admitted on an
//! [`estimate`], which the settlement corrects, up or down; a limit never cuts a stream.
//!
//! Envoys that share limits ask a rate limit service: [`service`]. Budgets that they share are told what is spent
//! [`elsewhere`].

pub mod budget;
mod bytes;
pub mod count;
pub mod counters;
pub mod elsewhere;
pub mod estimate;
pub mod figures;
pub mod lease;
pub mod limiter;
mod now;
mod period;
pub mod rate;
mod reservations;
pub mod service;
mod store;
mod subject;
pub mod terms;
mod violation;

pub use budget::SpentElsewhere;
pub use count::Count;
pub use elsewhere::FleetSpend;
pub use estimate::Estimate;
pub use figures::{BudgetBalance, Figures, Gauge, SubjectFigures};
pub use limiter::{AdmitError, BudgetSpent, Consumption, Limiter, Reservation, Settlement};
pub use now::Now;
pub use period::{Period, Window};
pub use rate::Rate;
pub use reservations::{Quotas, Reservations};
pub use subject::{Subject, SubjectKind, member_id, member_parts, told_name};
pub use terms::Limits;
pub use violation::{Limit, LimitViolation};
