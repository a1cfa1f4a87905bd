//! The options that say whose request the gateway's own code is to run.

mod key_holder;
mod key_place;

pub use key_holder::KeyHolderArgs;
pub use key_place::KeyPlaceArg;
