//! The known words of vendors for the option which makes a stream report its usage, where they refuse it, each with a page that shows
//! them.

use super::words::ErrorWords;

/// A row of the table.
#[derive(Debug)]
pub(super) struct Row {
    words: Words,
    /// The page that shows an answer with these words.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the reader of the table"))]
    pub page: &'static str,
}

/// The words that an error must have. Never a part of a message: vendors repeat there what clients write.
#[derive(Debug)]
enum Words {
    /// This type or code, of this parameter.
    Parameter(&'static str, &'static str),
    /// This message.
    Whole(&'static str),
    /// A message that begins so.
    Beginning(&'static str),
}

use Words::{Beginning, Parameter, Whole};

impl Row {
    const fn new(words: Words, page: &'static str) -> Self {
        Self { words, page }
    }

    /// Whether an error has these words.
    pub(super) fn fits(&self, words: &ErrorWords) -> bool {
        let message = words.message.as_str();
        match self.words {
            Parameter(code, param) => {
                words.param == param && words.codes.iter().any(|known| known == code)
            }
            Whole(whole) => message == whole,
            Beginning(beginning) => message.starts_with(beginning),
        }
    }
}

const OPTIONS: &str = "stream_options";
const OPTION: &str = "stream_options.include_usage";
const CODES: &str = "https://platform.openai.com/docs/guides/error-codes";

/// The rows.
#[rustfmt::skip]
pub(super) const REFUSALS: &[Row] = &[
    // OpenAI, Azure, and those that took over their codes
    Row::new(Parameter("unknown_parameter", OPTIONS), "https://github.com/jamesrochabrun/SwiftOpenAI/issues/67"),
    Row::new(Parameter("unknown_parameter", OPTION), CODES),
    Row::new(Parameter("unsupported_parameter", OPTIONS), CODES),
    Row::new(Parameter("unsupported_parameter", OPTION), CODES),
    Row::new(Whole("Unrecognized request argument supplied: stream_options"), "https://github.com/langchain-ai/langchain/pull/23552"),
    Row::new(Beginning("Unrecognized request argument supplied: stream_options. Please contact us through "), "https://github.com/songquanpeng/one-api/issues/1423"),
    // Groq
    Row::new(Whole("property 'stream_options' is unsupported, did you mean 'stream'?"), "https://github.com/vercel/ai/pull/1578"),
    // Mistral
    Row::new(Parameter("extra_forbidden", "body.stream_options"), "https://github.com/partITech/php-mistral/issues/76"),
    Row::new(Parameter("extra_forbidden", "body.stream_options.include_usage"), "https://github.com/openai/openai-agents-python/issues/442"),
    // vLLM
    Row::new(Beginning("[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'"), "https://github.com/gpustack/gpustack/issues/429"),
];
