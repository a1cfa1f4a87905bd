//! The identities of a person at identity providers.

use serde::Serialize;
use utoipa::ToSchema;

use crate::cases::caller::Caller;
use crate::cases::paging::ItemPage;
use crate::cases::problem::ApiProblem;
use crate::cases::rights;
use crate::cases::state::ConsoleState;
use crate::in_transaction;
use crate::store::{audit, identities, people};
use crate::timestamp::moment;

/// A person, as an identity provider knows the person.
#[derive(Debug, Serialize, ToSchema)]
pub struct IdentityView {
    /// The provider's id.
    pub(crate) provider: String,
    /// The name of the person at the provider, which never changes (`sub`).
    pub(crate) subject: String,
    /// The time of the first sign-in, as RFC 3339.
    pub(crate) created_at: String,
    /// The time at which the provider last vouched for the person, as RFC 3339.
    pub(crate) checked_at: String,
    /// Whether the provider can be asked again whether the person is still there.
    pub(crate) is_asked: bool,
    /// Whether the provider has ended it, until the next sign-in.
    pub(crate) ended: bool,
}

/// The identities of a person, in the order of the providers.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    person: &str,
) -> Result<ItemPage<IdentityView>, ApiProblem> {
    caller.must(rights::SEE_PEOPLE)?;
    if person.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    let mut transaction = state.store.read().await?;
    let known = people::find(&mut transaction, person).await?;
    let all = identities::of_person(&mut transaction, person).await?;
    transaction.rollback().await;
    known.ok_or_else(ApiProblem::not_found)?;
    let items = all.into_iter().map(|identity| IdentityView {
        is_asked: identity.refresh_token.is_some(),
        provider: identity.provider,
        subject: identity.subject,
        created_at: moment(identity.created_at),
        checked_at: moment(identity.checked_at),
        ended: identity.ended,
    });
    Ok(ItemPage {
        items: items.collect(),
        next: None,
    })
}

/// Unlinks a person from an account of an identity provider. Sessions by it end. The next account of the provider with the person's verified
/// address is linked.
pub async fn remove(
    state: &ConsoleState,
    caller: &Caller,
    person: &str,
    provider: &str,
) -> Result<(), ApiProblem> {
    caller.must(rights::CHANGE_PEOPLE)?;
    if person.contains('\0') || provider.contains('\0') {
        return Err(ApiProblem::not_found());
    }
    in_transaction!(state.store, transaction => {
        if !identities::remove(transaction, provider, person).await? {
            return Err(ApiProblem::not_found());
        }
        let mut entry = caller.actor().entry(state.now(), "person.unlink", person);
        entry.before = Some(serde_json::json!({"by": provider}).to_string());
        audit::insert(transaction, &entry).await?;
        Ok(())
    })
}
