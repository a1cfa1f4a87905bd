//! `trilane up` without an Envoy: what becomes one, and what is refused before one is started. On a real Envoy it is
//! tested in tests/e2e/up.

mod launcher;
mod refusals;
