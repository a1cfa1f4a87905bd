//! Usage: sums by what one wants to know, as a table, as charts, and as a file.

mod asked;
pub(super) mod charts;
mod csv;
mod show;

use axum::Json;
use axum::extract::State;

pub use csv::table;
pub use show::show;

use super::PageProblem;
use crate::api::paging::PageParams;
use crate::api::parts::Params;
use crate::api::usage::{self, UsageParams, UsageView};
use crate::api::{Caller, ConsoleState};

/// The rows that the API gives at once.
const AT_ONCE: u16 = 500;

/// All sums, or `None` if there are more than `most`.
async fn all(
    state: &ConsoleState,
    caller: &Caller,
    asked: &UsageParams,
    most: usize,
) -> Result<Option<Vec<UsageView>>, PageProblem> {
    let mut rows = Vec::new();
    let mut cursor = None;
    loop {
        let place = PageParams {
            cursor,
            limit: Some(AT_ONCE),
        };
        let (state, caller) = (State(state.clone()), caller.clone());
        let Json(found) = usage::list(state, caller, Params(asked.clone()), Params(place)).await?;
        rows.extend(found.items);
        if rows.len() > most {
            return Ok(None);
        }
        cursor = found.next;
        if cursor.is_none() {
            return Ok(Some(rows));
        }
    }
}
