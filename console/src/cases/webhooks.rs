//! Webhooks: who is told when a budget is spent to some percent, and whether that arrives.

use http::Uri;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::caller::Caller;
use super::credentials::{keys, no_sealing_key};
use super::languages;
use super::once::{IdempotentRequest, IdempotentResponse};
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::in_transaction;
use crate::language::Language;
use crate::secret::{self, NewSecret};
use crate::store::webhooks::{self, Webhook};
use crate::store::{StoreError, audit};
use crate::timestamp::moment;
use crate::webhooks::delivery::{self, DueMessage};
use crate::webhooks::kind::WebhookKind;
use crate::webhooks::watch::MOST;
use crate::webhooks::{message, secrets};

/// The most thresholds.
const MOST_THRESHOLDS: usize = 10;

/// A webhook, as far as it may be seen.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookView {
    /// The id of the webhook.
    pub(crate) id: String,
    /// The kind of the receiver.
    pub(crate) kind: WebhookKind,
    /// The URL that messages are sent to; of Slack and Teams without its path, which is a secret.
    pub(crate) url: String,
    /// Percents of a budget at which one is sent.
    pub(crate) thresholds: Vec<u32>,
    /// The language of the sentences of its messages, a tag (BCP 47).
    pub(crate) language: String,
    /// The time at which the webhook was added, as RFC 3339.
    pub(crate) created_at: String,
    /// The time of the latest message that arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delivered_at: Option<String>,
    /// The latest attempt that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<WebhookFailureView>,
}

impl WebhookView {
    /// Whether the latest attempt failed.
    pub(crate) fn is_failing(&self) -> bool {
        let failed = self.failure.as_ref().map(|failure| failure.at.as_str());
        failed.is_some_and(|at| {
            self.delivered_at
                .as_deref()
                .is_none_or(|delivered| delivered < at)
        })
    }
}

/// An attempt that failed.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookFailureView {
    /// The time of the attempt, as RFC 3339.
    pub(crate) at: String,
    /// The reason.
    pub(crate) problem: String,
}

/// The outcome of a test message.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookTestView {
    /// Whether it was taken.
    pub(crate) delivered: bool,
    /// The reason that it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// A new webhook.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CreatedWebhook {
    /// The secret that signs its messages, shown this once. Missing if the request was repeated, and where nothing is signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<String>,
    /// The webhook as later responses show it, without its secret.
    pub(crate) webhook: WebhookView,
}

/// A webhook to be added.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhookBody {
    /// The kind of the receiver; `webhook` unless it is given.
    #[serde(default)]
    pub(crate) kind: WebhookKind,
    /// The URL that messages are sent to: `https://…`, on a public address unless the console allows others; of e-mail
    /// `mailto:ann@example.com,bob@example.com`.
    #[schema(max_length = 2000)]
    pub(crate) url: String,
    /// Percents of a budget at which a message is sent, once for each subject and period; 80 and 100 unless they are given.
    #[schema(max_items = 10)]
    pub(crate) thresholds: Option<Vec<u32>>,
    /// The language of the sentences of its messages: `en` or `zh-CN`; that of the request unless it is given.
    pub(crate) language: Option<String>,
}

fn view(webhook: Webhook) -> WebhookView {
    WebhookView {
        kind: WebhookKind::of(&webhook.kind),
        id: webhook.id,
        url: webhook.url,
        thresholds: webhook.thresholds,
        language: webhook.language.tag().to_owned(),
        created_at: moment(webhook.created_at),
        delivered_at: webhook.delivered_at.map(moment),
        failure: webhook.failure.map(|(at, problem)| WebhookFailureView {
            at: moment(at),
            problem,
        }),
    }
}

/// A URL as it may be shown: of Slack and Teams only its host, for whoever knows the rest can post there.
fn shown(kind: WebhookKind, url: &str) -> String {
    if !kind.has_secret_url() {
        return url.to_owned();
    }
    let uri: Option<Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(Uri::authority);
    let scheme = uri.as_ref().and_then(Uri::scheme_str).unwrap_or_default();
    format!("{scheme}://{}/…", host.map_or("", |it| it.as_str()))
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
    let kind = new.kind;
    if let Err(reason) = state.sender.check(kind, &new.url).await {
        return Err(ApiProblem::invalid("url", &reason));
    }
    let thresholds = new.thresholds.clone().unwrap_or_else(|| vec![80, 100]);
    if thresholds.is_empty()
        || thresholds.len() > MOST_THRESHOLDS
        || !thresholds.iter().all(|percent| (1..=100).contains(percent))
    {
        return Err(ApiProblem::invalid(
            "thresholds",
            text!("must be 1 to 10 percents from 1 to 100"),
        ));
    }
    let language = languages::asked(new.language.as_deref())?;
    let now = state.now();
    let value = NewSecret::webhook().map_err(ApiProblem::internal)?;
    let id = secret::new_id().map_err(ApiProblem::internal)?;
    let mut webhook = Webhook {
        id: format!("webhook_{id}"),
        kind: kind.name().to_owned(),
        url: shown(kind, &new.url),
        secret: String::new(),
        thresholds,
        language: language.unwrap_or(Language::current()),
        created_at: now,
        delivered_at: None,
        failure: None,
    };
    let is_signed = kind == WebhookKind::Webhook;
    let secret = if is_signed { value.reveal() } else { &new.url };
    let sealed = keys(state)
        .map(|keys| secrets::seal(&keys, &webhook.id, &webhook.url, secret))
        .transpose()
        .map_err(ApiProblem::internal)?;
    in_transaction!(state.store, transaction => {
        if let Some(answer) = once.given(transaction).await? {
            return Ok(answer);
        }
        webhooks::lock(transaction).await?;
        let there = webhooks::list(transaction, "", MOST).await?;
        if i64::try_from(there.len()).unwrap_or(i64::MAX) >= MOST {
            return Err(ApiProblem::conflict(text!("there are 100 webhooks already")));
        }
        if kind != WebhookKind::Email {
            webhook.secret = sealed.clone().ok_or_else(no_sealing_key)?;
        }
        webhooks::insert(transaction, &webhook).await?;
        let mut entry = caller.actor().entry(now, "webhook.create", &webhook.id);
        entry.after = serde_json::to_string(&view(webhook.clone())).ok();
        audit::insert(transaction, &entry).await?;
        let secret = is_signed.then(|| value.reveal().to_owned());
        let created = CreatedWebhook { secret, webhook: view(webhook.clone()) };
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

/// Sends a test message to a webhook at once, and says whether it was taken.
pub async fn test(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<WebhookTestView, ApiProblem> {
    caller.must(rights::CHANGE_WEBHOOKS)?;
    if id.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let mut transaction = state.store.read().await?;
    let found = webhooks::get(&mut transaction, id).await;
    transaction.rollback().await;
    let webhook = found?.ok_or_else(ApiProblem::not_found)?;
    let message = message::new(webhook.language, message::TEST, &[], state.time())?;
    let due = DueMessage::to(&webhook, keys(state).as_ref(), message);
    let sent = state.sender.send(&due, state.time().unix_timestamp()).await;
    let problem = sent.err();
    let problem = problem.as_deref().map(delivery::kept);
    let noted: Result<(), StoreError> = in_transaction!(state.store, transaction => {
        webhooks::note_attempt(transaction, id, problem, state.now()).await
    });
    noted?;
    Ok(WebhookTestView {
        delivered: problem.is_none(),
        problem: problem.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_as_they_are_shown() {
        for (kind, url, want) in [
            (
                WebhookKind::Webhook,
                "https://example.com/hook?a=b",
                "https://example.com/hook?a=b",
            ),
            (
                WebhookKind::Email,
                "mailto:a@example.com",
                "mailto:a@example.com",
            ),
            (
                WebhookKind::Slack,
                "https://hooks.slack.com/services/T/B/secret",
                "https://hooks.slack.com/…",
            ),
            (
                WebhookKind::Teams,
                "https://x.example:8443/w?sig=secret",
                "https://x.example:8443/…",
            ),
        ] {
            assert_eq!(shown(kind, url), want);
        }
    }
}
