//! The API of me.

use axum::Json;
use axum::extract::State;
use http::header::{AUTHORIZATION, CACHE_CONTROL};
use http::{HeaderMap, HeaderName};

use super::answers::Done;
use super::parts::{Body, Call, InPath, OnceKey, Params, handlers};
use crate::cases::ApiProblem;
use crate::cases::ConsoleState;
use crate::cases::client_sign_ins::list::{self, ClientSignInList};
use crate::cases::key_rotation::{EndedOldValues, KeyRotationBody};
use crate::cases::keys::{CreatedKey, KeyView};
use crate::cases::me::key::{self, HeldKeyView};
use crate::cases::me::keys::{self, OwnKeyBody, OwnKeyChangeBody, OwnKeyView};
use crate::cases::me::models;
use crate::cases::me::teams::{self, OwnTeamView};
use crate::cases::me::{self, MeView};
use crate::cases::notice_choices::{self, NoticeChoicesBody, NoticeChoicesView};
use crate::cases::once::IdempotentResponse;
use crate::cases::ordered_keys::{self, KeyOrderView};
use crate::cases::paging::{ItemPage, PageParams};
use crate::cases::priced_models::PricedModels;
use crate::client_address::RemoteAddress;

/// Returns the person whose token the request has.
#[utoipa::path(get, operation_id = "get_me", path = "/api/v1/me", tag = "people", responses((status = 200, body = MeView)))]
pub async fn me(call: Call) -> Result<Json<MeView>, ApiProblem> {
    Ok(Json(me::me(&call.caller)?))
}

handlers! {
    /// The teams that one is in, in the order of their ids.
    #[utoipa::path(get, operation_id = "list_own_teams", path = "/api/v1/me/teams", tag = "me", params(PageParams),
        responses((status = 200, body = ItemPage<OwnTeamView>)))]
    teams(page: Params<PageParams>) -> Json<ItemPage<OwnTeamView>> = teams::list(page);

    /// One's own keys in the order of their ids, each with what is left for it and why its requests fail now.
    #[utoipa::path(get, operation_id = "list_own_keys", path = "/api/v1/me/keys", tag = "me", params(PageParams),
        responses((status = 200, body = ItemPage<OwnKeyView>)))]
    keys(page: Params<PageParams>) -> Json<ItemPage<OwnKeyView>> = keys::list(page);

    /// The models that one's own keys may use now: prices after the multiplier, exact, and the share of good answers of the last hour.
    #[utoipa::path(get, operation_id = "list_own_models", path = "/api/v1/me/models", tag = "me",
        responses((status = 200, body = PricedModels)))]
    models() -> Json<PricedModels> = models::list();

    /// Makes a key for oneself, within what a team allows its members. It is shown this once.
    #[utoipa::path(post, operation_id = "create_own_key", path = "/api/v1/me/keys", tag = "me", request_body = OwnKeyBody,
        params(("Idempotency-Key" = Option<String>, Header, description = "done once under one of these")),
        responses((status = 201, body = CreatedKey)))]
    create_key(once: OnceKey, asked: Body<OwnKeyBody>) -> IdempotentResponse<CreatedKey> = keys::create(once.as_deref(), asked);

    /// The keys that are ordered for oneself and not taken yet, in the order of the orders' ids.
    #[utoipa::path(get, operation_id = "list_own_ordered_keys", path = "/api/v1/me/ordered-keys", tag = "me", params(PageParams),
        responses((status = 200, body = ItemPage<KeyOrderView>)))]
    ordered_keys(page: Params<PageParams>) -> Json<ItemPage<KeyOrderView>> = ordered_keys::own(page);

    /// Makes a key that was ordered for oneself. It is shown this once.
    #[utoipa::path(post, operation_id = "take_ordered_key", path = "/api/v1/me/ordered-keys/{id}/take", tag = "me",
        params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "done once under one of these")),
        responses((status = 201, body = CreatedKey)))]
    take_ordered_key(once: OnceKey, id: InPath<String>) -> IdempotentResponse<CreatedKey> = ordered_keys::take(once.as_deref(), &id);

    /// Disables one's own key, or gives it another name. Only an admin enables a key again.
    #[utoipa::path(patch, operation_id = "change_own_key", path = "/api/v1/me/keys/{id}", tag = "me", params(("id" = String, Path)),
        request_body = OwnKeyChangeBody, responses((status = 200, body = KeyView)))]
    change_key(id: InPath<String>, asked: Body<OwnKeyChangeBody>) -> Json<KeyView> = keys::change(&id, asked);

    /// Gives one's own key a new value, which is shown this once. The old one may stay good for a while where the team allows one
    /// key more.
    #[utoipa::path(post, operation_id = "rotate_own_key", path = "/api/v1/me/keys/{id}/rotate", tag = "me", request_body = KeyRotationBody,
        params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "done once under one of these")),
        responses((status = 201, body = CreatedKey)))]
    rotate_key(once: OnceKey, id: InPath<String>, asked: Body<KeyRotationBody>) -> IdempotentResponse<CreatedKey> = keys::rotate(once.as_deref(), &id, asked);

    /// Ends the old values of one's own key that are still good, before their time.
    #[utoipa::path(delete, operation_id = "end_own_old_values", path = "/api/v1/me/keys/{id}/old-values", tag = "me", params(("id" = String, Path)),
        responses((status = 200, body = EndedOldValues)))]
    end_old(id: InPath<String>) -> Json<EndedOldValues> = keys::end_old(&id);

    /// The notices that one is mailed, and to which address.
    #[utoipa::path(get, operation_id = "get_own_notices", path = "/api/v1/me/notices", tag = "me",
        responses((status = 200, body = NoticeChoicesView)))]
    notices() -> Json<NoticeChoicesView> = notice_choices::own();

    /// Changes the notices that one is mailed, and to which address.
    #[utoipa::path(patch, operation_id = "change_own_notices", path = "/api/v1/me/notices", tag = "me", request_body = NoticeChoicesBody,
        responses((status = 200, body = NoticeChoicesView)))]
    change_notices(asked: Body<NoticeChoicesBody>) -> Json<NoticeChoicesView> = notice_choices::change_own(asked);

    /// One's own clients that are signed in, such as coding agents, the latest used first.
    #[utoipa::path(get, operation_id = "list_own_sign_ins", path = "/api/v1/me/sign-ins", tag = "me",
        responses((status = 200, body = ClientSignInList)))]
    sign_ins() -> Json<ClientSignInList> = list::own();

    /// Signs one of one's own clients out: gateways refuse its key within a second.
    #[utoipa::path(delete, operation_id = "end_own_sign_in", path = "/api/v1/me/sign-ins/{id}", tag = "me", params(("id" = String, Path)),
        responses((status = 204)))]
    end_sign_in(id: InPath<String>) -> Done = list::end_own(&id);
}

/// Returns the view of an API key for its holder, who sends it as the token: the remaining limits and budgets, why its requests fail
/// now, what it has spent, its models and its latest requests. Nothing is kept of the asking but that an unknown key was tried.
#[utoipa::path(get, operation_id = "get_held_key", path = "/api/v1/me/key", tag = "me", security(("api_key" = [])),
    responses((status = 200, body = HeldKeyView)))]
pub async fn held_key(
    State(state): State<ConsoleState>,
    RemoteAddress(address): RemoteAddress,
    headers: HeaderMap,
) -> (
    [(HeaderName, &'static str); 1],
    Result<Json<HeldKeyView>, ApiProblem>,
) {
    let found = key::held(&state, bearer(&headers), &address).await;
    ([(CACHE_CONTROL, "no-store")], found.map(Json))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, value) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| value.trim())
}
