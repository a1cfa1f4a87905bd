//! `trilane up` without an Envoy: what becomes one, and what is refused before one is started. On a real Envoy it is
//! tested in tests/e2e/up.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::string_slice,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod desk;

#[path = "up/launcher.rs"]
mod launcher;
#[path = "up/refusals.rs"]
mod refusals;
