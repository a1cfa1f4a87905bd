//! The vectors that every x86-64 processor has (SSE2).

use safe_arch::{
    bitand_m128i, bitor_m128i, bitxor_m128i, byte_shl_imm_u128_m128i, byte_shr_imm_u128_m128i,
    cmp_eq_mask_i8_m128i, cmp_lt_mask_i8_m128i, m128i, min_u8_m128i, move_mask_i8_m128i,
    set_splat_i8_m128i, shr_imm_u16_m128i, sub_saturating_u8_m128i,
};

/// Sixteen bytes, with the operations that WebAssembly has.
#[derive(Debug, Clone, Copy)]
pub(in crate::text) struct Lanes(m128i);

impl Lanes {
    #[inline]
    pub(in crate::text) fn load(bytes: &super::Bytes16) -> Self {
        Self(m128i::from(*bytes))
    }

    #[inline]
    pub(in crate::text) fn splat(byte: u8) -> Self {
        Self(set_splat_i8_m128i(byte.cast_signed()))
    }

    #[inline]
    pub(in crate::text) fn eq(self, other: Self) -> Self {
        Self(cmp_eq_mask_i8_m128i(self.0, other.0))
    }

    #[inline]
    pub(in crate::text) fn less(self, other: Self) -> Self {
        Self(cmp_lt_mask_i8_m128i(self.0, other.0))
    }

    // SSE2 has no least of signed bytes.
    #[inline]
    pub(in crate::text) fn any_less(four: [Self; 4], bound: Self) -> Self {
        super::any(four.map(|lanes| lanes.less(bound)))
    }

    #[inline]
    pub(in crate::text) fn min(self, other: Self) -> Self {
        Self(min_u8_m128i(self.0, other.0))
    }

    #[inline]
    pub(in crate::text) fn and(self, other: Self) -> Self {
        Self(bitand_m128i(self.0, other.0))
    }

    #[inline]
    pub(in crate::text) fn or(self, other: Self) -> Self {
        Self(bitor_m128i(self.0, other.0))
    }

    #[inline]
    pub(in crate::text) fn xor(self, other: Self) -> Self {
        Self(bitxor_m128i(self.0, other.0))
    }

    #[inline]
    pub(in crate::text) fn less_by(self, other: Self) -> Self {
        Self(sub_saturating_u8_m128i(self.0, other.0))
    }

    #[inline]
    pub(in crate::text) fn behind(self, before: Self) -> Self {
        Self(bitor_m128i(
            byte_shl_imm_u128_m128i::<1>(self.0),
            byte_shr_imm_u128_m128i::<15>(before.0),
        ))
    }

    #[inline]
    pub(in crate::text) fn upper_halves(self) -> Self {
        Self(shr_imm_u16_m128i::<4>(self.0)).and(Self::splat(0x0F))
    }

    // SSE2 has no such instruction.
    #[inline]
    pub(in crate::text) fn looked_up(self, table: Self) -> Self {
        let (places, table): ([u8; 16], [u8; 16]) = (self.0.into(), table.0.into());
        let at = |place: u8| table.get(usize::from(place)).copied().unwrap_or_default();
        Self(m128i::from(places.map(at)))
    }

    #[inline]
    pub(in crate::text) fn bits(self) -> u16 {
        move_mask_i8_m128i(self.0) as u16
    }
}
