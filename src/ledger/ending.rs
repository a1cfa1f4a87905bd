//! The ending of an exchange, and the reliability of its numbers.

/// The ending of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The upstream's answer was relayed whole.
    Finished,
    /// The upstream's answer was relayed, to its end or until the client hung up at it, with an error in its middle.
    ErrorEvent,
    /// The upstream's answer ended in good order for HTTP, yet not for its protocol.
    Truncated,
    /// The client went away.
    ClientAbort,
    /// The upstream broke off in the middle of its answer.
    UpstreamReset,
    /// Nothing moved for too long in the middle of an answer.
    Timeout,
    /// The upstream's own error was relayed.
    UpstreamError,
    /// The upstream gave no answer that could be relayed; the client has ours.
    UpstreamFailed,
    /// We refused the request.
    Refused,
    /// We answered: a model list, a health check.
    Answered,
}

impl Ending {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Finished,
        Self::ErrorEvent,
        Self::Truncated,
        Self::ClientAbort,
        Self::UpstreamReset,
        Self::Timeout,
        Self::UpstreamError,
        Self::UpstreamFailed,
        Self::Refused,
        Self::Answered,
    ];

    /// The name in records and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::ErrorEvent => "error_event",
            Self::Truncated => "truncated",
            Self::ClientAbort => "client_abort",
            Self::UpstreamReset => "upstream_reset",
            Self::Timeout => "timeout",
            Self::UpstreamError => "upstream_error",
            Self::UpstreamFailed => "upstream_failed",
            Self::Refused => "refused",
            Self::Answered => "answered",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Derives the ending of a stream that did not end by itself from Envoy's response code details.
    pub fn from_details(details: &[u8]) -> Self {
        let begins = |start: &str| details.starts_with(start.as_bytes());
        let says = |word: &str| {
            details
                .windows(word.len())
                .any(|part| part == word.as_bytes())
        };
        if begins("downstream") || begins("http2.remote") || begins("http1.") || begins("http2.") {
            Self::ClientAbort
        } else if says("timeout") || says("max_stream_duration") {
            Self::Timeout
        } else {
            Self::UpstreamReset
        }
    }
}

/// The reliability of the numbers of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UsageStatus {
    /// Final.
    Complete,
    /// Something was made upstream, or may have been, and its final numbers were not reported: they are estimated, of
    /// each kind at least what was reported.
    Estimated,
    /// The same of a source that lets go what is not reported: the numbers are missing, or lower bounds.
    Partial,
    /// Nothing was made: refused before any upstream could act, answered by us, or only counted.
    None,
    /// The upstream gave an error, or no answer.
    Failed,
}

impl UsageStatus {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Complete,
        Self::Estimated,
        Self::Partial,
        Self::None,
        Self::Failed,
    ];

    /// Whether something was made.
    pub fn is_of_an_answer(self) -> bool {
        matches!(self, Self::Complete | Self::Estimated | Self::Partial)
    }

    /// The name in records and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Estimated => "estimated",
            Self::Partial => "partial",
            Self::None => "none",
            Self::Failed => "failed",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}
