//! Identity providers: their settings, people who sign in by them, and whether those are still there.

mod admission;
mod rules;
pub(crate) mod settings;
pub(crate) mod sign_in;
pub(crate) mod still_there;
pub(crate) mod switch;
pub(crate) mod unlink;

pub(crate) use admission::Refusal;
pub(crate) use rules::ClaimRule;
