//! Contradictions in a usage object.

use core::fmt::Write as _;

/// Numbers of a usage object that do not go together. The charge is by the reading that the documentation tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// No reading comes to as much as the total.
    TotalMore,
    /// All readings come to more than the total.
    TotalLess,
    /// Tokens read from a cache and written to it are more than all input.
    Cache,
    /// Audio and images are more than all input, or those from the cache more than those of the input.
    InputMedia,
    /// Reasoning is more than all output.
    Reasoning,
    /// Audio, images and reasoning are more than all output.
    OutputMedia,
    /// Tokens written for five minutes and for an hour are more than all that were written.
    CacheTimes,
    /// One number under two names, with two values.
    Names,
    /// Cache hits and misses together are not the input.
    CacheMisses,
    /// The cost is no amount that can be kept exactly.
    Cost,
    /// A number is more than any answer comes to: it counts as not reported.
    Excess,
    /// A number is no count, such as one below zero: likewise.
    NoCount,
}

/// A protocol's names of the numbers that doubts are about.
pub(super) struct Terms {
    pub(super) input: &'static str,
    pub(super) output: &'static str,
    pub(super) total: &'static str,
    pub(super) cached: &'static str,
    pub(super) written: &'static str,
    pub(super) reasoning: &'static str,
}

/// A set of [`Doubt`]s.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Doubts(u16);

impl Doubt {
    const ALL: [Self; 12] = [
        Self::TotalMore,
        Self::TotalLess,
        Self::Cache,
        Self::InputMedia,
        Self::Reasoning,
        Self::OutputMedia,
        Self::CacheTimes,
        Self::Names,
        Self::CacheMisses,
        Self::Cost,
        Self::Excess,
        Self::NoCount,
    ];

    fn bit(self) -> u16 {
        1_u16.wrapping_shl(self as u32)
    }

    fn write(self, terms: &Terms, out: &mut String) {
        let Terms {
            input,
            output,
            total,
            cached,
            written,
            reasoning,
        } = terms;
        // Writing into memory does not fail.
        let _ = match self {
            Self::TotalMore => write!(out, "{total} is more than its parts"),
            Self::TotalLess => write!(out, "{total} is less than its parts"),
            Self::Cache if written.is_empty() => write!(out, "{cached} is more than {input}"),
            Self::Cache => write!(out, "{cached} and {written} are more than {input}"),
            Self::InputMedia => write!(out, "audio and images are more than {input}"),
            Self::Reasoning => write!(out, "{reasoning} is more than {output}"),
            Self::OutputMedia => write!(out, "audio, images and reasoning are more than {output}"),
            Self::CacheTimes => write!(out, "cache times are more than {written}"),
            Self::Names => write!(out, "two names of {cached} or {written} differ"),
            Self::CacheMisses => write!(out, "cache hits and misses are not {input}"),
            Self::Cost => write!(out, "the cost is no exact amount"),
            Self::Excess => write!(out, "a number is more than any answer comes to"),
            Self::NoCount => write!(out, "a number is no count"),
        };
    }
}

impl Doubts {
    pub(super) fn add(&mut self, doubt: Doubt) {
        self.0 |= doubt.bit();
    }

    /// Adds one if so.
    pub(super) fn add_if(&mut self, so: bool, doubt: Doubt) {
        if so {
            self.add(doubt);
        }
    }

    pub(super) fn remove(&mut self, doubt: Doubt) {
        self.0 &= !doubt.bit();
    }

    /// These and more.
    pub(super) fn all(mut self, more: Self) -> Self {
        self.0 |= more.0;
        self
    }

    /// All in words, in a protocol's terms; nothing if there is none. Of a bounded length: each stands there once at most.
    pub(super) fn words(self, terms: &Terms) -> Option<String> {
        let mut words = String::new();
        for doubt in Doubt::ALL.into_iter().filter(|it| self.0 & it.bit() != 0) {
            if !words.is_empty() {
                words.push_str("; ");
            }
            doubt.write(terms, &mut words);
        }
        (!words.is_empty()).then_some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms {
        input: "prompt_tokens",
        output: "completion_tokens",
        total: "total_tokens",
        cached: "cached_tokens",
        written: "cache_write_tokens",
        reasoning: "reasoning_tokens",
    };

    #[test]
    fn doubts_are_told_in_words_each_once() {
        let mut doubts = Doubts::default();
        assert_eq!(doubts.words(&TERMS), None);
        doubts.add(Doubt::Reasoning);
        doubts.add(Doubt::TotalMore);
        doubts.add_if(false, Doubt::Cost);
        doubts.add_if(true, Doubt::Reasoning);
        assert_eq!(
            doubts.words(&TERMS).as_deref(),
            Some(
                "total_tokens is more than its parts; reasoning_tokens is more than completion_tokens"
            )
        );
        let mut all = Doubts::default();
        Doubt::ALL.into_iter().for_each(|doubt| all.add(doubt));
        let words = all.words(&TERMS).unwrap();
        assert_eq!(words.split("; ").count(), Doubt::ALL.len(), "{words}");
        assert!(words.len() < 640, "{} bytes", words.len());
        assert_eq!(all.all(doubts), all);
    }
}
