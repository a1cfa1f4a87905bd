//! A document in a file, from before there was a console. It is copied; the file stays as it is. Its keys become the console's, so that none is in
//! both: of the document that is published they are no part.

use trilane::config::Document;

use crate::cases::document_keys::stored;
use crate::cases::told_key;
use crate::documents::{DocumentError, NewDraft, begin, check, publish};
use crate::in_transaction;
use crate::json_span;
use crate::prices::CatalogueFile;
use crate::secret;
use crate::store::audit::{self, Actor};
use crate::store::keys::{self, StoredKey};
use crate::store::{Store, StoreError, documents};
use crate::timestamp::moment;

/// Publishes a document as the first version, and takes its keys in. False: there is a version already, and nothing is published.
///
/// # Errors
/// A gateway would refuse it, the id of a key is another one's, or the database.
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
    let (body, keys) = without_keys(body);
    // Before the document: whoever is interrupted here does the rest the next time.
    take_in(store, &keys, actor, now).await?;
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

/// A valid document without its keys, and these.
fn without_keys(body: String) -> (String, Vec<StoredKey>) {
    let document = Document::parse(body.as_bytes()).ok();
    let named = document
        .and_then(|document| document.keys)
        .unwrap_or_default();
    let keys: Vec<StoredKey> = named.iter().filter_map(stored).collect();
    let root = json_span::root(body.as_bytes());
    let members = root.and_then(|root| json_span::members(body.as_bytes(), &root));
    let place = members.and_then(|all| all.into_iter().find(|member| member.name == "keys"));
    let parts = place
        .and_then(|place| Some((body.get(..place.value.start)?, body.get(place.value.end..)?)));
    match parts {
        // All or none: a key that is in neither would be lost.
        Some((before, after)) if keys.len() == named.len() => (format!("{before}[]{after}"), keys),
        _ => (body, Vec::new()),
    }
}

/// Takes keys in that are not known yet.
async fn take_in(
    store: &Store,
    all: &[StoredKey],
    actor: &Actor,
    now: i64,
) -> Result<(), StoreError> {
    in_transaction!(store, transaction => {
        keys::take_turn(transaction).await?;
        for key in all {
            if keys::find_by_digest(transaction, &key.sha256).await?.is_some() {
                continue;
            }
            let key = StoredKey {
                created_at: Some(moment(now)),
                created_by: Some(actor.id.clone()),
                ..key.clone()
            };
            keys::insert(transaction, &key).await?;
            let mut entry = actor.entry(now, "key.create", &key.id);
            entry.after = Some(told_key(&key));
            audit::insert(transaction, &entry).await?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_leave_a_document_as_it_is_otherwise() {
        let digest = "ab".repeat(32);
        let body = format!(
            "{{\n  \"groups\": [ ],\n  \"keys\": [{{\"id\": \"a\", \"sha256\": \"{digest}\", \"group\": \"g\"}}],\n  \"currency\": \"USD\"\n}}\n"
        );
        let (left, keys) = without_keys(body);
        assert_eq!(
            left,
            "{\n  \"groups\": [ ],\n  \"keys\": [],\n  \"currency\": \"USD\"\n}\n"
        );
        let ids: Vec<&str> = keys.iter().map(|key| key.id.as_str()).collect();
        assert_eq!(ids, ["a"]);
        let none = "{\"groups\": []}";
        assert_eq!(without_keys(none.to_owned()), (none.to_owned(), Vec::new()));
    }
}
