//! One search of all that has an id or a name.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::key_models;
use super::keys::{self, KeyListParams, KeyView};
use super::one_request::sees;
use super::paging::PageParams;
use super::problem::ApiProblem;
use super::requests::{RequestView, view, without_cost};
use super::rights;
use super::state::ConsoleState;
use crate::secret;
use crate::store::requests::RequestPlace;
use crate::store::{name_search, request_ids, requests};

/// The most finds of each kind.
pub const MOST: u16 = 20;
/// The longest text, in bytes.
const LONGEST: usize = 256;

/// The text of a search.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SearchParams {
    /// The id of a request (the console's, Envoy's or the vendor's) or of a session, or a part of the id or name of a key, a person, a team, a group or a model; of
    /// keys also of the owner or the last characters.
    #[param(min_length = 1, max_length = 256)]
    pub(crate) text: String,
}

/// A person or a team.
#[derive(Debug, Serialize, ToSchema)]
pub struct FoundNameView {
    /// The id.
    pub(crate) id: String,
    /// The name.
    pub(crate) name: String,
}

/// A model of a group in force.
#[derive(Debug, Serialize, ToSchema)]
pub struct FoundModelView {
    /// The id of the model.
    pub(crate) id: String,
    /// The id of the group.
    pub(crate) group: String,
}

/// The finds, by kind: 20 of each at most.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct SearchView {
    /// The requests with this id or of this session, the latest first.
    pub(crate) requests: Vec<RequestView>,
    /// Whether the session has more requests.
    pub(crate) has_more_requests: bool,
    /// Keys.
    pub(crate) keys: Vec<KeyView>,
    /// Whether there may be more keys.
    pub(crate) has_more_keys: bool,
    /// People.
    pub(crate) people: Vec<FoundNameView>,
    /// Teams.
    pub(crate) teams: Vec<FoundNameView>,
    /// The ids of groups in force.
    pub(crate) groups: Vec<String>,
    /// Models of groups in force.
    pub(crate) models: Vec<FoundModelView>,
}

/// Searches requests, keys, people, teams, groups and models. Members find their own requests and keys.
pub async fn find(
    state: &ConsoleState,
    caller: &Caller,
    asked: &SearchParams,
) -> Result<SearchView, ApiProblem> {
    caller.must(rights::SEE_REQUESTS)?;
    let text = asked.text.trim();
    if text.is_empty() || text.len() > LONGEST || text.contains('\0') {
        return Err(ApiProblem::bad(text!(
            "text must be 1 to 256 bytes, none of them zero"
        )));
    }
    if secret::is_whole(text) {
        let detail = "a whole key does not belong into an address: POST /api/v1/keys/find";
        return Err(ApiProblem::bad(detail));
    }
    let most = usize::from(MOST);
    let mut found = SearchView {
        requests: of_requests(state, caller, text).await?,
        ..SearchView::default()
    };
    found.has_more_requests = found.requests.len() > most;
    found.requests.truncate(most);
    if caller.may(rights::SEE_KEYS) {
        let asked = KeyListParams {
            search: Some(text.to_owned()),
            ..KeyListParams::default()
        };
        let keys = keys::list(state, caller, asked, PageParams::first(MOST)).await?;
        found.has_more_keys = keys.next.is_some();
        found.keys = keys.items;
    }
    let mut transaction = state.store.read().await?;
    let name = |(id, name)| FoundNameView { id, name };
    if caller.may(rights::SEE_PEOPLE) {
        let people = name_search::people(&mut transaction, text, most).await?;
        found.people = people.into_iter().map(name).collect();
    }
    if caller.may(rights::SEE_TEAMS) {
        let teams = name_search::teams(&mut transaction, text, most).await?;
        found.teams = teams.into_iter().map(name).collect();
    }
    if caller.may(rights::SEE_DOCUMENTS) {
        let has = |id: &str| id.to_ascii_lowercase().contains(&text.to_ascii_lowercase());
        for group in key_models::in_force(&mut transaction).await? {
            let id = group.id.clone().unwrap_or_default();
            let models = group.models.iter().flatten();
            let models = models.filter_map(|model| model.id.as_deref());
            let models = models
                .filter(|model| has(model))
                .map(|model| FoundModelView {
                    id: model.to_owned(),
                    group: id.clone(),
                });
            found.models.extend(models);
            if has(&id) {
                found.groups.push(id);
            }
        }
        found.models.truncate(most);
        found.groups.truncate(most);
    }
    transaction.rollback().await;
    Ok(found)
}

/// The requests with an id or of a session, one more than are shown.
async fn of_requests(
    state: &ConsoleState,
    caller: &Caller,
    id: &str,
) -> Result<Vec<RequestView>, ApiProblem> {
    let mut transaction = state.store.read().await?;
    let mut found =
        request_ids::find(&mut transaction, id, usize::from(MOST).saturating_add(1)).await?;
    if let Some(place) = RequestPlace::parse(id) {
        found.extend(requests::at(&mut transaction, &place).await?);
    }
    transaction.rollback().await;
    found.retain(|found| sees(caller, found));
    let is_payer = caller.only_owner().is_some();
    let shown = |line| view(if is_payer { without_cost(line) } else { line });
    Ok(found.into_iter().map(shown).collect())
}
