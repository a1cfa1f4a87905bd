//! Plain integers in place of vectors: eight bytes in each.

use super::block::Block;

/// The highest bit of each byte.
pub(super) const HIGH: u64 = 0x8080_8080_8080_8080;

/// This byte in place of each.
pub(super) fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The two halves of a block. The lowest byte is the first.
pub(super) fn words(block: &Block) -> (u64, u64) {
    let word = u128::from_le_bytes(*block);
    (word as u64, (word >> 64) as u64)
}
