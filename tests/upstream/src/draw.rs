//! Random usage for load: modest numbers that a seed decides.

use crate::usage::{CountedKind, SimulatedUsage};

/// The kinds that are drawn: `(kind, in how many of four answers, the most)`. Images come from the request's `n`.
const RANGES: [(CountedKind, u64, u64); 8] = [
    (CountedKind::Input, 4, 4000),
    (CountedKind::InputImage, 1, 1000),
    (CountedKind::CacheRead, 2, 20_000),
    (CountedKind::CacheWrite5m, 1, 2000),
    (CountedKind::CacheWrite1h, 1, 2000),
    (CountedKind::ToolUse, 1, 100),
    (CountedKind::Output, 4, 2000),
    (CountedKind::Reasoning, 2, 1000),
];

/// The numbers of this seed. The same seed always gives the same.
pub fn usage(seed: u64) -> SimulatedUsage {
    let mut state = seed;
    let mut usage = SimulatedUsage::default();
    for (kind, chance, most) in RANGES {
        let number = next(&mut state);
        if number % 4 < chance {
            usage.set(kind, 1 + (number >> 2) % most);
        }
    }
    usage
}

/// A seed for a marker (FNV-1a).
pub fn seed(marker: &[u8]) -> u64 {
    marker.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// SplitMix64: neighbouring seeds give unrelated numbers.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_every_kind_within_its_range() {
        for (kind, chance, most) in RANGES {
            let drawn: Vec<_> = (0..1000).map(|seed| usage(seed).get(kind)).collect();
            let there = drawn.iter().filter(|number| **number > 0).count() as u64;
            assert!(there.abs_diff(250 * chance) < 100, "{kind:?}: {there}");
            assert!(drawn.iter().all(|number| *number <= most), "{kind:?}");
        }
        assert_eq!(usage(7), usage(7));
        assert_ne!(usage(seed(b"a")), usage(seed(b"b")));
    }
}
