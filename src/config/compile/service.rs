//! The service that counts the requests of many Envoys.

use crate::config::document::LimitsServiceDocument;
use crate::config::error::Problems;
use crate::limits::service::OnFailure;

pub(super) fn compile(
    document: Option<&LimitsServiceDocument>,
    problems: &mut Problems,
) -> Option<OnFailure> {
    match document?.failure.as_deref() {
        None | Some("open") => Some(OnFailure::Open),
        Some("closed") => Some(OnFailure::Closed),
        Some(_) => {
            problems.push(
                "limits_service.failure",
                "must be \"open\" (requests pass while the service does not answer) or \"closed\" (they get 503)",
            );
            None
        }
    }
}
