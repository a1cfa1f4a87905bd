//! What whoever holds a key sees of it: what is left of all that binds it, and why its requests fail now.

mod binding;
mod diagnosis;
mod failure;
mod recent;
mod view;

pub(crate) use binding::RemainingBudget;
pub(crate) use diagnosis::RequestsState;
pub(crate) use view::{__path_get, KeyReader, KeyRemaining, get, latest};
