//! A document in a file, from before there was a console. It is copied; the file stays as it is.

use crate::documents::{DocumentError, NewDraft, begin, check, publish};
use crate::in_transaction;
use crate::prices::CatalogueFile;
use crate::secret;
use crate::store::audit::Actor;
use crate::store::documents;
use crate::store::{Store, StoreError};

/// Publishes a document as the first version. False: there is a version already, and nothing is published.
///
/// # Errors
/// A gateway would refuse it, or the database.
pub async fn document(
    store: &Store,
    body: String,
    prices: &CatalogueFile,
    actor: &Actor,
    now: i64,
) -> Result<bool, DocumentError> {
    let mut transaction = store.read().await?;
    let current = documents::current(&mut transaction).await?;
    transaction.rollback().await;
    if current.is_some() {
        return Ok(false);
    }
    // Before there is a draft of it.
    check(&body, prices).map_err(DocumentError::Invalid)?;
    let new = NewDraft {
        id: format!("draft_{}", secret::new_id().map_err(StoreError::Other)?),
        body: Some(body),
        note: "imported".to_owned(),
    };
    let begun: Result<_, StoreError> =
        in_transaction!(store, transaction => begin(transaction, &new, actor, now).await);
    let draft = begun?;
    match publish(store, &draft.id, draft.revision, prices, actor, now).await {
        Ok(_) => Ok(true),
        // Another console was faster. The draft stays, for whoever compares.
        Err(DocumentError::Outdated { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
