//! Sixteen bytes at a time: which of them are special in a JSON string.

/// Sixteen bytes.
pub(super) type Block = [u8; 16];

/// The bytes of a block that are special: `"`, `\`, a control character under 0x20, or not ASCII. Bit 0 is
/// the first byte.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(super) fn specials(block: &Block) -> u32 {
    core::arch::wasm32::i8x16_bitmask(marked(block)).into()
}

/// Whether any of these blocks has a special byte.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(super) fn has_special(blocks: &[Block; 4]) -> bool {
    use core::arch::wasm32::{v128_any_true, v128_or};

    let [a, b, c, d] = blocks;
    let left = v128_or(marked(a), marked(b));
    let right = v128_or(marked(c), marked(d));
    v128_any_true(v128_or(left, right))
}

/// All bits of each special byte are set, none of any other.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
fn marked(block: &Block) -> core::arch::wasm32::v128 {
    use core::arch::wasm32::{i8x16_eq, i8x16_lt, i8x16_splat, u64x2, v128_or};

    let word = u128::from_le_bytes(*block);
    let bytes = u64x2(word as u64, (word >> 64) as u64);
    // As signed numbers, the bytes outside ASCII are less than every character.
    let outside = i8x16_lt(bytes, i8x16_splat(0x20));
    let quote = i8x16_eq(bytes, i8x16_splat(0x22));
    let backslash = i8x16_eq(bytes, i8x16_splat(0x5C));
    v128_or(outside, v128_or(quote, backslash))
}

/// The same without vector instructions.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
pub(super) fn specials(block: &Block) -> u32 {
    let mark = |bits: u32, (at, byte): (u32, &u8)| bits | (u32::from(is_special(*byte)) << at);
    (0..).zip(block).fold(0, mark)
}

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
pub(super) fn has_special(blocks: &[Block; 4]) -> bool {
    let bytes = blocks.as_flattened().iter();
    bytes.fold(false, |any, byte| any | is_special(*byte))
}

/// Whether a byte is no plain character of a JSON string (RFC 8259, 7): `"`, `\`, under 0x20, or not ASCII.
pub(super) fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | !(0x20..0x80).contains(&byte)
}
