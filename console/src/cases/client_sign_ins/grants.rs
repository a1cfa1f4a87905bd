//! Clients that wait to be let in: they ask, and a person who is signed in decides.

use http::StatusCode;

use super::terms::{self, SignInChoice};
use super::{SECOND, api_tokens, user_code};
use crate::cases::caller::Caller;
use crate::cases::problem::ApiProblem;
use crate::cases::rights;
use crate::cases::state::ConsoleState;
use crate::secret::NewSecret;
use crate::store::device_grants::{self, DeviceGrant};
use crate::store::{StoreError, Transaction, audit, people};
use crate::timestamp::moment;
use crate::{client_address, in_transaction, throttle};

/// The time that a client waits at most, in seconds.
pub const LIFETIME: i64 = 600;
/// The seconds between two polls of a client.
pub const INTERVAL: i64 = 5;
/// The clients that may wait at once.
const MOST: i64 = 10_000;
/// The clients of one address within an hour, from which on each further one has to wait. Behind an address there may be many people.
const OF_ADDRESS: i64 = 300;
/// The unknown codes that a person types within an hour, from which on each further one has to wait.
const UNKNOWN: i64 = 30;
/// The name of a client that gives none: Claude Code.
const NAMELESS: &str = "claude-code";

/// A client that asks to be let in, as it describes itself.
#[derive(Debug, Clone, Copy)]
pub struct AskingClient<'a> {
    /// Its `client_id`, if it has one.
    pub client: Option<&'a str>,
    /// The name of its machine, if it says so.
    pub device: &'a str,
    /// The scopes of the token of the API that it asks for, with blanks between; `None`: it asks for a key.
    pub scope: Option<&'a str>,
    /// The address that it asks from.
    pub address: &'a str,
}

/// The codes of a client that waits.
#[derive(Debug)]
pub struct GrantCodes {
    /// The code with which the client polls.
    pub device_code: NewSecret,
    /// The code that its person compares.
    pub user_code: String,
}

/// The reason that a client may not wait.
#[derive(Debug)]
pub enum GrantRefusal {
    /// Its name is none.
    Name,
    /// A scope is not one that is given to who signs in.
    Scope,
    /// Too many ask, of its address or altogether.
    TooMany,
    /// The database, or the system's randomness.
    Other(String),
}

impl From<StoreError> for GrantRefusal {
    fn from(error: StoreError) -> Self {
        Self::Other(error.to_string())
    }
}

/// A client that waits, as its person sees it.
#[derive(Debug)]
pub struct WaitingClient {
    /// The code, as people read it.
    pub user_code: String,
    /// The name of the client.
    pub client: String,
    /// The name of the machine, as the client says it; empty: it says none.
    pub device: String,
    /// The address that it asks from.
    pub address: String,
    /// The time at which it asked, as RFC 3339.
    pub asked_at: String,
    /// The teams and groups that its key may be of.
    pub choices: Vec<SignInChoice>,
    /// The scopes of the token of the API that it asks for, in words; `None`: it asks for a key.
    pub scopes: Option<Vec<(String, &'static str)>>,
}

/// The decision on a client that waits.
#[derive(Debug, Clone, Copy)]
pub enum GrantDecision<'a> {
    /// It gets a key of this team, if it is of one, and group.
    Key(Option<&'a str>, &'a str),
    /// It gets the token of the API that it asks for.
    Token,
    /// It is refused.
    Deny,
}

fn is_client_name(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=32).contains(&text.len()) && text.bytes().all(is_sign)
}

/// The name of a machine, without what has no place on a page.
fn device_name(text: &str) -> String {
    let shown = text.chars().filter(|sign| !sign.is_control());
    shown.take(64).collect()
}

/// Lets a client wait.
///
/// # Errors
/// The reason that it may not.
pub async fn begin(
    state: &ConsoleState,
    asking: AskingClient<'_>,
) -> Result<GrantCodes, GrantRefusal> {
    let client = asking.client.unwrap_or(NAMELESS);
    if !is_client_name(client) {
        return Err(GrantRefusal::Name);
    }
    let scopes = asking.scope.map(api_tokens::scopes).transpose()?;
    let device_code = NewSecret::device_code().map_err(GrantRefusal::Other)?;
    let code = user_code::draw().map_err(GrantRefusal::Other)?;
    let now = state.now();
    let grant = DeviceGrant {
        digest: device_code.digest(),
        user_code: code.clone(),
        client: client.to_owned(),
        device: device_name(asking.device),
        address: asking.address.to_owned(),
        poll_seconds: INTERVAL,
        polled_at: 0,
        state: "pending".to_owned(),
        person_id: None,
        team: None,
        group_id: None,
        scopes,
        created_at: now,
        expires_at: now.saturating_add(LIFETIME.saturating_mul(SECOND)),
    };
    let subject = format!("client of {}", client_address::counted(asking.address));
    let counts = state.tells_addresses_apart();
    let begun: Result<bool, StoreError> = in_transaction!(state.store, transaction => {
        if counts && !throttle::count(transaction, &subject, OF_ADDRESS, now).await? {
            return Ok(false);
        }
        if device_grants::count(transaction, now).await? >= MOST {
            return Ok(false);
        }
        device_grants::insert(transaction, &grant).await?;
        Ok(true)
    });
    if !begun? {
        return Err(GrantRefusal::TooMany);
    }
    Ok(GrantCodes {
        device_code,
        user_code: user_code::shown(&code),
    })
}

/// The answer to a code that nobody waits with.
fn unknown() -> ApiProblem {
    let reason = text!(
        "is not one that a client waits with: compare it with the one in your terminal, or begin there again"
    );
    ApiProblem::invalid("user_code", reason)
}

/// Counts a code that nobody waits with, so that nobody tries them all.
async fn note_unknown(state: &ConsoleState, caller: &Caller) -> Result<ApiProblem, ApiProblem> {
    let subject = format!("codes of {}", crate::secret::digest(&caller.id));
    let now = state.now();
    let may_be_tried = in_transaction!(state.store, transaction => {
        throttle::count(transaction, &subject, UNKNOWN, now).await
    })?;
    if may_be_tried {
        return Ok(unknown());
    }
    Ok(ApiProblem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "/problems/too-many-requests",
        text!("too many codes were unknown: wait a while"),
    ))
}

async fn waiting(
    transaction: &mut Transaction,
    typed: &str,
    now: i64,
) -> Result<Option<crate::store::LockedRow<DeviceGrant>>, ApiProblem> {
    let Some(code) = user_code::parse(typed) else {
        return Ok(None);
    };
    let grant = device_grants::find_by_user_code(transaction, &code).await?;
    Ok(grant.filter(|grant| grant.state == "pending" && grant.expires_at > now))
}

/// The client that waits with this code, and what its key may be of.
///
/// # Errors
/// Nobody waits with it.
pub async fn look(
    state: &ConsoleState,
    caller: &Caller,
    typed: &str,
) -> Result<WaitingClient, ApiProblem> {
    caller.must(rights::CHANGE_TOKENS)?;
    let now = state.now();
    let found: Result<Option<WaitingClient>, ApiProblem> = in_transaction!(state.store, transaction => {
        let Some(grant) = waiting(transaction, typed, now).await? else {
            return Ok(None);
        };
        let choices = match &grant.scopes {
            None => terms::choices(transaction, &caller.id).await?,
            Some(_) => Vec::new(),
        };
        let grant = grant.into_inner();
        Ok(Some(WaitingClient {
            scopes: grant.scopes.as_deref().map(api_tokens::in_words),
            user_code: user_code::shown(&grant.user_code),
            client: grant.client,
            device: grant.device,
            address: grant.address,
            asked_at: moment(grant.created_at),
            choices,
        }))
    });
    match found? {
        Some(found) => Ok(found),
        None => Err(note_unknown(state, caller).await?),
    }
}

/// Lets a client in, or refuses it.
///
/// # Errors
/// Nobody waits with the code, or the team does not let one have a key of the group.
pub async fn decide(
    state: &ConsoleState,
    caller: &Caller,
    typed: &str,
    decision: GrantDecision<'_>,
) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_TOKENS)?;
    let now = state.now();
    let decided: Result<bool, ApiProblem> = in_transaction!(state.store, transaction => {
        // The person first, as whoever disables a person does.
        let person = people::find_locked(transaction, &caller.id).await?;
        if person.is_none_or(|person| person.disabled) {
            return Err(ApiProblem::unauthorized());
        }
        let Some(grant) = waiting(transaction, typed, now).await? else {
            return Ok(false);
        };
        let action = match (decision, &grant.scopes) {
            (GrantDecision::Key(team, group), None) => {
                caller.must(rights::CHANGE_OWN_KEYS)?;
                terms::of(transaction, &caller.id, team, group, now).await?;
                device_grants::approve(transaction, &grant, &caller.id, team, Some(group)).await?;
                "client.approve"
            }
            (GrantDecision::Token, Some(_)) => {
                device_grants::approve(transaction, &grant, &caller.id, None, None).await?;
                "client.approve"
            }
            (GrantDecision::Deny, _) => {
                device_grants::deny(transaction, &grant).await?;
                "client.deny"
            }
            (GrantDecision::Key(..) | GrantDecision::Token, _) => {
                return Err(ApiProblem::invalid("choice", text!("is not what the client asks for")));
            }
        };
        let mut entry = caller.actor().entry(now, action, &grant.client);
        let mut asking = serde_json::json!({"address": grant.address, "device": grant.device});
        if let (Some(scopes), Some(members)) = (&grant.scopes, asking.as_object_mut()) {
            members.insert("scopes".to_owned(), scopes.as_str().into());
        }
        entry.after = Some(asking.to_string());
        audit::insert(transaction, &entry).await?;
        Ok(true)
    });
    if decided? {
        return Ok(());
    }
    Err(note_unknown(state, caller).await?)
}
