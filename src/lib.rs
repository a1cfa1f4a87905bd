//! A multi-protocol AI gateway as one filter for stock Envoy.
//!
//! # The life of a request
//!
//! 1. Envoy calls `filter::http` with the head. [`exchange`] reads it as bytes ([`head`]) and
//!    finds the [`protocol::endpoint`].
//! 2. [`auth`] finds the credential in the protocol's own header, and the status of the API key
//!    behind it: one record of the key store ([`keys`]), found by the key's digest.
//! 3. [`exchange::Route`] goes from the key's group to the source that serves this protocol: the
//!    group itself, or for a Mixed group the entry's source group.
//! 4. [`body`] reads the body as it comes by until the top-level `model` is known; [`model`] says
//!    which model of the group's catalog the name means.
//! 5. The head leaves with its cluster named and every credential taken out; the rest of the body
//!    follows as it comes, still read, so that none that is refused ever arrives whole.
//! 6. The answer comes back and is relayed as it comes; [`usage`] reads what it reports and changes
//!    nothing.
//! 7. Whatever is refused on the way, or fails upstream, is a [`reply::Rejection`], answered in the
//!    protocol's own words.
//! 8. However it ends, the exchange leaves one record ([`ledger`]) with its exact charge ([`money`]).
//!
//! The policy behind these decisions comes from one document ([`config`]), which a [`loader`] fetches,
//! checks and publishes to shared data, where every [`worker`] reads it. Keys come from the document, and stand in the
//! policy's value, or from a feed ([`feed`]), and stand there too.
//!
//! Only `filter` and `entry` know Envoy, and are compiled for it alone; everything else is pure and
//! runs anywhere. The judge of answers ([`failover::judge`]) is a module of its own, in `judge/`.
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::string_slice,
        reason = "a test may panic"
    )
)]

pub mod auth;
pub mod body;
pub mod config;
#[cfg(all(target_arch = "wasm32", feature = "filter"))]
mod entry;
pub mod exchange;
pub mod failover;
pub mod feed;
#[cfg(all(target_arch = "wasm32", feature = "filter"))]
mod filter;
pub mod head;
pub mod held_body;
pub mod host;
pub mod keys;
pub mod ledger;
pub mod limits;
pub mod loader;
pub mod metrics;
pub mod model;
pub mod money;
pub mod protocol;
pub mod reply;
pub mod shared_data;
pub mod spend;
mod text;
pub mod usage;
pub mod worker;

/// A short text of an exchange. It needs no memory of its own up to 23 bytes, and a longer one is shared by its copies.
pub use smol_str::SmolStr;

/// The configuration of property tests: a failure's seed is kept beside the test, `x.proptest-regressions` for `x.rs`, and
/// not in a directory of the crate's root. With `PROPTEST_DISABLE_FAILURE_PERSISTENCE` it is kept nowhere.
#[cfg(test)]
fn seeds_beside_source() -> proptest::test_runner::Config {
    use proptest::test_runner::{Config, FileFailurePersistence::WithSource};
    let config = Config::default();
    if config.failure_persistence.is_none() {
        return config;
    }
    Config::with_failure_persistence(WithSource("proptest-regressions"))
}
