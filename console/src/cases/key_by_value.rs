//! The key of a whole value that somebody has found: by its digest. The value is in no address, log or audit.

use core::fmt;

use serde::Deserialize;
use utoipa::ToSchema;

use super::caller::Caller;
use super::keys::{self, KeyView};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::secret;
use crate::store::keys as stored;

/// The longest value that is looked for, in bytes: gateways take none that is longer.
const LONGEST: usize = 256;

/// The value of a key. `Debug` prints nothing of it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyValueBody {
    /// The whole value.
    #[schema(min_length = 1, max_length = 256)]
    pub(crate) value: String,
}

impl fmt::Debug for KeyValueBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyValueBody(..)")
    }
}

/// Finds the key of a whole value, by its digest. The value is kept nowhere. Members find their own.
pub async fn find(
    state: &ConsoleState,
    caller: &Caller,
    asked: &KeyValueBody,
) -> Result<KeyView, ApiProblem> {
    caller.must(rights::SEE_KEYS)?;
    let value = asked.value.trim();
    if value.is_empty() || value.len() > LONGEST {
        return Err(ApiProblem::invalid(
            "value",
            text!("must be 1 to 256 bytes"),
        ));
    }
    let mut transaction = state.store.read().await?;
    let found = stored::find_by_digest(&mut transaction, &secret::digest(value)).await?;
    transaction.rollback().await;
    let key = found.ok_or_else(ApiProblem::not_found)?;
    // Its page, as the caller may see it.
    keys::get(state, caller, &key.id).await
}
