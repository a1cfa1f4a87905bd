//! Asks identity providers again whether a person who has signed in is still there.

use core::time::Duration;

use tokio::time::timeout;

use super::admission::{self, Vouched};
use super::settings::{self, ProviderSettings};
use super::sign_in::{is_as_before, keep};
use crate::cases::credentials::keys;
use crate::cases::problem::ApiProblem;
use crate::cases::state::ConsoleState;
use crate::identity_providers::{ProviderAnswer, ProviderFault, StillThere, secrets};
use crate::in_transaction;
use crate::store::audit::{self, Actor};
use crate::store::identities::{self, Identity};
use crate::store::identity_providers::{self as stored, StoredProvider};
use crate::store::{StoreError, Transaction};

const SECOND: i64 = 1_000_000;
/// The time after which the provider of a session that is used is asked again, in microseconds.
const DUE: i64 = 900 * SECOND;
/// The time for which an answer holds for whoever asks on purpose.
const JUST: i64 = 10 * SECOND;
/// The time after which a provider that did not answer is asked again.
const LATER: i64 = 60 * SECOND;
/// The longest time that a request waits for a provider.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks the identity providers by which a person has signed in whether the person is still there, within three seconds each. One
/// that says yes is enough.
///
/// # Errors
/// Those of the database.
pub async fn ask_again(
    state: &ConsoleState,
    person: &str,
    now: i64,
) -> Result<StillThere, StoreError> {
    let mut transaction = state.store.read().await?;
    let all = identities::of_person(&mut transaction, person).await?;
    transaction.rollback().await;
    if all.is_empty() {
        return Ok(StillThere::NotByProvider);
    }
    let mut answer = StillThere::Ended;
    for identity in &all {
        match ask(state, identity, JUST, now).await? {
            StillThere::Yes => return Ok(StillThere::Yes),
            StillThere::Ended => {}
            other => answer = other,
        }
    }
    Ok(answer)
}

/// Asks the provider of a session that is used, if that is due. Whether it was asked, so that the session may have ended.
///
/// # Errors
/// Those of the database.
pub async fn check_session(
    state: &ConsoleState,
    person: &str,
    (provider, asked_at): (&str, i64),
    now: i64,
) -> Result<bool, StoreError> {
    if asked_at > now.saturating_sub(DUE) {
        return Ok(false);
    }
    let mut transaction = state.store.read().await?;
    let all = identities::of_person(&mut transaction, person).await?;
    transaction.rollback().await;
    let Some(identity) = all.iter().find(|identity| identity.provider == provider) else {
        return Ok(true);
    };
    ask(state, identity, DUE, now).await?;
    Ok(true)
}

/// Asks about an identity, unless that was done within the last `since`, in microseconds.
async fn ask(
    state: &ConsoleState,
    identity: &Identity,
    since: i64,
    now: i64,
) -> Result<StillThere, StoreError> {
    let before = now.saturating_sub(since);
    let mut transaction = state.store.read().await?;
    let provider = stored::find(&mut transaction, &identity.provider).await?;
    transaction.rollback().await;
    let Some(provider) = provider.filter(|provider| provider.enabled && !identity.ended) else {
        return Ok(StillThere::Ended);
    };
    // As it is when it is claimed: another request may have got a new refresh token meanwhile.
    let claimed: Result<Option<Identity>, StoreError> = in_transaction!(state.store, transaction => {
        if !identities::claim(transaction, identity, before, now).await? {
            return Ok(None);
        }
        identities::find(transaction, &identity.provider, &identity.subject).await
    });
    let Some(identity) = &claimed? else {
        return answered(state, identity, before).await;
    };
    if identity.refresh_token.is_none() {
        return Ok(StillThere::Unknown);
    }
    let answer = match refresh(state, &provider, identity, now).await {
        Ok(answer) => take(state, &provider, identity, answer, now).await,
        Err(fault) if fault.is_end() => {
            let ended: Result<(), StoreError> = in_transaction!(state.store, transaction => {
                end(transaction, identity, now).await
            });
            return ended.map(|()| StillThere::Ended);
        }
        Err(fault) => {
            (state.reporter.0)(&format!("{}: {fault}", provider.id));
            let again = now.saturating_sub(DUE).saturating_add(LATER);
            let noted: Result<(), StoreError> = in_transaction!(state.store, transaction => {
                identities::set_asked(transaction, identity, again).await
            });
            return noted.map(|()| StillThere::Unknown);
        }
    };
    answer.map_err(|problem| StoreError::Other(problem.detail().to_owned()))
}

/// The answer that another request got, or waits for.
async fn answered(
    state: &ConsoleState,
    identity: &Identity,
    since: i64,
) -> Result<StillThere, StoreError> {
    let mut transaction = state.store.read().await?;
    let found = identities::find(&mut transaction, &identity.provider, &identity.subject).await?;
    transaction.rollback().await;
    Ok(match found {
        Some(found) if !found.ended && found.checked_at > since => StillThere::Yes,
        Some(found) if !found.ended => StillThere::Unknown,
        _ => StillThere::Ended,
    })
}

async fn refresh(
    state: &ConsoleState,
    provider: &StoredProvider,
    identity: &Identity,
    now: i64,
) -> Result<ProviderAnswer, ProviderFault> {
    let keys = keys(state);
    let token = keys.and_then(|keys| secrets::open_refresh_token(&keys, identity));
    let token = token.ok_or_else(|| {
        let why = "its refresh token cannot be opened: its key is not in the file of sealing keys (--sealing-key-file)";
        ProviderFault::Wrong(why.to_owned())
    })?;
    let settings = ProviderSettings::stored(provider);
    let settings = settings.map_err(|problem| ProviderFault::Wrong(problem.detail().to_owned()))?;
    let client = settings::client(state, provider, &settings, None)?;
    let asked = timeout(PATIENCE, client.refresh(&token, &identity.subject, now)).await;
    asked.unwrap_or_else(|_| Err(ProviderFault::Away("no response in 3 seconds".to_owned())))
}

/// Takes an answer over: role, teams and group of keys follow the claims. Whoever is not admitted any more has ended.
async fn take(
    state: &ConsoleState,
    provider: &StoredProvider,
    identity: &Identity,
    answer: ProviderAnswer,
    now: i64,
) -> Result<StillThere, ApiProblem> {
    let settings = ProviderSettings::stored(provider)?;
    // Without an address there is nothing to judge by: the person is there, and stays what the person was.
    let claims = answer.claims.filter(|claims| claims.get("email").is_some());
    in_transaction!(state.store, transaction => {
        if !is_as_before(transaction, provider).await? {
            return Ok(StillThere::Unknown);
        }
        let admitted = match &claims {
            Some(claims) => {
                let vouched = Vouched {
                    provider: &provider.id,
                    settings: &settings,
                    claims,
                    address: "",
                    signs_in: false,
                };
                admission::admit(transaction, &vouched, now).await?
            }
            None => Ok(Identity { checked_at: now, ..identity.clone() }),
        };
        let Ok(mut kept) = admitted else {
            end(transaction, identity, now).await?;
            return Ok(StillThere::Ended);
        };
        keep(state, &mut kept, answer.refresh_token.as_ref())?;
        identities::set(transaction, &kept).await?;
        Ok(StillThere::Yes)
    })
}

/// Ends an identity and its sessions.
async fn end(
    transaction: &mut Transaction,
    identity: &Identity,
    now: i64,
) -> Result<(), StoreError> {
    identities::end(transaction, identity).await?;
    let actor = Actor {
        id: identity.person.clone(),
        address: String::new(),
    };
    let mut entry = actor.entry(now, "session.end", &identity.person);
    entry.after = Some(serde_json::json!({"by": identity.provider}).to_string());
    audit::insert(transaction, &entry).await
}
