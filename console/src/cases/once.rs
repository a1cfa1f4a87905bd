//! A change that comes again under one key is done once, and answered as before.
//!
//! A secret that is shown once is not kept for that: the answer to the second request lacks it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::caller::Caller;
use super::problem::ApiProblem;
use crate::store::Transaction;
use crate::store::idempotency::{self, GivenAnswer};

/// The status that is kept with an answer.
const CREATED: i64 = 201;
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
pub struct IdempotentResponse<T> {
    /// The thing that was made.
    pub body: T,
    /// Whether it was made before.
    pub again: bool,
}

impl IdempotentRequest {
    /// A request to do `what` with `body`.
    ///
    /// # Errors
    /// 400: its key is empty, too long or no text.
    pub fn new<T: Serialize>(
        caller: &Caller,
        key: Option<&str>,
        what: &str,
        body: &T,
    ) -> Result<Self, ApiProblem> {
        let is_visible = |key: &str| key.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
        if key.is_some_and(|key| !(1..=LONGEST).contains(&key.len()) || !is_visible(key)) {
            let detail = text!("Idempotency-Key must be 1 to 200 visible characters");
            return Err(ApiProblem::bad(detail));
        }
        let mut digest = Sha256::new();
        digest.update(what.as_bytes());
        digest.update([0]);
        digest.update(serde_json::to_vec(body).unwrap_or_default());
        Ok(Self {
            token: caller.token.clone(),
            key: key.map(str::to_owned),
            digest: hex::encode(digest.finalize()),
        })
    }

    /// The answer that was given before.
    ///
    /// # Errors
    /// 409: the key was used for another request.
    pub async fn given<T: DeserializeOwned>(
        &self,
        transaction: &mut Transaction,
    ) -> Result<Option<IdempotentResponse<T>>, ApiProblem> {
        let Some(key) = &self.key else {
            return Ok(None);
        };
        let Some(given) = idempotency::find(transaction, &self.token, key).await? else {
            return Ok(None);
        };
        if given.digest != self.digest {
            let detail = text!("this Idempotency-Key was used for another request");
            return Err(ApiProblem::conflict(detail));
        }
        let body = serde_json::from_str(&given.body);
        Ok(Some(IdempotentResponse {
            body: body.map_err(|error| ApiProblem::internal(error.to_string()))?,
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
        body: T,
        secret: Option<&str>,
        now: i64,
    ) -> Result<IdempotentResponse<T>, ApiProblem> {
        if let Some(key) = &self.key {
            let mut kept = serde_json::to_value(&body).unwrap_or_default();
            if let (Some(secret), Value::Object(members)) = (secret, &mut kept) {
                members.remove(secret);
            }
            let answer = GivenAnswer {
                digest: self.digest.clone(),
                status: CREATED,
                body: kept.to_string(),
            };
            idempotency::insert(transaction, &self.token, key, &answer, now).await?;
        }
        Ok(IdempotentResponse { body, again: false })
    }
}
