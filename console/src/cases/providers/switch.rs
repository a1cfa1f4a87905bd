//! Passwords, on or off.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::settings::ensure_a_way_in;
use crate::cases::caller::Caller;
use crate::cases::problem::ApiProblem;
use crate::cases::rights;
use crate::cases::state::ConsoleState;
use crate::in_transaction;
use crate::store::identity_providers::{self as stored};
use crate::store::{audit, identities};

/// The ways of signing in.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignInSettings {
    /// Whether people sign in with passwords.
    pub(crate) passwords: bool,
}

/// Whether people sign in with passwords.
pub async fn get(state: &ConsoleState, caller: &Caller) -> Result<SignInSettings, ApiProblem> {
    caller.must(rights::SEE_SIGN_IN)?;
    let mut transaction = state.store.read().await?;
    let passwords = stored::passwords_allowed(&mut transaction).await?;
    transaction.rollback().await;
    Ok(SignInSettings { passwords })
}

/// Turns passwords on or off. Off only by an admin who has signed in by a provider: nobody is locked out by it. Links go on working.
pub async fn set(
    state: &ConsoleState,
    caller: &Caller,
    wanted: SignInSettings,
) -> Result<SignInSettings, ApiProblem> {
    caller.must(rights::CHANGE_SIGN_IN)?;
    in_transaction!(state.store, transaction => {
        stored::lock(transaction).await?;
        if !wanted.passwords {
            let own = identities::of_person(transaction, &caller.id).await?;
            let mut by_provider = false;
            for identity in own.iter().filter(|identity| !identity.ended) {
                let provider = stored::find(transaction, &identity.provider).await?;
                by_provider |= provider.is_some_and(|provider| provider.enabled);
            }
            if !by_provider {
                return Err(ApiProblem::conflict(
                    text!("sign in by an identity provider first: only an admin who can is allowed to turn passwords off"),
                ));
            }
        }
        let before = stored::passwords_allowed(transaction).await?;
        stored::allow_passwords(transaction, wanted.passwords).await?;
        ensure_a_way_in(transaction).await?;
        let mut entry = caller.actor().entry(state.now(), "sign_in.change", "passwords");
        entry.before = Some(serde_json::json!({"passwords": before}).to_string());
        entry.after = Some(serde_json::json!({"passwords": wanted.passwords}).to_string());
        audit::insert(transaction, &entry).await?;
        Ok(wanted)
    })
}
