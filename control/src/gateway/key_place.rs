//! The option that says where the key of a request is.

use trilane_console::gateway::CredentialPlace;

/// A place for a key, as the command line names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum KeyPlaceArg {
    /// authorization: Bearer
    Authorization,
    /// x-api-key
    XApiKey,
    /// x-goog-api-key
    XGoogApiKey,
    /// x-vc-api-key
    XVcApiKey,
    /// The query parameter key
    Query,
}

impl From<KeyPlaceArg> for CredentialPlace {
    fn from(place: KeyPlaceArg) -> Self {
        match place {
            KeyPlaceArg::Authorization => Self::Authorization,
            KeyPlaceArg::XApiKey => Self::XApiKey,
            KeyPlaceArg::XGoogApiKey => Self::XGoogApiKey,
            KeyPlaceArg::XVcApiKey => Self::XVcApiKey,
            KeyPlaceArg::Query => Self::Query,
        }
    }
}
