//! The teams that one is in, and what each lets one do.

use serde::Serialize;
use utoipa::ToSchema;

use crate::allowance::KeyAllowance;
use crate::cases::caller::Caller;
use crate::cases::paging::{ItemPage, PageParams};
use crate::cases::problem::ApiProblem;
use crate::cases::rights;
use crate::cases::state::ConsoleState;
use crate::cases::teams::TeamView;
use crate::store::{keys, memberships};
use crate::timestamp::moment;

/// A team that one is in.
#[derive(Debug, Serialize, ToSchema)]
pub struct OwnTeamView {
    /// The id of the team.
    pub(crate) id: String,
    /// The name of the team.
    pub(crate) name: String,
    /// Whether one sees what the whole team uses.
    pub(crate) manager: bool,
    /// The keys that the member may create without an admin; missing: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allowance: Option<KeyAllowance>,
    /// The number of the caller's own keys of this team that have not expired.
    pub(crate) keys: i64,
}

/// The teams that one is in, in the order of their ids.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    page: PageParams,
) -> Result<ItemPage<OwnTeamView>, ApiProblem> {
    caller.must(rights::SEE_OWN_KEYS)?;
    let limit = page.limit()?;
    let after: String = page.after()?.unwrap_or_default();
    let now = moment(state.now());
    let mut transaction = state.store.read().await?;
    let mut counted = Vec::new();
    for of in memberships::of_person(&mut transaction, &caller.id, &after, limit.to_fetch()).await?
    {
        let keys = keys::count_of(&mut transaction, &of.team.id, &caller.id, &now).await?;
        counted.push((of, keys));
    }
    transaction.rollback().await;
    let page = limit.page(
        counted,
        |(of, _)| of.team.id.clone(),
        |(of, keys)| {
            let team = TeamView::from(of.team);
            OwnTeamView {
                id: team.id,
                name: team.name,
                manager: of.manager,
                allowance: team.allowance,
                keys,
            }
        },
    );
    Ok(page)
}
