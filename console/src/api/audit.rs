//! Who changed what.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::paging::{ItemPage, PageParams};
use super::parts::Params;
use super::problem::ApiProblem;
use super::state::{ConsoleState, moment};
use crate::store::audit::{self, AuditEntry};

/// A change.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditView {
    /// When.
    pub(crate) at: String,
    /// Who.
    pub(crate) actor: String,
    /// From which address.
    pub(crate) address: String,
    /// What was done.
    pub(crate) action: String,
    /// To what.
    pub(crate) object: String,
    /// How it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<Value>,
    /// How it is since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<Value>,
}

fn view((_, entry): (i64, AuditEntry)) -> AuditView {
    let json = |text: Option<String>| text.and_then(|text| serde_json::from_str(&text).ok());
    AuditView {
        at: moment(entry.at),
        actor: entry.actor,
        address: entry.address,
        action: entry.action,
        object: entry.object,
        before: json(entry.before),
        after: json(entry.after),
    }
}

/// Changes, the latest first.
#[utoipa::path(get, operation_id = "list_audit", path = "/api/v1/audit", tag = "people", params(PageParams),
    responses((status = 200, body = ItemPage<AuditView>)))]
pub async fn list(
    State(state): State<ConsoleState>,
    Params(page): Params<PageParams>,
) -> Result<Json<ItemPage<AuditView>>, ApiProblem> {
    let limit = page.limit()?;
    let before: i64 = page.after()?.unwrap_or(i64::MAX);
    let mut transaction = state.store.read().await?;
    let entries = audit::list(&mut transaction, before, limit.to_fetch()).await?;
    transaction.rollback().await;
    Ok(Json(limit.page(entries, |(number, _)| *number, view)))
}
