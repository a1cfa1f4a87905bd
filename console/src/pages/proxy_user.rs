//! The person whom a trusted proxy names in a header: for consoles behind a proxy at which people are signed in already.

use core::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;

use crate::cases::ConsoleState;
use crate::client_address::FromTrustedProxy;

/// The id of the person whom a trusted proxy names. `None`: no header is believed, or the request is not one of a trusted proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyUser(pub Option<String>);

impl ProxyUser {
    /// The one that a request names. Two values are none: one of them may be a client's.
    pub fn of(parts: &Parts, state: &ConsoleState) -> Self {
        let trusted = parts.extensions.get::<FromTrustedProxy>();
        let Some(name) = state.user_header.as_ref() else {
            return Self(None);
        };
        if !matches!(trusted, Some(FromTrustedProxy(true))) {
            return Self(None);
        }
        let mut values = parts.headers.get_all(name).into_iter();
        let value = match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        };
        let value = value.map(|value| value.trim().to_ascii_lowercase());
        Self(value.filter(|value| !value.is_empty()))
    }
}

impl FromRequestParts<ConsoleState> for ProxyUser {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &ConsoleState,
    ) -> Result<Self, Infallible> {
        Ok(Self::of(parts, state))
    }
}
