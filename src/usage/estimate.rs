//! How many tokens there were, where nobody reports it.
//!
//! A tokenizer of each vendor's would be more exact and larger than this filter. These few constants are documented
//! and measured (docs/estimates.md has their error on real traffic); an estimate is marked as one wherever it counts.

use super::{Kind, Usage};

/// Bytes of text for each token: of a request's body with the JSON around it, and of the text that a model writes.
pub const BYTES_PER_TOKEN: u64 = 4;
/// Tokens of an image in a request: about what vendors count for one of a megapixel.
pub const IMAGE_TOKENS: u64 = 1_600;
/// Tokens of a piece of audio in a request, at least: about half a minute.
pub const AUDIO_TOKENS: u64 = 1_000;
/// Bytes of its base64 for each token, of a long one: as of compressed speech.
pub const AUDIO_BYTES_PER_TOKEN: u64 = 640;
/// Tokens of any other file in a request, at least: about ten pages.
pub const FILE_TOKENS: u64 = 5_000;
/// Bytes of its base64 for each token, of a long one: as of a PDF.
pub const FILE_BYTES_PER_TOKEN: u64 = 32;
/// Tokens that a model is taken to write in a second, where its answer was not awaited.
pub const TOKENS_PER_SECOND: u64 = 100;

/// Tokens of so many bytes of text.
pub fn text_tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// Tokens of parts that count `each` at least, or so many for all of their bytes.
pub fn part_tokens(parts: u64, each: u64, bytes: u64, bytes_per_token: u64) -> u64 {
    let by_length = bytes.checked_div(bytes_per_token).unwrap_or(0);
    parts.saturating_mul(each).max(by_length)
}

/// Tokens that a model may have written in so many microseconds.
pub fn tokens_in(microseconds: u64) -> u64 {
    microseconds.saturating_mul(TOKENS_PER_SECOND) / 1_000_000
}

/// What was estimated and is counted: what goes beyond what was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimated {
    /// Tokens that the model has read.
    pub input: u64,
    /// Tokens that it has written.
    pub output: u64,
    /// Images that it has made.
    pub images: u64,
}

impl Estimated {
    /// Raises `usage` to these tokens where less was reported; gives how many were added.
    pub fn complete(self, usage: &mut Usage) -> Self {
        let added = Self {
            input: self.input.saturating_sub(usage.input_tokens()),
            output: self.output.saturating_sub(usage.output_tokens()),
            images: self.images.saturating_sub(usage.images),
        };
        for (kind, more) in [(Kind::Input, added.input), (Kind::Output, added.output)] {
            usage.set(kind, usage.tokens(kind).saturating_add(more));
        }
        usage.images = usage.images.saturating_add(added.images);
        added
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greater_of_what_was_reported_and_what_is_estimated() {
        use Kind::{CacheRead, Input, Output, Reasoning};
        type TokenCounts<'a> = &'a [(Kind, u64)];
        type Case<'a> = (
            &'a str,
            TokenCounts<'a>,
            (u64, u64),
            TokenCounts<'a>,
            (u64, u64),
        );
        let cases: [Case<'_>; 5] = [
            (
                "nothing reported",
                &[],
                (10, 20),
                &[(Input, 10), (Output, 20)],
                (10, 20),
            ),
            (
                "more reported",
                &[(Input, 11), (Output, 21)],
                (10, 20),
                &[(Input, 11), (Output, 21)],
                (0, 0),
            ),
            (
                "less of one kind",
                &[(Input, 11), (Output, 1)],
                (10, 20),
                &[(Input, 11), (Output, 20)],
                (0, 19),
            ),
            (
                "what was cached is input, reasoning is output",
                &[(Input, 1), (CacheRead, 8), (Reasoning, 15)],
                (10, 20),
                &[(Input, 2), (CacheRead, 8), (Output, 5), (Reasoning, 15)],
                (1, 5),
            ),
            (
                "nothing estimated",
                &[(Input, 1)],
                (0, 0),
                &[(Input, 1)],
                (0, 0),
            ),
        ];
        for (case, reported, (input, output), want, added) in cases {
            let mut usage = Usage::default();
            reported.iter().for_each(|(kind, n)| usage.set(*kind, *n));
            let estimated = Estimated {
                input,
                output,
                images: 2,
            };
            let got = estimated.complete(&mut usage);
            assert_eq!(
                (got.input, got.output, got.images),
                (added.0, added.1, 2),
                "{case}"
            );
            usage.images = 0;
            let mut all = Usage::default();
            want.iter().for_each(|(kind, n)| all.set(*kind, *n));
            assert_eq!(usage, all, "{case}");
        }
    }

    #[test]
    fn parts_by_number_or_by_length() {
        let cases = [
            ("none", (0, 0), 0),
            ("short ones", (2, 1000), 10_000),
            ("a long one", (1, 320_000), 10_000),
            ("beyond all measure", (u64::MAX, u64::MAX), u64::MAX),
        ];
        for (case, (parts, bytes), want) in cases {
            let got = part_tokens(parts, FILE_TOKENS, bytes, FILE_BYTES_PER_TOKEN);
            assert_eq!(got, want, "{case}");
        }
    }

    #[test]
    fn text_and_time() {
        for (bytes, tokens) in [(0, 0), (1, 1), (4, 1), (5, 2), (u64::MAX, u64::MAX / 4 + 1)] {
            assert_eq!(text_tokens(bytes), tokens, "{bytes} bytes");
        }
        for (us, tokens) in [(0, 0), (9_999, 0), (10_000, 1), (2_500_000, 250)] {
            assert_eq!(tokens_in(us), tokens, "{us} us");
        }
    }
}
