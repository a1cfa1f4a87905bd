//! Reported usage that no price covers.

use crate::usage::Call;

/// Something that an answer reports and no price covers, so that the charge may be less than what it cost, or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gap {
    /// A class of service: it was charged at the model's own prices.
    Tier,
    /// A speed: likewise.
    Speed,
    /// A place where the model ran: likewise.
    InferenceGeo,
    /// Calls of this kind.
    Call(Call),
    /// Images that were made, and that no output tokens stand for.
    Image,
    /// Tokens read from a cache: they were charged as input.
    CacheRead,
    /// Tokens written to a cache: likewise.
    CacheWrite,
    /// A model that the source does not list, be it that of the answer or one beside it: it was charged at the prices of the
    /// one that was asked for.
    Model,
}

/// A set of [`Gap`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Uncovered(u16);

impl Gap {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Tier,
        Self::Speed,
        Self::InferenceGeo,
        Self::Call(Call::WebSearch),
        Self::Call(Call::CodeExecution),
        Self::Call(Call::FileSearch),
        Self::Call(Call::MapsSearch),
        Self::Image,
        Self::CacheRead,
        Self::CacheWrite,
        Self::Model,
    ];

    /// The name in metrics and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tier => "tier",
            Self::Speed => "speed",
            Self::InferenceGeo => "inference_geo",
            Self::Call(call) => call.name(),
            Self::Image => "image",
            Self::CacheRead => "cache_read",
            Self::CacheWrite => "cache_write",
            Self::Model => "model",
        }
    }

    fn bit(self) -> u16 {
        let position = match self {
            Self::Tier => 0,
            Self::Speed => 1,
            Self::Image => 2,
            Self::Model => 3,
            Self::InferenceGeo => 4,
            Self::CacheRead => 5,
            Self::CacheWrite => 6,
            Self::Call(call) => 7_u32.saturating_add(call as u32),
        };
        1_u16.wrapping_shl(position)
    }
}

impl Uncovered {
    /// Adds one.
    pub fn insert(&mut self, gap: Gap) {
        self.0 |= gap.bit();
    }

    /// Adds all of another set.
    pub fn add(&mut self, others: Self) {
        self.0 |= others.0;
    }

    /// Whether this one is among them.
    pub fn contains(self, gap: Gap) -> bool {
        self.0 & gap.bit() != 0
    }

    /// Whether everything is covered.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those that there are, in the order of [`Gap::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Gap> {
        Gap::ALL.into_iter().filter(move |gap| self.contains(*gap))
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.iter().map(Gap::name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_gap_is_a_bit_of_its_own() {
        let mut bits = 0;
        for gap in Gap::ALL {
            assert_eq!(bits & gap.bit(), 0, "{gap:?} has a bit of its own");
            bits |= gap.bit();
        }
        assert_eq!(
            bits.count_ones() as usize,
            Gap::ALL.len(),
            "and all of them fit"
        );
    }

    #[test]
    fn a_gap_is_in_the_set_however_often_it_was_found() {
        let mut uncovered = Uncovered::default();
        assert!(uncovered.is_empty());
        for _ in 0..2 {
            uncovered.insert(Gap::Model);
            uncovered.insert(Gap::Call(Call::FileSearch));
        }
        let names: Vec<&str> = uncovered.names().collect();
        assert_eq!(names, ["file_search", "model"]);
        assert!(!uncovered.is_empty() && !uncovered.contains(Gap::Image));
    }
}
