//! Plain arrays, for all other targets and for the tests to compare with.

/// Sixteen bytes, with the operations that WebAssembly has.
#[derive(Debug, Clone, Copy)]
pub(in crate::text) struct Lanes([u8; 16]);

#[cfg_attr(
    test,
    allow(dead_code, reason = "the tests compare what differs by target")
)]
impl Lanes {
    #[inline]
    pub(in crate::text) fn load(bytes: &super::Bytes16) -> Self {
        Self(*bytes)
    }

    #[inline]
    pub(in crate::text) fn splat(byte: u8) -> Self {
        Self([byte; 16])
    }

    fn each(self, other: Self, of: impl Fn(u8, u8) -> u8) -> Self {
        let mut all = self.0;
        for (lane, other) in all.iter_mut().zip(other.0) {
            *lane = of(*lane, other);
        }
        Self(all)
    }

    #[inline]
    pub(in crate::text) fn eq(self, other: Self) -> Self {
        self.each(other, |a, b| mask(a == b))
    }

    #[inline]
    pub(in crate::text) fn less(self, other: Self) -> Self {
        self.each(other, |a, b| mask(a.cast_signed() < b.cast_signed()))
    }

    #[inline]
    pub(in crate::text) fn any_less([a, b, c, d]: [Self; 4], bound: Self) -> Self {
        let [a, b, c, d] = [a, b, c, d].map(|lanes| lanes.less(bound));
        a.or(b).or(c.or(d))
    }

    #[inline]
    pub(in crate::text) fn min(self, other: Self) -> Self {
        self.each(other, u8::min)
    }

    #[inline]
    pub(in crate::text) fn and(self, other: Self) -> Self {
        self.each(other, |a, b| a & b)
    }

    #[inline]
    pub(in crate::text) fn or(self, other: Self) -> Self {
        self.each(other, |a, b| a | b)
    }

    #[inline]
    pub(in crate::text) fn xor(self, other: Self) -> Self {
        self.each(other, |a, b| a ^ b)
    }

    #[inline]
    pub(in crate::text) fn less_by(self, other: Self) -> Self {
        self.each(other, u8::saturating_sub)
    }

    #[inline]
    pub(in crate::text) fn behind(self, before: Self) -> Self {
        let [.., last] = before.0;
        let [head @ .., _] = self.0;
        let mut all = [last; 16];
        for (lane, byte) in all.iter_mut().skip(1).zip(head) {
            *lane = byte;
        }
        Self(all)
    }

    #[inline]
    pub(in crate::text) fn upper_halves(self) -> Self {
        Self(self.0.map(|lane| lane >> 4))
    }

    #[inline]
    pub(in crate::text) fn looked_up(self, table: Self) -> Self {
        let at = |place: u8| table.0.get(usize::from(place)).copied();
        Self(self.0.map(|place| at(place).unwrap_or_default()))
    }

    #[inline]
    pub(in crate::text) fn bits(self) -> u16 {
        let bit = |bits: u16, lane: &u8| (bits >> 1) | (u16::from(*lane & 0x80) << 8);
        self.0.iter().fold(0, bit)
    }
}

fn mask(marked: bool) -> u8 {
    if marked { 0xFF } else { 0 }
}
