//! What a sealed value is bound to.

use super::destination::CredentialDestination;

/// What a sealed value is bound to: it opens for nothing else. No part has an end of line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedFor<'a> {
    /// A credential of an account.
    Credential {
        /// Its name.
        name: &'a str,
        /// Where it may be sent.
        destination: &'a CredentialDestination,
    },
    /// What the messages of a webhook are signed with.
    WebhookSecret {
        /// The webhook's id.
        id: &'a str,
        /// Where its messages go.
        url: &'a str,
    },
}

impl SealedFor<'_> {
    /// The same as text, of two never the same.
    pub(super) fn text(self) -> String {
        match self {
            Self::Credential { name, destination } => {
                format!("trilane credential 1\n{name}\n{}", destination.text())
            }
            Self::WebhookSecret { id, url } => format!("trilane webhook 1\n{id}\n{url}"),
        }
    }
}
