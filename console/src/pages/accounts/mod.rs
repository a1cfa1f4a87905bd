//! The upstream accounts in force, and their credentials, of which none is ever shown.

mod credential;
mod failures;
mod in_force;
mod list;

pub use credential::{confirm_remove, credential, put, remove};
pub use in_force::{credential_state, groups, is_of};
pub use list::{list, test};
