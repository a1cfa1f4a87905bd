//! From a draft to a version in force.

use core::fmt;

use trilane::config::Problems;

use super::check::check;
use crate::account_credentials;
use crate::credentials::CredentialDestinations;
use crate::in_transaction;
use crate::nearly_spent;
use crate::prices::CatalogueFile;
use crate::store::audit::{self, Actor};
use crate::store::documents::{self, PublishedDocument};
use crate::store::drafts::{self, Draft};
use crate::store::{AsStoreError, LockedRow, Store, StoreError, Transaction};

/// The reason that a document was not changed or published. Nothing is changed then.
#[derive(Debug)]
pub enum DocumentError {
    /// There is no such draft or version.
    NotFound,
    /// The draft is another revision by now.
    Changed {
        /// The current revision of the draft.
        revision: i64,
    },
    /// Another version was published since the draft was begun.
    Outdated {
        /// The version in force.
        version: i64,
    },
    /// A gateway would refuse it.
    Invalid(Problems),
    /// The database.
    Store(StoreError),
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str(&t!("there is no such document")),
            Self::Changed { revision } => f.write_str(&t!(
                "the draft is revision {revision} by now",
                revision = revision
            )),
            Self::Outdated { version } => f.write_str(&t!(
                "version {version} was published meanwhile",
                version = version
            )),
            Self::Invalid(problems) => problems.fmt(f),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for DocumentError {}

impl From<StoreError> for DocumentError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl AsStoreError for DocumentError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_conflict())
    }
}

/// The initial content of a draft.
#[derive(Debug, Clone)]
pub struct NewDraft {
    /// The id of the draft, never used before.
    pub id: String,
    /// The text of the draft; `None`: that of the version in force.
    pub body: Option<String>,
    /// The purpose of the draft, in words.
    pub note: String,
}

/// Begins a draft. It need not be valid yet.
///
/// # Errors
/// Those of the database.
pub async fn begin(
    transaction: &mut Transaction,
    new: &NewDraft,
    actor: &Actor,
    now: i64,
) -> Result<Draft, StoreError> {
    let current = documents::current(transaction).await?;
    let based_on = current.as_ref().map_or(0, |current| current.version);
    let empty = || r#"{"groups": [], "keys": []}"#.to_owned();
    let inherited = || current.map_or_else(empty, |current| current.body);
    let draft = Draft {
        id: new.id.clone(),
        revision: 1,
        based_on,
        body: new.body.clone().unwrap_or_else(inherited),
        author: actor.id.clone(),
        note: new.note.clone(),
        created_at: now,
        changed_at: now,
    };
    drafts::insert(transaction, &draft).await?;
    let entry = actor.entry(now, "draft.create", &draft.id);
    audit::insert(transaction, &entry).await?;
    Ok(draft)
}

/// Changes revision `was` of a draft: its text, its note, and whether it takes the version in force for the one that it was
/// begun from (`rebased`), because whoever changes it has seen that version.
///
/// # Errors
/// There is no such draft, or it is another revision.
pub async fn change(
    store: &Store,
    draft: &Draft,
    was: i64,
    rebased: bool,
    actor: &Actor,
) -> Result<Draft, DocumentError> {
    in_transaction!(store, transaction => {
        let found = find_locked(transaction, &draft.id, was).await?;
        let current = documents::current(transaction).await?;
        let based_on = match current {
            Some(current) if rebased => current.version,
            _ => found.based_on,
        };
        let changed = Draft {
            revision: was.saturating_add(1),
            based_on,
            author: actor.id.clone(),
            created_at: found.created_at,
            ..draft.clone()
        };
        drafts::replace(transaction, &found, &changed).await?;
        let entry = actor.entry(draft.changed_at, "draft.change", &draft.id);
        audit::insert(transaction, &entry).await?;
        Ok(changed)
    })
}

/// Publishes revision `was` of a draft, which is gone then.
///
/// # Errors
/// There is no such draft, it is another revision, another version was published since it was begun, or it is invalid.
pub async fn publish(
    store: &Store,
    id: &str,
    was: i64,
    prices: &CatalogueFile,
    actor: &Actor,
    now: i64,
) -> Result<PublishedDocument, DocumentError> {
    // Outside of the lock: it may take a while.
    let mut transaction = store.read().await?;
    let draft = find(&mut transaction, id, was).await?;
    transaction.rollback().await;
    let checked = check(&draft.body, prices).map_err(DocumentError::Invalid)?;
    in_transaction!(store, transaction => {
        documents::lock(transaction).await?;
        let current = documents::current(transaction).await?;
        let current = current.map_or(0, |current| current.version);
        // It is what was checked: a revision never changes.
        let published = find_locked(transaction, id, was).await?;
        drafts::remove(transaction, &published).await?;
        if current != draft.based_on {
            return Err(DocumentError::Outdated { version: current });
        }
        let document = PublishedDocument {
            version: current.saturating_add(1),
            body: draft.body.clone(),
            served: checked.served.clone(),
            etag: checked.etag.clone(),
            author: actor.id.clone(),
            note: draft.note.clone(),
            again: None,
            published_at: now,
        };
        put_in_force(transaction, &document, &checked.destinations, current, actor).await?;
        Ok(document)
    })
}

/// Publishes an older version again, as it was: it is the newest then. `current` is the version that whoever asks for it has
/// seen in force.
///
/// # Errors
/// There is no such version, another one than `current` is in force, or a gateway of today would refuse it.
pub async fn publish_again(
    store: &Store,
    version: i64,
    current: i64,
    note: &str,
    actor: &Actor,
    now: i64,
) -> Result<PublishedDocument, DocumentError> {
    in_transaction!(store, transaction => {
        documents::lock(transaction).await?;
        let in_force = documents::current(transaction).await?;
        let in_force = in_force.map_or(0, |document| document.version);
        let old = documents::find(transaction, version).await?;
        let old = old.ok_or(DocumentError::NotFound)?;
        if in_force != current {
            return Err(DocumentError::Outdated { version: in_force });
        }
        // Its prices are those of its day: nothing is left to resolve.
        let checked = check(&old.served, &CatalogueFile::default()).map_err(DocumentError::Invalid)?;
        let document = PublishedDocument {
            version: in_force.saturating_add(1),
            author: actor.id.clone(),
            note: note.to_owned(),
            again: Some(version),
            published_at: now,
            ..old
        };
        put_in_force(transaction, &document, &checked.destinations, in_force, actor).await?;
        Ok(document)
    })
}

async fn put_in_force(
    transaction: &mut Transaction,
    document: &PublishedDocument,
    destinations: &CredentialDestinations,
    before: i64,
    actor: &Actor,
) -> Result<(), StoreError> {
    documents::insert(transaction, document).await?;
    account_credentials::discard(transaction, destinations, actor, document.published_at).await?;
    nearly_spent::renew_document(transaction, &document.served, document.published_at).await?;
    let version = document.version.to_string();
    let mut entry = actor.entry(document.published_at, "document.publish", &version);
    entry.before = (before > 0).then(|| before.to_string());
    entry.after = Some(version);
    audit::insert(transaction, &entry).await
}

/// Revision `was` of a draft.
async fn find(transaction: &mut Transaction, id: &str, was: i64) -> Result<Draft, DocumentError> {
    let draft = drafts::find(transaction, id).await?;
    let draft = draft.ok_or(DocumentError::NotFound)?;
    is_revision(&draft, was)?;
    Ok(draft)
}

/// The same, to be changed or removed.
///
/// # Errors
/// There is no such draft, or it is another revision.
pub async fn find_locked(
    transaction: &mut Transaction,
    id: &str,
    was: i64,
) -> Result<LockedRow<Draft>, DocumentError> {
    let draft = drafts::find_locked(transaction, id).await?;
    let draft = draft.ok_or(DocumentError::NotFound)?;
    is_revision(&draft, was)?;
    Ok(draft)
}

fn is_revision(draft: &Draft, was: i64) -> Result<(), DocumentError> {
    if draft.revision == was {
        return Ok(());
    }
    Err(DocumentError::Changed {
        revision: draft.revision,
    })
}
