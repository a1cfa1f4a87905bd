//! Usage: sums by what one wants to know, as a table, as charts, and as a file.

mod asked;
pub(super) mod charts;
mod csv;
mod show;

pub use csv::table;
pub use show::{charges, count, show};
