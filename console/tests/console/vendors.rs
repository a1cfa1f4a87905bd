//! Stand-ins of vendors, the same as those of `trilane init`.

#[path = "../../../tests/vendors/lists.rs"]
mod lists;

pub use lists::*;

/// The credential of every vendor here. Nothing may show what begins so.
pub const CREDENTIAL: &str = "sk-dont-tell-vendor";
