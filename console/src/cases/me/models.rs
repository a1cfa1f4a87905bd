//! The models that one's own keys may use.

use crate::cases::caller::Caller;
use crate::cases::priced_models::{self, PricedModels};
use crate::cases::problem::ApiProblem;
use crate::cases::rights;
use crate::cases::state::ConsoleState;
use crate::store::own_terms;
use crate::timestamp::moment;

/// The models that one's own keys may use now, with their prices after the multiplier, and their health.
pub async fn list(state: &ConsoleState, caller: &Caller) -> Result<PricedModels, ApiProblem> {
    caller.must(rights::SEE_OWN_KEYS)?;
    let now = state.now();
    let mut transaction = state.store.read().await?;
    let terms = own_terms::of(&mut transaction, &caller.id, &moment(now)).await?;
    let models = priced_models::read(&mut transaction, &terms, now).await?;
    transaction.rollback().await;
    Ok(models)
}
