//! Usage as a file for spreadsheets.

use axum::extract::RawQuery;
use axum::response::IntoResponse as _;

use super::asked::Asked;
use crate::cases::{usage, usage_file};
use crate::pages::{PageResult, Visit};
use crate::timestamp::moment;

/// All rows.
pub async fn table(Visit { state, signed_in }: Visit, RawQuery(query): RawQuery) -> PageResult {
    let asked = Asked::parse(&query.unwrap_or_default(), &moment(state.now()));
    let rows = usage::all(&state, &signed_in.caller, &asked.params, usage_file::MOST).await?;
    let rows = rows.ok_or_else(usage_file::too_many)?;
    let name = format!("usage{}", asked.period.file_part());
    Ok(usage_file::usage_file(&name, &asked.by, &rows)?.into_response())
}
