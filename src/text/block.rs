//! Many bytes at a time: which of them are special in a JSON string.
//!
//! Special are `"`, `\`, control characters under 0x20, and whatever is not ASCII (RFC 8259, 7).

/// Sixteen bytes.
pub(super) type Block = [u8; 16];
/// Four blocks.
pub(super) type Piece = [Block; 4];

/// The special bytes of a piece and the commonest of what follows a backslash, one bit each. Bit 0 is the first
/// byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    pub quotes: u64,
    pub backslashes: u64,
    /// Control characters and bytes outside ASCII.
    pub others: u64,
    /// The letter `n`, as in `\\n`.
    pub ens: u64,
}

pub(super) use lanes::{has_special, specials};

/// Where the special bytes of a piece are.
pub(super) fn marks(piece: &Piece) -> Marks {
    let gather = |of: fn(&Block) -> u32| {
        let [a, b, c, d] = piece.each_ref().map(|block| u64::from(of(block)));
        a | (b << 16) | (c << 32) | (d << 48)
    };
    Marks {
        quotes: gather(lanes::quotes),
        backslashes: gather(lanes::backslashes),
        others: gather(lanes::others),
        ens: gather(lanes::ens),
    }
}

/// Whether a byte is special.
pub(super) fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | !(0x20..0x80).contains(&byte)
}

/// With the vector instructions of WebAssembly.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod lanes {
    use core::arch::wasm32::{
        i8x16_bitmask, i8x16_eq, i8x16_lt, i8x16_splat, u64x2, v128, v128_any_true, v128_or,
    };

    use super::{Block, Piece};

    fn load(block: &Block) -> v128 {
        let word = u128::from_le_bytes(*block);
        u64x2(word as u64, (word >> 64) as u64)
    }

    fn equal(bytes: v128, byte: u8) -> v128 {
        i8x16_eq(bytes, i8x16_splat(byte.cast_signed()))
    }

    /// As signed numbers, the bytes outside ASCII are less than every character.
    fn other(bytes: v128) -> v128 {
        i8x16_lt(bytes, i8x16_splat(0x20))
    }

    fn special(block: &Block) -> v128 {
        let bytes = load(block);
        let escapes = v128_or(equal(bytes, b'"'), equal(bytes, b'\\'));
        v128_or(other(bytes), escapes)
    }

    pub(super) fn quotes(block: &Block) -> u32 {
        i8x16_bitmask(equal(load(block), b'"')).into()
    }

    pub(super) fn backslashes(block: &Block) -> u32 {
        i8x16_bitmask(equal(load(block), b'\\')).into()
    }

    pub(super) fn ens(block: &Block) -> u32 {
        i8x16_bitmask(equal(load(block), b'n')).into()
    }

    pub(super) fn others(block: &Block) -> u32 {
        i8x16_bitmask(other(load(block))).into()
    }

    /// The special bytes of a block, one bit each.
    pub(in super::super) fn specials(block: &Block) -> u32 {
        i8x16_bitmask(special(block)).into()
    }

    /// Whether a piece has a special byte.
    pub(in super::super) fn has_special(piece: &Piece) -> bool {
        let [a, b, c, d] = piece.each_ref().map(special);
        v128_any_true(v128_or(v128_or(a, b), v128_or(c, d)))
    }
}

/// With plain integers, eight bytes in each.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod lanes {
    use super::{Block, Piece};

    /// The highest bit of each byte.
    const HIGH: u64 = 0x8080_8080_8080_8080;
    /// Times a byte: that byte everywhere.
    const EACH: u64 = 0x0101_0101_0101_0101;

    fn words(block: &Block) -> (u64, u64) {
        let word = u128::from_le_bytes(*block);
        (word as u64, (word >> 64) as u64)
    }

    /// The highest bit of each byte that is this one; exact, since no carry leaves its byte.
    fn equal(word: u64, byte: u8) -> u64 {
        let differ = word ^ EACH.wrapping_mul(byte.into());
        !(((differ & !HIGH).wrapping_add(!HIGH)) | differ) & HIGH
    }

    fn other(word: u64) -> u64 {
        // Adding 0x60 sets the highest bit of what is 0x20 and above.
        let printable = (word & !HIGH).wrapping_add(EACH.wrapping_mul(0x60));
        (word | !printable) & HIGH
    }

    fn special(word: u64) -> u64 {
        equal(word, b'"') | equal(word, b'\\') | other(word)
    }

    /// The highest bits side by side.
    fn bits(marked: u64) -> u32 {
        ((marked >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
    }

    fn both(block: &Block, mark: impl Fn(u64) -> u64) -> u32 {
        let (low, high) = words(block);
        bits(mark(low)) | (bits(mark(high)) << 8)
    }

    pub(super) fn quotes(block: &Block) -> u32 {
        both(block, |word| equal(word, b'"'))
    }

    pub(super) fn backslashes(block: &Block) -> u32 {
        both(block, |word| equal(word, b'\\'))
    }

    pub(super) fn ens(block: &Block) -> u32 {
        both(block, |word| equal(word, b'n'))
    }

    pub(super) fn others(block: &Block) -> u32 {
        both(block, other)
    }

    /// The special bytes of a block, one bit each.
    pub(in super::super) fn specials(block: &Block) -> u32 {
        both(block, special)
    }

    /// Whether a piece has a special byte.
    pub(in super::super) fn has_special(piece: &Piece) -> bool {
        let any = |block: &Block| {
            let (low, high) = words(block);
            special(low) | special(high)
        };
        piece.iter().fold(0, |marked, block| marked | any(block)) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place() {
        for place in 0..64 {
            for byte in 0..=255u8 {
                for around in [b'a', b'n', b'!', b'#', b'[', b']', b' ', 0x7F, 0xFF, 0] {
                    let mut bytes = [around; 64];
                    bytes[place] = byte;
                    let piece: Piece =
                        core::array::from_fn(|i| core::array::from_fn(|j| bytes[16 * i + j]));
                    let where_is = |of: &dyn Fn(u8) -> bool| {
                        let bit = |(at, byte): (usize, &u8)| u64::from(of(*byte)) << at;
                        bytes.iter().enumerate().map(bit).sum::<u64>()
                    };
                    let want = Marks {
                        quotes: where_is(&|b| b == b'"'),
                        backslashes: where_is(&|b| b == b'\\'),
                        others: where_is(&|b| !(0x20..0x80).contains(&b)),
                        ens: where_is(&|b| b == b'n'),
                    };
                    assert_eq!(marks(&piece), want, "{byte:#x} at {place} in {around:#x}");
                    let all = want.quotes | want.backslashes | want.others;
                    assert_eq!(has_special(&piece), all != 0, "{byte:#x} in {around:#x}");
                    let first = u64::from(specials(&piece[0]));
                    assert_eq!(first, all & 0xFFFF, "{byte:#x} at {place} in {around:#x}");
                }
            }
        }
    }
}
