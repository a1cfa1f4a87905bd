//! The client, the session and the labels that a request names in its headers.

use smol_str::SmolStr;

/// Texts that a client chose. Each is bounded, and printable ASCII.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestLabels {
    /// The name and version of the client: `claude-cli/2.1`.
    pub client: Option<SmolStr>,
    /// The session, where the client is an agent that names it.
    pub session: Option<SmolStr>,
    /// The values of the headers that the document lists, each with its label's name.
    pub labels: Vec<(SmolStr, SmolStr)>,
}

impl RequestLabels {
    /// Whether the request says nothing of itself.
    pub fn is_empty(&self) -> bool {
        self.client.is_none() && self.session.is_none() && self.labels.is_empty()
    }
}
