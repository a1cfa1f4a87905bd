//! Comparing texts, sixteen bytes at a time.

use super::lanes::{Bytes16, Lanes};

/// Counts the bytes at the start of both that are the same.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (many_a, _) = a.as_chunks::<64>();
    let (many_b, _) = b.as_chunks::<64>();
    let pairs = many_a.iter().zip(many_b);
    let blocks = pairs.take_while(|(x, y)| equal(x, y)).count();
    let mut same = blocks.saturating_mul(64);
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
    if let Some(from) = len.checked_sub(size_of::<Bytes16>())
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
        let mut blocks = a.as_chunks().0.iter().zip(b.as_chunks().0);
        blocks.all(|(x, y)| equal(x, y)) && equal(end_a, end_b)
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

fn block_at(bytes: &[u8], from: usize) -> Option<&Bytes16> {
    bytes.get(from..)?.first_chunk()
}

/// The bytes that differ, one bit each.
fn different(a: &Bytes16, b: &Bytes16) -> u32 {
    // V8 has no instruction for what is not equal.
    u32::from(!Lanes::load(a).eq(Lanes::load(b)).bits())
}

/// Whether 64 bytes are the same.
fn equal(a: &[u8; 64], b: &[u8; 64]) -> bool {
    let pairs = a.as_chunks().0.iter().zip(b.as_chunks().0);
    // Byte by byte: what could be done with words, LLVM does with words, one after the other.
    let same = |all: Lanes, (a, b)| all.and(Lanes::load(a).eq(Lanes::load(b)));
    pairs.fold(Lanes::splat(0xFF), same).bits() == u16::MAX
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
}
