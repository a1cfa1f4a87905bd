//! What is counted and added up.

/// Something that is added up over records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Requests, whatever became of them.
    Requests,
    /// Requests with final numbers.
    Complete,
    /// Requests of which what was not reported is estimated.
    Estimated,
    /// Requests whose numbers are missing or lower bounds.
    Partial,
    /// Requests that made nothing.
    None,
    /// Requests that failed upstream.
    Failed,
    /// All input tokens, cached ones included.
    Input,
    /// All output tokens, reasoning included.
    Output,
    /// Those of the input that a prompt cache held.
    CacheRead,
    /// Those of the input that were written to a prompt cache for five minutes.
    CacheWrite5m,
    /// Those of the input that were written to a prompt cache for an hour.
    CacheWrite1h,
    /// Those of the output that were reasoning.
    Reasoning,
    /// Those of the input that the model's own tools brought in.
    ToolUse,
    /// Those of the input that were images, where that is told.
    InputImage,
    /// Images made.
    Images,
    /// Those of the input that were audio, where that is told.
    InputAudio,
    /// Those of the output that were audio, where that is told.
    OutputAudio,
    /// Those of the output that were images, where that is told.
    OutputImage,
    /// Searches of the web.
    WebSearch,
    /// Runs of code at the vendor.
    CodeExecution,
    /// Searches of files at the vendor.
    FileSearch,
    /// Searches of a map.
    MapsSearch,
    /// Those of the input that are estimated.
    EstimatedInput,
    /// Those of the output that are estimated.
    EstimatedOutput,
    /// Requests that used something which no price covers.
    Uncovered,
}

impl Measure {
    /// All, in the order shown.
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

    /// Whether a table shows it that was not asked for anything else.
    pub fn is_usual(self) -> bool {
        matches!(self, Self::Requests | Self::Input | Self::Output)
    }

    /// Whether such a table shows it where there is some: who reads it should know.
    pub fn matters(self) -> bool {
        matches!(
            self,
            Self::Failed | Self::Estimated | Self::Partial | Self::Uncovered | Self::Images
        )
    }

    /// Whether a wide table for people shows it only where there is some.
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

    /// Its name in every format.
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
