//! Webhooks: who is told when a budget is spent to some percent.

use http::Uri;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::caller::Caller;
use super::credentials::{keys, no_sealing_key};
use super::once::{IdempotentRequest, IdempotentResponse};
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::in_transaction;
use crate::secret::{self, NewSecret};
use crate::store::audit;
use crate::store::webhooks::{self, Webhook};
use crate::timestamp::moment;
use crate::webhooks::secrets;
use crate::webhooks::watch::MOST;

/// The longest address, in bytes, and the most thresholds.
const LONGEST_URL: usize = 2000;
const MOST_THRESHOLDS: usize = 10;

/// A webhook, as far as it may be seen.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookView {
    /// The id of the webhook.
    pub(crate) id: String,
    /// The URL that messages are sent to.
    pub(crate) url: String,
    /// Percents of a budget at which one is sent.
    pub(crate) thresholds: Vec<u32>,
    /// The time at which the webhook was added, as RFC 3339.
    pub(crate) created_at: String,
}

/// A new webhook.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CreatedWebhook {
    /// The secret that signs its messages, shown this once. Missing if the request was repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<String>,
    /// The webhook as later responses show it, without its secret.
    pub(crate) webhook: WebhookView,
}

/// A webhook to be added.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhookBody {
    /// The URL that messages are sent to: `https://…`, on a public address unless the console allows others.
    #[schema(max_length = 2000)]
    pub(crate) url: String,
    /// Percents of a budget at which a message is sent, once for each subject and period; 80 and 100 unless they are given.
    #[schema(max_items = 10)]
    pub(crate) thresholds: Option<Vec<u32>>,
}

fn view(webhook: Webhook) -> WebhookView {
    WebhookView {
        id: webhook.id,
        url: webhook.url,
        thresholds: webhook.thresholds,
        created_at: moment(webhook.created_at),
    }
}

/// An address that messages may go to; whether its host is a public one is seen when it is called.
fn is_address(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else {
        return false;
    };
    let scheme = matches!(uri.scheme_str(), Some("https" | "http"));
    let authority = uri.authority();
    // A user's password would stand in lists and logs.
    let plain = authority.is_some_and(|it| !it.host().is_empty() && !it.as_str().contains('@'));
    scheme && plain && url.len() <= LONGEST_URL && !url.contains('#')
}

/// Webhooks in the order of their ids.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    page: PageParams,
) -> Result<ItemPage<WebhookView>, ApiProblem> {
    caller.must(rights::SEE_WEBHOOKS)?;
    let limit = page.limit()?;
    let after: String = page.after()?.unwrap_or_default();
    let mut transaction = state.store.read().await?;
    let webhooks = webhooks::list(&mut transaction, &after, limit.to_fetch()).await?;
    transaction.rollback().await;
    Ok(limit.page(webhooks, |webhook| webhook.id.clone(), view))
}

/// Adds a webhook. Its secret is kept sealed, and shown this once.
pub async fn create(
    state: &ConsoleState,
    caller: &Caller,
    once: Option<&str>,
    new: NewWebhookBody,
) -> Result<IdempotentResponse<CreatedWebhook>, ApiProblem> {
    caller.must(rights::CHANGE_WEBHOOKS)?;
    let once = IdempotentRequest::new(caller, once, "POST /api/v1/webhooks", &new)?;
    if !is_address(&new.url) {
        let reason =
            "must be an address such as https://example.com/hook, without a user and a fragment";
        return Err(ApiProblem::invalid("url", reason));
    }
    let thresholds = new.thresholds.clone().unwrap_or_else(|| vec![80, 100]);
    if thresholds.is_empty()
        || thresholds.len() > MOST_THRESHOLDS
        || !thresholds.iter().all(|percent| (1..=100).contains(percent))
    {
        return Err(ApiProblem::invalid(
            "thresholds",
            "must be 1 to 10 percents from 1 to 100",
        ));
    }
    let now = state.now();
    let value = NewSecret::webhook().map_err(ApiProblem::internal)?;
    let id = secret::new_id().map_err(ApiProblem::internal)?;
    let mut webhook = Webhook {
        id: format!("webhook_{id}"),
        url: new.url.clone(),
        secret: String::new(),
        thresholds,
        created_at: now,
    };
    let sealed = keys(state)
        .map(|keys| secrets::seal(&keys, &webhook.id, &webhook.url, value.reveal()))
        .transpose()
        .map_err(ApiProblem::internal)?;
    in_transaction!(state.store, transaction => {
        if let Some(answer) = once.given(transaction).await? {
            return Ok(answer);
        }
        webhooks::lock(transaction).await?;
        let there = webhooks::list(transaction, "", MOST).await?;
        if i64::try_from(there.len()).unwrap_or(i64::MAX) >= MOST {
            return Err(ApiProblem::conflict("there are 100 webhooks already"));
        }
        webhook.secret = sealed.clone().ok_or_else(no_sealing_key)?;
        webhooks::insert(transaction, &webhook).await?;
        let mut entry = caller.actor().entry(now, "webhook.create", &webhook.id);
        entry.after = serde_json::to_string(&view(webhook.clone())).ok();
        audit::insert(transaction, &entry).await?;
        let created = CreatedWebhook { secret: Some(value.reveal().to_owned()), webhook: view(webhook.clone()) };
        once.answer(transaction, created, Some("secret"), now).await
    })
}

/// Removes a webhook, and what was not delivered yet.
pub async fn remove(state: &ConsoleState, caller: &Caller, id: &str) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_WEBHOOKS)?;
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    in_transaction!(state.store, transaction => {
        if !webhooks::remove(transaction, id).await? {
            return Err(ApiProblem::not_found());
        }
        let entry = caller.actor().entry(state.now(), "webhook.remove", id);
        audit::insert(transaction, &entry).await?;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_messages_may_go() {
        for (url, want) in [
            ("https://example.com/hook?a=b", true),
            ("http://10.0.0.1:8080/", true),
            ("https://user:secret@example.com/", false),
            ("https://example.com/#part", false),
            ("ftp://example.com/", false),
            ("/hook", false),
            ("example.com", false),
            ("", false),
        ] {
            assert_eq!(is_address(url), want, "{url}");
        }
    }
}
