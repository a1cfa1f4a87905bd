//! The enrolment of an Envoy's agent: an admin adds the Envoy and passes on a token that is good once, and the agent
//! exchanges it for one of its own, which can be revoked.
//!
//! With that it may have document and keys, and send the ledger. Credentials of accounts it gets when somebody on the console's
//! machine has approved it ([`approve`]), by the fingerprint that the agent itself shows: whoever has an admin's token could
//! otherwise enrol as an agent and read them all. An agent that enrols with an enrolment secret ([`make_secret`]), which is made
//! on that machine as well, is approved by that.

use crate::secret::{self, NewSecret};
use crate::store::api_tokens::{self, ApiToken};
use crate::store::audit::{self, Actor};
use crate::store::envoys::{self, Envoy};
use crate::store::people::{self, Person};
use crate::store::{StoreError, Transaction, enrolment_secrets};

/// The validity of an enrolment token, in microseconds: an hour.
pub const ENROL_WITHIN: i64 = 3_600_000_000;

/// The role of agents.
const ROLE: &str = "agent";

/// Adds an Envoy, whose agent cannot enrol yet. False: the id is a person's or an Envoy's already.
///
/// # Errors
/// Those of the database.
pub async fn add(
    transaction: &mut Transaction,
    id: &str,
    name: &str,
    actor: &Actor,
    now: i64,
) -> Result<bool, StoreError> {
    people::lock(transaction).await?;
    if people::find(transaction, id).await?.is_some() {
        return Ok(false);
    }
    let person = Person {
        id: id.to_owned(),
        name: name.to_owned(),
        role: ROLE.to_owned(),
        disabled: false,
        created_at: now,
        key_group: None,
    };
    people::insert(transaction, &person).await?;
    envoys::insert(transaction, id, now).await?;
    audit::insert(transaction, &actor.entry(now, "envoy.create", id)).await?;
    Ok(true)
}

/// Lets the agent of an Envoy enrol with this token, within [`ENROL_WITHIN`]. One that was given out before is void. The
/// credential that its agent has stays good until then. False: there is no such Envoy, or it is revoked.
///
/// # Errors
/// Those of the database.
pub async fn let_enrol(
    transaction: &mut Transaction,
    id: &str,
    token: &NewSecret,
    actor: &Actor,
    now: i64,
) -> Result<bool, StoreError> {
    let found = envoys::find_locked(transaction, id).await?;
    let Some(envoy) = found.filter(|envoy| !envoy.disabled) else {
        return Ok(false);
    };
    let until = now.saturating_add(ENROL_WITHIN);
    envoys::set_enrolment(transaction, &envoy, Some((&token.digest(), until))).await?;
    audit::insert(transaction, &actor.entry(now, "envoy.let_enrol", id)).await?;
    Ok(true)
}

/// Exchanges an enrolment token for the credential of an agent. Credentials that it had before are void. `None`: the token is
/// not good, or no longer.
///
/// # Errors
/// Those of the database.
pub async fn enrol(
    transaction: &mut Transaction,
    token: &str,
    credential: &NewSecret,
    token_id: &str,
    address: &str,
    now: i64,
) -> Result<Option<String>, StoreError> {
    let Some(id) = envoys::enrol(transaction, &secret::digest(token), now).await? else {
        return Ok(None);
    };
    // A token that is made for whoever is disabled would be good once that is taken back.
    let person = people::find_locked(transaction, &id).await?;
    if person.is_none_or(|person| person.disabled) {
        return Ok(None);
    }
    admit(transaction, &id, credential, token_id, address, now).await?;
    Ok(Some(id))
}

/// Gives the agent of an Envoy this credential and no other.
async fn admit(
    transaction: &mut Transaction,
    id: &str,
    credential: &NewSecret,
    token_id: &str,
    address: &str,
    now: i64,
) -> Result<(), StoreError> {
    api_tokens::remove_all(transaction, id).await?;
    let own = ApiToken {
        id: token_id.to_owned(),
        digest: credential.digest(),
        person_id: id.to_owned(),
        name: ROLE.to_owned(),
        hint: credential.hint().to_owned(),
        expires_at: None,
        created_at: now,
        scopes: None,
    };
    api_tokens::insert(transaction, &own).await?;
    let actor = Actor {
        id: id.to_owned(),
        address: address.to_owned(),
    };
    audit::insert(transaction, &actor.entry(now, "envoy.enrol", id)).await
}

/// The outcome of enrolling with an enrolment secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnrolledBySecret {
    /// It has its credential, and is approved.
    Enrolled,
    /// The secret is not good, or no longer, or the Envoy was revoked.
    Refused,
    /// The id is a person's, or that of an Envoy that somebody has added.
    Taken,
}

/// Gives the agent of an Envoy a credential for an enrolment secret, and adds the Envoy if there is none of its id. One that has
/// enrolled by a secret before gets another credential, and the one of before is void.
///
/// # Errors
/// Those of the database.
pub async fn enrol_by_secret(
    transaction: &mut Transaction,
    (secret, id): (&str, &str),
    credential: &NewSecret,
    token_id: &str,
    address: &str,
    now: i64,
) -> Result<EnrolledBySecret, StoreError> {
    let digest = secret::digest(secret);
    let Some(name) = enrolment_secrets::name(transaction, &digest, now).await? else {
        return Ok(EnrolledBySecret::Refused);
    };
    people::lock(transaction).await?;
    match envoys::find(transaction, id).await? {
        Some(envoy) if envoy.disabled => return Ok(EnrolledBySecret::Refused),
        Some(envoy) if envoy.enrolled_by.is_none() => return Ok(EnrolledBySecret::Taken),
        Some(_) => {}
        None => {
            let actor = Actor {
                id: format!("enrolment secret {name}"),
                address: address.to_owned(),
            };
            if !add(transaction, id, id, &actor, now).await? {
                return Ok(EnrolledBySecret::Taken);
            }
        }
    }
    admit(transaction, id, credential, token_id, address, now).await?;
    envoys::set_enrolled_by(transaction, id, &name, now).await?;
    envoys::approve(transaction, id, &credential.digest()).await?;
    Ok(EnrolledBySecret::Enrolled)
}

/// A fingerprint's groups of hexadecimal digits, and how many each has: 80 bits together.
const GROUPS: usize = 5;
const DIGITS: usize = 4;

/// The fingerprint of an agent, of the digest of its credential: what people compare.
pub fn fingerprint(digest: &str) -> String {
    let groups = (0..GROUPS).filter_map(|group| {
        let start = group.checked_mul(DIGITS)?;
        digest.get(start..start.checked_add(DIGITS)?)
    });
    groups.collect::<Vec<_>>().join("-")
}

/// The agents that have enrolled and may not have credentials of accounts yet, with their fingerprints.
///
/// # Errors
/// Those of the database.
pub async fn waiting(transaction: &mut Transaction) -> Result<Vec<(String, Envoy)>, StoreError> {
    let all = envoys::waiting(transaction).await?.into_iter();
    let with = |envoy: Envoy| Some((fingerprint(envoy.credential.as_deref()?), envoy));
    Ok(all.filter_map(with).collect())
}

/// Lets the agent with this fingerprint have credentials of accounts. The id of its Envoy; `None`: no agent waits that has it.
///
/// # Errors
/// Those of the database.
pub async fn approve(
    transaction: &mut Transaction,
    asked: &str,
    actor: &Actor,
    now: i64,
) -> Result<Option<String>, StoreError> {
    let asked = asked.trim().to_ascii_lowercase();
    let mut all = waiting(transaction).await?.into_iter();
    let found = all.find(|(fingerprint, _)| *fingerprint == asked);
    let Some((
        _,
        Envoy {
            id,
            credential: Some(digest),
            ..
        },
    )) = found
    else {
        return Ok(None);
    };
    approve_credential(transaction, &id, &digest, actor, now).await?;
    Ok(Some(id))
}

/// Lets whoever has the credential of this digest have the credentials of accounts of an Envoy.
///
/// # Errors
/// Those of the database.
pub async fn approve_credential(
    transaction: &mut Transaction,
    id: &str,
    digest: &str,
    actor: &Actor,
    now: i64,
) -> Result<(), StoreError> {
    envoys::approve(transaction, id, digest).await?;
    let mut entry = actor.entry(now, "envoy.approve", id);
    entry.after = Some(fingerprint(digest));
    audit::insert(transaction, &entry).await
}

/// Makes a secret with which agents enrol, in the place of what had its name. Until then, in microseconds since 1970; `None`:
/// until it is removed.
///
/// # Errors
/// Those of the database.
pub async fn make_secret(
    transaction: &mut Transaction,
    name: &str,
    made: &NewSecret,
    expires_at: Option<i64>,
    actor: &Actor,
    now: i64,
) -> Result<(), StoreError> {
    enrolment_secrets::put(transaction, name, &made.digest(), expires_at, now).await?;
    audit::insert(
        transaction,
        &actor.entry(now, "enrolment_secret.make", name),
    )
    .await
}

/// Removes such a secret. The agents that have enrolled with it stay. False: there is none of this name.
///
/// # Errors
/// Those of the database.
pub async fn remove_secret(
    transaction: &mut Transaction,
    name: &str,
    actor: &Actor,
    now: i64,
) -> Result<bool, StoreError> {
    if !enrolment_secrets::remove(transaction, name).await? {
        return Ok(false);
    }
    audit::insert(
        transaction,
        &actor.entry(now, "enrolment_secret.remove", name),
    )
    .await?;
    Ok(true)
}

/// Revokes the credential of an Envoy's agent, for good. What it has sent stays. The Envoy as it was; `None`: there is none.
///
/// # Errors
/// Those of the database.
pub async fn revoke(
    transaction: &mut Transaction,
    id: &str,
    actor: &Actor,
    now: i64,
) -> Result<Option<Envoy>, StoreError> {
    people::lock(transaction).await?;
    let Some(envoy) = envoys::find_locked(transaction, id).await? else {
        return Ok(None);
    };
    envoys::set_enrolment(transaction, &envoy, None).await?;
    if let Some(before) = people::find_locked(transaction, id).await? {
        let person = Person {
            disabled: true,
            ..Person::clone(&before)
        };
        people::update(transaction, &before, &person).await?;
    }
    audit::insert(transaction, &actor.entry(now, "envoy.revoke", id)).await?;
    Ok(Some(envoy.into_inner()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints() {
        let digest = secret::digest("abc");
        assert_eq!(fingerprint(&digest), "ba78-16bf-8f01-cfea-4141");
        assert_ne!(fingerprint(&secret::digest("abd")), fingerprint(&digest));
    }
}
