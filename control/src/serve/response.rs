//! The responses to requests.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH,
};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};
use trilane_console::feed::{PageError, PageRequest, PageRequestError};

use super::site::{Busy, ServedPaths};

/// A response, and the permit that it holds until it is sent.
#[derive(Debug)]
pub struct ServedResponse {
    /// Its head and its whole body.
    pub response: Response<Bytes>,
    /// Its share of the memory for pages.
    pub busy: Option<Busy>,
}

impl ServedResponse {
    fn new(status: StatusCode, body: Bytes) -> Self {
        let mut response = Response::new(body);
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Self {
            response,
            busy: None,
        }
    }

    fn json(status: StatusCode, body: &Value) -> Self {
        Self::new(status, format!("{body}\n").into())
    }

    fn error(status: StatusCode, text: &str) -> Self {
        Self::json(status, &json!({"error": text}))
    }
}

/// Responds to a request.
pub async fn respond<B>(request: &Request<B>, site: &Arc<ServedPaths>) -> ServedResponse {
    let path = request.uri().path();
    let is = |known: &str| path == known;
    if !is(super::HEALTH)
        && !site.document.as_ref().is_some_and(|(path, _)| is(path))
        && !site.feed.as_ref().is_some_and(|(path, _)| is(path))
        && !site.spend.as_ref().is_some_and(|(path, _)| is(path))
    {
        return ServedResponse::error(StatusCode::NOT_FOUND, "there is nothing under this path");
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut answer =
            ServedResponse::error(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here");
        let allow = HeaderValue::from_static("GET, HEAD");
        answer.response.headers_mut().insert(ALLOW, allow);
        return answer;
    }
    if is(super::HEALTH) {
        health(site).await
    } else if site.document.as_ref().is_some_and(|(path, _)| is(path)) {
        document(site, request.headers())
    } else if let Some((_, spend)) = site.spend.as_ref().filter(|(path, _)| is(path)) {
        let busy = site.busy().await;
        let query = request.uri().query().unwrap_or_default();
        given(spend.ask(query).await, busy)
    } else {
        let query = request.uri().query().unwrap_or_default();
        page(site, query).await
    }
}

fn document(site: &ServedPaths, headers: &HeaderMap) -> ServedResponse {
    let served = site.document.as_ref().and_then(|(_, shelf)| shelf.served());
    let Some(served) = served else {
        let text = "there is no good document yet; the output of trilane serve says why";
        return ServedResponse::error(StatusCode::SERVICE_UNAVAILABLE, text);
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
    let mut answer = if is_known {
        ServedResponse::new(StatusCode::NOT_MODIFIED, Bytes::new())
    } else {
        ServedResponse::new(StatusCode::OK, served.bytes.clone())
    };
    let headers = answer.response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(etag) = HeaderValue::from_str(&served.etag) {
        headers.insert(ETAG, etag);
    }
    answer
}

async fn page(site: &Arc<ServedPaths>, query: &str) -> ServedResponse {
    let asked = match PageRequest::parse(query) {
        Ok(asked) => asked,
        Err(PageRequestError::Bad(text)) => {
            return ServedResponse::error(StatusCode::BAD_REQUEST, text);
        }
        Err(PageRequestError::Gone(gone)) => {
            return ServedResponse::error(StatusCode::GONE, &gone.to_string());
        }
    };
    let busy = site.busy().await;
    given(site.ask(move |feed| feed.page(&asked)).await, busy)
}

fn given(page: Result<Vec<u8>, PageError>, busy: Option<Busy>) -> ServedResponse {
    match page {
        Ok(page) => ServedResponse {
            busy,
            ..ServedResponse::new(StatusCode::OK, page.into())
        },
        Err(PageError::Gone(gone)) => ServedResponse::error(StatusCode::GONE, &gone.to_string()),
        Err(PageError::Unready(problem)) => {
            ServedResponse::error(StatusCode::SERVICE_UNAVAILABLE, &problem)
        }
    }
}

async fn health(site: &Arc<ServedPaths>) -> ServedResponse {
    let mut good = true;
    let mut body = serde_json::Map::new();
    if let Some((_, shelf)) = &site.document {
        let served = shelf.served();
        good &= served.is_some();
        let document = served.map_or(Value::Null, |served| json!({"etag": served.etag}));
        body.insert("document".to_owned(), document);
    }
    if site.feed.is_some() {
        let standing = site.ask(|feed| feed.standing()).await;
        good &= standing.is_ok();
        let feed =
            standing.map(|standing| json!({"feed": standing.feed, "version": standing.head}));
        body.insert("keys".to_owned(), feed.unwrap_or_default());
    }
    body.insert("ok".to_owned(), good.into());
    let status = if good {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    ServedResponse::json(status, &body.into())
}
