//! Requests: the recent ones, and one of them.

mod list;
mod one;
mod row;

pub use list::{list, live};
pub use one::{ExplanationPart, one, parts};
pub use row::{RequestRow, ending};
