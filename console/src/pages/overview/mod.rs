//! The overview: what was spent and asked for in a span of time, what needs somebody, and how it went.

mod account_needs;
mod attention;
mod budget_needs;
mod console_needs;
mod first_bytes;
mod range;
mod show;
mod totals;
mod uncovered_needs;
mod unpriced_needs;

pub use show::{live, show};
