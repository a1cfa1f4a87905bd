//! The agent of the Envoy in the same process: it is admitted without a token that somebody carries.

use trilane_console::envoys;
use trilane_console::in_transaction;
use trilane_console::secret::{self, NewSecret};
use trilane_console::store::{Store, StoreError, Transaction, api_tokens, envoys as stored};

use super::{now, operator};
use crate::agent::{AgentCredential, AgentIdentity, AgentPlace};
use crate::failure::Failure;

/// The id of its Envoy.
const ID: &str = "local";

/// Sees to it that the agent in this directory has a credential that this console takes.
///
/// # Errors
/// The Envoy was revoked, or the credential cannot be kept.
pub async fn admit(store: &Store, place: &AgentPlace) -> Result<(), Failure> {
    place.create()?;
    let file = place.identity();
    let failed = |error: StoreError| Failure::Data(error.to_string());
    if let Some(identity) = AgentIdentity::read(&file).map_err(Failure::Data)? {
        let mut transaction = store.read().await.map_err(failed)?;
        let digest = secret::digest(identity.credential.reveal());
        let holder = api_tokens::holder(&mut transaction, &digest, now()).await;
        let access = match holder {
            Ok(Some(holder)) if holder.person.id == ID => {
                stored::access(&mut transaction, ID, &holder.token).await
            }
            Ok(_) => Ok(None),
            Err(error) => Err(error),
        };
        transaction.rollback().await;
        match access.map_err(failed)? {
            Some(access) if access.approved => return Ok(()),
            // Only who runs this machine has its file.
            Some(_) => {
                let approved: Result<(), StoreError> = in_transaction!(store, transaction => {
                    envoys::approve_credential(transaction, ID, &digest, &operator(), now()).await
                });
                return approved.map_err(failed);
            }
            None => {}
        }
    }
    let token = NewSecret::enrolment().map_err(Failure::Data)?;
    let credential = NewSecret::token().map_err(Failure::Data)?;
    let token_id = format!("token_{}", secret::new_id().map_err(Failure::Data)?);
    let identity = AgentIdentity {
        envoy: ID.to_owned(),
        credential: AgentCredential::new(credential.reveal().to_owned()),
    };
    // Before the credential is good: what is lost in between is made again at the next start.
    let name = file.display();
    let kept = identity.write(&file);
    kept.map_err(|error| Failure::Data(format!("cannot write {name}: {error}")))?;
    let admitted = in_transaction!(store, transaction => {
        enrol(transaction, &token, &credential, &token_id).await
    });
    if admitted.map_err(failed)? {
        return Ok(());
    }
    Err(Failure::Data(format!(
        "the Envoy {ID} was revoked in the console, or its id is a person's. Let it in again: PATCH /api/v1/people/{ID} with \
         {{\"disabled\": false}}"
    )))
}

async fn enrol(
    transaction: &mut Transaction,
    token: &NewSecret,
    credential: &NewSecret,
    token_id: &str,
) -> Result<bool, StoreError> {
    let (now, actor) = (now(), operator());
    envoys::add(transaction, ID, "The Envoy of `trilane up`", &actor, now).await?;
    if !envoys::let_enrol(transaction, ID, token, &actor, now).await? {
        return Ok(false);
    }
    let token = token.reveal();
    let enrolled = envoys::enrol(transaction, token, credential, token_id, "", now).await?;
    if enrolled.is_none() {
        return Ok(false);
    }
    envoys::approve_credential(transaction, ID, &credential.digest(), &actor, now).await?;
    Ok(true)
}
