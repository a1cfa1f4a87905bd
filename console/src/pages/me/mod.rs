//! The person's own pages: keys, their remaining budgets, and why their requests fail; and the same of one key, by the key itself.

mod act;
mod by_key;
mod left;
mod new_key;
mod ordered_keys;
mod own;
mod own_keys;
mod spend;

pub use act::{confirm_disable, confirm_rotate, disable, end_old, end_sign_in, rotate};
pub use by_key::{ask, show};
pub use new_key::{create, new};
pub use ordered_keys::{take, waiting};
pub use own::{own, save_notices, sums, wants_first_key};

/// The path of what is done to one's own key.
pub(super) fn path_of(id: &str, act: &str) -> String {
    // Ids are letters, digits and - _ . : only, which a path has as they are.
    format!("/me/keys/{id}/{act}")
}
