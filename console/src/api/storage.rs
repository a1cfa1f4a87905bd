//! The API of storage.

use axum::Json;

use super::parts::handlers;
use crate::cases::storage::{self, StorageView};

handlers! {
    /// The disk use of the database, and the room that is left on its disk.
    #[utoipa::path(get, operation_id = "get_storage", path = "/api/v1/storage", tag = "storage",
        responses((status = 200, body = StorageView)))]
    get() -> Json<StorageView> = storage::get();
}
