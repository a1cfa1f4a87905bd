//! The key store: one record for each API key.
//!
//! ```text
//!                  the document's keys             the feed's keys
//!  written by      loader, with the policy         feed (full and incremental sync)
//!  stands in       the policy's value, sorted      shared data, trilane/feed/<bucket>, many records in one value
//!  holds a key     as long as the policy           epoch ≥ the feed's watermark, not removed
//!                  └────────────── lookup(): the document has precedence ──────────────┘
//! ```
//!
//! Both have the same [`KeyRecord`], written and read by one [codec]. A [`lookup`] reads at most one value of
//! shared data. Nothing here knows the document's form or the feed's protocol.

mod access;
mod addresses;
pub mod bucket;
pub mod codec;
mod record;
mod store;
mod table;

pub use access::KeyAccess;
pub use addresses::{AddressList, AddressRange, address_of_peer};
pub use record::{KeyDigest, KeyRecord, KeyTerms, StoredRecord, Unreadable};
pub use store::{Coverage, FeedStatus, KeyLookup, lookup, read};
pub use table::KeyTable;
