//! Characters outside ASCII: whole ones, many at a time.

use super::block::{Block, Piece};

/// Whether a piece goes on with UTF-8 behind this block, which does. Both may end inside a character, of which a first
/// byte alone is not judged before the next one is there.
pub(super) fn is_utf8(before: &Block, piece: &Piece) -> bool {
    lanes::is_utf8(before, piece)
}

/// How many bytes at the end begin a character in UTF-8 that is not whole.
pub(super) fn unfinished(bytes: &[u8]) -> usize {
    match bytes {
        [.., 0xC0..=0xFF] => 1,
        [.., 0xE0..=0xFF, _] => 2,
        [.., 0xF0..=0xFF, _, _] => 3,
        _ => 0,
    }
}

/// The length of the whole character outside ASCII at the start; 0 where there is none.
pub(super) fn character_length(bytes: &[u8]) -> usize {
    // The Unicode Standard, table 3-7.
    match bytes {
        [0xC2..=0xDF, 0x80..=0xBF, ..] => 2,
        [0xE0, 0xA0..=0xBF, 0x80..=0xBF, ..]
        | [0xE1..=0xEC | 0xEE..=0xEF, 0x80..=0xBF, 0x80..=0xBF, ..]
        | [0xED, 0x80..=0x9F, 0x80..=0xBF, ..] => 3,
        [0xF0, 0x90..=0xBF, 0x80..=0xBF, 0x80..=0xBF, ..]
        | [0xF1..=0xF3, 0x80..=0xBF, 0x80..=0xBF, 0x80..=0xBF, ..]
        | [0xF4, 0x80..=0x8F, 0x80..=0xBF, 0x80..=0xBF, ..] => 4,
        _ => 0,
    }
}

/// With the vector instructions of WebAssembly: the algorithm of Keiser and Lemire, "Validating UTF-8 in less than
/// one instruction per byte" (2021).
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod lanes {
    use core::arch::wasm32::{
        i8x16_shuffle, i8x16_swizzle, u8x16_sub_sat, u16x8_shr, v128, v128_and, v128_any_true,
        v128_or, v128_xor,
    };
    use core::hint::black_box;

    use super::super::vector::load;
    use super::{Block, Piece};

    // What two neighbours can do wrong; each bit is what is wrong with both of them.
    /// A first byte, and no continuation behind it.
    const TOO_SHORT: u8 = 1 << 0;
    /// A character of ASCII, and a continuation.
    const TOO_LONG: u8 = 1 << 1;
    const OVERLONG_3: u8 = 1 << 2;
    const TOO_LARGE: u8 = 1 << 3;
    const SURROGATE: u8 = 1 << 4;
    const OVERLONG_2: u8 = 1 << 5;
    const OVERLONG_4: u8 = 1 << 6;
    /// Past U+10FFFF, and then a continuation under 0x90: no first byte has this and is overlong too.
    const TOO_LARGE_1000: u8 = OVERLONG_4;
    /// Two continuations: wrong unless a first byte wants both.
    const TWO_CONTINUATIONS: u8 = 1 << 7;
    /// What the low half of the first byte says nothing of.
    const ANY: u8 = TOO_SHORT | TOO_LONG | TWO_CONTINUATIONS;

    const FIRST_HIGH: Block = [
        TOO_LONG,
        TOO_LONG,
        TOO_LONG,
        TOO_LONG,
        TOO_LONG,
        TOO_LONG,
        TOO_LONG,
        TOO_LONG,
        TWO_CONTINUATIONS,
        TWO_CONTINUATIONS,
        TWO_CONTINUATIONS,
        TWO_CONTINUATIONS,
        TOO_SHORT | OVERLONG_2,
        TOO_SHORT,
        TOO_SHORT | OVERLONG_3 | SURROGATE,
        TOO_SHORT | TOO_LARGE | TOO_LARGE_1000 | OVERLONG_4,
    ];
    const FIRST_LOW: Block = [
        ANY | OVERLONG_2 | OVERLONG_3 | OVERLONG_4,
        ANY | OVERLONG_2,
        ANY,
        ANY,
        ANY | TOO_LARGE,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000 | SURROGATE,
        ANY | TOO_LARGE | TOO_LARGE_1000,
        ANY | TOO_LARGE | TOO_LARGE_1000,
    ];
    const CONT: u8 = TOO_LONG | OVERLONG_2 | TWO_CONTINUATIONS;
    const SECOND_HIGH: Block = [
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
        CONT | OVERLONG_3 | TOO_LARGE_1000 | OVERLONG_4,
        CONT | OVERLONG_3 | TOO_LARGE,
        CONT | SURROGATE | TOO_LARGE,
        CONT | SURROGATE | TOO_LARGE,
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
        TOO_SHORT,
    ];

    static CONSTANTS: [Block; 7] = [
        FIRST_HIGH,
        FIRST_LOW,
        SECOND_HIGH,
        [0x0F; 16],
        [0xE0 - 0x80; 16],
        [0xF0 - 0x80; 16],
        [0x80; 16],
    ];

    pub(super) fn is_utf8(before: &Block, piece: &Piece) -> bool {
        let [
            first_high,
            first_low,
            second_high,
            low,
            third,
            fourth,
            highest,
        ] = black_box(&CONSTANTS).each_ref().map(load);
        let upper = |block: v128| v128_and(u16x8_shr(block, 4), low);
        let errors = |before: v128, block: v128| {
            let one = i8x16_shuffle::<15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30>(
                before, block,
            );
            let one_upper =
                i8x16_shuffle::<15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30>(
                    upper(before),
                    upper(block),
                );
            let two = i8x16_shuffle::<14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29>(
                before, block,
            );
            let three =
                i8x16_shuffle::<13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28>(
                    before, block,
                );
            let pairs = v128_and(
                v128_and(
                    i8x16_swizzle(first_high, one_upper),
                    i8x16_swizzle(first_low, v128_and(one, low)),
                ),
                i8x16_swizzle(second_high, upper(block)),
            );
            // The highest bit where a first byte two or three before wants a continuation.
            let wanted = v128_or(u8x16_sub_sat(two, third), u8x16_sub_sat(three, fourth));
            v128_xor(v128_and(wanted, highest), pairs)
        };
        let [a, b, c, d] = piece.each_ref().map(load);
        let wrong = v128_or(
            v128_or(errors(load(before), a), errors(a, b)),
            v128_or(errors(b, c), errors(c, d)),
        );
        !v128_any_true(wrong)
    }
}

/// As the standard library does it.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod lanes {
    use super::{Block, Piece, unfinished};

    pub(super) fn is_utf8(before: &Block, piece: &Piece) -> bool {
        let [a, b, c, d] = *piece;
        let mut all = [*before, a, b, c, d];
        let bytes = all.as_flattened_mut();
        // The byte before it is judged, as by any byte that is no continuation.
        if let [.., last @ 0xC0..=0xFF] = bytes {
            *last = b' ';
        }
        let from = before.len().saturating_sub(unfinished(before));
        match core::str::from_utf8(bytes.get(from..).unwrap_or_default()) {
            Ok(_) => true,
            Err(error) => error.error_len().is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes where something changes.
    const EDGES: [u8; 24] = [
        0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC,
        0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
    ];

    /// Whether bytes are UTF-8, but for the end of the last character; any first byte may be the last byte.
    fn begins_well(bytes: &[u8]) -> bool {
        let mut bytes = bytes.to_vec();
        if let [.., last @ 0xC0..=0xFF] = bytes.as_mut_slice() {
            *last = b' ';
        }
        core::str::from_utf8(&bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
    }

    /// A piece behind a block, with these bytes at a place of both.
    fn piece_with(bytes: &[u8], place: usize, around: u8) -> (Block, Piece) {
        let mut all = [around; 80];
        for (to, from) in all[place..].iter_mut().zip(bytes) {
            *to = *from;
        }
        let blocks: [Block; 5] =
            core::array::from_fn(|i| core::array::from_fn(|j| all[16 * i + j]));
        let [before, piece @ ..] = blocks;
        (before, piece)
    }

    #[test]
    fn a_piece_as_the_standard_library_sees_it() {
        let check = |bytes: [u8; 4], place: usize, around: u8| {
            let (before, piece) = piece_with(&bytes, place, around);
            if !begins_well(&before) {
                return;
            }
            let all = [before.as_slice(), piece.as_flattened()].concat();
            let got = is_utf8(&before, &piece);
            assert_eq!(
                got,
                begins_well(&all),
                "{bytes:x?} at {place} in {around:#x}"
            );
            let whole =
                core::str::from_utf8(&all).map_or_else(|error| error.valid_up_to(), str::len);
            if got {
                assert_eq!(unfinished(&all), all.len() - whole, "{bytes:x?} at {place}");
            }
        };
        for a in EDGES {
            for b in EDGES {
                for c in EDGES {
                    for d in EDGES {
                        // Over the borders of the blocks and of the piece, and in their midst.
                        for place in [12, 13, 14, 15, 16, 22, 29, 30, 31, 63, 76, 77, 78, 79] {
                            check([a, b, c, d], place, b' ');
                        }
                    }
                }
            }
        }
        for place in 12..80 {
            for a in EDGES {
                for b in EDGES {
                    check([a, b, 0xBF, 0x80], place, b'a');
                }
            }
        }
    }

    #[test]
    fn characters_as_the_standard_library_sees_them() {
        for a in EDGES {
            for b in EDGES {
                for c in EDGES {
                    for d in EDGES {
                        let bytes = [a, b, c, d];
                        let is_one = |length: &usize| {
                            let text = core::str::from_utf8(&bytes[..*length]);
                            text.is_ok_and(|text| text.chars().count() == 1)
                        };
                        let want = (2..=4).find(is_one).unwrap_or(0);
                        let want = if a.is_ascii() { 0 } else { want };
                        assert_eq!(character_length(&bytes), want, "{bytes:x?}");
                        let cut = &bytes[..want.saturating_sub(1)];
                        assert_eq!(character_length(cut), 0, "{cut:x?}");
                    }
                }
            }
        }
    }
}
