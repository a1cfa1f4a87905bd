//! Estimates of a request's usage: before it is known, and where nobody reports it.

use super::request_body::RequestBody;
use crate::limits::Estimate;
use crate::protocol::Operation;
use crate::usage::estimate::{
    AUDIO_BYTES_PER_TOKEN, AUDIO_TOKENS, BYTES_PER_CAPPED_TOKEN, FILE_BYTES_PER_TOKEN, FILE_TOKENS,
    IMAGE_TOKENS, LARGE_PICTURE_PART_TOKENS, MOST_HIDDEN_TOKENS, PARTIAL_PICTURE_TOKENS,
    PICTURE_PART_TOKENS, cap_output, part_tokens, picture_tokens, sound_tokens, text_tokens,
    tokens_in,
};
use crate::usage::{Estimated, IMAGE_TOOL, Kind, Passed, Reading, Usage, Wire};

/// Tokens that a budget reserves for each answer of a request that sets no cap: what a model may write in a long one.
const UNCAPPED_OUTPUT: u64 = 16_384;
/// Tokens that a budget reserves for each picture, where those have tokens: what vendors count for a large one.
const MADE_IMAGE_TOKENS: u64 = 6_240;

/// Estimates what a request with a body of so many bytes reserves of its limits. A request that is not metered uses no tokens.
///
/// Input is what is charged where nobody reports it. What was not read yet most likely goes on as it began: a picture that
/// is longer than the window is still a picture.
pub(super) fn reservation(
    operation: Option<Operation>,
    body: &RequestBody,
    body_bytes: u64,
) -> Estimate {
    let input = || {
        let read = input_tokens(body);
        let all = read.saturating_mul(body_bytes).checked_div(body.seen());
        all.unwrap_or_default().max(read)
    };
    match operation {
        None => Estimate::default(),
        Some(operation) if operation.only_reads() => Estimate::of_reading(input()),
        Some(_) => Estimate::of(input(), body.scanner().output_cap(), body.candidates()),
    }
}

/// The expected usage of a request, as far as its body has been read: what its models are to read, and as much as they
/// may write. `None` for what is not metered.
pub(super) fn expected(operation: Option<Operation>, body: &RequestBody) -> Option<Usage> {
    let mut usage = Usage::default();
    usage.set(Kind::Input, input_tokens(body));
    match operation? {
        operation if operation.only_reads() => {}
        Operation::ImageGeneration => {
            usage.images = body.candidates();
            usage.set(
                Kind::OutputImage,
                body.candidates().saturating_mul(MADE_IMAGE_TOKENS),
            );
        }
        _ => {
            // No model writes nothing: a cap of 0 is no cap, wherever it is not refused.
            let cap = body.scanner().output_cap().filter(|cap| *cap > 0);
            let each = cap.unwrap_or(UNCAPPED_OUTPUT);
            usage.set(Kind::Output, each.saturating_mul(body.candidates()));
        }
    }
    Some(usage)
}

/// An exchange that an upstream was at work on, beside what was read of it.
pub(super) struct UnreportedExchange<'a> {
    pub operation: Option<Operation>,
    /// The form in which the response reports usage.
    pub wire: Option<Wire>,
    pub body: &'a RequestBody,
    pub response_bytes: u64,
    /// Tells how long the client waited, in microseconds, where it left before the end or was cut off.
    pub waited_us: Option<&'a dyn Fn() -> u64>,
    /// The time that the model may have reasoned unseen, in microseconds, in a stream that its client left.
    pub silent_us: u64,
}

impl UnreportedExchange<'_> {
    /// Completes what was reported; gives how much of it is estimated.
    ///
    /// The client is to pay for what the upstream may have charged for: what was to be read, and of what was to be
    /// written as much as passed. Of a response that comes whole or not at all nothing passes before its end, so for one
    /// that was not awaited time counts: as long as the client waited, and no more than was reserved. Pictures are such
    /// responses, also in a stream: their text says nothing. In other streams silence counts, where the model reasons.
    pub(super) fn complete(&self, reading: &mut Reading) -> Estimated {
        let mut usage = reading.usage.unwrap_or_default();
        let mut estimate = self.estimate(reading);
        if let Some(total) = reading.unsplit_total {
            split_total(total, &mut estimate);
        }
        let mut added = Estimated::complete(&estimate, &mut usage);
        reading.usage = (usage != Usage::default()).then_some(usage);
        let of_tool = self.pictures_of_tool(reading);
        added.output = added.output.saturating_add(of_tool);
        added
    }

    /// Estimates the usage from all that passed and the time that was not awaited.
    fn estimate(&self, reading: &Reading) -> Usage {
        let Self { body, .. } = self;
        let mut estimate = Usage::default();
        estimate.set(Kind::Input, input_tokens(body));
        if self.operation.is_some_and(Operation::only_reads) {
            return estimate;
        }
        let text = written(self.response_bytes, reading);
        estimate.set(Kind::Output, text);
        estimate.set(Kind::OutputAudio, self.sound_tokens(reading));
        if self.wire != Some(Wire::Responses) {
            estimate.set(Kind::OutputImage, self.picture_tokens(reading));
        }
        let cap = body.output_cap();
        let hidden = tokens_in(self.silent_us).min(cap.unwrap_or(MOST_HIDDEN_TOKENS));
        estimate.set(Kind::Reasoning, hidden);
        if let Some(waited_us) = self.waited_us {
            if self.operation == Some(Operation::ImageGeneration) {
                let all = self.each_picture().saturating_mul(body.candidates());
                let made = tokens_in(waited_us()).min(all);
                let passed = estimate.tokens(Kind::OutputImage);
                estimate.set(Kind::OutputImage, passed.max(made));
                estimate.images = body.candidates();
            } else if !body.stream {
                let reserved = reservation(self.operation, body, body.seen()).output;
                let made = tokens_in(waited_us()).min(reserved);
                estimate.raise(Kind::Output, made.saturating_sub(estimate.output_tokens()));
            }
        }
        if let Some(cap) = cap {
            let passed = [
                reading.generated_bytes,
                reading.passed.picture_bytes,
                reading.passed.sound_bytes,
            ];
            let passed = passed.into_iter().fold(0, u64::saturating_add);
            if passed <= cap.saturating_mul(BYTES_PER_CAPPED_TOKEN) {
                cap_output(&mut estimate, cap);
            }
        }
        estimate
    }

    /// Completes what the model used that a tool of Responses makes pictures with; gives how many tokens were added.
    fn pictures_of_tool(&self, reading: &mut Reading) -> u64 {
        let tokens = match self.wire {
            Some(Wire::Responses) => self.picture_tokens(reading),
            _ => 0,
        };
        if tokens == 0 {
            return 0;
        }
        let mut estimate = Usage::default();
        estimate.set(Kind::OutputImage, tokens);
        let name = reading.image_model.as_deref().unwrap_or(IMAGE_TOOL);
        let known = reading.others.iter().position(|(model, _)| model == name);
        let at = known.unwrap_or_else(|| {
            reading.others.push((name.to_owned(), Usage::default()));
            reading.others.len().saturating_sub(1)
        });
        let usage = reading.others.get_mut(at).map(|(_, usage)| usage);
        usage.map_or(0, |usage| Estimated::complete(&estimate, usage).output)
    }

    /// Tokens of the pictures that passed or had begun.
    fn picture_tokens(&self, reading: &Reading) -> u64 {
        let Passed {
            pictures,
            partial_pictures,
            ..
        } = reading.passed;
        let partial = partial_pictures.saturating_mul(PARTIAL_PICTURE_TOKENS);
        pictures
            .saturating_mul(self.each_picture())
            .saturating_add(partial)
    }

    /// Tokens of one picture.
    fn each_picture(&self) -> u64 {
        let asked = self.body.scanner().picture();
        match self.wire {
            Some(Wire::Images | Wire::Responses) => picture_tokens(asked.size, asked.quality),
            _ if asked
                .part_size
                .is_some_and(|size| size.eq_ignore_ascii_case("4K")) =>
            {
                LARGE_PICTURE_PART_TOKENS
            }
            _ => PICTURE_PART_TOKENS,
        }
    }

    fn sound_tokens(&self, reading: &Reading) -> u64 {
        let mut passed = reading.passed;
        if self.body.scanner().asks_for_pcm() {
            passed.pcm_bytes = passed.sound_bytes;
        }
        sound_tokens(&passed)
    }
}

/// Splits a total that is reported by what its input is estimated at.
fn split_total(total: u64, estimate: &mut Usage) {
    let input = estimate.input_tokens().min(total);
    let images = estimate.images;
    *estimate = Usage::default();
    estimate.images = images;
    estimate.set(Kind::Input, input);
    estimate.set(Kind::Output, total.saturating_sub(input));
}

/// Tokens of the request's body: of its text, and of the images, sounds and files in it.
fn input_tokens(body: &RequestBody) -> u64 {
    let size = body.scanner().input_size();
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

/// Tokens of the text that passed; of a response in no form that is known, of all that passed.
fn written(response_bytes: u64, reading: &Reading) -> u64 {
    text_tokens(if reading.unreadable {
        response_bytes
    } else {
        reading.generated_bytes
    })
}
