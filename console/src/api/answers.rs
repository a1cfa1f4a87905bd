//! The responses of handlers.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, ETAG};
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Serialize;

use crate::cases::documents::{DocumentHead, DocumentView};
use crate::cases::drafts::DraftView;
use crate::cases::once::IdempotentResponse;

/// JSON objects, one a line.
#[derive(Debug)]
pub struct JsonLines(String);

impl From<String> for JsonLines {
    fn from(lines: String) -> Self {
        Self(lines)
    }
}

impl IntoResponse for JsonLines {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, "application/x-ndjson")], self.0).into_response()
    }
}

/// 204: it is done.
#[derive(Debug)]
pub struct Done;

impl From<()> for Done {
    fn from((): ()) -> Self {
        Self
    }
}

impl IntoResponse for Done {
    fn into_response(self) -> Response {
        StatusCode::NO_CONTENT.into_response()
    }
}

/// The output of a use case, with the status `CODE`.
#[derive(Debug)]
pub struct Coded<const CODE: u16, T>(T);

/// 201: this was made.
pub type Created<T> = Coded<201, T>;
/// 202: this goes on.
pub type Accepted<T> = Coded<202, T>;

impl<const CODE: u16, T> From<T> for Coded<CODE, T> {
    fn from(given: T) -> Self {
        Self(given)
    }
}

impl<const CODE: u16, T: Serialize> IntoResponse for Coded<CODE, T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.0).into_response();
        *response.status_mut() = StatusCode::from_u16(CODE).unwrap_or_default();
        response
    }
}

/// Something that an `ETag` names by a number.
pub trait Numbered {
    /// The number.
    fn number(&self) -> i64;
}

impl Numbered for DraftView {
    fn number(&self) -> i64 {
        self.head.revision
    }
}

impl Numbered for DocumentView {
    fn number(&self) -> i64 {
        self.head.version
    }
}

impl Numbered for DocumentHead {
    fn number(&self) -> i64 {
        self.version
    }
}

/// A response with the `ETag` that [`IfMatch`] reads.
#[derive(Debug)]
pub struct Tagged<T>(pub T);

impl<T> From<T> for Tagged<T> {
    fn from(shown: T) -> Self {
        Self(shown)
    }
}

impl<T: Numbered + Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        let tag = format!("\"{}\"", self.0.number());
        ([(ETAG, tag)], Json(self.0)).into_response()
    }
}

impl<T: Serialize> IntoResponse for IdempotentResponse<T> {
    fn into_response(self) -> Response {
        let mut response = (StatusCode::CREATED, Json(self.body)).into_response();
        if self.again {
            let name = HeaderName::from_static("idempotent-replayed");
            let headers = response.headers_mut();
            headers.insert(name, HeaderValue::from_static("true"));
        }
        response
    }
}
