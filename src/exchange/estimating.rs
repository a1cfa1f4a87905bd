//! What a request is taken to use before it is known, and what it is taken to have used where nobody reports it.

use super::request_body::RequestBody;
use crate::limits::Estimate;
use crate::protocol::Operation;
use crate::usage::estimate::{
    AUDIO_BYTES_PER_TOKEN, AUDIO_TOKENS, FILE_BYTES_PER_TOKEN, FILE_TOKENS, IMAGE_TOKENS,
    part_tokens, text_tokens, tokens_in,
};
use crate::usage::{Estimated, Kind, Reading, Usage};

/// Tokens that a budget reserves for each answer of a request that sets no cap: what a model may write in a long one.
const UNCAPPED_OUTPUT: u64 = 16_384;
/// Tokens that a budget reserves for each picture, where those have tokens: what vendors count for a large one.
const MADE_IMAGE_TOKENS: u64 = 6_240;

/// What a request with a body of so many bytes reserves of its limits. What is not metered uses no tokens.
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
        Some(Operation::Embeddings | Operation::CreateCache) => Estimate::of_reading(input()),
        Some(_) => Estimate::of(input(), body.scanner().output_cap(), body.candidates()),
    }
}

/// What a request is expected to use, as far as its body has been read: what its models are to read, and as much as they
/// may write. `None` for what is not metered.
pub(super) fn expected(operation: Option<Operation>, body: &RequestBody) -> Option<Usage> {
    let mut usage = Usage::default();
    usage.set(Kind::Input, input_tokens(body));
    match operation? {
        Operation::Embeddings | Operation::CreateCache => {}
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

/// Completes what was reported of an exchange that an upstream was at work on; gives how much of it is estimated.
/// `waited_us` tells how long the client waited, where it left before the end or was cut off.
///
/// The client is to pay for what the upstream may have charged for: what was to be read, and of what was to be
/// written as much as passed. Of a response that comes whole or not at all nothing passes before its end, so for one
/// that was not awaited time counts: as long as the client waited, and no more than was reserved. Pictures are such
/// responses, also in a stream: their text says nothing.
pub(super) fn complete(
    operation: Option<Operation>,
    body: &RequestBody,
    response_bytes: u64,
    waited_us: Option<&dyn Fn() -> u64>,
    reading: &mut Reading,
) -> Estimated {
    let mut estimated = Estimated {
        input: input_tokens(body),
        output: written(response_bytes, reading),
        images: 0,
    };
    let mut usage = reading.usage.unwrap_or_default();
    let makes_images = operation == Some(Operation::ImageGeneration);
    if let Some(waited_us) = waited_us
        && (makes_images || !body.stream)
    {
        let reserved = reservation(operation, body, body.seen()).output;
        estimated.output = estimated.output.max(tokens_in(waited_us()).min(reserved));
        if makes_images {
            estimated.images = body.candidates();
        }
    }
    let added = estimated.complete(&mut usage);
    reading.usage = (usage != Usage::default()).then_some(usage);
    added
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
