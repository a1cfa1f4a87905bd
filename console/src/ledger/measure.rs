//! The numbers that are added up.

/// A number that is added up over records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// All requests.
    Requests,
    /// Requests with final numbers.
    Complete,
    /// Requests with estimated numbers for what was not reported.
    Estimated,
    /// Requests whose numbers are missing or lower bounds.
    Partial,
    /// Requests without usage.
    None,
    /// Requests that failed upstream.
    Failed,
    /// All input tokens, cached ones included.
    Input,
    /// All output tokens, reasoning included.
    Output,
    /// Input tokens read from a prompt cache.
    CacheRead,
    /// Input tokens written to a prompt cache for five minutes.
    CacheWrite5m,
    /// Input tokens written to a prompt cache for an hour.
    CacheWrite1h,
    /// Output tokens of reasoning.
    Reasoning,
    /// Input tokens from the model's own tools.
    ToolUse,
    /// Input tokens of images, if reported.
    InputImage,
    /// Generated images.
    Images,
    /// Input tokens of audio, if reported.
    InputAudio,
    /// Output tokens of audio, if reported.
    OutputAudio,
    /// Output tokens of images, if reported.
    OutputImage,
    /// Web searches.
    WebSearch,
    /// Code executions at the vendor.
    CodeExecution,
    /// File searches at the vendor.
    FileSearch,
    /// Map searches.
    MapsSearch,
    /// Estimated input tokens.
    EstimatedInput,
    /// Estimated output tokens.
    EstimatedOutput,
    /// Requests with usage that no price covers.
    Uncovered,
}

impl Measure {
    /// All, in the order of display.
    pub const ALL: [Self; 25] = [
        Self::Requests,
        Self::Complete,
        Self::Estimated,
        Self::Partial,
        Self::None,
        Self::Failed,
        Self::Input,
        Self::Output,
        Self::CacheRead,
        Self::CacheWrite5m,
        Self::CacheWrite1h,
        Self::Reasoning,
        Self::ToolUse,
        Self::InputImage,
        Self::Images,
        Self::InputAudio,
        Self::OutputAudio,
        Self::OutputImage,
        Self::WebSearch,
        Self::CodeExecution,
        Self::FileSearch,
        Self::MapsSearch,
        Self::EstimatedInput,
        Self::EstimatedOutput,
        Self::Uncovered,
    ];

    /// Whether the default table shows it.
    pub fn is_usual(self) -> bool {
        matches!(self, Self::Requests | Self::Input | Self::Output)
    }

    /// Whether the default table shows it if it is not zero.
    pub fn matters(self) -> bool {
        matches!(
            self,
            Self::Failed | Self::Estimated | Self::Partial | Self::Uncovered | Self::Images
        )
    }

    /// Whether a wide table shows it only if it is not zero.
    pub fn is_rare(self) -> bool {
        matches!(
            self,
            Self::Estimated
                | Self::InputAudio
                | Self::OutputAudio
                | Self::OutputImage
                | Self::WebSearch
                | Self::CodeExecution
                | Self::FileSearch
                | Self::MapsSearch
                | Self::EstimatedInput
                | Self::EstimatedOutput
                | Self::Uncovered
        )
    }

    /// Returns the name, which is the same in every format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Complete => "complete",
            Self::Estimated => "estimated",
            Self::Partial => "partial",
            Self::None => "none",
            Self::Failed => "failed",
            Self::Input => "input",
            Self::Output => "output",
            Self::CacheRead => "cache_read",
            Self::CacheWrite5m => "cache_write_5m",
            Self::CacheWrite1h => "cache_write_1h",
            Self::Reasoning => "reasoning",
            Self::ToolUse => "tool_use",
            Self::InputImage => "input_image",
            Self::Images => "images",
            Self::InputAudio => "input_audio",
            Self::OutputAudio => "output_audio",
            Self::OutputImage => "output_image",
            Self::WebSearch => "web_search",
            Self::CodeExecution => "code_execution",
            Self::FileSearch => "file_search",
            Self::MapsSearch => "maps_search",
            Self::EstimatedInput => "estimated_input",
            Self::EstimatedOutput => "estimated_output",
            Self::Uncovered => "uncovered",
        }
    }
}
