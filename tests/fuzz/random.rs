//! Pseudorandom numbers for the fuzzes that need nothing but `cargo test`.

use core::ops::Range;

/// xorshift64*: the same numbers for the same seed, which is not 0.
pub struct Random(pub u64);

impl Random {
    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        number as usize % limit.max(1)
    }

    /// One of those.
    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    /// A range of places below `len`, mostly of up to `short` places.
    pub fn range(&mut self, len: usize, short: usize) -> Range<usize> {
        let start = self.below(len + 1);
        let longest = if self.below(4) == 0 { len } else { short };
        start..(start + self.below(longest + 1)).min(len)
    }
}
