//! Delivers messages: signed, one at a time, again later where that failed.

use core::fmt;
use core::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use time::OffsetDateTime;
use zeroize::Zeroizing;

use super::kind::WebhookKind;
use super::secrets;
use crate::counted::{WebhookOutcome, counted};
use crate::credentials::SealingKeys;
use crate::store::webhooks::{self, ClaimedMessage, NewMessage, Webhook};
use crate::store::{Store, StoreError};
use crate::{in_transaction, timestamp};

/// For how long a message belongs to the console that has taken it: more than an attempt may take.
const LEASE: Duration = Duration::from_secs(60);
/// The pause after a first failure; each other one is twice as long.
const PAUSE: Duration = Duration::from_secs(10);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(3600);
/// The most delivery attempts of a message: they take about six hours.
const ATTEMPTS: i64 = 14;
/// The longest problem that is kept, in bytes.
const KEPT: usize = 300;
/// The reason that a message is not signed.
const UNREADABLE: &str = "the secret of its webhook cannot be opened: the key that sealed it is not in the file of sealing keys \
                          (--sealing-key-file)";

/// A message that is to be delivered. `Debug` does not print the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct DueMessage {
    /// The id of the message.
    pub id: String,
    /// The id of its webhook.
    pub webhook: String,
    /// The kind of its webhook.
    pub kind: WebhookKind,
    /// The URL that it is sent to, as it may be shown.
    pub url: String,
    /// The secret that signs it, or the whole URL; `None`: it cannot be opened.
    pub secret: Option<Zeroizing<String>>,
    /// The JSON.
    pub body: String,
    /// The number of delivery attempts, this one included.
    pub attempts: i64,
}

impl fmt::Debug for DueMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DueMessage")
            .field("id", &self.id)
            .field("url", &self.url)
            .field("opened", &self.secret.is_some())
            .finish_non_exhaustive()
    }
}

impl DueMessage {
    /// The message for a webhook of this row, with this JSON.
    pub fn to(webhook: &Webhook, keys: Option<&SealingKeys>, message: NewMessage) -> Self {
        Self {
            secret: secrets::open(keys, &webhook.id, &webhook.url, &webhook.secret),
            id: message.id,
            webhook: webhook.id.clone(),
            kind: WebhookKind::of(&webhook.kind),
            url: webhook.url.clone(),
            body: message.body,
            attempts: 1,
        }
    }

    /// The secret.
    ///
    /// # Errors
    /// In words, that it cannot be opened.
    pub(super) fn opened(&self) -> Result<&str, &'static str> {
        self.secret
            .as_ref()
            .map(|secret| secret.as_str())
            .ok_or(UNREADABLE)
    }

    /// The signature of this message, sent at a time in seconds since 1970.
    ///
    /// # Errors
    /// In words, that its secret cannot be opened.
    pub fn signature(&self, time: i64) -> Result<String, &'static str> {
        Ok(signature(self.opened()?, time, &self.body))
    }
}

fn microseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// The message that is due for longest, for this console alone. `None`: none is due. `keys` open its secret.
///
/// # Errors
/// Those of the database.
pub async fn take(
    store: &Store,
    keys: impl FnOnce() -> Option<SealingKeys>,
    now: OffsetDateTime,
) -> Result<Option<DueMessage>, StoreError> {
    let now = timestamp::microseconds(now);
    let until = now.saturating_add(microseconds(LEASE));
    let claimed: Result<Option<ClaimedMessage>, StoreError> =
        in_transaction!(store, transaction => webhooks::claim(transaction, now, until).await);
    Ok(claimed?.map(|of| DueMessage {
        secret: secrets::open(keys().as_ref(), &of.webhook, &of.url, &of.secret),
        id: of.id,
        webhook: of.webhook,
        kind: WebhookKind::of(&of.kind),
        url: of.url,
        body: of.body,
        attempts: of.attempts,
    }))
}

/// Notes whether a message was delivered, and else when it is tried again.
///
/// # Errors
/// Those of the database.
pub async fn close(
    store: &Store,
    message: &DueMessage,
    outcome: Result<(), &str>,
    now: OffsetDateTime,
) -> Result<(), StoreError> {
    let now = timestamp::microseconds(now);
    let (delivered_at, next_at, problem) = match outcome {
        Ok(()) => (Some(now), None, None),
        Err(problem) => {
            let next = now.saturating_add(microseconds(pause(message.attempts)));
            let next = (message.attempts < ATTEMPTS).then_some(next);
            (None, next, Some(kept(problem)))
        }
    };
    let closed: Result<(), StoreError> = in_transaction!(store, transaction => {
        webhooks::note_attempt(transaction, &message.webhook, problem, now).await?;
        webhooks::close(transaction, &message.id, delivered_at, next_at, problem).await
    });
    closed?;
    counted().webhook(match (delivered_at, next_at) {
        (Some(_), _) => WebhookOutcome::Delivered,
        (None, Some(_)) => WebhookOutcome::Failed,
        (None, None) => WebhookOutcome::GivenUp,
    });
    Ok(())
}

/// The part of a problem that is kept.
pub fn kept(problem: &str) -> &str {
    let end = problem.floor_char_boundary(KEPT);
    problem.get(..end).unwrap_or_default()
}

/// The pause after so many failures.
fn pause(failures: i64) -> Duration {
    let doublings = u32::try_from(failures.saturating_sub(1))
        .unwrap_or(0)
        .min(20);
    PAUSE.saturating_mul(1_u32 << doublings).min(LONGEST)
}

/// The signature of a message that is sent at this time, in seconds since 1970: `v1=` and the HMAC-SHA256, in hexadecimal, of
/// the time, a full stop and the body.
pub fn signature(secret: &str, time: i64, body: &str) -> String {
    // A key of any length is one.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        return String::new();
    };
    mac.update(format!("{time}.{body}").as_bytes());
    format!("v1={}", hex::encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures() {
        // printf '5.{}' | openssl dgst -sha256 -hmac tlw-secret
        let want = "v1=882a8e2b5b4c3ea07940d703a0fe1964c4e85f6351046f9463d8922dfc549405";
        assert_eq!(signature("tlw-secret", 5, "{}"), want);
        assert_ne!(signature("tlw-secret", 6, "{}"), want);
    }

    #[test]
    fn pauses() {
        for (failures, seconds) in [(1, 10), (2, 20), (5, 160), (10, 3600), (1000, 3600)] {
            assert_eq!(pause(failures).as_secs(), seconds, "{failures}");
        }
    }
}
