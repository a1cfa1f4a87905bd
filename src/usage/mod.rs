//! Usage of a model call, read from the answer as it streams by.
//!
//! Three protocols report usage under different names and with different conventions: some count
//! cached tokens inside the input, some beside it. Here they come down to one vocabulary of
//! [`Kind`]s, none of which contains another, so that sums and charges need no further knowledge.
//!
//! The [`Meter`] finds the numbers: bytes go through `sse` (if the answer is a stream of events) and
//! `extractor` (JSON), which follows the table of the answer's [`Wire`] form, to the `tally`.

mod cached_content;
mod chat;
mod cost;
mod doubt;
mod embeddings;
pub mod estimate;
mod event_buffer;
mod extractor;
mod generate;
mod holes;
mod images;
mod merge;
mod messages;
mod meter;
mod model_sums;
mod numbers;
mod passed;
mod queries;
mod responses;
mod short_text;
mod sse;
mod table;
mod tally;
mod template;
mod witness;

pub use estimate::Estimated;
pub use meter::{Meter, Reading, Wire};
pub use passed::Passed;
pub use tally::IMAGE_TOOL;

/// A kind of token. No token is of two kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Input that no other kind of input is.
    Input,
    /// Image input, where it is told apart.
    InputImage,
    /// Audio input, where it is told apart.
    InputAudio,
    /// Input read from a prompt cache.
    CacheRead,
    /// Input written to a prompt cache for five minutes, or for a time that was not told.
    CacheWrite5m,
    /// Input written to a prompt cache for an hour.
    CacheWrite1h,
    /// Input that the model's own tools brought in (protocol C).
    ToolUse,
    /// Output that is not reasoning.
    Output,
    /// Reasoning, where it is reported; protocol B counts it as output.
    Reasoning,
    /// Audio output, where it is told apart.
    OutputAudio,
    /// Image output, where it is told apart.
    OutputImage,
}

impl Kind {
    /// All kinds, input first.
    pub const ALL: [Self; 11] = [
        Self::Input,
        Self::InputImage,
        Self::InputAudio,
        Self::CacheRead,
        Self::CacheWrite5m,
        Self::CacheWrite1h,
        Self::ToolUse,
        Self::Output,
        Self::Reasoning,
        Self::OutputAudio,
        Self::OutputImage,
    ];

    /// The name in documents, metrics and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::InputImage => "input_image",
            Self::InputAudio => "input_audio",
            Self::CacheRead => "cache_read",
            Self::CacheWrite5m => "cache_write_5m",
            Self::CacheWrite1h => "cache_write_1h",
            Self::ToolUse => "tool_use",
            Self::Output => "output",
            Self::Reasoning => "reasoning",
            Self::OutputAudio => "output_audio",
            Self::OutputImage => "output_image",
        }
    }

    /// Whether it is input to the model.
    pub fn is_input(self) -> bool {
        !matches!(
            self,
            Self::Output | Self::Reasoning | Self::OutputAudio | Self::OutputImage
        )
    }
}

/// Work beside the model's own that vendors price by the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Call {
    /// A search of the web.
    WebSearch,
    /// A run of code in a vendor's container.
    CodeExecution,
    /// A search of files that a vendor keeps.
    FileSearch,
    /// A search of a map.
    MapsSearch,
}

impl Call {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::WebSearch,
        Self::CodeExecution,
        Self::FileSearch,
        Self::MapsSearch,
    ];

    /// The name in documents, metrics and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::WebSearch => "web_search",
            Self::CodeExecution => "code_execution",
            Self::FileSearch => "file_search",
            Self::MapsSearch => "maps_search",
        }
    }
}

/// The numbers of tokens of each kind, of images, and of calls of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    tokens: [u64; Kind::ALL.len()],
    calls: [u64; Call::ALL.len()],
    /// Images made.
    pub images: u64,
}

impl Usage {
    /// The tokens of a kind.
    pub fn tokens(&self, kind: Kind) -> u64 {
        self.tokens.get(kind as usize).copied().unwrap_or(0)
    }

    /// Sets the tokens of a kind.
    pub fn set(&mut self, kind: Kind, tokens: u64) {
        if let Some(place) = self.tokens.get_mut(kind as usize) {
            *place = tokens;
        }
    }

    /// Adds tokens of a kind.
    pub(crate) fn raise(&mut self, kind: Kind, more: u64) {
        self.set(kind, self.tokens(kind).saturating_add(more));
    }

    /// Returns the number of calls of a kind.
    pub fn calls(&self, call: Call) -> u64 {
        self.calls.get(call as usize).copied().unwrap_or(0)
    }

    /// Sets how many calls of a kind there were.
    pub fn set_calls(&mut self, call: Call, calls: u64) {
        if let Some(place) = self.calls.get_mut(call as usize) {
            *place = calls;
        }
    }

    /// All input, cached or not.
    pub fn input_tokens(&self) -> u64 {
        self.sum(Kind::is_input)
    }

    /// All output, reasoning included.
    pub fn output_tokens(&self) -> u64 {
        self.sum(|kind| !kind.is_input())
    }

    /// Adds what else was used.
    pub fn add(&mut self, more: &Self) {
        let tokens = self.tokens.iter_mut().zip(more.tokens);
        let calls = self.calls.iter_mut().zip(more.calls);
        let images = (&mut self.images, more.images);
        for (sum, more) in tokens.chain(calls).chain([images]) {
            *sum = sum.saturating_add(more);
        }
    }

    fn sum(&self, of: impl Fn(Kind) -> bool) -> u64 {
        Kind::ALL
            .into_iter()
            .filter(|kind| of(*kind))
            .fold(0, |sum: u64, kind| sum.saturating_add(self.tokens(kind)))
    }
}
