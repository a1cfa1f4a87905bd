//! The control plane: what the console and the command `trilane` have in common.
//!
//! [`feed`] is the feed of keys as gateways read it, whatever it is made from. [`ledger`] reads lines of the ledger and adds
//! up what they say. [`timestamp`] reads and writes times.
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::string_slice,
        reason = "a test may panic"
    )
)]

pub mod documents;
pub mod feed;
pub mod intake;
pub mod ledger;
pub mod store;
pub mod timestamp;
