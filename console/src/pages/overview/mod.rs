//! The overview: what was spent and asked for today, what needs somebody, and how it went over time.

mod account_needs;
mod attention;
mod budget_needs;
mod first_bytes;
mod show;
mod today;
mod uncovered_needs;

pub use show::{live, show};
