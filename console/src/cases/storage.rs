//! The disk use of the database.

use serde::Serialize;
use utoipa::ToSchema;

use super::caller::Caller;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::store::disk_use;

/// The disk use of the database, in bytes.
#[derive(Debug, Serialize, ToSchema)]
pub struct StorageView {
    /// All of it, with SQLite's log.
    pub(crate) bytes: i64,
    /// Room for more on the file system of SQLite's file; absent for PostgreSQL, which is elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disk_free_bytes: Option<i64>,
}

/// The disk use of the database, and the room that is left on its disk.
pub async fn get(state: &ConsoleState, caller: &Caller) -> Result<StorageView, ApiProblem> {
    caller.must(rights::SEE_STORAGE)?;
    let room = disk_use::read(&state.store).await?;
    Ok(StorageView {
        bytes: room.bytes,
        disk_free_bytes: room.disk_free,
    })
}
