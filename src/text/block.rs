//! Many bytes at a time: which of them are special in a JSON string.
//!
//! Special are `"`, `\`, control characters under 0x20, and whatever is not ASCII (RFC 8259, 7).

/// Sixteen bytes.
pub(super) type Block = [u8; 16];
/// Four blocks.
pub(super) type Piece = [Block; 4];

/// What a piece has of special bytes and of the commonest that follow a backslash: where it matters, one bit for
/// each byte. Bit 0 is the first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    pub quotes: u64,
    pub backslashes: u64,
    /// The letters `n` and `t`, as in `\n` and `\t`; perhaps not where the piece has no backslash.
    pub letters: u64,
    /// Whether there is a control character or a byte outside ASCII.
    pub others: bool,
}

pub(super) use lanes::{Before, Needles, controls, plain};

/// The bits of four blocks side by side.
fn gather(piece: &Piece, of: impl Fn(&Block) -> u32) -> u64 {
    let [a, b, c, d] = piece.each_ref().map(|block| u64::from(of(block)));
    a | (b << 16) | (c << 32) | (d << 48)
}

/// Whether a byte is special.
pub(super) fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | !(0x20..0x80).contains(&byte)
}

/// With the vector instructions of WebAssembly.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod lanes {
    use core::arch::wasm32::{
        i8x16_bitmask, i8x16_eq, i8x16_lt, i8x16_min, i8x16_shuffle, i8x16_splat, u8x16_lt,
        u8x16_min, u8x16_splat, u8x16_sub_sat, v128, v128_or, v128_xor,
    };
    use core::hint::black_box;

    use super::super::vector::load;
    use super::{Block, Marks, Piece, gather};

    /// What the bytes of a piece are compared with.
    #[derive(Debug, Clone, Copy)]
    pub(in super::super) struct Needles {
        quote: v128,
        backslash: v128,
        en: v128,
        tee: v128,
        space: v128,
    }

    static NEEDLES: [Block; 5] = [[b'"'; 16], [b'\\'; 16], [b'n'; 16], [b't'; 16], [b' '; 16]];

    /// Where the block before a piece has a backslash.
    #[derive(Debug, Clone, Copy)]
    pub(in super::super) struct Before(v128);

    impl Before {
        pub(in super::super) fn nothing() -> Self {
            Self(i8x16_splat(0))
        }
    }

    impl Needles {
        pub(in super::super) fn new() -> Self {
            // V8 makes a constant anew wherever it is used, and in a loop each time; what comes out of memory stays in
            // its register.
            let [quote, backslash, en, tee, space] = black_box(&NEEDLES).each_ref().map(load);
            Self {
                quote,
                backslash,
                en,
                tee,
                space,
            }
        }

        /// Whether a piece has no special byte.
        pub(in super::super) fn none_in(&self, piece: &Piece) -> bool {
            let [a, b, c, d] = piece.each_ref().map(load);
            let both = |of: v128| v128_or(i8x16_eq(of, self.quote), i8x16_eq(of, self.backslash));
            let escapes = v128_or(v128_or(both(a), both(b)), v128_or(both(c), both(d)));
            i8x16_bitmask(v128_or(escapes, self.others(a, b, c, d))) == 0
        }

        /// Where the first special byte of a piece is that has one.
        pub(in super::super) fn first_special(&self, piece: &Piece) -> usize {
            // What is found here again would else be kept for it wherever the piece is plain.
            let special = gather(black_box(piece), |block| {
                let bytes = load(block);
                let both = v128_or(i8x16_eq(bytes, self.quote), i8x16_eq(bytes, self.backslash));
                i8x16_bitmask(v128_or(both, i8x16_lt(bytes, self.space))).into()
            });
            special.trailing_zeros() as usize
        }

        /// Whether a piece has nothing but plain characters, `\n` and `\"`; if so, what is before the next piece. A
        /// backslash at the end may begin any escape.
        pub(in super::super) fn simple(&self, before: Before, piece: &Piece) -> Option<Before> {
            let [a, b, c, d] = piece.each_ref().map(load);
            let (wrong, last) = self.escapes_amiss(before, [a, b, c, d]);
            let [wrong_a, wrong_b, wrong_c, wrong_d] = wrong;
            let wrong = v128_or(v128_or(wrong_a, wrong_b), v128_or(wrong_c, wrong_d));
            let amiss = v128_or(wrong, self.others(a, b, c, d));
            (i8x16_bitmask(amiss) == 0).then_some(last)
        }

        /// Where the first byte is in a piece that cannot be there in a simple one.
        pub(in super::super) fn first_amiss(&self, before: Before, piece: &Piece) -> usize {
            // As for the first special one.
            let bytes = black_box(piece).each_ref().map(load);
            let (wrong, _) = self.escapes_amiss(before, bytes);
            let [a, b, c, d] = wrong;
            let [of_a, of_b, of_c, of_d] = bytes.map(|bytes| i8x16_lt(bytes, self.space));
            let bits = |wrong, other| u64::from(i8x16_bitmask(v128_or(wrong, other)));
            let low = bits(a, of_a) | (bits(b, of_b) << 16);
            let high = bits(c, of_c) | (bits(d, of_d) << 16);
            (low | (high << 32)).trailing_zeros() as usize
        }

        /// Where each block of a piece has a quote that no backslash is before, or behind a backslash anything but a
        /// quote or an `n`; and the backslashes of the last.
        fn escapes_amiss(&self, before: Before, piece: [v128; 4]) -> ([v128; 4], Before) {
            let mut last = before.0;
            let amiss = piece.map(|bytes| {
                let backslashes = i8x16_eq(bytes, self.backslash);
                let escaped = i8x16_shuffle::<
                    15,
                    16,
                    17,
                    18,
                    19,
                    20,
                    21,
                    22,
                    23,
                    24,
                    25,
                    26,
                    27,
                    28,
                    29,
                    30,
                >(last, backslashes);
                last = backslashes;
                // V8 has no instruction for what is not equal, which the compiler would make of a negation.
                let wanted = u8x16_sub_sat(escaped, i8x16_eq(bytes, self.en));
                v128_xor(wanted, i8x16_eq(bytes, self.quote))
            });
            (amiss, Before(last))
        }

        pub(in super::super) fn marks(&self, piece: &Piece) -> Marks {
            let all = |of: &dyn Fn(v128) -> v128| {
                gather(piece, |block| u32::from(i8x16_bitmask(of(load(block)))))
            };
            let [a, b, c, d] = piece.each_ref().map(load);
            Marks {
                quotes: all(&|bytes| i8x16_eq(bytes, self.quote)),
                backslashes: all(&|bytes| i8x16_eq(bytes, self.backslash)),
                letters: all(&|bytes| self.letters(bytes)),
                others: i8x16_bitmask(self.others(a, b, c, d)) != 0,
            }
        }

        /// Where a block has the letters of the commonest escapes.
        fn letters(&self, bytes: v128) -> v128 {
            v128_or(i8x16_eq(bytes, self.en), i8x16_eq(bytes, self.tee))
        }

        /// Where one of these has a control character or a byte outside ASCII.
        fn others(&self, a: v128, b: v128, c: v128, d: v128) -> v128 {
            // As signed numbers, the bytes outside ASCII are less than every character.
            i8x16_lt(i8x16_min(i8x16_min(a, b), i8x16_min(c, d)), self.space)
        }
    }

    /// Where the control characters of a piece are.
    pub(in super::super) fn controls(piece: &Piece) -> u64 {
        let control = |bytes| i8x16_bitmask(u8x16_lt(bytes, u8x16_splat(0x20)));
        let [a, b, c, d] = piece.each_ref().map(load);
        match control(u8x16_min(u8x16_min(a, b), u8x16_min(c, d))) {
            0 => 0,
            _ => gather(piece, |block| control(load(block)).into()),
        }
    }

    /// How many bytes of a block come before its first special one.
    pub(in super::super) fn plain(block: &Block) -> usize {
        let bytes = load(block);
        let equal = |byte: u8| i8x16_eq(bytes, i8x16_splat(byte.cast_signed()));
        let other = i8x16_lt(bytes, i8x16_splat(0x20));
        let special = i8x16_bitmask(v128_or(other, v128_or(equal(b'"'), equal(b'\\'))));
        (u32::from(special) | (1 << block.len())).trailing_zeros() as usize
    }
}

/// With plain integers, eight bytes in each.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod lanes {
    use super::super::word::{HIGH, each, words};
    use super::{Block, Marks, Piece, gather};

    /// The highest bit of each byte that is this one; exact, since no carry leaves its byte.
    fn equal(word: u64, byte: u8) -> u64 {
        let differ = word ^ each(byte);
        !(((differ & !HIGH).wrapping_add(!HIGH)) | differ) & HIGH
    }

    /// The same for the letters of the commonest escapes.
    fn letter(word: u64) -> u64 {
        equal(word, b'n') | equal(word, b't')
    }

    fn control(word: u64) -> u64 {
        // Adding 0x60 sets the highest bit of what is 0x20 and above.
        let printable = (word & !HIGH).wrapping_add(each(0x60));
        !(word | printable) & HIGH
    }

    /// The highest bits side by side.
    fn bits(marked: u64) -> u32 {
        ((marked >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
    }

    fn both(block: &Block, mark: impl Fn(u64) -> u64) -> u32 {
        let (low, high) = words(block);
        bits(mark(low)) | (bits(mark(high)) << 8)
    }

    /// Whether `mark` sets the highest bit of any byte.
    fn any(piece: &Piece, mark: impl Fn(u64) -> u64) -> bool {
        let words = piece.iter().map(words);
        let marked = words.fold(0, |marked, (low, high)| marked | mark(low) | mark(high));
        marked & HIGH != 0
    }

    /// Sets the highest bit of the first byte that is less than `least` or outside ASCII, and of none before it. What
    /// comes behind may be wrong: there a borrow leaves its byte.
    fn first_under(word: u64, least: u8) -> u64 {
        word.wrapping_sub(each(least)) | word
    }

    /// The same for the first special byte.
    fn first_special(word: u64) -> u64 {
        let is = |byte: u8| first_under(word ^ each(byte), 1);
        first_under(word, b' ') | is(b'"') | is(b'\\')
    }

    /// The highest bit of each byte that is a backslash in the word before.
    #[derive(Debug, Clone, Copy)]
    pub(in super::super) struct Before(u64);

    impl Before {
        pub(in super::super) fn nothing() -> Self {
            Self(0)
        }

        /// Sets the highest bit of the first byte that cannot be there in a simple piece, and of none before it; goes on
        /// to this word.
        fn amiss(&mut self, word: u64) -> u64 {
            let backslashes = equal(word, b'\\');
            let escaped = (backslashes << 8) | (self.0 >> 56);
            *self = Self(backslashes);
            let differ = escaped ^ equal(word, b'"');
            (differ & !equal(word, b'n')) | first_under(word, b' ')
        }
    }

    /// What the bytes of a piece are compared with.
    #[derive(Debug, Clone, Copy)]
    pub(in super::super) struct Needles;

    impl Needles {
        pub(in super::super) fn new() -> Self {
            Self
        }

        /// Whether a piece has no special byte.
        pub(in super::super) fn none_in(self, piece: &Piece) -> bool {
            !any(piece, first_special)
        }

        /// Where the first special byte of a piece is that has one.
        pub(in super::super) fn first_special(self, piece: &Piece) -> usize {
            let special = gather(piece, |block| {
                both(block, |word| first_special(word) & HIGH)
            });
            special.trailing_zeros() as usize
        }

        /// Whether a piece has nothing but plain characters, `\n` and `\"`; if so, what is before the next piece. A
        /// backslash at the end may begin any escape.
        pub(in super::super) fn simple(self, before: Before, piece: &Piece) -> Option<Before> {
            let mut last = before;
            let amiss = piece.iter().map(words).fold(0, |all, (low, high)| {
                all | last.amiss(low) | last.amiss(high)
            });
            (amiss & HIGH == 0).then_some(last)
        }

        /// Where the first byte is in a piece that cannot be there in a simple one.
        pub(in super::super) fn first_amiss(self, before: Before, piece: &Piece) -> usize {
            let mut last = before;
            let mut first = 0_usize;
            for word in piece.iter().map(words).flat_map(<[u64; 2]>::from) {
                let amiss = last.amiss(word) & HIGH;
                first = first.saturating_add(amiss.trailing_zeros() as usize / 8);
                if amiss != 0 {
                    break;
                }
            }
            first
        }

        pub(in super::super) fn marks(self, piece: &Piece) -> Marks {
            let backslashes = gather(piece, |block| both(block, |word| equal(word, b'\\')));
            Marks {
                quotes: gather(piece, |block| both(block, |word| equal(word, b'"'))),
                backslashes,
                // Here it takes long to gather the bits.
                letters: match backslashes {
                    0 => 0,
                    _ => gather(piece, |block| both(block, letter)),
                },
                others: any(piece, |word| first_under(word, b' ')),
            }
        }
    }

    /// Where the control characters of a piece are.
    pub(in super::super) fn controls(piece: &Piece) -> u64 {
        gather(piece, |block| both(block, control))
    }

    /// How many bytes of a block come before its first special one.
    pub(in super::super) fn plain(block: &Block) -> usize {
        let (low, high) = words(block);
        let [low, high] = [low, high].map(|word| (first_special(word) & HIGH).trailing_zeros() / 8);
        let behind = if low == 8 { high } else { 0 };
        low.saturating_add(behind) as usize
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
                        letters: where_is(&|b| matches!(b, b'n' | b't')),
                        others: bytes.iter().any(|b| !(0x20..0x80).contains(b)),
                    };
                    let case = format!("{byte:#x} at {place} in {around:#x}");
                    let mut got = Needles::new().marks(&piece);
                    if want.backslashes == 0 {
                        got.letters = want.letters;
                    }
                    let none = !bytes.iter().any(|b| is_special(*b));
                    assert_eq!(Needles::new().none_in(&piece), none, "{case}");
                    assert_eq!(got, want, "{case}");
                    assert_eq!(controls(&piece), where_is(&|b| b < 0x20), "{case}");
                    let special = bytes.iter().position(|b| is_special(*b));
                    if let Some(special) = special {
                        assert_eq!(Needles::new().first_special(&piece), special, "{case}");
                    }
                    for last in [b'a', b'\\'] {
                        let mut lead = [[b'a'; 16]; 4];
                        lead[3][15] = last;
                        let before = Needles::new().simple(Before::nothing(), &lead).unwrap();
                        let before_each = [&[last], &bytes[..63]].concat();
                        let amiss = |(before, byte): (&u8, &u8)| match before {
                            b'\\' => !matches!(byte, b'n' | b'"'),
                            _ => *byte != b'\\' && is_special(*byte),
                        };
                        let want = before_each.iter().zip(&bytes).position(amiss);
                        let got = Needles::new().simple(before, &piece);
                        assert_eq!(got.is_none(), want.is_some(), "{case} behind {last:#x}");
                        if let Some(want) = want {
                            let got = Needles::new().first_amiss(before, &piece);
                            assert_eq!(got, want, "{case} behind {last:#x}");
                        }
                    }
                    let first = piece[0].iter().position(|b| is_special(*b));
                    assert_eq!(plain(&piece[0]), first.unwrap_or(16), "{case}");
                }
            }
        }
    }
}
