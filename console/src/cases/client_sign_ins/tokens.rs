//! The tokens of a client that was let in: an access token, which is a key of the gateway for a while, and a refresh token.

use super::terms::{self, SignInTerms};
use super::{SECOND, api_tokens, list};
use crate::cases::caller::Caller;
use crate::cases::key_rotation;
use crate::cases::keys::{self as all_keys, NewKeyBody};
use crate::cases::problem::ApiProblem;
use crate::cases::rights;
use crate::cases::role::Role;
use crate::cases::state::ConsoleState;
use crate::cases::still_there;
use crate::envoys_have;
use crate::identity_providers::StillThere;
use crate::in_transaction;
use crate::secret::{self, NewSecret};
use crate::store::client_sign_ins::{self, ClientSignIn};
use crate::store::device_grants::{self, DeviceGrant};
use crate::store::keys::{self, StoredKey};
use crate::store::{LockedRow, StoreError, Transaction, audit, people};
use crate::timestamp::moment;

/// The life of an access token, in seconds.
const LIFE: i64 = 3600;
/// The life of one for a client that reads its key once, in seconds: a working day.
const LONG_LIFE: i64 = 12 * 3600;
/// The time that an access token must still be good for to be given again, in seconds. Clients refresh with 300 s left.
const LEFT: i64 = 600;
/// The same for a client that reads its key once: it gets a new one rather than one that ends before the evening.
const LONG_LEFT: i64 = 10 * 3600;
/// The days after which a sign-in ends.
const DAYS: u32 = 90;
/// The sign-ins of a person at once: with one more, the one that was not used for longest ends.
const MOST: usize = 20;
/// A client that polls too soon has to wait so many seconds longer each time (RFC 8628, 3.5).
const SLOWER: i64 = 5;

/// The life that a client wants of its access token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenLife {
    /// An hour: the client refreshes it.
    Hour,
    /// A working day: the client reads its key once.
    Day,
}

impl TokenLife {
    /// The life of a new access token, and the time that a present one must be good for, in microseconds.
    const fn spans(self) -> (i64, i64) {
        let (life, left) = match self {
            Self::Hour => (LIFE, LEFT),
            Self::Day => (LONG_LIFE, LONG_LEFT),
        };
        (life.saturating_mul(SECOND), left.saturating_mul(SECOND))
    }
}

/// Tokens for a client.
#[derive(Debug)]
pub struct ClientTokens {
    /// The access token: the value of a key, or a token of the API.
    pub access: NewSecret,
    /// The seconds for which it is good.
    pub expires_in: i64,
    /// The refresh token, which stays the same; a token of the API has none.
    pub refresh: Option<NewSecret>,
}

/// The reason that a client gets no tokens, as RFC 8628 and RFC 6749 name them.
#[derive(Debug)]
pub enum TokenRefusal {
    /// Nobody has decided yet.
    Pending,
    /// The client polls too soon.
    SlowDown,
    /// Somebody has refused it.
    Denied,
    /// The device code is not known, used up or too old.
    Expired,
    /// The sign-in is over.
    Ended,
    /// It cannot be said now: the database, for one.
    Unavailable(String),
}

/// Tokens, or the reason that there are none, for which something may have been noted.
type Outcome = Result<ClientTokens, TokenRefusal>;

/// Gives tokens to a client that polls with a device code, once somebody has let it in.
///
/// # Errors
/// The reason that it gets none.
pub async fn by_device_code(state: &ConsoleState, device_code: &str) -> Outcome {
    let unavailable = TokenRefusal::Unavailable;
    let refresh = NewSecret::refresh().map_err(unavailable)?;
    let token = NewSecret::token().map_err(unavailable)?;
    let id = secret::new_id().map_err(TokenRefusal::Unavailable)?;
    let (digest, now) = (secret::digest(device_code), state.now());
    let done: Result<Outcome, ApiProblem> = in_transaction!(state.store, transaction => {
        // The person first, as whoever disables a person does.
        let approved_by = device_grants::person_of(transaction, &digest).await?;
        let person = match &approved_by {
            Some(person) => Some(caller_of(transaction, person).await?),
            None => None,
        };
        let grant = device_grants::find_locked(transaction, &digest).await?;
        let Some(grant) = grant.filter(|grant| grant.expires_at > now) else {
            return Ok(Err(TokenRefusal::Expired));
        };
        match (grant.state.as_str(), person) {
            ("approved", Some(person)) => {
                device_grants::remove(transaction, &grant).await?;
                let Some(caller) = person else {
                    return Ok(Err(TokenRefusal::Denied));
                };
                if grant.scopes.is_some() {
                    let drawn = (&token, id.as_str());
                    return Ok(Ok(api_tokens::begin(transaction, &caller, &grant, drawn, now).await?));
                }
                if !caller.may(rights::CHANGE_OWN_KEYS) {
                    return Ok(Err(TokenRefusal::Denied));
                }
                begin(transaction, &caller, &grant, (&refresh, &id), now).await
            }
            ("denied", _) => {
                device_grants::remove(transaction, &grant).await?;
                Ok(Err(TokenRefusal::Denied))
            }
            _ => poll(transaction, &grant, now).await,
        }
    });
    settled(state, done).await
}

/// Notes that a client polls, and says whether it has waited long enough.
async fn poll(
    transaction: &mut Transaction,
    grant: &LockedRow<DeviceGrant>,
    now: i64,
) -> Result<Outcome, ApiProblem> {
    // A second less: clients' clocks and networks are no stopwatches.
    let least = grant.poll_seconds.saturating_sub(1).saturating_mul(SECOND);
    let is_soon = now < grant.polled_at.saturating_add(least);
    let poll_seconds = if is_soon {
        grant.poll_seconds.saturating_add(SLOWER)
    } else {
        grant.poll_seconds
    };
    device_grants::note_poll(transaction, grant, poll_seconds, now).await?;
    Ok(Err(if is_soon {
        TokenRefusal::SlowDown
    } else {
        TokenRefusal::Pending
    }))
}

/// The person of a client as the sender of a request, locked; `None`: that person may let no client in.
async fn caller_of(
    transaction: &mut Transaction,
    person: &str,
) -> Result<Option<Caller>, ApiProblem> {
    let person = people::find_locked(transaction, person).await?;
    let person = person.filter(|person| !person.disabled);
    let caller = person.and_then(|person| {
        let person = person.into_inner();
        Some(Caller {
            role: Role::parse(&person.role)?,
            id: person.id,
            name: person.name,
            token: String::new(),
            scopes: None,
            address: String::new(),
            managed: Vec::new(),
        })
    });
    Ok(caller.filter(|caller| caller.may(rights::CHANGE_TOKENS)))
}

/// Begins the sign-in of a client that was let in.
async fn begin(
    transaction: &mut Transaction,
    caller: &Caller,
    grant: &DeviceGrant,
    (refresh, id): (&NewSecret, &str),
    now: i64,
) -> Result<Outcome, ApiProblem> {
    let team = grant.team.as_deref();
    let group = grant.group_id.as_deref().unwrap_or_default();
    let Some(terms) = allowed(terms::of(transaction, &caller.id, team, group, now).await)? else {
        return Ok(Err(TokenRefusal::Denied));
    };
    let caller = Caller {
        address: grant.address.clone(),
        ..caller.clone()
    };
    let before = client_sign_ins::of_person(transaction, &caller.id, now).await?;
    for oldest in before.iter().skip(MOST.saturating_sub(1)) {
        list::end(transaction, &caller, oldest, now).await?;
    }
    let value = NewSecret::key_of_refresh(refresh.reveal(), 1).map_err(ApiProblem::internal)?;
    let life = i64::from(terms.lifetime_days.unwrap_or(DAYS).min(DAYS));
    let expires_at = now.saturating_add(life.saturating_mul(86_400).saturating_mul(SECOND));
    let value_until = now
        .saturating_add(TokenLife::Hour.spans().0)
        .min(expires_at);
    let short = id.get(..8).unwrap_or(id);
    let new = NewKeyBody {
        id: Some(format!("{}-{short}", grant.client)),
        group: group.to_owned(),
        owner: Some(caller.id.clone()),
        team: team.map(str::to_owned),
        label: Some(label(grant)),
        models: terms.models,
        limits: terms.limits,
        expires_at: Some(moment(value_until)),
        ..NewKeyBody::default()
    };
    let key = all_keys::drawn(transaction, &new, &value, &caller, now).await?;
    all_keys::add(transaction, &caller, &key, now).await?;
    let sign_in = ClientSignIn {
        id: key.id,
        person_id: caller.id.clone(),
        digest: refresh.digest(),
        client: grant.client.clone(),
        device: grant.device.clone(),
        address: grant.address.clone(),
        value_number: 1,
        value_until,
        created_at: now,
        used_at: now,
        expires_at,
    };
    client_sign_ins::insert(transaction, &sign_in).await?;
    let entry = caller.actor().entry(now, "client.sign-in", &sign_in.id);
    audit::insert(transaction, &entry).await?;
    Ok(Ok(ClientTokens {
        access: value,
        expires_in: seconds_until(value_until, now),
        refresh: Some(refresh.clone()),
    }))
}

/// The label of the key of a sign-in.
fn label(grant: &DeviceGrant) -> String {
    let name = list::client_name(&grant.client);
    if grant.device.is_empty() {
        return format!("{name}, signed in");
    }
    format!("{name} on {}", grant.device)
}

/// Terms, if the team allows some; a failure of the database is none.
fn allowed(terms: Result<SignInTerms, ApiProblem>) -> Result<Option<SignInTerms>, ApiProblem> {
    match terms {
        Ok(terms) => Ok(Some(terms)),
        Err(problem) if problem.status() < 500 => Ok(None),
        Err(problem) => Err(problem),
    }
}

fn seconds_until(until: i64, now: i64) -> i64 {
    until.saturating_sub(now).max(0).div_euclid(SECOND)
}

/// Gives an access token to a client with a refresh token: the present one, while it is good for long enough, else another one.
///
/// # Errors
/// The sign-in is over, or it cannot be said now.
pub async fn by_refresh(state: &ConsoleState, refresh: &str, life: TokenLife) -> Outcome {
    let (digest, now) = (secret::digest(refresh), state.now());
    let is_gone = is_gone(state, &digest, now).await;
    let is_gone = is_gone.map_err(|error| TokenRefusal::Unavailable(error.to_string()))?;
    let done: Result<Outcome, ApiProblem> = in_transaction!(state.store, transaction => {
        let Some(person) = client_sign_ins::person_of(transaction, &digest).await? else {
            return Ok(Err(TokenRefusal::Ended));
        };
        let caller = caller_of(transaction, &person).await?;
        let caller = caller.filter(|caller| !is_gone && caller.may(rights::CHANGE_OWN_KEYS));
        let sign_in = client_sign_ins::find_locked(transaction, &digest).await?;
        let Some(sign_in) = sign_in.filter(|sign_in| sign_in.expires_at > now) else {
            return Ok(Err(TokenRefusal::Ended));
        };
        renew(transaction, caller, (&sign_in, refresh), life, now).await
    });
    settled(state, done).await
}

/// Asks the identity provider of the person whether that person is gone. One that does not answer ends nothing.
async fn is_gone(state: &ConsoleState, digest: &str, now: i64) -> Result<bool, StoreError> {
    let mut transaction = state.store.read().await?;
    let person = client_sign_ins::person_of(&mut transaction, digest).await?;
    transaction.rollback().await;
    Ok(match person {
        Some(person) => still_there::ask_again(state, &person, now).await? == StillThere::Ended,
        None => false,
    })
}

/// Renews the value of a sign-in's key where that is due; ends the sign-in where its person, team or key is gone.
async fn renew(
    transaction: &mut Transaction,
    caller: Option<Caller>,
    (sign_in, refresh): (&LockedRow<ClientSignIn>, &str),
    life: TokenLife,
    now: i64,
) -> Result<Outcome, ApiProblem> {
    let ended = async |transaction: &mut Transaction| {
        list::end_by_itself(transaction, sign_in, now).await?;
        Ok(Err(TokenRefusal::Ended))
    };
    let key = keys::find_locked(transaction, &sign_in.id).await?;
    let (Some(caller), Some(before)) = (caller, key.filter(|key| !key.disabled)) else {
        return ended(transaction).await;
    };
    let team = before.team.as_deref();
    let terms = terms::of(transaction, &caller.id, team, &before.group_id, now).await;
    let Some(terms) = allowed(terms)? else {
        return ended(transaction).await;
    };
    let (life, left) = life.spans();
    let is_good =
        sign_in.value_until.saturating_sub(now) >= left.min(sign_in.expires_at.saturating_sub(now));
    let (number, until) = if is_good {
        (sign_in.value_number, sign_in.value_until)
    } else {
        let until = now.saturating_add(life).min(sign_in.expires_at);
        (sign_in.value_number.saturating_add(1), until)
    };
    let value = NewSecret::key_of_refresh(refresh, number).map_err(ApiProblem::internal)?;
    if !is_good {
        keys::remove_expired_values(transaction, &before.id, &moment(now)).await?;
        let after = StoredKey {
            sha256: value.digest(),
            hint: Some(value.hint().to_owned()),
            models: terms.models.as_ref().map(all_keys::written),
            limits: terms.limits.map(all_keys::stored_limits),
            expires_at: Some(moment(until)),
            ..StoredKey::clone(&before)
        };
        // First, so that no two keys have one digest.
        keys::update(transaction, &before, &after).await?;
        if sign_in.value_until > now {
            let (old, _) =
                key_rotation::old(transaction, before.into_inner(), sign_in.value_until, now)
                    .await?;
            keys::insert(
                transaction,
                &StoredKey {
                    limits: after.limits.clone(),
                    ..old
                },
            )
            .await?;
        }
    }
    client_sign_ins::note_refresh(transaction, sign_in, (number, until), now).await?;
    Ok(Ok(ClientTokens {
        access: value,
        expires_in: seconds_until(until, now),
        refresh: Some(NewSecret::given(refresh)),
    }))
}

/// Ends the sign-in with this refresh token, or this token of the API, if there is one.
///
/// # Errors
/// It cannot be done now.
pub async fn revoke(state: &ConsoleState, token: &str) -> Result<(), TokenRefusal> {
    let (digest, now) = (secret::digest(token), state.now());
    let done: Result<(), ApiProblem> = in_transaction!(state.store, transaction => {
        if let Some(sign_in) = client_sign_ins::find_locked(transaction, &digest).await? {
            list::end_by_itself(transaction, &sign_in, now).await?;
            return Ok(());
        }
        Ok(api_tokens::end(transaction, &digest, now).await?)
    });
    done.map_err(|problem| TokenRefusal::Unavailable(problem.detail().to_owned()))
}

/// Waits until every Envoy has a new access token, so that the client's first request is not refused.
async fn settled(state: &ConsoleState, done: Result<Outcome, ApiProblem>) -> Outcome {
    let tokens =
        done.map_err(|problem| TokenRefusal::Unavailable(problem.detail().to_owned()))??;
    if tokens.refresh.is_none() {
        return Ok(tokens);
    }
    // Whether they have it is not known then; the token is good all the same.
    let _: Result<(), StoreError> =
        envoys_have::wait(&state.store, &tokens.access.digest(), state.now()).await;
    Ok(tokens)
}
