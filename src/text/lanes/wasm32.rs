//! The vectors of WebAssembly.

use core::arch::wasm32::{
    i8x16_bitmask, i8x16_eq, i8x16_lt, i8x16_min, i8x16_shuffle, i8x16_swizzle, u8x16_min,
    u8x16_shr, u8x16_splat, u8x16_sub_sat, u64x2, v128, v128_and, v128_or, v128_xor,
};

/// Sixteen bytes. A mask has 0xFF in the lanes that it marks and 0 in the others.
#[derive(Debug, Clone, Copy)]
pub(in crate::text) struct Lanes(v128);

impl Lanes {
    #[inline]
    pub(in crate::text) fn load(bytes: &super::Bytes16) -> Self {
        let word = u128::from_le_bytes(*bytes);
        Self(u64x2(word as u64, (word >> 64) as u64))
    }

    #[inline]
    pub(in crate::text) fn splat(byte: u8) -> Self {
        Self(u8x16_splat(byte))
    }

    #[inline]
    pub(in crate::text) fn eq(self, other: Self) -> Self {
        Self(i8x16_eq(self.0, other.0))
    }

    /// Compares as signed numbers.
    #[inline]
    pub(in crate::text) fn less(self, other: Self) -> Self {
        Self(i8x16_lt(self.0, other.0))
    }

    /// A mask that marks nothing where no lane of the four is less than `bound`, as signed numbers.
    #[inline]
    pub(in crate::text) fn any_less([a, b, c, d]: [Self; 4], bound: Self) -> Self {
        let least = i8x16_min(i8x16_min(a.0, b.0), i8x16_min(c.0, d.0));
        Self(i8x16_lt(least, bound.0))
    }

    /// The lesser of each two, as unsigned numbers.
    #[inline]
    pub(in crate::text) fn min(self, other: Self) -> Self {
        Self(u8x16_min(self.0, other.0))
    }

    #[inline]
    pub(in crate::text) fn and(self, other: Self) -> Self {
        Self(v128_and(self.0, other.0))
    }

    #[inline]
    pub(in crate::text) fn or(self, other: Self) -> Self {
        Self(v128_or(self.0, other.0))
    }

    #[inline]
    pub(in crate::text) fn xor(self, other: Self) -> Self {
        Self(v128_xor(self.0, other.0))
    }

    /// Subtracts unsigned numbers, down to 0.
    #[inline]
    pub(in crate::text) fn less_by(self, other: Self) -> Self {
        Self(u8x16_sub_sat(self.0, other.0))
    }

    /// The lanes moved on by one, with the last one of those before.
    #[inline]
    pub(in crate::text) fn behind(self, before: Self) -> Self {
        Self(i8x16_shuffle::<
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
        >(before.0, self.0))
    }

    /// The upper four bits of each lane.
    #[inline]
    pub(in crate::text) fn upper_halves(self) -> Self {
        Self(u8x16_shr(self.0, 4))
    }

    /// Replaces each lane, which is under 16, by the byte of `table` at that place.
    #[inline]
    pub(in crate::text) fn looked_up(self, table: Self) -> Self {
        Self(i8x16_swizzle(table.0, self.0))
    }

    /// The highest bit of each lane.
    #[inline]
    pub(in crate::text) fn bits(self) -> u16 {
        i8x16_bitmask(self.0)
    }
}
