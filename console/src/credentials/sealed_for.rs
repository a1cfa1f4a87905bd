//! The purpose that a sealed value is bound to.

use super::destination::CredentialDestination;

/// The purpose that a sealed value is bound to: it opens for no other. No part contains a line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedFor<'a> {
    /// A credential of an account.
    Credential {
        /// The name of the credential.
        name: &'a str,
        /// The only destination that it may be sent to.
        destination: &'a CredentialDestination,
    },
    /// The secret that signs the messages of a webhook.
    WebhookSecret {
        /// The webhook's id.
        id: &'a str,
        /// The URL that its messages are sent to.
        url: &'a str,
    },
    /// The secret of this console's client at an identity provider.
    ClientSecret {
        /// The provider's id.
        id: &'a str,
        /// The issuer, the only one that it may be sent to.
        issuer: &'a str,
    },
    /// The refresh token of a person at an identity provider.
    RefreshToken {
        /// The provider's id.
        provider: &'a str,
        /// The name of the person there.
        subject: &'a str,
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
            Self::ClientSecret { id, issuer } => format!("trilane client 1\n{id}\n{issuer}"),
            Self::RefreshToken { provider, subject } => {
                format!("trilane refresh token 1\n{provider}\n{subject}")
            }
        }
    }
}
