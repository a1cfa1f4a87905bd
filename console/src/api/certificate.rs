//! The API of the console's certificate.

use axum::Json;

use super::parts::handlers;
use crate::cases::certificate::{self, CertificateView};

handlers! {
    /// The certificate with which this console ends TLS itself, and when it ends.
    #[utoipa::path(get, operation_id = "get_certificate", path = "/api/v1/certificate", tag = "storage",
        responses((status = 200, body = CertificateView)))]
    get() -> Json<CertificateView> = certificate::get();
}
