//! Numbers of tokens, by kind: what an answer is asked to report, and what it has reported.
//!
//! The names are the gateway's, the code is not: what judges the gateway shall not share its mistakes.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// The largest number of tokens of one kind. Sums of them stay exact in every reader of JSON (under 2^53).
const MOST_TOKENS: u64 = 1_000_000_000_000_000;
/// The largest number of images.
pub const MOST_IMAGES: u64 = 1000;

/// A kind of usage that is counted. No token is of two kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedKind {
    /// Input that no other kind of input is.
    Input,
    /// Image input, which only the image endpoints tell apart.
    InputImage,
    /// Input read from a cache.
    CacheRead,
    /// Input written to a cache for five minutes, or for a time that is not told.
    CacheWrite5m,
    /// Input written to a cache for an hour.
    CacheWrite1h,
    /// Input that the model's own tools brought in.
    ToolUse,
    /// Output that is not reasoning.
    Output,
    /// Reasoning.
    Reasoning,
    /// Images made.
    Images,
}

impl CountedKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Self; 9] = [
        Self::Input,
        Self::InputImage,
        Self::CacheRead,
        Self::CacheWrite5m,
        Self::CacheWrite1h,
        Self::ToolUse,
        Self::Output,
        Self::Reasoning,
        Self::Images,
    ];

    /// Returns the name in headers and responses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::InputImage => "input_image",
            Self::CacheRead => "cache_read",
            Self::CacheWrite5m => "cache_write_5m",
            Self::CacheWrite1h => "cache_write_1h",
            Self::ToolUse => "tool_use",
            Self::Output => "output",
            Self::Reasoning => "reasoning",
            Self::Images => "images",
        }
    }

    fn most(self) -> u64 {
        match self {
            Self::Images => MOST_IMAGES,
            _ => MOST_TOKENS,
        }
    }
}

/// A number for each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimulatedUsage([u64; CountedKind::ALL.len()]);

impl SimulatedUsage {
    /// These numbers, and zero for the rest.
    pub fn of(numbers: &[(CountedKind, u64)]) -> Self {
        let mut usage = Self::default();
        for (kind, number) in numbers {
            usage.set(*kind, *number);
        }
        usage
    }

    /// The number of a kind.
    pub fn get(&self, kind: CountedKind) -> u64 {
        self.0[kind as usize]
    }

    /// Sets the number of a kind.
    pub fn set(&mut self, kind: CountedKind, number: u64) {
        self.0[kind as usize] = number;
    }

    /// The sum over these kinds.
    pub fn sum(&self, kinds: &[CountedKind]) -> u64 {
        kinds.iter().map(|kind| self.get(*kind)).sum()
    }

    /// The same with all of `from` counted as `to`.
    pub fn folded(mut self, from: CountedKind, to: CountedKind) -> Self {
        self.set(to, self.get(to) + self.get(from));
        self.set(from, 0);
        self
    }

    /// The same with nothing but these kinds.
    pub fn only(self, kinds: &[CountedKind]) -> Self {
        let mut kept = Self::default();
        for kind in kinds {
            kept.set(*kind, self.get(*kind));
        }
        kept
    }
}

impl Serialize for SimulatedUsage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(CountedKind::ALL.len()))?;
        for kind in CountedKind::ALL {
            map.serialize_entry(kind.name(), &self.get(kind))?;
        }
        map.end()
    }
}

/// The numbers that a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestedUsage {
    /// Those of the fixtures.
    #[default]
    Usual,
    /// Modest ones that differ from one request to the next.
    Random,
    /// These.
    Numbers {
        /// Tokens.
        usage: SimulatedUsage,
        /// Images, if they were named.
        images: Option<u64>,
    },
}

impl RequestedUsage {
    /// Reads `random`, or pairs such as `input=5,output=7`; what is not named is zero.
    pub fn read(text: &str) -> Result<Self, String> {
        if text == "random" {
            return Ok(Self::Random);
        }
        let mut usage = SimulatedUsage::default();
        let mut named = Vec::new();
        for pair in text.split(',').map(str::trim) {
            let (name, number) = pair
                .split_once('=')
                .ok_or_else(|| format!("random or KIND=N,… expected, not `{pair}`"))?;
            let kind = CountedKind::ALL
                .into_iter()
                .find(|kind| kind.name() == name)
                .ok_or_else(|| format!("no kind `{name}`"))?;
            if named.contains(&kind) {
                return Err(format!("{name} stands there twice"));
            }
            named.push(kind);
            match number.parse() {
                Ok(number) if number <= kind.most() => usage.set(kind, number),
                _ => return Err(format!("{name}: a number up to {} expected", kind.most())),
            }
        }
        let images = named
            .contains(&CountedKind::Images)
            .then(|| usage.get(CountedKind::Images));
        Ok(Self::Numbers { usage, images })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_any_subset() {
        for (text, numbers, images) in [
            ("input=5", &[(CountedKind::Input, 5)][..], None),
            (
                "output=7, cache_write_1h=0,images=0",
                &[(CountedKind::Output, 7)],
                Some(0),
            ),
            (
                "input_image=1,cache_read=1000000000000000,images=1000",
                &[
                    (CountedKind::InputImage, 1),
                    (CountedKind::CacheRead, MOST_TOKENS),
                    (CountedKind::Images, 1000),
                ],
                Some(1000),
            ),
        ] {
            let usage = SimulatedUsage::of(numbers);
            assert_eq!(
                RequestedUsage::read(text),
                Ok(RequestedUsage::Numbers { usage, images }),
                "{text}"
            );
        }
        assert_eq!(RequestedUsage::read("random"), Ok(RequestedUsage::Random));
    }

    #[test]
    fn refuses_what_is_no_number_of_a_kind() {
        for text in [
            "",
            "input",
            "input=-1",
            "input=1.5",
            "inputs=1",
            "input=1,,output=1",
            "input=1,input=1",
            "output=1000000000000001",
            "images=1001",
        ] {
            assert!(RequestedUsage::read(text).is_err(), "{text}");
        }
    }
}
