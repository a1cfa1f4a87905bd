//! The teams that a person manages.

use super::state::ConsoleState;
use crate::store::people::Person;
use crate::store::{StoreError, memberships};

/// Returns their ids.
///
/// # Errors
/// Those of the database.
pub async fn of(state: &ConsoleState, person: &Person) -> Result<Vec<String>, StoreError> {
    if !memberships::may_manage(person) {
        return Ok(Vec::new());
    }
    let mut transaction = state.store.read().await?;
    let managed = memberships::managed_by(&mut transaction, person).await;
    transaction.rollback().await;
    managed
}
