//! The secrets of webhooks: sealed in the database, and opened where a message is signed.
//!
//! A console of before has left them as they are. Those still sign, until a console that has a key to seal with starts.

use zeroize::Zeroizing;

use super::watch::MOST;
use crate::credentials::{SealedFor, SealedValue, SealingKeys};
use crate::in_transaction;
use crate::store::webhooks::{self, Webhook};
use crate::store::{Store, StoreError};

/// Seals a secret, for the database.
///
/// # Errors
/// The system gives no randomness.
pub fn seal(keys: &SealingKeys, id: &str, url: &str, secret: &str) -> Result<String, String> {
    let bound_to = SealedFor::WebhookSecret { id, url };
    let sealed = keys.sealing().seal(bound_to, secret.as_bytes())?;
    Ok(sealed.text())
}

/// Opens what the database has as the secret of a webhook. `None`: the key that sealed it is not there, or it is another
/// webhook's.
pub fn open(
    keys: Option<&SealingKeys>,
    id: &str,
    url: &str,
    stored: &str,
) -> Option<Zeroizing<String>> {
    let Some(sealed) = SealedValue::parse(stored) else {
        return Some(Zeroizing::new(stored.to_owned()));
    };
    let opened = keys?.open(SealedFor::WebhookSecret { id, url }, &sealed)?;
    let text = core::str::from_utf8(&opened).ok()?;
    Some(Zeroizing::new(text.to_owned()))
}

/// Counts the secrets that cannot be opened with these keys; returns that number and the number of all.
///
/// # Errors
/// Those of the database.
pub async fn unreadable(
    store: &Store,
    keys: Option<&SealingKeys>,
) -> Result<(usize, usize), StoreError> {
    let all = all(store).await?;
    let opens = |one: &&Webhook| open(keys, &one.id, &one.url, &one.secret).is_none();
    Ok((all.iter().filter(opens).count(), all.len()))
}

/// Seals those that a console of before has left as they are. How many.
///
/// # Errors
/// Those of the database, or one cannot be sealed.
pub async fn seal_plain(store: &Store, keys: &SealingKeys) -> Result<usize, StoreError> {
    let (sealed, _) = seal_those(store, keys, |sealed| sealed.is_none()).await?;
    Ok(sealed)
}

/// Seals with the first of these keys what another one has sealed, or none. How many it sealed, and how many it cannot open. Each
/// is a change of its own, so it may end at any time and be done again.
///
/// # Errors
/// Those of the database, or one cannot be sealed.
pub async fn reseal(store: &Store, keys: &SealingKeys) -> Result<(usize, usize), StoreError> {
    let by_another =
        |sealed: Option<&SealedValue>| sealed.is_none_or(|it| it.key_id != keys.sealing().id());
    seal_those(store, keys, by_another).await
}

async fn seal_those(
    store: &Store,
    keys: &SealingKeys,
    which: impl Fn(Option<&SealedValue>) -> bool,
) -> Result<(usize, usize), StoreError> {
    let (mut sealed, mut lost) = (0_usize, 0_usize);
    for one in all(store).await? {
        if !which(SealedValue::parse(&one.secret).as_ref()) {
            continue;
        }
        let Some(secret) = open(Some(keys), &one.id, &one.url, &one.secret) else {
            lost = lost.saturating_add(1);
            continue;
        };
        let anew = seal(keys, &one.id, &one.url, &secret).map_err(StoreError::Other)?;
        let changed: Result<bool, StoreError> = in_transaction!(store, transaction => {
            webhooks::reseal(transaction, &one, &anew).await
        });
        if changed? {
            sealed = sealed.saturating_add(1);
        }
    }
    Ok((sealed, lost))
}

/// The webhooks that have a secret.
async fn all(store: &Store) -> Result<Vec<Webhook>, StoreError> {
    let mut transaction = store.read().await?;
    let mut all: Vec<Webhook> = Vec::new();
    loop {
        let after = all.last().map(|one| one.id.clone()).unwrap_or_default();
        let more = webhooks::list(&mut transaction, &after, MOST).await?;
        if more.is_empty() {
            break;
        }
        all.extend(more);
    }
    transaction.rollback().await;
    all.retain(|one| !one.secret.is_empty());
    Ok(all)
}
