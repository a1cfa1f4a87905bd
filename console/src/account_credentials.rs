//! The life of credentials: they are given, discarded, handed to agents, and sealed anew.

use core::fmt;
use std::collections::BTreeSet;

use serde_json::json;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::credentials::{CredentialDestination, CredentialDestinations, SealedFor, SealingKeys};
use crate::in_transaction;
use crate::store::audit::{self, Actor};
use crate::store::credentials::{self, StoredCredential};
use crate::store::documents::{self, PublishedDocument};
use crate::store::{AsStoreError, Store, StoreError, Transaction};

/// The reason that a credential was not taken, or cannot be handed out.
#[derive(Debug)]
pub enum CredentialError {
    /// No destination is named for it, and no account of the document in force has it.
    NoDestination,
    /// It cannot be sealed.
    Sealing(String),
    /// The document in force is none of this release.
    Document,
    /// The database.
    Store(StoreError),
}

impl fmt::Display for CredentialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDestination => f.write_str(
                "no account of the document in force has this credential: say where it may be sent (destinations)",
            ),
            Self::Sealing(why) => f.write_str(why),
            Self::Document => f.write_str("the document in force cannot be read by this release"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for CredentialError {}

impl From<StoreError> for CredentialError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl AsStoreError for CredentialError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_conflict())
    }
}

/// A credential to be kept. `Debug` does not print it.
pub struct NewCredential {
    /// The name of the credential, as accounts name it.
    pub name: String,
    /// Itself.
    pub value: Zeroizing<Vec<u8>>,
    /// The destinations that it may be sent to; `None`: those that the document in force sends it to.
    pub destinations: Option<BTreeSet<CredentialDestination>>,
}

impl fmt::Debug for NewCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NewCredential").field(&self.name).finish()
    }
}

/// Seals a credential, in the place of what had its name.
///
/// # Errors
/// It is not known where it may be sent, or cannot be sealed.
pub async fn put(
    transaction: &mut Transaction,
    new: &NewCredential,
    keys: &SealingKeys,
    actor: &Actor,
    now: i64,
) -> Result<Vec<StoredCredential>, CredentialError> {
    // Nobody publishes meanwhile, so where it is sent is where it was given for.
    documents::lock(transaction).await?;
    credentials::lock(transaction).await?;
    let used = in_force(transaction).await?;
    let used = used.get(&new.name).cloned().unwrap_or_default();
    let wanted = new.destinations.clone().unwrap_or_else(|| used.clone());
    if wanted.is_empty() {
        return Err(CredentialError::NoDestination);
    }
    credentials::remove(transaction, &new.name, None).await?;
    let mut all = Vec::new();
    for destination in wanted {
        let sealed = keys.sealing().seal(
            SealedFor::Credential {
                name: &new.name,
                destination: &destination,
            },
            &new.value,
        );
        let credential = StoredCredential {
            name: new.name.clone(),
            in_use: used.contains(&destination),
            destination,
            value: sealed.map_err(CredentialError::Sealing)?,
            set_at: now,
            set_by: actor.id.clone(),
        };
        credentials::insert(transaction, &credential).await?;
        all.push(credential);
    }
    let mut entry = actor.entry(now, "credential.put", &new.name);
    entry.after = Some(told(all.iter().map(|one| &one.destination)));
    audit::insert(transaction, &entry).await?;
    Ok(all)
}

/// Removes a credential. False: there is none of this name.
///
/// # Errors
/// Those of the database.
pub async fn remove(
    transaction: &mut Transaction,
    name: &str,
    actor: &Actor,
    now: i64,
) -> Result<bool, StoreError> {
    credentials::lock(transaction).await?;
    if credentials::remove(transaction, name, None).await? == 0 {
        return Ok(false);
    }
    audit::insert(transaction, &actor.entry(now, "credential.remove", name)).await?;
    Ok(true)
}

/// Discards, in the transaction that puts a document in force, what its accounts would take elsewhere than to where it went.
///
/// # Errors
/// Those of the database.
pub async fn discard(
    transaction: &mut Transaction,
    coming: &CredentialDestinations,
    actor: &Actor,
    now: i64,
) -> Result<(), StoreError> {
    credentials::lock(transaction).await?;
    for one in credentials::all(transaction).await? {
        let Some(wanted) = coming.get(&one.name) else {
            continue;
        };
        if wanted.contains(&one.destination) {
            if !one.in_use {
                credentials::note_use(transaction, &one.name, &one.destination).await?;
            }
        } else if one.in_use {
            credentials::remove(transaction, &one.name, Some(&one.destination)).await?;
            let mut entry = actor.entry(now, "credential.discard", &one.name);
            entry.before = Some(told([&one.destination]));
            entry.after = Some(told(wanted));
            audit::insert(transaction, &entry).await?;
        }
    }
    Ok(())
}

fn told<'a>(destinations: impl IntoIterator<Item = &'a CredentialDestination>) -> String {
    let all: Vec<&CredentialDestination> = destinations.into_iter().collect();
    json!({"destinations": all}).to_string()
}

async fn in_force(
    transaction: &mut Transaction,
) -> Result<CredentialDestinations, CredentialError> {
    let document = documents::current(transaction).await?;
    document.map_or_else(
        || Ok(CredentialDestinations::new()),
        |document| of_document(&document),
    )
}

fn of_document(document: &PublishedDocument) -> Result<CredentialDestinations, CredentialError> {
    CredentialDestination::of_document(document.served.as_bytes()).ok_or(CredentialError::Document)
}

/// A credential, for an agent.
pub struct GivenCredential {
    /// The name of the credential, as accounts name it.
    pub name: String,
    /// The only destination that the credential may be sent to.
    pub destination: CredentialDestination,
    /// Itself; `None`: the key that sealed it is lost.
    pub value: Option<Zeroizing<Vec<u8>>>,
}

impl fmt::Debug for GivenCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = (&self.name, self.value.is_some());
        f.debug_tuple("GivenCredential").field(&fields).finish()
    }
}

/// The credentials that an agent receives.
#[derive(Debug)]
pub struct AgentCredentials {
    /// The digest of their state.
    pub etag: String,
    /// The credentials of the accounts in force; `None`: the agent has them already.
    pub all: Option<Vec<GivenCredential>>,
}

/// The credentials of the accounts in force, unless the agent has what `known` is the digest of.
///
/// # Errors
/// Those of the database, or the document in force cannot be read.
pub async fn for_agents(
    transaction: &mut Transaction,
    keys: Option<&SealingKeys>,
    known: impl Fn(&str) -> bool,
) -> Result<AgentCredentials, CredentialError> {
    let document = documents::current(transaction).await?;
    let stored = credentials::all(transaction).await?;
    let mut digest = Sha256::new();
    let mut note = |text: &str| {
        digest.update(text.as_bytes());
        digest.update(b"\n");
    };
    note(document.as_ref().map_or("", |document| &document.etag));
    for one in &stored {
        let opened = keys.is_some_and(|keys| keys.has(&one.value.key_id));
        note(&one.name);
        note(&one.destination.text());
        note(&one.value.nonce);
        note(if opened { "readable" } else { "unreadable" });
    }
    let etag = hex::encode(digest.finalize());
    if known(&etag) {
        return Ok(AgentCredentials { etag, all: None });
    }
    let used = document.map_or_else(
        || Ok(CredentialDestinations::new()),
        |found| of_document(&found),
    )?;
    let is_used = |one: &StoredCredential| {
        let of_name = used.get(&one.name);
        of_name.is_some_and(|places| places.contains(&one.destination))
    };
    let given = stored
        .into_iter()
        .filter(is_used)
        .map(|one| GivenCredential {
            value: keys.and_then(|keys| keys.open(one.bound_to(), &one.value)),
            name: one.name,
            destination: one.destination,
        });
    Ok(AgentCredentials {
        etag,
        all: Some(given.collect()),
    })
}

/// Counts the credentials that cannot be opened with these keys; returns that number and the number of all.
///
/// # Errors
/// Those of the database.
pub async fn unreadable(
    store: &Store,
    keys: Option<&SealingKeys>,
) -> Result<(usize, usize), StoreError> {
    let mut transaction = store.read().await?;
    let all = credentials::all(&mut transaction).await?;
    transaction.rollback().await;
    let opens = |one: &&StoredCredential| {
        let opened = keys.and_then(|keys| keys.open(one.bound_to(), &one.value));
        opened.is_none()
    };
    Ok((all.iter().filter(opens).count(), all.len()))
}

/// Seals with the first of these keys what another one has sealed. How many it sealed, and how many it cannot open. Each is a
/// change of its own, so it may end at any time and be done again.
///
/// # Errors
/// Those of the database, or one cannot be sealed.
pub async fn reseal(store: &Store, keys: &SealingKeys) -> Result<(usize, usize), CredentialError> {
    let mut transaction = store.read().await?;
    let all = credentials::all(&mut transaction).await?;
    transaction.rollback().await;
    let (mut sealed, mut lost) = (0_usize, 0_usize);
    for one in all {
        if one.value.key_id == keys.sealing().id() {
            continue;
        }
        let Some(value) = keys.open(one.bound_to(), &one.value) else {
            lost = lost.saturating_add(1);
            continue;
        };
        let anew = keys.sealing().seal(one.bound_to(), &value);
        let anew = anew.map_err(CredentialError::Sealing)?;
        let changed: Result<bool, StoreError> = in_transaction!(store, transaction => {
            credentials::reseal(transaction, &one, &anew).await
        });
        if changed? {
            sealed = sealed.saturating_add(1);
        }
    }
    Ok((sealed, lost))
}
