//! The part of a page that waits for the first request of a key.

use askama::Template;
use axum::extract::Path;

use crate::cases::paging::PageParams;
use crate::cases::requests::{self, RequestParams};
use crate::cases::{Caller, ConsoleState, keys, rights};
use crate::pages::requests::RequestRow;
use crate::pages::text::in_path;
use crate::pages::{PageProblem, PageResult, Visit, live};

#[derive(Template)]
#[template(path = "key_waits.html")]
struct WaitingPart {
    request: Option<RequestRow>,
}

/// The path of its stream.
pub fn path(key: &str) -> String {
    format!("/live/keys/{}", in_path(key))
}

/// The part: the latest request of a key, or that none has arrived.
///
/// # Errors
/// There is no such key, or it is not seen; those of the database.
pub async fn part(state: &ConsoleState, caller: &Caller, id: &str) -> Result<String, PageProblem> {
    let key = keys::get(state, caller, id).await?;
    // A manager sees them as those of the team.
    let team = key.team.filter(|team| caller.manages(Some(team)));
    let asked = RequestParams {
        team,
        key: Some(id.to_owned()),
        owner: key.owner,
        ..RequestParams::default()
    };
    let latest = requests::list(state, caller, asked, PageParams::first(1)).await?;
    let rows = RequestRow::all(state, caller, &latest.items).await?;
    let request = rows.into_iter().next();
    Ok(WaitingPart { request }.render()?)
}

/// The part, again whenever it is another one.
pub async fn live(Visit { state, signed_in }: Visit, Path(id): Path<String>) -> PageResult {
    signed_in.caller.must(rights::SEE_REQUESTS)?;
    keys::get(&state, &signed_in.caller, &id).await?;
    let (of, who) = (state.clone(), signed_in.caller.clone());
    live::events(&state, signed_in, move || {
        let (state, caller, id) = (of.clone(), who.clone(), id.clone());
        async move { part(&state, &caller, &id).await }
    })
}
