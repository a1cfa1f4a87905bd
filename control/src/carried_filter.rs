//! The filter that this program carries, if it was built with one.
//!
//! `TRILANE_EMBED_WASM` names the file while this program is built; `make programs` and a release do so. A plain `cargo build`
//! leaves it out.

/// The filter, or nothing.
const BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/filter.wasm"));

/// The filter.
pub fn carried_filter() -> Option<&'static [u8]> {
    Some(BYTES).filter(|bytes| !bytes.is_empty())
}
