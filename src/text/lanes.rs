//! Sixteen bytes at a time.
//!
//! All that reads text by the vector is written once, on [`Lanes`], so that tests, fuzzing and counted instructions run the
//! code that ships. Only the few operations here differ from target to target: the vectors of WebAssembly ship, those
//! of x86-64 (SSE2, which every such processor has) stand for them natively, instruction by instruction; elsewhere it is
//! plain arrays. `tests/wasm/vectors.rs` compares the built filter with the native build.

#[cfg(not(any(
    all(target_arch = "wasm32", target_feature = "simd128"),
    target_arch = "x86_64"
)))]
pub(super) use portable::Lanes;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(super) use wasm32::Lanes;
#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::Lanes;

/// The bytes that [`Lanes`] are loaded from.
pub(super) type Bytes16 = [u8; 16];
/// The bytes that a mask of 64 bits is about. Bit 0 is the first byte.
pub(super) type Block = [Bytes16; 4];

impl Lanes {
    /// Marks the digits.
    pub(super) fn digits(self) -> Self {
        self.between(b'0', b'9')
    }

    /// Marks the hexadecimal digits.
    pub(super) fn hex_digits(self) -> Self {
        let lower = self.or(Self::splat(0x20));
        self.digits().or(lower.between(b'a', b'f'))
    }

    /// Marks the characters of ASCII from `first` to `last`.
    fn between(self, first: u8, last: u8) -> Self {
        let low = Self::splat(first.wrapping_sub(1)).less(self);
        low.and(self.less(Self::splat(last.wrapping_add(1))))
    }
}

/// The whole blocks.
pub(super) fn blocks(bytes: &[u8]) -> &[Block] {
    bytes.as_chunks().0.as_chunks().0
}

/// The marked lanes of a block, one bit each.
pub(super) fn bits(block: [Lanes; 4]) -> u64 {
    let [a, b, c, d] = block.map(|lanes| u64::from(lanes.bits()));
    a | (b << 16) | (c << 32) | (d << 48)
}

/// The lanes marked in either block.
pub(super) fn either([a, b, c, d]: [Lanes; 4], [e, f, g, h]: [Lanes; 4]) -> [Lanes; 4] {
    [a.or(e), b.or(f), c.or(g), d.or(h)]
}

/// The marked lanes of any of four.
pub(super) fn any([a, b, c, d]: [Lanes; 4]) -> Lanes {
    a.or(b).or(c.or(d))
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm32;

#[cfg(target_arch = "x86_64")]
mod x86_64;

/// For all other targets, and for the tests to compare with.
#[cfg(any(
    test,
    not(any(
        all(target_arch = "wasm32", target_feature = "simd128"),
        target_arch = "x86_64"
    ))
))]
mod portable;

#[cfg(test)]
mod tests {
    use super::{Bytes16, Lanes};
    use proptest::prelude::*;

    /// The bits of all operations, by either implementation.
    macro_rules! results {
        ($lanes:path, $a:expr, $b:expr) => {{
            use $lanes as L;
            let all = |lanes: L| {
                // Bit by bit, since only the highest one shows.
                let bit = |bit: u8| lanes.and(L::splat(1 << bit)).eq(L::splat(0)).bits();
                (0..8).map(bit).collect::<Vec<u16>>()
            };
            let (a, b) = (L::load($a), L::load($b));
            [
                a,
                a.eq(b),
                a.less(b),
                a.min(b),
                a.and(b),
                a.or(b),
                a.xor(b),
                a.less_by(b),
                a.behind(b),
                a.upper_halves(),
                a.upper_halves().looked_up(b),
                L::splat($a[0]),
            ]
            .map(all)
            .into_iter()
            .chain([vec![a.bits(), L::any_less([a, b, a, b], b).bits()]])
            .collect::<Vec<_>>()
        }};
    }

    proptest! {
        #![proptest_config(crate::seeds_beside_source())]

        #[test]
        fn all_targets_agree(a in any::<Bytes16>(), b in any::<Bytes16>()) {
            for (a, b) in [(a, b), (a, a)] {
                let any_less = |lanes: &[Vec<u16>]| lanes.last().unwrap()[1] != 0;
                let (here, plain) = (results!(super::Lanes, &a, &b), results!(super::portable::Lanes, &a, &b));
                prop_assert_eq!(any_less(&here), any_less(&plain));
                prop_assert_eq!(&here[..12], &plain[..12]);
                prop_assert_eq!(here[12][0], plain[12][0]);
            }
        }
    }

    #[test]
    fn classes_are_those_of_the_standard_library() {
        for byte in 0..=255u8 {
            let is = |lanes: Lanes| lanes.bits() != 0;
            let lanes = Lanes::splat(byte);
            assert_eq!(is(lanes.digits()), byte.is_ascii_digit(), "{byte:#x}");
            assert_eq!(
                is(lanes.hex_digits()),
                byte.is_ascii_hexdigit(),
                "{byte:#x}"
            );
        }
    }
}
