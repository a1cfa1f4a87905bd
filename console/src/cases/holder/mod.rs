//! The view of a key for its holder: the remaining limits and budgets, and why its requests fail now.

mod binding;
mod diagnosis;
mod failure;
mod recent;
mod view;

pub(crate) use binding::RemainingBudget;
pub(crate) use diagnosis::RequestsState;
pub(crate) use view::{KeyReader, KeyRemaining, get, latest};
