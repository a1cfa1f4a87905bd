//! The pages: what people see in a browser. Rendered on the server, and of use without JavaScript.
//!
//! To add a page:
//!
//! 1. Write `templates/things.html`: `{% extends "layout.html" %}`, `{% block main %}`. `templates/parts.html` has what recurs
//!    (form fields, notices, paging, empty states, code to copy, moments, money): `{% import "parts.html" as parts %}`.
//! 2. Write `pages/things.rs`: a struct with `#[derive(Template)]`, `shell: PageShell` and what the page shows, and a handler that
//!    takes [`SignedIn`]. With its [`Caller`](crate::cases::Caller), call **the use case**, which checks the
//!    right (`cases::rights`): pages never use the store by themselves.
//! 3. A change is a POST of a form with `{% call parts::csrf(shell) %}{% endcall %}`; the handler takes [`SignedForm`], which
//!    has checked origin and token. Then redirect: `done("/things", Notice::Saved)`. Where the API says that fields
//!    are wrong, show the form again: `FieldProblems::of(problem)?`, which passes on what is no fault of the fields.
//! 4. Add its route in [`router`], its place in `shell.rs` (`PLACES`), and the page to `tests/e2e/browser/pages.py`, whose tests
//!    open every page in both themes and three widths, and to `tests/console/page_snapshots/cases.rs`, whose test compares what
//!    each role is shown.
//!
//! Nothing may be inline, neither style nor script: the policy of `headers` forbids it. A width that depends on data is an
//! attribute of SVG. Live parts: `<div data-live="/live/things">` is replaced
//! by what `live::events` sends, while it is seen.

mod accounts;
mod allowed;
mod amount;
mod appearance;
mod assets;
mod audit;
mod budgets;
mod chart;
mod client_settings;
mod client_setup;
mod confirm;
mod cookie;
mod currency;
mod device;
mod documents;
mod error;
mod field_problems;
mod form;
mod headers;
mod identity_providers;
mod keys;
mod kind_name;
mod languages;
mod ledger_words;
mod limit_fields;
mod live;
mod me;
mod models;
mod nearly_spent;
mod notice;
mod notice_choices;
mod notice_failure;
mod overview;
mod owner_field;
mod people;
mod periods;
mod provider_sign_in;
mod proxy_user;
mod render;
mod requests;
mod search;
mod settings;
mod shell;
mod sign_in;
mod signed_in;
mod start;
mod statement;
mod status;
mod team_budgets;
mod teams;
pub mod tokens;
mod usage;

use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use http::{Method, StatusCode, Uri};

use crate::cases::ConsoleState;
use crate::text;

pub use amount::ShownAmount;
pub use error::{PageProblem, PageResult, not_found};
pub use field_problems::FieldProblems;
pub use form::{Fields, SignedForm};
pub use kind_name::kind_name;
pub use notice::{Notice, done};
pub use notice_failure::notice_failure;
pub use render::{form_page, page};
pub use shell::PageShell;
pub use signed_in::{SignedIn, Visit};

/// All pages.
pub fn router(state: ConsoleState) -> Router {
    Router::new()
        .route("/", get(overview::show))
        .route("/sign-in/with/{id}", get(provider_sign_in::begin))
        .route("/sign-in/with/{id}/callback", get(provider_sign_in::finish))
        .route("/sign-in/with/{id}/end", get(provider_sign_in::end))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/appearance", post(appearance::choose))
        .route("/language", post(languages::choose))
        .route("/keys", get(keys::list).post(keys::create))
        .route("/find-keys", post(keys::search))
        .route("/change-keys", get(keys::ask_change).post(keys::change_all))
        .route("/search", get(search::found).post(search::search))
        .route("/start", get(start::start))
        .route("/usage", get(usage::show))
        .route("/usage.csv", get(usage::table))
        .route("/statement", get(statement::show))
        .route("/statement.csv", get(statement::csv))
        .route("/statement.focus.csv", get(statement::focus))
        .route("/requests", get(requests::list))
        .route("/live/overview", get(overview::live))
        .route("/live/requests", get(requests::live))
        .route("/live/start", get(start::live))
        .route("/live/keys/{id}", get(keys::waiting::live))
        .route("/requests/{id}", get(requests::one))
        .route("/new-key", get(keys::new))
        .route("/keys/{id}", get(keys::one))
        .route("/keys/{id}/edit", get(keys::edit).post(keys::change))
        .route(
            "/keys/{id}/rotate",
            get(keys::confirm_rotate).post(keys::rotate),
        )
        .route("/keys/{id}/end-old", post(keys::end_old))
        .route("/keys/{id}/disable", post(keys::disable))
        .route(
            "/keys/{id}/budget",
            get(team_budgets::ask_key).post(team_budgets::set_key),
        )
        .route(
            "/keys/{id}/remove",
            get(keys::confirm_remove).post(keys::remove),
        )
        .route("/start/vendor", get(start::vendor).post(start::save_vendor))
        .route("/start/models", get(start::models).post(start::save_models))
        .route("/start/publish", post(start::publish))
        .route(
            "/start/vendors/{group}/remove",
            get(start::confirm_remove).post(start::remove),
        )
        .merge(first_router())
        .merge(own_router())
        .merge(documents_router())
        .merge(admin_router())
        .method_not_allowed_fallback(after_form)
        .layer(middleware::from_fn_with_state(
            state.clone(),
            currency::of_document,
        ))
        .layer(middleware::from_fn(languages::of_reader))
        .layer(middleware::from_fn(headers::on_pages))
        .route("/assets/{name}", get(assets::get))
        .with_state(state)
}

/// Answers who opens the address that a form was sent to, as a bookmark or a reload of its result does: the place it belongs to.
async fn after_form(method: Method, uri: Uri) -> Response {
    if method != Method::GET {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let mut parts = uri.path().split('/').skip(1);
    let place = parts.next().filter(|_| parts.next().is_some());
    Redirect::to(&format!("/{}", place.unwrap_or_default())).into_response()
}

/// The pages that somebody sees first.
fn first_router() -> Router<ConsoleState> {
    Router::new()
        .route("/sign-in", get(sign_in::form).post(sign_in::by_password))
        .route("/sign-in/link", get(sign_in::link).post(sign_in::by_link))
        .route(
            "/me/password",
            get(sign_in::new_password).post(sign_in::set_password),
        )
        .route("/device", get(device::ask).post(device::decide))
        .route("/status", get(status::show))
}

/// The pages of what is one's own.
fn own_router() -> Router<ConsoleState> {
    Router::new()
        .route("/me", get(me::own))
        .route("/models", get(models::show).post(models::run))
        .route("/me/sign-ins/{id}/end", post(me::end_sign_in))
        .route("/me/notices", post(me::save_notices))
        .route("/me/key", get(me::ask).post(me::show))
        .route("/me/new-key", get(me::new))
        .route("/me/ordered-keys", get(me::waiting))
        .route("/me/ordered-keys/{id}/take", post(me::take))
        .route("/me/keys", post(me::create))
        .route(
            "/me/keys/{id}/rotate",
            get(me::confirm_rotate).post(me::rotate),
        )
        .route("/me/keys/{id}/end-old", post(me::end_old))
        .route(
            "/me/keys/{id}/disable",
            get(me::confirm_disable).post(me::disable),
        )
}

/// The pages of the configuration document.
fn documents_router() -> Router<ConsoleState> {
    Router::new()
        .route("/groups", get(documents::groups))
        .route("/groups/{id}", get(documents::group))
        .route("/edit", post(documents::edit))
        .route("/drafts", post(documents::begin))
        .route("/drafts/{id}", get(documents::draft))
        .route("/drafts/{id}/note", post(documents::save_note))
        .route(
            "/drafts/{id}/text",
            get(documents::text).post(documents::save_text),
        )
        .route(
            "/drafts/{id}/group",
            get(documents::draft_group).post(documents::save_group),
        )
        .route(
            "/drafts/{id}/model",
            get(documents::model).post(documents::save_model),
        )
        .route(
            "/drafts/{id}/account",
            get(documents::account).post(documents::save_account),
        )
        .route(
            "/drafts/{id}/limits",
            get(documents::limits).post(documents::save_limits),
        )
        .route("/drafts/{id}/rebase", post(documents::rebase))
        .route("/drafts/{id}/publish", post(documents::publish))
        .route(
            "/drafts/{id}/discard",
            get(documents::confirm_discard).post(documents::discard),
        )
        .route("/documents", get(documents::history))
        .route("/documents/{version}", get(documents::version))
        .route("/documents/{version}/publish", post(documents::again))
}

/// The pages of those who run the console.
fn admin_router() -> Router<ConsoleState> {
    Router::new()
        .route("/accounts", get(accounts::list))
        .route("/accounts/{group}/{account}/test", post(accounts::test))
        .route(
            "/accounts/credentials/{name}",
            get(accounts::credential).post(accounts::put),
        )
        .route(
            "/accounts/credentials/{name}/remove",
            get(accounts::confirm_remove).post(accounts::remove),
        )
        .route("/people", get(people::list).post(people::invite))
        .route(
            "/invite-people",
            get(people::invite_many_form).post(people::invite_many),
        )
        .route("/people/{id}/link", post(people::link))
        .route("/people/{id}", get(people::one))
        .route("/people/{id}/change", post(people::change))
        .route("/people/{id}/notices", post(people::save_notices))
        .route(
            "/people/{id}/disable",
            get(people::confirm_disable).post(people::disable),
        )
        .route("/people/{id}/enable", post(people::enable))
        .route(
            "/people/{id}/sign-ins/{sign_in}/end",
            post(people::end_sign_in),
        )
        .route(
            "/people/{id}/ordered-keys/{order}/cancel",
            post(people::cancel_key),
        )
        .route(
            "/people/{id}/erase",
            get(people::confirm_erase).post(people::erase),
        )
        .route("/people/{id}/revoke-link", post(people::revoke_link))
        .route("/people/{id}/unlink", post(people::unlink))
        .route("/teams", get(teams::list).post(teams::create))
        .route("/teams/{id}", get(teams::one).post(teams::change))
        .route(
            "/teams/{id}/remove",
            get(teams::confirm_remove).post(teams::remove),
        )
        .route("/teams/{id}/members", post(teams::set_member))
        .route(
            "/teams/{id}/budget",
            get(team_budgets::ask_member).post(team_budgets::set_member),
        )
        .route(
            "/teams/{id}/leave",
            get(teams::confirm_leave).post(teams::leave),
        )
        .route("/budgets", get(budgets::list).post(budgets::save))
        .route("/nearly-spent", get(nearly_spent::list))
        .route("/tokens", get(tokens::list).post(tokens::create))
        .route(
            "/tokens/{id}/revoke",
            get(tokens::confirm_revoke).post(tokens::revoke),
        )
        .route("/audit", get(audit::list))
        .route("/settings", get(settings::list))
        .route("/client-settings", post(client_settings::save))
        .route("/envoys", post(settings::add_envoy))
        .route("/envoys/{id}/enrol", post(settings::enrol))
        .route(
            "/envoys/{id}/revoke",
            get(settings::confirm_revoke).post(settings::revoke),
        )
        .route(
            "/identity-providers/{id}",
            get(identity_providers::one).post(identity_providers::change),
        )
        .route(
            "/new-identity-provider",
            get(identity_providers::new).post(identity_providers::create),
        )
        .route(
            "/identity-providers/{id}/remove",
            get(identity_providers::confirm_remove).post(identity_providers::remove),
        )
        .route(
            "/identity-providers/{id}/test",
            post(identity_providers::test),
        )
        .route("/passwords", post(identity_providers::switch))
        .route("/webhooks", post(settings::add_webhook))
        .route("/webhooks/{id}/test", post(settings::test_webhook))
        .route("/webhooks/{id}/remove", post(settings::remove_webhook))
}
