//! The estimate of tokens, where no upstream reports them.
//!
//! A tokenizer of each vendor's would be more exact and larger than this filter. These few constants are documented
//! and measured (docs/estimates.md has their error on real traffic); an estimate is marked as one wherever it counts.

use super::{Kind, Passed, Usage};

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
/// Tokens that a model is taken to write in a second, where its answer was not awaited, and where it reasons unseen.
pub const TOKENS_PER_SECOND: u64 = 100;
/// Tokens of reasoning that nobody saw, at most, where the request sets no cap: as many as the largest models write at all.
pub const MOST_HIDDEN_TOKENS: u64 = 128_000;
/// Bytes that passed for each token of the cap that a request sets, at most: where more passed, the cap was not kept.
pub const BYTES_PER_CAPPED_TOKEN: u64 = 256;
/// Tokens of a picture of a megapixel that was made, by its quality: what OpenAI documents for 1024x1024.
pub const PICTURE_TOKENS: [(&str, u64); 3] = [("low", 272), ("medium", 1_056), ("high", 4_160)];
/// Tokens of a partial picture, which OpenAI charges beside the whole one.
pub const PARTIAL_PICTURE_TOKENS: u64 = 100;
/// Tokens of a picture that a model makes as a part of its answer: what Google documents.
pub const PICTURE_PART_TOKENS: u64 = 1_290;
/// The same of one that is asked for in 4K.
pub const LARGE_PICTURE_PART_TOKENS: u64 = 2_000;
/// Bytes of the base64 of sound that is not compressed, for each token: 25 tokens a second, of 24 000 samples.
pub const PCM_BYTES_PER_TOKEN: u64 = 2_560;

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

/// Tokens of a picture that a model was made to make, `size` and `quality` being what the request says. Where it does not say,
/// or leaves it to the vendor, the best quality and a megapixel.
pub fn picture_tokens(size: Option<&str>, quality: Option<&str>) -> u64 {
    /// Of a side, in pixels: beyond these the vendor makes another picture than it was asked for.
    const SIDES: core::ops::RangeInclusive<u64> = 256..=4096;
    const MEGAPIXEL: u64 = 1024 * 1024;
    let known = PICTURE_TOKENS.into_iter();
    let best = known.clone().map(|(_, tokens)| tokens).max().unwrap_or(0);
    let named = |quality: &str| known.clone().find(|(name, _)| *name == quality);
    let each = quality.and_then(named).map_or(best, |(_, tokens)| tokens);
    let side = |digits: &str| digits.parse().ok().filter(|side| SIDES.contains(side));
    let sides = size.and_then(|size| size.split_once('x'));
    let area = sides.and_then(|(width, height)| side(width)?.checked_mul(side(height)?));
    let tokens = each.saturating_mul(area.unwrap_or(MEGAPIXEL));
    tokens.div_ceil(MEGAPIXEL)
}

/// Tokens of the sound that passed.
pub fn sound_tokens(passed: &Passed) -> u64 {
    let compressed = passed.sound_bytes.saturating_sub(passed.pcm_bytes);
    let tokens = compressed.div_ceil(AUDIO_BYTES_PER_TOKEN);
    tokens.saturating_add(passed.pcm_bytes.div_ceil(PCM_BYTES_PER_TOKEN))
}

/// The estimated usage that is counted: the part beyond the reported one.
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
    /// Raises `usage` to an estimate where less was reported; gives how much was added. All input is one number, and so is all
    /// output: what was reported of another kind stands for it too.
    pub fn complete(estimate: &Usage, usage: &mut Usage) -> Self {
        let added = Self {
            input: estimate.input_tokens().saturating_sub(usage.input_tokens()),
            output: estimate
                .output_tokens()
                .saturating_sub(usage.output_tokens()),
            images: estimate.images.saturating_sub(usage.images),
        };
        usage.raise(Kind::Input, added.input);
        let mut left = added.output;
        for kind in [Kind::OutputImage, Kind::OutputAudio, Kind::Reasoning] {
            let lacking = estimate.tokens(kind).saturating_sub(usage.tokens(kind));
            let more = lacking.min(left);
            usage.raise(kind, more);
            left = left.saturating_sub(more);
        }
        usage.raise(Kind::Output, left);
        usage.images = usage.images.saturating_add(added.images);
        added
    }
}

/// Cuts the output of an estimate to so many tokens: what nobody saw first, then what is no text.
pub fn cap_output(estimate: &mut Usage, tokens: u64) {
    let mut room = tokens;
    for kind in [
        Kind::Output,
        Kind::OutputAudio,
        Kind::OutputImage,
        Kind::Reasoning,
    ] {
        let kept = estimate.tokens(kind).min(room);
        estimate.set(kind, kept);
        room = room.saturating_sub(kept);
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
            let mut estimate = Usage::default();
            estimate.set(Input, input);
            estimate.set(Output, output);
            estimate.images = 2;
            let got = Estimated::complete(&estimate, &mut usage);
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
    fn pictures_and_sound_are_added_as_such() {
        use Kind::{Output, OutputAudio, OutputImage, Reasoning};
        type KindTokens<'a> = &'a [(Kind, u64)];
        type Case<'a> = (&'a str, KindTokens<'a>, KindTokens<'a>, u64);
        let estimate: KindTokens<'_> = &[
            (Output, 10),
            (OutputImage, 1000),
            (OutputAudio, 100),
            (Reasoning, 50),
        ];
        let cases: [Case<'_>; 5] = [
            ("nothing reported", &[], estimate, 1160),
            ("all of it as text", &[(Output, 1200)], &[(Output, 1200)], 0),
            (
                "a part of it as text",
                &[(Output, 200)],
                &[(Output, 200), (OutputImage, 960)],
                960,
            ),
            (
                "pictures",
                &[(OutputImage, 1000), (Output, 1)],
                &[
                    (OutputImage, 1000),
                    (OutputAudio, 100),
                    (Reasoning, 50),
                    (Output, 10),
                ],
                159,
            ),
            (
                "more pictures",
                &[(OutputImage, 2000)],
                &[(OutputImage, 2000)],
                0,
            ),
        ];
        let usage_of = |tokens: KindTokens<'_>| {
            let mut usage = Usage::default();
            tokens.iter().for_each(|(kind, n)| usage.set(*kind, *n));
            usage
        };
        for (case, reported, want, added) in cases {
            let mut usage = usage_of(reported);
            let got = Estimated::complete(&usage_of(estimate), &mut usage);
            assert_eq!((usage, got.output), (usage_of(want), added), "{case}");
        }
        let mut capped = usage_of(estimate);
        cap_output(&mut capped, 150);
        assert_eq!(
            capped,
            usage_of(&[(Output, 10), (OutputAudio, 100), (OutputImage, 40)])
        );
        cap_output(&mut capped, 0);
        assert_eq!(capped.output_tokens(), 0);
    }

    #[test]
    fn what_pictures_and_sound_come_to() {
        // OpenAI's table, and what has no place in it.
        let cases = [
            (Some("1024x1024"), Some("low"), 272),
            (Some("1024x1536"), Some("low"), 408),
            (Some("1024x1024"), Some("medium"), 1_056),
            (Some("1536x1024"), Some("medium"), 1_584),
            (Some("1024x1024"), Some("high"), 4_160),
            (Some("1024x1536"), Some("high"), 6_240),
            (Some("2048x2048"), Some("low"), 1_088),
            (Some("auto"), Some("auto"), 4_160),
            (None, None, 4_160),
            (None, Some("low"), 272),
            (Some("1x1"), Some("low"), 272),
            (Some("99999999999999999999x1"), None, 4_160),
            (Some("1024x1024x2"), None, 4_160),
        ];
        for (size, quality, want) in cases {
            assert_eq!(picture_tokens(size, quality), want, "{size:?} {quality:?}");
        }
        for (sound_bytes, pcm_bytes, want) in [(0, 0, 0), (1, 0, 1), (641, 0, 2), (5_760, 5_120, 3)]
        {
            let passed = Passed {
                sound_bytes,
                pcm_bytes,
                ..Passed::default()
            };
            assert_eq!(sound_tokens(&passed), want, "{sound_bytes} {pcm_bytes}");
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
