//! The open sessions of a person on the pages.

use serde::Serialize;
use utoipa::ToSchema;

use super::caller::Caller;
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::sessions::IDLE;
use crate::store::people;
use crate::store::sessions::{self, OpenSession};
use crate::timestamp::moment;

/// An open session.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionView {
    /// The time of the sign-in, as RFC 3339.
    pub(crate) created_at: String,
    /// The time of the last use, to the minute.
    pub(crate) used_at: String,
    /// The time at which it ends at the latest.
    pub(crate) expires_at: String,
}

/// Open sessions of a person, the latest first.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    person: &str,
    page: PageParams,
) -> Result<ItemPage<SessionView>, ApiProblem> {
    caller.must(rights::SEE_PEOPLE)?;
    let limit = page.limit()?;
    let before: Option<(i64, String)> = page.after()?;
    if person.contains('\0')
        || before
            .as_ref()
            .is_some_and(|(_, digest)| digest.contains('\0'))
    {
        return Err(ApiProblem::not_found());
    }
    let now = state.now();
    let open_at = (now, now.saturating_sub(IDLE));
    let mut transaction = state.store.read().await?;
    if people::find(&mut transaction, person).await?.is_none() {
        return Err(ApiProblem::not_found());
    }
    let open =
        sessions::of_person(&mut transaction, person, open_at, before, limit.to_fetch()).await?;
    transaction.rollback().await;
    let place = |open: &OpenSession| (open.created_at, open.digest.clone());
    Ok(limit.page(open, place, |open| SessionView {
        created_at: moment(open.created_at),
        used_at: moment(open.used_at),
        expires_at: moment(open.expires_at),
    }))
}
