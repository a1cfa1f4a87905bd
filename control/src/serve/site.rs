//! The routes of the document and of feeds.

use core::future::Future;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, IF_NONE_MATCH};
use http::{HeaderName, StatusCode};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use trilane_console::feed::PageError;

use super::body::PacedBody;
use super::document::DocumentFile;

/// The most pages of feeds in memory, each of about 3 MB at most. Further readers wait.
const PAGES: usize = 16;

const JSON: (HeaderName, &str) = (CONTENT_TYPE, "application/json");
const NOT_KEPT: (HeaderName, &str) = (CACHE_CONTROL, "no-store");

/// Answers the queries of a feed with a page. It may wait for a disk.
pub type FeedAnswer = Arc<dyn Fn(&str) -> Result<Vec<u8>, PageError> + Send + Sync>;

/// Answers with the document in force, which others put into this file.
pub fn of_published(file: PathBuf) -> FeedAnswer {
    Arc::new(move |_| {
        let read = fs::read(&file);
        read.map_err(|error| PageError::Unready(format!("no document is in force: {error}")))
    })
}

/// Serves a document, and whether there is one.
pub fn of_document(path: &str, file: Arc<DocumentFile>) -> Router {
    let router = Router::new()
        .without_v07_checks()
        .route(super::HEALTH, get(health))
        .route(&literally(path), get(document));
    with_errors(router).with_state(file)
}

/// Serves feeds, each at its path.
pub fn of_feeds(feeds: Vec<(&str, FeedAnswer)>) -> Router {
    let pages = Arc::new(Semaphore::new(PAGES));
    let router = feeds
        .into_iter()
        .fold(Router::new(), |router, (path, feed)| {
            let pages = Arc::clone(&pages);
            let page = move |RawQuery(query)| page(feed, query, pages);
            router.route(path, get(page))
        });
    with_errors(router)
}

/// A path of a router that is this one and has no parameters.
fn literally(path: &str) -> String {
    path.replace('{', "{{").replace('}', "}}")
}

fn with_errors<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    let nothing = || told(StatusCode::NOT_FOUND, "there is nothing under this path");
    let only_get = || told(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here");
    router
        .fallback(nothing)
        .method_not_allowed_fallback(only_get)
}

fn told(status: StatusCode, text: &str) -> impl Future<Output = Response> + Send + use<> {
    let response = error(status, text);
    async { response }
}

fn error(status: StatusCode, text: &str) -> Response {
    (status, [NOT_KEPT], Json(json!({"error": text}))).into_response()
}

async fn health(State(file): State<Arc<DocumentFile>>) -> Response {
    let served = file.served();
    let status = if served.is_some() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let etag = served.as_ref().map(|served| &served.etag);
    let body = json!({"ok": etag.is_some(), "document": etag.map(|etag| json!({"etag": etag}))});
    (status, [NOT_KEPT], Json(body)).into_response()
}

async fn document(State(file): State<Arc<DocumentFile>>, headers: HeaderMap) -> Response {
    let Some(served) = file.served() else {
        let text = "there is no good document yet; the output of trilane serve says why";
        return error(StatusCode::SERVICE_UNAVAILABLE, text);
    };
    let known = headers.get_all(IF_NONE_MATCH).iter();
    let mut known = known
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    // RFC 9110, 13.1.2: a weak comparison.
    let is_known = known.any(|tag| {
        let tag = tag.trim();
        tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == served.etag
    });
    let head = [
        JSON,
        (CACHE_CONTROL, "no-cache"),
        (ETAG, served.etag.as_str()),
    ];
    if is_known {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    let body = PacedBody::new(served.bytes.clone(), None);
    (head, Body::new(body)).into_response()
}

async fn page(feed: FeedAnswer, query: Option<String>, pages: Arc<Semaphore>) -> Response {
    let held = pages.acquire_owned().await.ok();
    let answering = spawn_blocking(move || feed(query.as_deref().unwrap_or_default()));
    let answered = answering.await.unwrap_or_else(|_| {
        let ending = "it is about to end".to_owned();
        Err(PageError::Unready(ending))
    });
    match answered {
        Ok(page) => {
            let body = PacedBody::new(page.into(), held);
            ([JSON, NOT_KEPT], Body::new(body)).into_response()
        }
        Err(PageError::Bad(text)) => error(StatusCode::BAD_REQUEST, text),
        Err(PageError::Cursor(gone)) => error(StatusCode::GONE, &gone.to_string()),
        Err(PageError::Unready(why)) => error(StatusCode::SERVICE_UNAVAILABLE, &why),
    }
}
