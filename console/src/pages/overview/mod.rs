//! The overview: what was spent and asked for today, what needs somebody, and how it went over time.

mod account_needs;
mod attention;
mod budget_needs;
mod first_bytes;
mod show;
mod today;

pub use show::{live, show};
