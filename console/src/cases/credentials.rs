//! Credentials of upstream accounts. None is ever shown; agents alone get them.

use core::fmt;

use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::caller::Caller;
use super::paging::ItemPage;
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use super::{documents, drafts};
use crate::account_credentials::{self, CredentialError, GivenCredential, NewCredential};
use crate::credentials::{
    CredentialDestination, SealingKeyFile, SealingKeys, ValueFault, check_value, is_name,
};
use crate::envoys::fingerprint;
use crate::in_transaction;
use crate::store::credentials::{self, StoredCredential};
use crate::store::{audit, envoys};
use crate::timestamp::moment;

/// A credential, of which everything is shown but itself.
#[derive(Debug, Serialize, ToSchema)]
pub struct CredentialView {
    /// The name of the credential, as accounts name it.
    pub(crate) name: String,
    /// The only destination that the credential may be sent to.
    pub(crate) destination: DestinationView,
    /// `in_use`: a document has sent it there. `new`: none has yet. `unreadable`: the key that sealed it is not in the file of
    /// keys; give it again.
    pub(crate) state: &'static str,
    /// Since when.
    pub(crate) set_at: String,
    /// The id of the person who set the credential.
    pub(crate) set_by: String,
}

/// A destination that a credential may be sent to: the origin of an account's URL, its proxy and its CA.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DestinationView {
    /// An account's URL. Its path does not matter.
    #[schema(max_length = 1024)]
    pub(crate) url: String,
    /// The HTTP proxy on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1024)]
    pub(crate) proxy: Option<String>,
    /// The file of authorities that the account's certificate must come from; none for the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1024)]
    pub(crate) ca: Option<String>,
}

/// A credential to be kept.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCredentialBody {
    /// Itself: one line of visible ASCII.
    #[schema(min_length = 1, max_length = 8192)]
    pub(crate) value: String,
    /// The destinations that it may be sent to; by default those that the document in force sends it to.
    #[schema(min_items = 1, max_items = 64)]
    pub(crate) destinations: Option<Vec<DestinationView>>,
}

/// A credential, for an agent.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct CredentialForAgent {
    /// The name of the credential, as accounts name it.
    pub name: String,
    /// The name of its destination.
    pub destination: String,
    /// Itself; missing where the key that sealed it is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

impl fmt::Debug for CredentialForAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CredentialForAgent")
            .field(&self.name)
            .finish()
    }
}

/// The credentials of the accounts in force.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CredentialsForAgent {
    /// Each with its destination.
    pub items: Vec<CredentialForAgent>,
}

fn view(one: StoredCredential, keys: Option<&SealingKeys>) -> CredentialView {
    let opened = keys.and_then(|keys| keys.open(one.bound_to(), &one.value));
    let CredentialDestination { url, proxy, ca } = one.destination;
    CredentialView {
        name: one.name,
        destination: DestinationView { url, proxy, ca },
        state: match (opened.is_some(), one.in_use) {
            (false, _) => "unreadable",
            (true, true) => "in_use",
            (true, false) => "new",
        },
        set_at: moment(one.set_at),
        set_by: one.set_by,
    }
}

/// The keys of this console, if its file can be read. Why not is told to whoever runs it.
pub(super) fn keys(state: &ConsoleState) -> Option<SealingKeys> {
    let read = state.sealing_keys.as_ref().map(SealingKeyFile::read)?;
    match read {
        Ok(keys) => Some(keys),
        Err(why) => {
            (state.reporter.0)(&why);
            None
        }
    }
}

/// Makes the error for a new credential or webhook if the console has no sealing key.
pub(super) fn no_sealing_key() -> ApiProblem {
    let detail = text!(
        "this console has no key to seal with: --sealing-key-file names one, and its log says what is wrong with it"
    );
    ApiProblem::new(StatusCode::CONFLICT, "/problems/no-sealing-key", detail)
}

/// All credentials in the order of their names, without themselves.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
) -> Result<ItemPage<CredentialView>, ApiProblem> {
    caller.must(rights::SEE_CREDENTIALS)?;
    let mut transaction = state.store.read().await?;
    let all = credentials::all(&mut transaction).await?;
    transaction.rollback().await;
    let keys = if all.is_empty() { None } else { keys(state) };
    let items = all.into_iter().map(|one| view(one, keys.as_ref()));
    Ok(ItemPage {
        items: items.collect(),
        next: None,
    })
}

/// Checks the name of a credential, and itself. Returns what is kept of it.
///
/// # Errors
/// One of them is none.
pub(crate) fn check<'a>(name: &str, value: &'a str) -> Result<&'a [u8], ApiProblem> {
    if !is_name(name) {
        let reason = text!(
            "must be 1 to 128 letters, digits or any of - _ . and begin with none of the latter"
        );
        return Err(ApiProblem::invalid("name", reason));
    }
    check_value(value.as_bytes()).map_err(|fault| {
        let reason = match fault {
            ValueFault::Empty => text!("is empty"),
            ValueFault::Invalid(reason) => reason,
        };
        ApiProblem::invalid("value", reason)
    })
}

/// Keeps a credential, in the place of what had its name. It is never shown again.
pub async fn put(
    state: &ConsoleState,
    caller: &Caller,
    name: &str,
    body: NewCredentialBody,
) -> Result<ItemPage<CredentialView>, ApiProblem> {
    caller.must(rights::CHANGE_CREDENTIALS)?;
    let value = Zeroizing::new(body.value);
    let value = check(name, &value)?;
    let destinations = body.destinations.map(|all| {
        let all = all.into_iter().enumerate().map(|(i, view)| {
            let DestinationView { url, proxy, ca } = view;
            let destination = CredentialDestination { url, proxy, ca };
            destination.normal().map_err(|(member, reason)| {
                ApiProblem::invalid(&format!("destinations[{i}].{member}"), reason)
            })
        });
        all.collect::<Result<_, _>>()
    });
    let new = NewCredential {
        name: name.to_owned(),
        value: Zeroizing::new(value.to_vec()),
        destinations: destinations.transpose()?,
    };
    let keys = keys(state).ok_or_else(no_sealing_key)?;
    let (now, actor) = (state.now(), caller.actor());
    let all = in_transaction!(state.store, transaction => {
        account_credentials::put(transaction, &new, &keys, &actor, now).await.map_err(ApiProblem::from)
    })?;
    let items = all.into_iter().map(|one| view(one, Some(&keys)));
    Ok(ItemPage {
        items: items.collect(),
        next: None,
    })
}

/// Lists the destinations that a credential is to be kept for: those that the document in force sends it to, and those of a draft.
///
/// # Errors
/// The role may not change credentials; there is no such draft; those of the database.
pub(crate) async fn destinations(
    state: &ConsoleState,
    caller: &Caller,
    name: &str,
    draft: Option<&str>,
) -> Result<Vec<DestinationView>, ApiProblem> {
    caller.must(rights::CHANGE_CREDENTIALS)?;
    let current = documents::in_force(state, caller).await?;
    let sent =
        current.and_then(|current| CredentialDestination::of_document(current.served.as_bytes()));
    let mut all = sent
        .and_then(|mut sent| sent.remove(name))
        .unwrap_or_default();
    if let Some(draft) = draft {
        let draft = drafts::read(state, caller, draft).await?;
        let document = serde_json::from_str(&draft.body).unwrap_or_default();
        all.extend(CredentialDestination::written(&document, name));
    }
    let all = all.into_iter();
    let views =
        all.map(|CredentialDestination { url, proxy, ca }| DestinationView { url, proxy, ca });
    Ok(views.collect())
}

/// Removes a credential. Its accounts serve nothing from then on, as soon as the agents know.
pub async fn remove(state: &ConsoleState, caller: &Caller, name: &str) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_CREDENTIALS)?;
    if !is_name(name) {
        return Err(ApiProblem::not_found());
    }
    let (now, actor) = (state.now(), caller.actor());
    let removed = in_transaction!(state.store, transaction => {
        account_credentials::remove(transaction, name, &actor, now).await
    })?;
    removed.then_some(()).ok_or_else(ApiProblem::not_found)
}

/// Lets an agent read credentials that was approved on the console's machine. Its first reading is noted in the audit.
async fn admit(state: &ConsoleState, caller: &Caller) -> Result<(), ApiProblem> {
    let mut transaction = state.store.read().await?;
    let access = envoys::access(&mut transaction, &caller.id, &caller.token).await?;
    transaction.rollback().await;
    let fingerprint = access.as_ref().map(|access| fingerprint(&access.digest));
    let Some(access) = access.filter(|access| access.approved) else {
        let detail = format!(
            "this agent waits for its approval: on the console's machine, trilane console approve {}",
            fingerprint.unwrap_or_default()
        );
        return Err(ApiProblem::new(
            StatusCode::CONFLICT,
            "/problems/not-approved",
            detail.trim_end(),
        ));
    };
    if access.has_read {
        return Ok(());
    }
    let (now, actor) = (state.now(), caller.actor());
    in_transaction!(state.store, transaction => {
        if envoys::note_read(transaction, &caller.id, &access.digest).await? {
            let mut entry = actor.entry(now, "credentials.read", &caller.id);
            entry.after.clone_from(&fingerprint);
            audit::insert(transaction, &entry).await?;
        }
        Ok::<_, ApiProblem>(())
    })
}

/// The credentials of the accounts in force, for an agent alone that was approved on the console's machine.
pub async fn for_agents(
    state: &ConsoleState,
    caller: &Caller,
    known: impl Fn(&str) -> bool,
) -> Result<(String, Option<CredentialsForAgent>), ApiProblem> {
    caller.must(rights::TAKE_CREDENTIALS)?;
    admit(state, caller).await?;
    // Asked for twice a second: why a file cannot be read is told elsewhere.
    let keys = state
        .sealing_keys
        .as_ref()
        .and_then(|file| file.read().ok());
    let mut transaction = state.store.read().await?;
    let given = account_credentials::for_agents(&mut transaction, keys.as_ref(), known).await?;
    transaction.rollback().await;
    let all = given.all.map(|all| CredentialsForAgent {
        items: all.into_iter().map(for_agent).collect(),
    });
    Ok((given.etag, all))
}

fn for_agent(given: GivenCredential) -> CredentialForAgent {
    let value = given.value.and_then(|value| {
        let text = core::str::from_utf8(&value).ok()?;
        Some(text.to_owned())
    });
    CredentialForAgent {
        name: given.name,
        destination: given.destination.label(),
        value,
    }
}

impl From<CredentialError> for ApiProblem {
    fn from(error: CredentialError) -> Self {
        match error {
            error @ CredentialError::NoDestination => {
                Self::invalid("destinations", error.to_string())
            }
            CredentialError::Store(error) => error.into(),
            error => Self::internal(error.to_string()),
        }
    }
}
