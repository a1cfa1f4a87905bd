//! The filter and the judge that this program carries, if it was built with them.
//!
//! `TRILANE_EMBED_WASM` names the filter's file while this program is built, and the judge's is beside it; `make programs` and a
//! release do so. A plain `cargo build` leaves them out.

use std::path::{Path, PathBuf};

const FILTER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/filter.wasm"));
const JUDGE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/judge.wasm"));

/// The filter.
pub fn carried_filter() -> Option<&'static [u8]> {
    Some(FILTER).filter(|bytes| !bytes.is_empty())
}

/// The judge.
pub fn carried_judge() -> Option<&'static [u8]> {
    Some(JUDGE).filter(|bytes| !bytes.is_empty())
}

/// The file of a judge to read in place of the one in this program: beside a filter that is read, where there is one or this
/// program has none.
pub fn other_judge(filter: &Path) -> Option<PathBuf> {
    Some(judge_beside(filter)).filter(|file| file.exists() || carried_judge().is_none())
}

/// The file of the judge, beside that of the filter.
pub fn judge_beside(filter: &Path) -> PathBuf {
    filter.with_file_name("trilane_judge.wasm")
}
