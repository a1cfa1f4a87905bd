//! The total as the witness of what a usage object means: whether parts stand within their whole or beside it.
//!
//! Vendors use the same names for different things. What is read from a cache is part of the prompt with one and stands
//! beside it with another, and so it is with reasoning and output. The sum that they report tells which.

use super::doubt::{Doubt, Doubts};
use super::numbers::split;
use super::{Kind, Usage};

/// Parts that may stand within their whole or beside it.
pub(super) type Parts = u8;
pub(super) const CACHED: Parts = 1;
pub(super) const WRITTEN: Parts = 2;
pub(super) const TOOL_USE: Parts = 4;
pub(super) const REASONING: Parts = 8;

/// Every choice of parts that are read otherwise than the protocol's page has them: few first, and reasoning first among
/// as many.
const OTHERWISE: [Parts; 16] = [0, 8, 1, 2, 4, 3, 9, 10, 12, 5, 6, 11, 13, 14, 7, 15];

/// The numbers of a usage object, by their roles.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Claims {
    pub(super) input: Option<u64>,
    pub(super) output: Option<u64>,
    pub(super) total: Option<u64>,
    pub(super) cached: u64,
    /// Written to a cache for five minutes, and for an hour.
    pub(super) written: [u64; 2],
    pub(super) tool_use: u64,
    pub(super) reasoning: u64,
    /// Audio and images of the input.
    pub(super) input_media: [u64; 2],
    /// Audio and images of the output.
    pub(super) output_media: [u64; 2],
    /// Parts that stand beside their whole by the protocol's page.
    pub(super) beside: Parts,
}

/// The sums of a usage object's numbers, no token counted twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sides {
    /// Input that is nothing else.
    pub(super) input: u64,
    pub(super) cached: u64,
    pub(super) written: [u64; 2],
    pub(super) tool_use: u64,
    pub(super) input_media: [u64; 2],
    /// Output that is nothing else.
    pub(super) output: u64,
    pub(super) reasoning: u64,
    pub(super) output_media: [u64; 2],
    /// Tokens of the total that stand in no part.
    pub(super) unnamed: u64,
    pub(super) doubts: Doubts,
}

impl Claims {
    /// Reads the numbers so that they add up to the total, if there is such a way. If there is none, as the protocol's page
    /// has it; but a part that is more than its whole stands beside it, where the total has room for both.
    pub(super) fn read(&self) -> Sides {
        let total = self.total.filter(|total| *total > 0);
        let ways = || OTHERWISE.into_iter().map(|parts| self.beside ^ parts);
        let mut fitting = ways().filter(|beside| self.fits(*beside));
        let exact = fitting.find(|beside| Some(self.sum(*beside)) == total);
        if let (None, Some(total)) = (exact, total)
            && let Some(completed) = self.completed(total)
        {
            return completed.split(self.beside);
        }
        let (beside, found) = match (exact, total) {
            (Some(beside), _) => (beside, true),
            (None, Some(total)) if !self.fits(self.beside) => {
                let mut fitting = ways().filter(|beside| self.fits(*beside));
                let fitting = fitting.find(|beside| self.sum(*beside) <= total);
                (fitting.unwrap_or(self.beside), false)
            }
            (None, _) => (self.beside, total.is_none()),
        };
        let mut sides = self.split(beside);
        if let Some(total) = total.filter(|_| !found) {
            let sum = self.sum(beside);
            sides.unnamed = total.saturating_sub(sum);
            sides.doubts.add_if(total > sum, Doubt::TotalMore);
            sides.doubts.add_if(total < sum, Doubt::TotalLess);
        }
        sides
    }

    /// The same with the side that nobody reports: all that the total has beyond the other one. Where reasoning stands beside
    /// the output, that is for the vendor's page to say.
    fn completed(&self, total: u64) -> Option<Self> {
        let rest = |told: u64| {
            total
                .checked_sub(told)?
                .checked_sub(self.of_input(self.beside))
        };
        let mut whole = *self;
        match (self.input, self.output) {
            (Some(input), None) => whole.output = Some(rest(input)?),
            (None, Some(output)) => whole.input = Some(rest(output)?),
            _ => return None,
        }
        (self.beside & REASONING == 0 && whole.fits(self.beside)).then_some(whole)
    }

    /// The tokens of parts of the input.
    fn of_input(&self, parts: Parts) -> u64 {
        let written = self.written.iter().copied().fold(0, u64::saturating_add);
        let all = [
            (CACHED, self.cached),
            (WRITTEN, written),
            (TOOL_USE, self.tool_use),
        ];
        let some = all.into_iter().filter(|(part, _)| parts & part != 0);
        some.fold(0, |sum: u64, (_, tokens)| sum.saturating_add(tokens))
    }

    /// The tokens of parts of the output.
    fn of_output(&self, parts: Parts) -> u64 {
        if parts & REASONING == 0 {
            0
        } else {
            self.reasoning
        }
    }

    /// Whether what stands within a whole is no more than that.
    fn fits(&self, beside: Parts) -> bool {
        let no_less = |whole: Option<u64>, part| whole.is_none_or(|whole| part <= whole);
        no_less(self.input, self.of_input(!beside)) && no_less(self.output, self.of_output(!beside))
    }

    /// All tokens.
    fn sum(&self, beside: Parts) -> u64 {
        let input = self.input.unwrap_or_else(|| self.of_input(!beside));
        let output = self.output.unwrap_or_else(|| self.of_output(!beside));
        let beside = [self.of_input(beside), self.of_output(beside)];
        beside
            .into_iter()
            .chain([input, output])
            .fold(0, u64::saturating_add)
    }

    /// Each side split into its parts. What is more than its whole is cut, and told.
    fn split(&self, beside: Parts) -> Sides {
        let within = |part: Parts, tokens: u64| if beside & part == 0 { tokens } else { 0 };
        let whole = |part: Parts, tokens: u64, cut: u64| {
            if beside & part == 0 { cut } else { tokens }
        };
        let [minutes, hour] = self.written;
        let [audio, image] = self.input_media;
        let (input, [cached, minutes_cut, hour_cut, tool_use, audio, image]) = split(
            self.input,
            [
                within(CACHED, self.cached),
                within(WRITTEN, minutes),
                within(WRITTEN, hour),
                within(TOOL_USE, self.tool_use),
                audio,
                image,
            ],
        );
        let [sound, picture] = self.output_media;
        let within_output = within(REASONING, self.reasoning);
        let (output, [reasoning, sound, picture]) =
            split(self.output, [within_output, sound, picture]);
        Sides {
            input,
            cached: whole(CACHED, self.cached, cached),
            written: [
                whole(WRITTEN, minutes, minutes_cut),
                whole(WRITTEN, hour, hour_cut),
            ],
            tool_use: whole(TOOL_USE, self.tool_use, tool_use),
            input_media: [audio, image],
            output,
            reasoning: whole(REASONING, self.reasoning, reasoning),
            output_media: [sound, picture],
            unnamed: 0,
            doubts: self.excesses(beside, within_output),
        }
    }

    /// Parts that are more than their whole.
    fn excesses(&self, beside: Parts, reasoning: u64) -> Doubts {
        let more = |part: u64, whole: Option<u64>| whole.is_some_and(|whole| part > whole);
        let both = |[audio, image]: [u64; 2]| audio.saturating_add(image);
        let mut doubts = Doubts::default();
        doubts.add_if(more(self.of_input(!beside), self.input), Doubt::Cache);
        // Audio and images may be among what came from a cache.
        let all = self
            .input
            .map(|it| it.saturating_add(self.of_input(beside)));
        doubts.add_if(more(both(self.input_media), all), Doubt::InputMedia);
        let made = both(self.output_media);
        if more(reasoning, self.output) {
            doubts.add(Doubt::Reasoning);
        } else if made > 0 {
            let made = made.saturating_add(reasoning);
            doubts.add_if(more(made, self.output), Doubt::OutputMedia);
        }
        doubts
    }
}

impl Sides {
    /// The tokens of each kind.
    pub(super) fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        let [minutes, hour] = self.written;
        let [audio, image] = self.input_media;
        let [sound, picture] = self.output_media;
        for (kind, tokens) in [
            (Kind::Input, self.input),
            (Kind::CacheRead, self.cached),
            (Kind::CacheWrite5m, minutes),
            (Kind::CacheWrite1h, hour),
            (Kind::ToolUse, self.tool_use),
            (Kind::InputAudio, audio),
            (Kind::InputImage, image),
            (Kind::Output, self.output),
            (Kind::Reasoning, self.reasoning),
            (Kind::OutputAudio, sound),
            (Kind::OutputImage, picture),
        ] {
            usage.set(kind, tokens);
        }
        usage
    }
}

#[cfg(test)]
mod tests;
