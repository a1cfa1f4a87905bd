//! Secrets that providers have given: clients' secrets and refresh tokens, sealed in the database.

use zeroize::Zeroizing;

use crate::credentials::{SealedFor, SealedValue, SealingKeys};
use crate::in_transaction;
use crate::store::identities::{self, Identity};
use crate::store::identity_providers::{self, StoredProvider};
use crate::store::{Store, StoreError};

/// The purpose of a client's secret: it opens for the same provider at the same issuer only, so whoever changes the address gets none.
const fn of_client<'a>(id: &'a str, issuer: &'a str) -> SealedFor<'a> {
    SealedFor::ClientSecret { id, issuer }
}

/// The purpose of a refresh token.
fn of_identity(identity: &Identity) -> SealedFor<'_> {
    SealedFor::RefreshToken {
        provider: &identity.provider,
        subject: &identity.subject,
    }
}

fn sealed(keys: &SealingKeys, of: SealedFor<'_>, value: &str) -> Result<String, String> {
    Ok(keys.sealing().seal(of, value.as_bytes())?.text())
}

fn opened(keys: &SealingKeys, of: SealedFor<'_>, stored: &str) -> Option<Zeroizing<String>> {
    let opened = keys.open(of, &SealedValue::parse(stored)?)?;
    let text = core::str::from_utf8(&opened).ok()?;
    Some(Zeroizing::new(text.to_owned()))
}

/// Seals a client's secret.
///
/// # Errors
/// The system gives no randomness.
pub fn seal_client(
    keys: &SealingKeys,
    id: &str,
    issuer: &str,
    secret: &str,
) -> Result<String, String> {
    sealed(keys, of_client(id, issuer), secret)
}

/// Opens a client's secret. `None`: no key opens it, or it is of another issuer.
pub fn open_client(keys: &SealingKeys, provider: &StoredProvider) -> Option<Zeroizing<String>> {
    let stored = provider.client_secret.as_deref()?;
    opened(keys, of_client(&provider.id, &provider.issuer), stored)
}

/// Seals a refresh token.
///
/// # Errors
/// The system gives no randomness.
pub fn seal_refresh_token(
    keys: &SealingKeys,
    identity: &Identity,
    token: &str,
) -> Result<String, String> {
    sealed(keys, of_identity(identity), token)
}

/// Opens a refresh token. `None`: there is none, or no key opens it.
pub fn open_refresh_token(keys: &SealingKeys, identity: &Identity) -> Option<Zeroizing<String>> {
    opened(
        keys,
        of_identity(identity),
        identity.refresh_token.as_deref()?,
    )
}

/// Seals with the first of these keys what another one has sealed. How many it sealed, and how many it cannot open. Each is a change
/// of its own, so it may end at any time and be done again.
///
/// # Errors
/// Those of the database, or one cannot be sealed.
pub async fn reseal(store: &Store, keys: &SealingKeys) -> Result<(usize, usize), StoreError> {
    let (mut done, mut lost) = (0_usize, 0_usize);
    let is_by_another =
        |stored: &str| SealedValue::parse(stored).is_none_or(|it| it.key_id != keys.sealing().id());
    let mut transaction = store.read().await?;
    let providers = identity_providers::all(&mut transaction).await?;
    transaction.rollback().await;
    for provider in providers {
        let Some(stored) = provider
            .client_secret
            .as_deref()
            .filter(|it| is_by_another(it))
        else {
            continue;
        };
        let Some(secret) = open_client(keys, &provider) else {
            lost = lost.saturating_add(1);
            continue;
        };
        let anew = seal_client(keys, &provider.id, &provider.issuer, &secret);
        let anew = anew.map_err(StoreError::Other)?;
        let changed: Result<bool, StoreError> = in_transaction!(store, transaction => {
            identity_providers::reseal(transaction, &provider.id, stored, &anew).await
        });
        done = done.saturating_add(usize::from(changed?));
    }
    let mut after = (String::new(), String::new());
    loop {
        let mut transaction = store.read().await?;
        let found = identities::list(&mut transaction, &after).await?;
        transaction.rollback().await;
        let Some(last) = found.last() else {
            return Ok((done, lost));
        };
        after = (last.provider.clone(), last.subject.clone());
        for identity in &found {
            let stored = identity.refresh_token.as_deref();
            let Some(stored) = stored.filter(|it| is_by_another(it)) else {
                continue;
            };
            let Some(token) = open_refresh_token(keys, identity) else {
                lost = lost.saturating_add(1);
                continue;
            };
            let anew = seal_refresh_token(keys, identity, &token).map_err(StoreError::Other)?;
            let changed: Result<bool, StoreError> = in_transaction!(store, transaction => {
                identities::reseal(transaction, identity, stored, &anew).await
            });
            done = done.saturating_add(usize::from(changed?));
        }
    }
}
