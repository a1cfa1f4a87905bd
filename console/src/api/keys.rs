//! The API of keys.

use axum::Json;

use super::answers::Done;
use super::parts::{Body, InPath, OnceKey, Params, handlers};
use crate::cases::holder::{self, KeyRemaining};
use crate::cases::key_bulk::{self, KeyBulkBody, KeyBulkOutcome};
use crate::cases::key_by_value::{self, KeyValueBody};
use crate::cases::key_models::{self, KeyModels};
use crate::cases::key_rotation::{self, EndedOldValues, KeyRotationBody};
use crate::cases::keys::{self, CreatedKey, KeyChangeBody, KeyListParams, KeyView, NewKeyBody};
use crate::cases::once::IdempotentResponse;
use crate::cases::paging::{ItemPage, PageParams};

handlers! {
    /// Keys in the order of their ids. Members see their own. A search may end before it has looked at all keys: then a page has fewer
    /// keys, or none, and `next` goes on.
    #[utoipa::path(get, operation_id = "list_keys", path = "/api/v1/keys", tag = "keys", params(KeyListParams, PageParams),
        responses((status = 200, body = ItemPage<KeyView>)))]
    list(asked: Params<KeyListParams>, page: Params<PageParams>) -> Json<ItemPage<KeyView>> = keys::list(asked, page);

    /// One key. Members see their own.
    #[utoipa::path(get, operation_id = "get_key", path = "/api/v1/keys/{id}", tag = "keys", params(("id" = String, Path)),
        responses((status = 200, body = KeyView)))]
    get(id: InPath<String>) -> Json<KeyView> = keys::get(&id);

    /// Makes a key, which is shown this once.
    #[utoipa::path(post, operation_id = "create_key", path = "/api/v1/keys", tag = "keys", request_body = NewKeyBody,
        params(("Idempotency-Key" = Option<String>, Header, description = "done once under one of these")),
        responses((status = 201, body = CreatedKey)))]
    create(once: OnceKey, new: Body<NewKeyBody>) -> IdempotentResponse<CreatedKey> = keys::create(once.as_deref(), new);

    /// Changes a key. Gateways hear of it within seconds.
    #[utoipa::path(patch, operation_id = "change_key", path = "/api/v1/keys/{id}", tag = "keys", params(("id" = String, Path)), request_body = KeyChangeBody,
        responses((status = 200, body = KeyView)))]
    change(id: InPath<String>, change: Body<KeyChangeBody>) -> Json<KeyView> = keys::change(&id, change);

    /// Removes a key. What it has used and spent stays.
    #[utoipa::path(delete, operation_id = "remove_key", path = "/api/v1/keys/{id}", tag = "keys", params(("id" = String, Path)),
        responses((status = 204)))]
    remove(id: InPath<String>) -> Done = keys::remove(&id);

    /// The models that a key may use of its group in the document in force. Members see those of their own keys.
    #[utoipa::path(get, operation_id = "list_key_models", path = "/api/v1/keys/{id}/models", tag = "keys",
        params(("id" = String, Path)), responses((status = 200, body = KeyModels)))]
    models(id: InPath<String>) -> Json<KeyModels> = key_models::list(&id);

    /// Gives a key a new value, which is shown this once. One that has leaked is refused at once, with all earlier ones; one that is replaced as planned stays good
    /// for a while as a key of its own, `ID-old-TIME`, with the same limits, which count for both together.
    #[utoipa::path(post, operation_id = "rotate_key", path = "/api/v1/keys/{id}/rotate", tag = "keys", request_body = KeyRotationBody,
        params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "done once under one of these")),
        responses((status = 201, body = CreatedKey)))]
    rotate(once: OnceKey, id: InPath<String>, asked: Body<KeyRotationBody>) -> IdempotentResponse<CreatedKey> = key_rotation::rotate(once.as_deref(), &id, asked);

    /// Ends the old values of a key that are still good, before their time: gateways refuse them within seconds.
    #[utoipa::path(delete, operation_id = "end_old_values", path = "/api/v1/keys/{id}/old-values", tag = "keys", params(("id" = String, Path)),
        responses((status = 200, body = EndedOldValues)))]
    end_old(id: InPath<String>) -> Json<EndedOldValues> = key_rotation::end_old(&id);

    /// Changes all keys that filters find, in one transaction: all of them, or none. Without `expected` nothing is changed: the response counts.
    #[utoipa::path(post, operation_id = "change_keys", path = "/api/v1/keys/bulk", tag = "keys", request_body = KeyBulkBody,
        responses((status = 200, body = KeyBulkOutcome)))]
    bulk(asked: Body<KeyBulkBody>) -> Json<KeyBulkOutcome> = key_bulk::change(&asked);

    /// Finds the key of a whole value, by its digest. The value is kept nowhere. Members find their own.
    #[utoipa::path(post, operation_id = "find_key", path = "/api/v1/keys/find", tag = "keys", request_body = KeyValueBody,
        responses((status = 200, body = KeyView)))]
    find(asked: Body<KeyValueBody>) -> Json<KeyView> = key_by_value::find(&asked);

    /// The remaining limits and budgets of a key, its owner, alone and as a member of its team, its team and its group, and the reason that its requests fail now. Members see
    /// those of their own keys, without amounts of teams and groups.
    #[utoipa::path(get, operation_id = "get_key_remaining", path = "/api/v1/keys/{id}/remaining", tag = "keys",
        params(("id" = String, Path)), responses((status = 200, body = KeyRemaining)))]
    remaining(id: InPath<String>) -> Json<KeyRemaining> = holder::get(&id);
}
