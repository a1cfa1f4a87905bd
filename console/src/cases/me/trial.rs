//! Trying a model: one request through the gateway, with a key of five minutes that ends right after.

use core::time::Duration;

use serde_json::{Value, json};
use zeroize::Zeroizing;

use super::keys::find_own;
use crate::cases::caller::Caller;
use crate::cases::keys as all_keys;
use crate::cases::one_request::{self, RequestDetail};
use crate::cases::paging::PageParams;
use crate::cases::priced_models;
use crate::cases::problem::ApiProblem;
use crate::cases::requests::{self, RequestParams};
use crate::cases::rights;
use crate::cases::state::ConsoleState;
use crate::in_transaction;
use crate::language::{Language, path_of_page};
use crate::secret::{self, NewSecret};
use crate::store::audit;
use crate::store::keys::{self, StoredKey};
use crate::store::own_terms::OwnTerms;
use crate::timestamp::moment;
use crate::vendors::{GatewayAnswer, GatewayCall};

/// The longest prompt, in bytes.
const LONGEST: usize = 8_000;
/// Microseconds until the key expires, whatever becomes of the request.
const LIFETIME: i64 = 5 * 60 * 1_000_000;
/// The most tokens of an answer, where a protocol needs a bound.
const MAX_TOKENS: u32 = 1_024;
/// The number of looks for the line of the ledger, and the time between two.
const LOOKS: u32 = 25;
const BETWEEN: Duration = Duration::from_millis(250);

/// A model to try.
#[derive(Debug, Clone)]
pub struct TrialBody {
    /// The id of one's own key whose terms the request has: its group, limits, budgets and multiplier.
    pub key: String,
    /// The id of the model.
    pub model: String,
    /// The protocol that it is called by: `A`, `B` or `C`.
    pub protocol: String,
    /// The text that is sent.
    pub prompt: String,
}

/// The outcome of a trial.
#[derive(Debug)]
pub struct TriedModel {
    /// The status of the answer.
    pub status: u16,
    /// The text of the answer, or the words of the error.
    pub text: String,
    /// The id of the key that was made, by which the request is found.
    pub key: String,
    /// The request with its charge and its explanation; `None`: its line has not come yet.
    pub request: Option<RequestDetail>,
}

/// Makes a key on the terms of one of one's own, calls the gateway with it, and removes it. Its limits and budgets count in the
/// counters of that key, so they bind the request as they would its own.
pub async fn run(
    state: &ConsoleState,
    caller: &Caller,
    asked: TrialBody,
) -> Result<TriedModel, ApiProblem> {
    caller.must(rights::CHANGE_OWN_KEYS)?;
    let gateway = state.gateway.as_deref().ok_or_else(|| {
        ApiProblem::conflict(text!(
            "this console does not know the address of its gateway: start it with --gateway-url"
        ))
    })?;
    if asked.prompt.is_empty() {
        return Err(ApiProblem::invalid("prompt", text!("must have a text")));
    }
    if asked.prompt.len() > LONGEST {
        return Err(ApiProblem::invalid(
            "prompt",
            text!("must have at most 8,000 bytes"),
        ));
    }
    let gateway = gateway.trim_end_matches('/').to_owned();
    let (state, caller) = (state.clone(), caller.clone());
    // Goes on where nobody waits for it any more, so that the key ends all the same.
    let whole = async move { with_key(&state, &caller, &gateway, &asked).await };
    let whole = tokio::spawn(Language::current().scope(path_of_page(), whole));
    whole
        .await
        .unwrap_or_else(|error| Err(ApiProblem::internal(error.to_string())))
}

async fn with_key(
    state: &ConsoleState,
    caller: &Caller,
    gateway: &str,
    asked: &TrialBody,
) -> Result<TriedModel, ApiProblem> {
    let value = NewSecret::key().map_err(ApiProblem::internal)?;
    let key = make(state, caller, asked, &value).await?;
    let answer = state
        .vendors
        .call_gateway(call(gateway, asked, &value))
        .await;
    end(state, caller, &key).await?;
    let answer = answer.map_err(|why| {
        ApiProblem::conflict(t!(
            "the gateway at {gateway} gave no answer: {why}",
            gateway = gateway,
            why = why
        ))
    })?;
    let request = request(state, caller, &key).await?;
    Ok(TriedModel {
        status: answer.status,
        text: text_of(&asked.protocol, &answer),
        key,
        request,
    })
}

/// Makes the key, and returns its id.
async fn make(
    state: &ConsoleState,
    caller: &Caller,
    asked: &TrialBody,
    value: &NewSecret,
) -> Result<String, ApiProblem> {
    let now = state.now();
    let id = secret::new_id().map_err(ApiProblem::internal)?;
    let id = format!("try-{}", id.to_ascii_lowercase());
    in_transaction!(state.store, transaction => {
        let own = find_own(transaction, caller, &asked.key).await?.into_inner();
        let has_expired = own.expires_at.as_ref().is_some_and(|end| *end <= moment(now));
        if own.disabled || has_expired {
            return Err(ApiProblem::conflict(text!("the key is disabled, or has expired")));
        }
        let models = priced_models::read(transaction, &[OwnTerms::from(&own)], now).await?.items;
        let is_asked = |of: &&priced_models::PricedModel| of.model.id == asked.model && of.model.protocol == asked.protocol;
        if models.iter().find(is_asked).is_none_or(|of| of.is_image) {
            return Err(ApiProblem::invalid("model", text!("is none that your key may use here")));
        }
        let end = moment(now.saturating_add(LIFETIME));
        let key = StoredKey {
            sha256: value.digest(),
            id: id.clone(),
            counts_as: Some(own.counters().to_owned()),
            models: Some(json!([asked.model]).to_string()),
            label: Some(format!("Trial of {}", asked.model)),
            expires_at: Some(own.expires_at.clone().map_or_else(|| end.clone(), |own| own.min(end.clone()))),
            created_at: Some(moment(now)),
            created_by: Some(caller.id.clone()),
            hint: Some(value.hint().to_owned()),
            ..own
        };
        all_keys::add(transaction, caller, &key, now).await?;
        Ok(id.clone())
    })
}

/// Removes the key.
async fn end(state: &ConsoleState, caller: &Caller, id: &str) -> Result<(), ApiProblem> {
    in_transaction!(state.store, transaction => {
        // Somebody may have removed it with the key whose terms it had.
        let Some(key) = keys::find_locked(transaction, id).await? else {
            return Ok(());
        };
        keys::remove(transaction, &key).await?;
        let mut entry = caller.actor().entry(state.now(), "key.remove", id);
        entry.before = Some(all_keys::told(&key));
        audit::insert(transaction, &entry).await?;
        Ok(())
    })
}

/// The call, as a client of the protocol makes it.
fn call(gateway: &str, asked: &TrialBody, value: &NewSecret) -> GatewayCall {
    let TrialBody { model, prompt, .. } = asked;
    let messages = json!([{"role": "user", "content": prompt}]);
    let key = Zeroizing::new(value.reveal().to_owned());
    let (path, headers, body) = match asked.protocol.as_str() {
        "A" => {
            let bearer = Zeroizing::new(format!("Bearer {}", value.reveal()));
            let body = json!({"model": model, "messages": messages});
            let path = "/v1/chat/completions".to_owned();
            (path, vec![("authorization", bearer)], body)
        }
        "B" => {
            let version = Zeroizing::new("2023-06-01".to_owned());
            let body = json!({"model": model, "max_tokens": MAX_TOKENS, "messages": messages});
            let headers = vec![("x-api-key", key), ("anthropic-version", version)];
            ("/v1/messages".to_owned(), headers, body)
        }
        _ => {
            let body = json!({"contents": [{"role": "user", "parts": [{"text": prompt}]}]});
            let path = format!("/v1beta/models/{model}:generateContent");
            (path, vec![("x-goog-api-key", key)], body)
        }
    };
    GatewayCall {
        url: format!("{gateway}{path}"),
        headers,
        body: body.to_string(),
    }
}

/// The text of an answer, or the words of an error; the body itself where it is neither.
fn text_of(protocol: &str, answer: &GatewayAnswer) -> String {
    let whole = || String::from_utf8_lossy(&answer.body).into_owned();
    let Ok(body) = serde_json::from_slice::<Value>(&answer.body) else {
        return whole();
    };
    if let Some(words) = body.pointer("/error/message").and_then(Value::as_str) {
        return words.to_owned();
    }
    let parts = match protocol {
        "A" => {
            let text = body.pointer("/choices/0/message/content");
            return text
                .and_then(Value::as_str)
                .map_or_else(whole, str::to_owned);
        }
        "B" => body.pointer("/content"),
        _ => body.pointer("/candidates/0/content/parts"),
    };
    let parts = parts.and_then(Value::as_array);
    let texts = parts.map(|parts| {
        let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
        texts.collect::<String>()
    });
    texts.unwrap_or_else(whole)
}

/// The request of the key, as soon as its line has come.
async fn request(
    state: &ConsoleState,
    caller: &Caller,
    key: &str,
) -> Result<Option<RequestDetail>, ApiProblem> {
    for _ in 0..LOOKS {
        let of_key = RequestParams {
            key: Some(key.to_owned()),
            owner: Some(caller.id.clone()),
            ..RequestParams::default()
        };
        let found = requests::list(state, caller, of_key, PageParams::first(1)).await?;
        if let Some(found) = found.items.first() {
            return one_request::get(state, caller, &found.id).await.map(Some);
        }
        tokio::time::sleep(BETWEEN).await;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_answers() {
        for (protocol, body, want) in [
            (
                "A",
                r#"{"choices":[{"message":{"content":"Hello"}}]}"#,
                "Hello",
            ),
            (
                "A",
                r#"{"choices":[{"message":{"content":null}}]}"#,
                r#"{"choices":[{"message":{"content":null}}]}"#,
            ),
            (
                "B",
                r#"{"content":[{"type":"thinking"},{"type":"text","text":"Hel"},{"type":"text","text":"lo"}]}"#,
                "Hello",
            ),
            (
                "C",
                r#"{"candidates":[{"content":{"parts":[{"text":"Hello"}]}}]}"#,
                "Hello",
            ),
            (
                "C",
                r#"{"error":{"code":429,"message":"slow down"}}"#,
                "slow down",
            ),
            (
                "B",
                r#"{"type":"error","error":{"type":"x","message":"no"}}"#,
                "no",
            ),
            ("A", "upstream connect error", "upstream connect error"),
        ] {
            let answer = GatewayAnswer {
                status: 200,
                body: body.as_bytes().to_vec(),
            };
            assert_eq!(text_of(protocol, &answer), want, "{body}");
        }
    }
}
