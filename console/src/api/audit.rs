//! The API of audit.

use axum::Json;

use super::answers::JsonLines;
use super::parts::{Params, handlers};
use crate::cases::audit::{self, AuditLinesParams, AuditParams, AuditView};
use crate::cases::paging::{ItemPage, PageParams};

handlers! {
    /// Changes, the latest first.
    #[utoipa::path(get, operation_id = "list_audit", path = "/api/v1/audit", tag = "people", params(AuditParams, PageParams),
        responses((status = 200, body = ItemPage<AuditView>)))]
    list(asked: Params<AuditParams>, page: Params<PageParams>) -> Json<ItemPage<AuditView>> = audit::list(asked, page);

    /// Changes in their order, one JSON object a line, with its `number`: a collector reads on from the last one. A change is there after a minute.
    #[utoipa::path(get, operation_id = "list_audit_lines", path = "/api/v1/audit/lines", tag = "people", params(AuditLinesParams),
        responses((status = 200, body = String, content_type = "application/x-ndjson")))]
    lines(asked: Params<AuditLinesParams>) -> JsonLines = audit::lines(asked);
}
