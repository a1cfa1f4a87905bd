//! The vectors of WebAssembly.

use core::arch::wasm32::{u64x2, v128};

use super::block::Block;

/// A block as a vector.
pub(super) fn load(block: &Block) -> v128 {
    let word = u128::from_le_bytes(*block);
    u64x2(word as u64, (word >> 64) as u64)
}
