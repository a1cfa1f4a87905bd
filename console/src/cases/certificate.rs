//! The certificate with which the console ends TLS itself.

use serde::Serialize;
use utoipa::ToSchema;

use super::caller::Caller;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::connections;
use crate::timestamp;

/// The certificate of the console. Both members are missing where it ends no TLS.
#[derive(Debug, Serialize, ToSchema)]
pub struct CertificateView {
    /// The file of the chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// The end of the certificate in that file, as RFC 3339; missing where the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ends_at: Option<String>,
}

/// The certificate of the console, and when it ends.
pub async fn get(state: &ConsoleState, caller: &Caller) -> Result<CertificateView, ApiProblem> {
    caller.must(rights::SEE_STORAGE)?;
    let chain = state.certificate.as_deref();
    let end = chain.and_then(connections::certificate_end);
    Ok(CertificateView {
        file: chain.map(|chain| chain.display().to_string()),
        ends_at: end.and_then(timestamp::unix_text),
    })
}
