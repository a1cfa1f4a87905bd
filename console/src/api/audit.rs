//! The API of audit.

use axum::Json;

use super::parts::{Params, handlers};
use crate::cases::audit::{self, AuditParams, AuditView};
use crate::cases::paging::{ItemPage, PageParams};

handlers! {
    /// Changes, the latest first.
    #[utoipa::path(get, operation_id = "list_audit", path = "/api/v1/audit", tag = "people", params(AuditParams, PageParams),
        responses((status = 200, body = ItemPage<AuditView>)))]
    list(asked: Params<AuditParams>, page: Params<PageParams>) -> Json<ItemPage<AuditView>> = audit::list(asked, page);
}
