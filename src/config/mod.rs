//! Configuration: the document as written, the policy as compiled, and both as published.
//!
//! [`document`] mirrors the JSON; [`policy`] is what the filter decides by, every reference
//! resolved; [`record`] and [`snapshot`] are how keys and policy stand in Envoy's shared data; [`feed`]
//! reads the keys that the document does not name itself.

pub mod account;
pub mod base;
pub mod compile;
pub mod document;
pub mod error;
pub mod feed;
mod form;
pub mod multiplier;
pub mod origin;
pub mod policy;
pub mod publish;
pub mod record;
mod salvage;
pub mod snapshot;
pub mod snapshot_cache;
mod suggestion;

pub use compile::{Compiled, compile};
pub use document::Document;
pub use error::{Problem, Problems};
pub use multiplier::Multiplier;
pub use policy::Policy;
pub use salvage::problems_of_key;
pub use suggestion::suggestion;
