//! A POST that comes again under one `Idempotency-Key` is done once, and answered as before.
//!
//! A secret that is shown once is not kept for that: the answer to the second request lacks it.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::caller::Caller;
use super::problem::ApiProblem;
use crate::store::Transaction;
use crate::store::idempotency::{self, GivenAnswer};

const HEADER: &str = "idempotency-key";
/// The longest key, in bytes.
const LONGEST: usize = 200;

/// A request that may come again.
#[derive(Debug)]
pub struct IdempotentRequest {
    token: String,
    key: Option<String>,
    digest: String,
}

/// An answer, new or as before.
#[derive(Debug)]
pub struct IdempotentResponse {
    status: StatusCode,
    body: Value,
    again: bool,
}

impl IdempotentRequest {
    /// A request to do `what` with `body`.
    ///
    /// # Errors
    /// 400: its key is empty, too long or no text.
    pub fn new<T: Serialize>(
        caller: &Caller,
        headers: &HeaderMap,
        what: &str,
        body: &T,
    ) -> Result<Self, ApiProblem> {
        let key = match headers.get(HEADER) {
            None => None,
            Some(value) => {
                let key = value
                    .to_str()
                    .ok()
                    .filter(|key| (1..=LONGEST).contains(&key.len()));
                let bad = || ApiProblem::bad("Idempotency-Key must be 1 to 200 visible characters");
                Some(key.ok_or_else(bad)?.to_owned())
            }
        };
        let mut digest = Sha256::new();
        digest.update(what.as_bytes());
        digest.update([0]);
        digest.update(serde_json::to_vec(body).unwrap_or_default());
        Ok(Self {
            token: caller.token.clone(),
            key,
            digest: hex::encode(digest.finalize()),
        })
    }

    /// The answer that was given before.
    ///
    /// # Errors
    /// 409: the key was used for another request.
    pub async fn given(
        &self,
        transaction: &mut Transaction,
    ) -> Result<Option<IdempotentResponse>, ApiProblem> {
        let Some(key) = &self.key else {
            return Ok(None);
        };
        let Some(given) = idempotency::find(transaction, &self.token, key).await? else {
            return Ok(None);
        };
        if given.digest != self.digest {
            let detail = "this Idempotency-Key was used for another request";
            return Err(ApiProblem::conflict(detail));
        }
        let status = u16::try_from(given.status).ok();
        Ok(Some(IdempotentResponse {
            status: status
                .and_then(|status| StatusCode::from_u16(status).ok())
                .unwrap_or(StatusCode::OK),
            body: serde_json::from_str(&given.body).unwrap_or_default(),
            again: true,
        }))
    }

    /// Keeps the answer (for a day, as maintenance has it), without the member `secret`.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn answer<T: Serialize>(
        &self,
        transaction: &mut Transaction,
        status: StatusCode,
        body: &T,
        secret: Option<&str>,
        now: i64,
    ) -> Result<IdempotentResponse, ApiProblem> {
        let body = serde_json::to_value(body).unwrap_or_default();
        if let Some(key) = &self.key {
            let mut kept = body.clone();
            if let (Some(secret), Value::Object(members)) = (secret, &mut kept) {
                members.remove(secret);
            }
            let answer = GivenAnswer {
                digest: self.digest.clone(),
                status: i64::from(status.as_u16()),
                body: kept.to_string(),
            };
            idempotency::insert(transaction, &self.token, key, &answer, now).await?;
        }
        Ok(IdempotentResponse {
            status,
            body,
            again: false,
        })
    }
}

impl IdempotentResponse {
    /// Returns the JSON body of the response.
    pub const fn body(&self) -> &Value {
        &self.body
    }
}

impl IntoResponse for IdempotentResponse {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        if self.again {
            let name = HeaderName::from_static("idempotent-replayed");
            response
                .headers_mut()
                .insert(name, HeaderValue::from_static("true"));
        }
        response
    }
}
