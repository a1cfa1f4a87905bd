//! The disk use of the database.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::problem::ApiProblem;
use super::state::{ConsoleState, moment};
use crate::storage::StorageReading;
use crate::store::disk_use::DataKind;

/// The disk use of the database, in bytes. `bytes` is the sum of the kinds, of `unmeasured_bytes`, and on SQLite of
/// `free_bytes` and `log_bytes`.
#[derive(Debug, Serialize, ToSchema)]
pub struct StorageView {
    /// The time of this reading, as RFC 3339.
    read_at: String,
    /// All of it.
    bytes: i64,
    /// SQLite's log of changes that are not in its file yet; absent for PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    log_bytes: Option<i64>,
    /// Room in SQLite's file that is used again before the file grows; absent for PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    free_bytes: Option<i64>,
    /// Room for more on the file system of SQLite's file; absent for PostgreSQL, which is elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_free_bytes: Option<i64>,
    /// By kind of data.
    kinds: Vec<DataKindView>,
    /// The number of bytes of all kinds without `bytes` together.
    unmeasured_bytes: i64,
    /// For how many days the console keeps requests, after the day on which they were taken in.
    keep_requests_days: u32,
    /// The day (UTC) on which the oldest requests were taken in; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_requests_of: Option<String>,
    /// The day (UTC) on which those go.
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_requests_go_on: Option<String>,
    /// The bytes of requests per day, estimated from the days that are kept; absent on the first day.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_bytes_a_day: Option<i64>,
}

/// The storage that one kind of data uses.
#[derive(Debug, Serialize, ToSchema)]
pub struct DataKindView {
    /// `requests`, `hours` and `days` (sums of usage), `spend`, `keys`, `audit`, `documents`, or `other`.
    kind: &'static str,
    /// Bytes, indexes included; absent where it is too great to be told from others that are as great.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<i64>,
}

const fn name(kind: DataKind) -> &'static str {
    match kind {
        DataKind::Requests => "requests",
        DataKind::Hours => "hours",
        DataKind::Days => "days",
        DataKind::Spend => "spend",
        DataKind::Keys => "keys",
        DataKind::Audit => "audit",
        DataKind::Documents => "documents",
        DataKind::Other => "other",
    }
}

impl From<StorageReading> for StorageView {
    fn from(of: StorageReading) -> Self {
        let kinds = of.data.kinds.iter().map(|(kind, bytes)| DataKindView {
            kind: name(*kind),
            bytes: *bytes,
        });
        Self {
            read_at: moment(of.at),
            bytes: of.whole.bytes,
            log_bytes: of.whole.log,
            free_bytes: of.whole.free,
            disk_free_bytes: of.whole.disk_free,
            kinds: kinds.collect(),
            unmeasured_bytes: of.data.unmeasured,
            keep_requests_days: of.keep_requests,
            oldest_requests_of: of.data.oldest.map(|day| day.to_string()),
            oldest_requests_go_on: of.oldest_go_on().map(|day| day.to_string()),
            request_bytes_a_day: of.bytes_a_day(),
        }
    }
}

/// The disk use of the database, its growth, and the day on which the oldest requests go. It is read once a minute at most.
#[utoipa::path(get, operation_id = "get_storage", path = "/api/v1/storage", tag = "storage",
    responses((status = 200, body = StorageView)))]
pub async fn get(State(state): State<ConsoleState>) -> Result<Json<StorageView>, ApiProblem> {
    Ok(Json(state.storage.look().await?.into()))
}
