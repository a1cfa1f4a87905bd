//! Requests: the recent ones, and one of them.

mod list;
mod one;
mod row;
mod told;

pub use list::{list, live};
pub use one::one;
pub use row::{RequestRow, ending, line};
pub use told::{ExplanationPart, parts};
