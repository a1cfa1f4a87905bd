//! The API of webhooks.

use axum::Json;

use super::answers::Done;
use super::parts::{Body, InPath, OnceKey, Params, handlers};
use crate::cases::once::IdempotentResponse;
use crate::cases::paging::{ItemPage, PageParams};
use crate::cases::webhooks::{self, CreatedWebhook, NewWebhookBody, WebhookTestView, WebhookView};

handlers! {
    /// Webhooks in the order of their ids.
    #[utoipa::path(get, operation_id = "list_webhooks", path = "/api/v1/webhooks", tag = "webhooks", params(PageParams),
        responses((status = 200, body = ItemPage<WebhookView>)))]
    list(page: Params<PageParams>) -> Json<ItemPage<WebhookView>> = webhooks::list(page);

    /// Adds a webhook. Its secret is kept sealed, and shown this once; the URL of Slack and Teams is a secret that is not shown again.
    #[utoipa::path(post, operation_id = "create_webhook", path = "/api/v1/webhooks", tag = "webhooks", request_body = NewWebhookBody,
        params(("Idempotency-Key" = Option<String>, Header, description = "done once under one of these")),
        responses((status = 201, body = CreatedWebhook)))]
    create(once: OnceKey, new: Body<NewWebhookBody>) -> IdempotentResponse<CreatedWebhook> = webhooks::create(once.as_deref(), new);

    /// Removes a webhook, and what was not delivered yet.
    #[utoipa::path(delete, operation_id = "remove_webhook", path = "/api/v1/webhooks/{id}", tag = "webhooks", params(("id" = String, Path)),
        responses((status = 204)))]
    remove(id: InPath<String>) -> Done = webhooks::remove(&id);

    /// Sends a test message at once, and says whether it was taken.
    #[utoipa::path(post, operation_id = "test_webhook", path = "/api/v1/webhooks/{id}/test", tag = "webhooks", params(("id" = String, Path)),
        responses((status = 200, body = WebhookTestView)))]
    test(id: InPath<String>) -> Json<WebhookTestView> = webhooks::test(&id);
}
