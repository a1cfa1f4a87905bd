//! Configuration: the document as written, the policy as compiled, and both as published.
//!
//! [`document`] mirrors the JSON; [`policy`] is what the filter decides by, every reference
//! resolved; [`snapshot`] is how it stands in Envoy's shared data.

pub mod account;
pub mod base;
pub mod compile;
pub mod cors;
pub mod document;
pub mod document_hash;
pub mod error;
mod feed_source;
pub mod key;
pub mod labels;
pub mod origin;
pub mod policy;
mod read;
#[cfg(not(target_arch = "wasm32"))]
mod salvage;
pub(crate) mod schema;
pub mod snapshot;
pub mod snapshot_cache;
mod some_of;
mod suggestion;

pub use compile::{Compiled, compile};
pub use document::Document;
pub use error::{Problem, Problems};
pub use feed_source::FeedSource;
pub use policy::Policy;
pub use some_of::some_of;
pub use suggestion::suggestion;
