//! How far texts are alike, sixteen bytes at a time.

use super::block::Block;
use lanes::{different, ending, equal};
use memchr::memchr;

/// Four blocks.
type Piece = [u8; 64];

/// How many bytes at the start of both are the same.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (pieces_a, _) = a.as_chunks::<64>();
    let (pieces_b, _) = b.as_chunks::<64>();
    let pairs = pieces_a.iter().zip(pieces_b);
    let pieces = pairs.take_while(|(x, y)| equal(x, y)).count();
    let mut same = pieces.saturating_mul(size_of::<Piece>());
    let (blocks_a, _) = a.get(same..).unwrap_or_default().as_chunks::<16>();
    let (blocks_b, _) = b.get(same..).unwrap_or_default().as_chunks::<16>();
    for (x, y) in blocks_a.iter().zip(blocks_b) {
        let differ = different(x, y);
        if differ != 0 {
            return same.saturating_add(differ.trailing_zeros() as usize);
        }
        same = same.saturating_add(x.len());
    }
    // What is left is compared together with some of what was before.
    if let Some(from) = len.checked_sub(size_of::<Block>())
        && let (Some(x), Some(y)) = (block_at(a, from), block_at(b, from))
    {
        let differ = different(x, y);
        let end = from.saturating_add(differ.trailing_zeros() as usize);
        return if differ == 0 { len } else { end };
    }
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Whether both are the same.
///
/// Unlike the `==` of slices it is neither a call to compare memory, which for a few bytes is most of the work, nor in
/// WebAssembly one byte after the other.
#[inline]
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && same_bytes(a, b)
}

/// The same of texts of one length. Their last bytes are compared together with some of those before.
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    if let Some((end_a, end_b)) = ends(a, b) {
        let mut pieces = a.as_chunks().0.iter().zip(b.as_chunks().0);
        pieces.all(|(x, y)| equal(x, y)) && equal(end_a, end_b)
    } else if let Some((end_a, end_b)) = ends(a, b) {
        let mut blocks = a.as_chunks().0.iter().zip(b.as_chunks().0);
        blocks.all(|(x, y)| different(x, y) == 0) && different(end_a, end_b) == 0
    } else {
        match a.len() {
            8.. => same_ends::<8>(a, b),
            4.. => same_ends::<4>(a, b),
            2.. => same_ends::<2>(a, b),
            _ => a.first() == b.first(),
        }
    }
}

/// The last so many bytes of both.
fn ends<'a, const N: usize>(a: &'a [u8], b: &'a [u8]) -> Option<(&'a [u8; N], &'a [u8; N])> {
    Some((a.last_chunk()?, b.last_chunk()?))
}

/// Whether the first bytes are the same, and the last ones: all of them, if there are no more than twice as many.
fn same_ends<const N: usize>(a: &[u8], b: &[u8]) -> bool {
    a.first_chunk::<N>() == b.first_chunk() && a.last_chunk::<N>() == b.last_chunk()
}

fn block_at(bytes: &[u8], from: usize) -> Option<&Block> {
    bytes.get(from..)?.first_chunk()
}

/// How many bytes come before the closing quote of a string that is being passed over: all, where that is not there
/// yet; nothing if a control character is. And how many of the characters up to there are written by number (`\uXXXX`).
pub(crate) fn text_end(bytes: &[u8]) -> Option<(usize, usize)> {
    let (mut at, mut numbered) = (0_usize, 0_usize);
    loop {
        let rest = bytes.get(at..)?;
        let plain = match rest.first_chunk() {
            Some(block) => ending(block).trailing_zeros() as usize,
            None => {
                let end = rest.iter().position(|&byte| is_ending(byte));
                end.unwrap_or(rest.len())
            }
        };
        at = at.saturating_add(plain);
        match rest.get(plain..)? {
            [b'"', ..] => return Some((at, numbered)),
            [b'\\', escaped @ 0x20..=0xFF, ..] => {
                numbered = numbered.saturating_add(usize::from(*escaped == b'u'));
                at = at.saturating_add(2);
            }
            [b'\\'] | [] => return Some((bytes.len(), numbered)),
            [0x20..=0xFF, ..] if plain == size_of::<Block>() => {}
            _ => return None,
        }
    }
}

/// How many characters of a piece of JSON are written by number (`\uXXXX`). It may end within an escape, but not begin in one.
pub(crate) fn unicode_escapes(text: &[u8]) -> usize {
    let (mut count, mut rest) = (0_usize, text);
    while let Some(at) = memchr(b'\\', rest) {
        rest = rest.get(at..).unwrap_or_default();
        count = count.saturating_add(usize::from(rest.starts_with(b"\\u")));
        rest = rest.get(2..).unwrap_or_default();
    }
    count
}

/// Whether a byte ends a run of plain ones in a string that is passed over.
fn is_ending(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// With the vector instructions of WebAssembly. Each bit of a result is a byte, the lowest the first.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod lanes {
    use core::arch::wasm32::{
        i8x16_bitmask, i8x16_eq, i8x16_ne, i8x16_splat, u8x16_lt, u8x16_splat, v128_and, v128_or,
    };

    use super::super::vector::load;
    use super::{Block, Piece};

    pub(super) fn different(a: &Block, b: &Block) -> u32 {
        i8x16_bitmask(i8x16_ne(load(a), load(b))).into()
    }

    /// Whether two pieces are the same.
    pub(super) fn equal(a: &Piece, b: &Piece) -> bool {
        let ((a, _), (b, _)) = (a.as_chunks(), b.as_chunks());
        // Byte by byte: what could be done with words, LLVM does with words, one after the other.
        let alike = |all, (a, b)| v128_and(all, i8x16_eq(load(a), load(b)));
        i8x16_bitmask(a.iter().zip(b).fold(i8x16_splat(-1), alike)) == u16::MAX
    }

    /// The bytes that end a run of plain ones; of a block without any, the bit behind.
    pub(super) fn ending(block: &Block) -> u32 {
        let bytes = load(block);
        let equal = |byte: u8| i8x16_eq(bytes, i8x16_splat(byte.cast_signed()));
        let marked = v128_or(equal(b'"'), equal(b'\\'));
        let marked = v128_or(marked, u8x16_lt(bytes, u8x16_splat(0x20)));
        u32::from(i8x16_bitmask(marked)) | 1 << 16
    }
}

/// With plain integers. Each bit of a result is a byte, the lowest the first.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod lanes {
    use super::super::word::{HIGH, each, words};
    use super::{Block, Piece};

    /// Whether two pieces are the same.
    pub(super) fn equal(a: &Piece, b: &Piece) -> bool {
        let ((a, _), (b, _)) = (a.as_chunks(), b.as_chunks());
        let differ = |(a, b): (&Block, &Block)| u128::from_le_bytes(*a) ^ u128::from_le_bytes(*b);
        a.iter().zip(b).fold(0, |all, pair| all | differ(pair)) == 0
    }

    /// Of the bytes that differ, the first.
    pub(super) fn different(a: &Block, b: &Block) -> u32 {
        let differ = u128::from_le_bytes(*a) ^ u128::from_le_bytes(*b);
        if differ == 0 {
            return 0;
        }
        1_u32.wrapping_shl(differ.trailing_zeros() / 8)
    }

    /// The first of the bytes that end a run of plain ones; of a block without any, the bit behind.
    pub(super) fn ending(block: &Block) -> u32 {
        let (low, high) = words(block);
        let (low, high) = (marked(low), marked(high));
        if low != 0 {
            1_u32.wrapping_shl(low.trailing_zeros() / 8)
        } else {
            1_u32.wrapping_shl(8_u32.saturating_add(high.trailing_zeros() / 8))
        }
    }

    /// The highest bit of the bytes in question, exact up to the first of them: a borrow goes only up from there.
    fn marked(word: u64) -> u64 {
        let zero = |word: u64| word.wrapping_sub(each(1)) & !word;
        let equal = |byte: u8| zero(word ^ each(byte));
        let control = word.wrapping_sub(each(0x20)) & !word;
        (equal(b'"') | equal(b'\\') | control) & HIGH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_prefixes_of_every_length() {
        let text: Vec<u8> = (0..70).collect();
        for len in 0..70 {
            for same in 0..=len {
                let mut other = text[..len].to_vec();
                if let Some(byte) = other.get_mut(same) {
                    *byte ^= 0x80;
                }
                assert_eq!(common_prefix(&text, &other), same, "{same} of {len}");
                assert_eq!(
                    common_prefix(&other, &text),
                    same,
                    "{same} of {len}, turned"
                );
            }
        }
    }

    #[test]
    fn one_byte_makes_a_difference() {
        for len in 0..200 {
            let text = vec![b'x'; len];
            assert!(same(&text, &text.clone()), "{len} bytes");
            assert!(
                !same(&text, &vec![b'x'; len + 1]),
                "{len} bytes and one more"
            );
            for place in 0..len {
                let mut other = text.clone();
                other[place] ^= 0x80;
                assert!(!same(&text, &other), "at {place} of {len}");
            }
        }
    }

    /// The slow way.
    fn plain_end(bytes: &[u8]) -> Option<(usize, usize)> {
        let (mut at, mut numbered) = (0, 0);
        loop {
            at += match &bytes[at..] {
                [] | [b'\\'] => return Some((bytes.len(), numbered)),
                [b'"', ..] => return Some((at, numbered)),
                [0..0x20, ..] | [b'\\', 0..0x20, ..] => return None,
                [b'\\', escaped, ..] => {
                    numbered += usize::from(*escaped == b'u');
                    2
                }
                _ => 1,
            };
        }
    }

    #[test]
    fn every_byte_at_every_place_of_a_text() {
        for len in [1, 2, 15, 16, 17, 31, 32, 33, 50] {
            for place in 0..len {
                for byte in 0..=255u8 {
                    for before in [b'a', b'\\', 0xC3] {
                        let mut text = vec![b'a'; len];
                        if place > 0 {
                            text[place - 1] = before;
                        }
                        text[place] = byte;
                        for end in [&b""[..], b"\"", b"\"\\\n and more than a block"] {
                            let bytes = [&text, end].concat();
                            let context = bytes.escape_ascii();
                            let got = text_end(&bytes);
                            assert_eq!(got, plain_end(&bytes), "{context}");
                            if let Some((end, numbered)) = got {
                                let text = &bytes[..end];
                                assert_eq!(unicode_escapes(text), numbered, "{context}");
                            }
                        }
                    }
                }
            }
        }
    }
}
