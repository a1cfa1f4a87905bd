//! Parts of requests, whose faults are told as problems.

use core::fmt;
use core::marker::PhantomData;

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use http::StatusCode;
use http::header::{ETAG, HeaderMap, HeaderValue, IF_MATCH};
use http::request::Parts;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::problem::ApiProblem;

/// The body of a request, as JSON.
#[derive(Debug)]
pub struct Body<T>(pub T);

/// A value that is read from a JSON object only: for a struct, serde also accepts an array of its fields.
struct JsonObject<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = JsonObject<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(JsonObject)
    }
}

/// The parameters of a request's query.
#[derive(Debug)]
pub struct Params<T>(pub T);

/// The parts of a request's path.
#[derive(Debug)]
pub struct InPath<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiProblem> {
        let axum::Json(JsonObject(body)) = axum::Json::from_request(request, state).await?;
        Ok(Self(body))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiProblem> {
        let Query(params) = Query::from_request_parts(parts, state).await?;
        Ok(Self(params))
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for InPath<T> {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiProblem> {
        let Path(path) = Path::from_request_parts(parts, state).await?;
        Ok(Self(path))
    }
}

impl From<JsonRejection> for ApiProblem {
    fn from(rejection: JsonRejection) -> Self {
        let status = rejection.status();
        let kind = match status {
            StatusCode::UNPROCESSABLE_ENTITY => "/problems/invalid",
            StatusCode::UNSUPPORTED_MEDIA_TYPE => "/problems/unsupported-media-type",
            StatusCode::PAYLOAD_TOO_LARGE => "/problems/too-large",
            _ => "/problems/bad-request",
        };
        Self::new(status, kind, rejection.body_text())
    }
}

impl From<QueryRejection> for ApiProblem {
    fn from(rejection: QueryRejection) -> Self {
        Self::bad(rejection.body_text())
    }
}

impl From<PathRejection> for ApiProblem {
    fn from(rejection: PathRejection) -> Self {
        Self::bad(rejection.body_text())
    }
}

/// The number that `If-Match` names, as [`etag`] writes it.
///
/// # Errors
/// 428: it is not there. 412: it is not one of ours.
pub fn if_match(headers: &HeaderMap) -> Result<i64, ApiProblem> {
    let Some(value) = headers.get(IF_MATCH) else {
        let detail = "name what you have seen: If-Match with the ETag of it";
        let status = StatusCode::PRECONDITION_REQUIRED;
        return Err(ApiProblem::new(
            status,
            "/problems/precondition-required",
            detail,
        ));
    };
    let number = value.to_str().ok().and_then(|text| {
        let text = text.trim().strip_prefix('"')?.strip_suffix('"')?;
        text.parse::<i64>()
            .ok()
            .filter(|number| number.to_string() == text)
    });
    number.ok_or_else(|| ApiProblem::precondition("If-Match is not the ETag of what there is"))
}

/// The header that [`if_match`] reads.
pub fn etag(number: i64) -> [(http::HeaderName, HeaderValue); 1] {
    let value = HeaderValue::from_str(&format!("\"{number}\""));
    [(ETAG, value.unwrap_or(HeaderValue::from_static("\"0\"")))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_if_match_names() {
        let cases = [
            ("nothing", None, Err(428)),
            ("a number", Some("\"7\""), Ok(7)),
            ("no quotes", Some("7"), Err(412)),
            ("weak", Some("W/\"7\""), Err(412)),
            ("any", Some("*"), Err(412)),
            ("another spelling", Some("\"07\""), Err(412)),
            ("a text", Some("\"x\""), Err(412)),
        ];
        for (case, value, want) in cases {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert(IF_MATCH, HeaderValue::from_static(value));
            }
            let got = if_match(&headers).map_err(|problem| {
                use axum::response::IntoResponse as _;
                problem.into_response().status().as_u16()
            });
            assert_eq!(got, want, "{case}");
        }
        assert_eq!(etag(7)[0].1, "\"7\"");
    }
}
