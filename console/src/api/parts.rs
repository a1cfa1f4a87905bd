//! Parts of requests, whose faults are told as problems.

use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use http::StatusCode;
use http::header::{HeaderMap, HeaderValue, IF_MATCH};
use http::request::Parts;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::cases::{ApiProblem, Caller, ConsoleState};

/// Makes handlers: each takes the parts of its request and calls its use case.
macro_rules! handlers {
    ($(
        $(#[$about:meta])*
        $name:ident($($input:ident: $part:ident $(<$of:ty>)?),*) -> $answer:ty = $thing:ident::$case:ident($($given:expr),*);
    )*) => {$(
        $(#[$about])*
        pub async fn $name(
            call: $crate::api::parts::Call,
            $($part($input): $part $(<$of>)?),*
        ) -> Result<$answer, $crate::cases::ApiProblem> {
            Ok($thing::$case(&call.state, &call.caller $(, $given)*).await?.into())
        }
    )*};
}
pub(super) use handlers;

/// The console, and the caller of a request.
#[derive(Debug)]
pub struct Call {
    /// The console's state.
    pub state: ConsoleState,
    /// The sender of the request.
    pub caller: Caller,
}

impl FromRequestParts<ConsoleState> for Call {
    type Rejection = ApiProblem;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &ConsoleState,
    ) -> Result<Self, ApiProblem> {
        let caller = parts.extensions.get::<Caller>().cloned();
        Ok(Self {
            state: state.clone(),
            caller: caller.ok_or_else(ApiProblem::unauthorized)?,
        })
    }
}

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

/// The `Idempotency-Key` of a request.
#[derive(Debug)]
pub struct OnceKey(pub Option<String>);

impl<S: Sync> FromRequestParts<S> for OnceKey {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let value = parts.headers.get("idempotency-key");
        // What is no text is not valid either.
        let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
        Ok(Self(value.map(text)))
    }
}

/// The number that `If-Match` names, as the `ETag` of a response has it.
#[derive(Debug)]
pub struct IfMatch(pub i64);

impl IfMatch {
    /// # Errors
    /// 428: it is not there. 412: it is not one of ours.
    fn read(headers: &HeaderMap) -> Result<Self, ApiProblem> {
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
        number
            .map(Self)
            .ok_or_else(|| ApiProblem::precondition("If-Match is not the ETag of what there is"))
    }
}

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiProblem> {
        Self::read(&parts.headers)
    }
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
            let got = IfMatch::read(&headers).map(|IfMatch(number)| number);
            let got = got.map_err(|problem| problem.status());
            assert_eq!(got, want, "{case}");
        }
    }
}
