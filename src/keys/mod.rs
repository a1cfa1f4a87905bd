//! The key store: one record for each API key, in Envoy's shared data.
//!
//! ```text
//!                  document namespace              feed namespace
//!  written by      loader                         feed (full and incremental sync)
//!  stands at       trilane/key/<digest>            trilane/feed/<bucket>, many records in one value
//!  holds a key     epoch ≥ the policy's epoch      epoch ≥ the feed's watermark, not removed
//!                  └────────────── lookup(): the document has precedence ──────────────┘
//! ```
//!
//! Both namespaces hold the same [`StoredRecord`], written and read by one [codec]. A [`lookup`] reads at most one
//! value of each. Nothing here knows the document's form or the feed's protocol.

mod access;
mod addresses;
pub mod bucket;
pub mod codec;
mod record;
mod store;

pub use access::KeyAccess;
pub use addresses::{AddressList, AddressRange, address_of_peer};
pub use record::{KeyDigest, KeyRecord, KeyTerms, StoredRecord, Unreadable};
pub use store::{Coverage, FeedStatus, KeyLookup, Lookup, Namespace, RecordScope, lookup, read};
