//! The reasons that an identity provider vouches for nobody.

use core::fmt;
use std::borrow::Cow;

use openidconnect::core::CoreErrorResponseType;
use openidconnect::{
    ClaimsVerificationError, DiscoveryError, RequestTokenError, SignatureVerificationError,
    StandardErrorResponse,
};

use crate::language::Language;

/// The reason that an identity provider vouches for nobody. No text has a token, a code or a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderFault {
    /// The provider cannot be reached, or has a fault of its own.
    Away(String),
    /// The response breaks the protocol, or is not the response to this request.
    Wrong(String),
    /// No key of the provider has signed the token. Its keys may have changed.
    UnknownKey,
    /// The provider refuses, with this error code.
    Refused(String),
}

impl ProviderFault {
    /// Whether the provider says that the sign-in has ended, so that only a new one helps.
    pub fn is_end(&self) -> bool {
        const ENDS: [&str; 4] = [
            "invalid_grant",
            "interaction_required",
            "login_required",
            "consent_required",
        ];
        matches!(self, Self::Refused(code) if ENDS.contains(&code.as_str()))
    }

    /// The fault in the language of the page; logs have it in English.
    pub fn in_words(&self) -> Cow<'static, str> {
        match self {
            Self::Away(why) => {
                t!("the identity provider cannot be reached: {why}", why = why).into()
            }
            Self::Wrong(why) => t!(
                "the identity provider's response is not valid: {why}",
                why = why
            )
            .into(),
            Self::UnknownKey => t!("no key of the identity provider has signed its response"),
            Self::Refused(code) => t!("the identity provider refuses: {code}", code = code).into(),
        }
    }

    /// A fault of a response.
    pub(super) fn wrong(why: impl fmt::Display) -> Self {
        Self::Wrong(why.to_string())
    }
}

impl fmt::Display for ProviderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Language::ENGLISH.write(|| self.in_words()))
    }
}

impl core::error::Error for ProviderFault {}

impl From<DiscoveryError<Self>> for ProviderFault {
    fn from(error: DiscoveryError<Self>) -> Self {
        match error {
            DiscoveryError::Request(fault) => fault,
            DiscoveryError::Parse(error) => Self::wrong(error),
            DiscoveryError::Response(status, _, _) => {
                Self::Wrong(format!("its discovery answered {}", status.as_u16()))
            }
            other => Self::wrong(other),
        }
    }
}

type TokenError = RequestTokenError<ProviderFault, StandardErrorResponse<CoreErrorResponseType>>;

impl From<TokenError> for ProviderFault {
    fn from(error: TokenError) -> Self {
        match error {
            RequestTokenError::Request(fault) => fault,
            RequestTokenError::ServerResponse(response) => {
                // Written by the provider: letters of an error code, and no more of them than one has.
                let code = response.error().as_ref();
                let is_of_code = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
                Self::Refused(code.chars().filter(is_of_code).take(64).collect())
            }
            RequestTokenError::Parse(error, _) => {
                // The inner error may quote a value.
                Self::Wrong(format!(
                    "its token response cannot be read at {}",
                    error.path()
                ))
            }
            RequestTokenError::Other(why) => Self::Wrong(why),
        }
    }
}

impl From<ClaimsVerificationError> for ProviderFault {
    fn from(error: ClaimsVerificationError) -> Self {
        match error {
            ClaimsVerificationError::SignatureVerification(
                SignatureVerificationError::NoMatchingKey,
            ) => Self::UnknownKey,
            ClaimsVerificationError::SignatureVerification(error) => Self::wrong(error),
            error => Self::wrong(error),
        }
    }
}
