//! How an Envoy's agent comes to its credential: an admin adds the Envoy and passes on a token that is good once, and the agent
//! exchanges it for one of its own, which can be revoked.

use crate::secret::{self, NewSecret};
use crate::store::api_tokens::{self, ApiToken};
use crate::store::audit::{self, Actor};
use crate::store::envoys::{self, Envoy};
use crate::store::people::{self, Person};
use crate::store::{StoreError, Transaction};

/// How long an enrolment token is good, in microseconds: an hour.
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
    api_tokens::remove_all(transaction, &id).await?;
    let own = ApiToken {
        id: token_id.to_owned(),
        digest: credential.digest(),
        person_id: id.clone(),
        name: ROLE.to_owned(),
        hint: credential.hint().to_owned(),
        expires_at: None,
        created_at: now,
    };
    api_tokens::insert(transaction, &own).await?;
    let actor = Actor {
        id: id.clone(),
        address: address.to_owned(),
    };
    audit::insert(transaction, &actor.entry(now, "envoy.enrol", &id)).await?;
    Ok(Some(id))
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
