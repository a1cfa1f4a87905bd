//! The life of the configuration document: a draft is written, checked, published, and published again.
//!
//! [`check()`] is the filter's own compiler, so what is published is what gateways take. Every version stays as it was, also in
//! the form in which gateways got it. Nobody's change is lost: a draft is changed and published by its revision, and only while
//! the version that it was begun from is still in force.

pub mod budget_losses;
mod check;
mod difference;
mod life;
pub mod model_changes;
mod named_files;
pub mod price_changes;
pub mod setting_changes;

pub use check::{CheckedDocument, check};
pub use difference::{Difference, differences};
pub use life::{DocumentError, NewDraft, begin, change, find_locked, publish, publish_again};
pub use named_files::{NOT_PLAIN, outside_names};
