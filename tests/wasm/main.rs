//! The built filter in a small WebAssembly host: what neither native tests nor a real Envoy can show.
//!
//! Native tests do not run `src/filter`; a real Envoy cannot be made to call back in odd orders, to fail
//! a fetch in a given way, or to hold damaged shared data. [`host`] plays Envoy's part of the Proxy-Wasm ABI
//! as strictly as Envoy does: a status that Envoy would give is given, a call that the scenario did
//! not foresee traps with its own name. [`stream`] plays Envoy's part of an exchange.
//!
//! `TRILANE_WASM` names the filter, and the judge is beside it; `make wasm-test` builds both first.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    missing_docs,
    reason = "a test may panic"
)]

mod abi;
mod calls;
mod chaos;
mod damage;
mod documents;
mod fallback;
mod feed;
mod host;
mod judge;
mod layout;
mod limits;
mod loader;
mod packing;
mod publication;
mod records;
mod replaced;
mod requests;
mod stream;
mod vectors;
