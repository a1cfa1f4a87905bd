//! What a request is taken to use before it is known, and what it is taken to have used where nobody reports it.

use super::Clock;
use super::answer::Answer;
use super::facts::Facts;
use crate::ledger::Ending;
use crate::limits::Estimate;
use crate::usage::estimate::{
    AUDIO_BYTES_PER_TOKEN, AUDIO_TOKENS, FILE_BYTES_PER_TOKEN, FILE_TOKENS, IMAGE_TOKENS,
    part_tokens, text_tokens, tokens_in,
};
use crate::usage::{Estimated, Reading, Usage};

/// What a request with a body of so many bytes reserves of its limits. What is not metered uses no tokens.
pub(super) fn reservation(facts: &Facts, body_bytes: u64) -> Estimate {
    match facts.operation() {
        None => Estimate::default(),
        Some("embeddings") => Estimate::of_reading(body_bytes),
        Some(_) => Estimate::of(body_bytes, facts.output_cap, candidates(facts)),
    }
}

/// Completes what was reported of an exchange that an upstream was at work on; gives how much of it is estimated.
///
/// The client is to pay for what the upstream may have charged for: what was to be read, and of what was to be
/// written as much as passed. Of an answer that comes whole or not at all nothing passes before its end, so for one
/// that was not awaited time counts: as long as the client waited, and no more than was reserved. Pictures are such answers,
/// also in a stream: their text says nothing.
pub(super) fn complete(
    facts: &Facts,
    answer: &Answer,
    ending: Ending,
    reading: &mut Reading,
    clock: &impl Clock,
) -> Estimated {
    let mut estimated = Estimated {
        input: input_tokens(facts),
        output: written(answer, reading),
        images: 0,
    };
    let not_awaited = matches!(ending, Ending::ClientAbort | Ending::Timeout);
    let mut usage = reading.usage.unwrap_or_default();
    let makes_images = facts.operation() == Some("image_generation");
    if not_awaited && (makes_images || !facts.stream) {
        let waited_us = clock.now_us().saturating_sub(facts.began_us.unwrap_or(0));
        let reserved = reservation(facts, facts.request_bytes).output;
        estimated.output = estimated.output.max(tokens_in(waited_us).min(reserved));
        if makes_images {
            estimated.images = candidates(facts);
        }
    }
    let added = estimated.complete(&mut usage);
    reading.usage = (usage != Usage::default()).then_some(usage);
    added
}

/// Tokens of the request's body: of its text, and of the images, sounds and files in it.
fn input_tokens(facts: &Facts) -> u64 {
    let size = facts.input_size();
    [
        text_tokens(size.text_bytes),
        size.images.saturating_mul(IMAGE_TOKENS),
        part_tokens(
            size.audios,
            AUDIO_TOKENS,
            size.audio_bytes,
            AUDIO_BYTES_PER_TOKEN,
        ),
        part_tokens(
            size.files,
            FILE_TOKENS,
            size.file_bytes,
            FILE_BYTES_PER_TOKEN,
        ),
    ]
    .into_iter()
    .fold(0, u64::saturating_add)
}

/// Tokens of the text that passed; of an answer in no form that is known, of all that passed.
fn written(answer: &Answer, reading: &Reading) -> u64 {
    text_tokens(if reading.unreadable {
        answer.bytes
    } else {
        reading.generated_bytes
    })
}

/// How many answers the request asks for.
fn candidates(facts: &Facts) -> u64 {
    facts.candidates().unwrap_or(1).max(1)
}
