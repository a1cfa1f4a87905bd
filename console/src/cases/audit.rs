//! The audit log: each change and its author.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::fields::microseconds;
use super::paging::{ItemPage, PageParams};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::store::audit::{self, AuditEntry, AuditFilter};
use crate::store::{StoreError, Transaction};
use crate::timestamp::moment;

/// A change.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditView {
    /// The time of the change, as RFC 3339.
    pub(crate) at: String,
    /// The id of the person who made the change; `command` for the command itself, `stranger` for a failed sign-in.
    pub(crate) actor: String,
    /// From which address.
    pub(crate) address: String,
    /// The action, such as `key.create`.
    pub(crate) action: String,
    /// To what.
    pub(crate) object: String,
    /// The object before the change, if it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<Value>,
    /// The object after the change, if it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<Value>,
}

fn view((_, entry): (i64, AuditEntry)) -> AuditView {
    let json = |text: Option<String>| text.and_then(|text| serde_json::from_str(&text).ok());
    AuditView {
        at: moment(entry.at),
        actor: entry.actor,
        address: entry.address,
        action: entry.action,
        object: entry.object,
        before: json(entry.before),
        after: json(entry.after),
    }
}

/// The filters of the audit log.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub struct AuditParams {
    /// By this person only.
    pub(crate) actor: Option<String>,
    /// Of this kind only: `key.create`, or `key.` for all that begin so.
    pub(crate) action: Option<String>,
    /// To this object only.
    pub(crate) object: Option<String>,
    /// From this moment on, as RFC 3339.
    pub(crate) since: Option<String>,
    /// Before this moment.
    pub(crate) until: Option<String>,
}

/// Changes, the latest first.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    asked: AuditParams,
    page: PageParams,
) -> Result<ItemPage<AuditView>, ApiProblem> {
    caller.must(rights::SEE_AUDIT)?;
    let limit = page.limit()?;
    let before: i64 = page.after()?.unwrap_or(i64::MAX);
    let texts = [&asked.actor, &asked.action, &asked.object];
    if texts.into_iter().flatten().any(|text| text.contains('\0')) {
        return Err(ApiProblem::bad("no name has a zero byte"));
    }
    let filter = AuditFilter {
        actor: asked.actor.as_deref(),
        action: asked.action.as_deref(),
        object: asked.object.as_deref(),
        since: microseconds("since", asked.since.as_ref())?,
        until: microseconds("until", asked.until.as_ref())?,
    };
    let mut transaction = state.store.read().await?;
    let entries = audit::list(&mut transaction, &filter, before, limit.to_fetch()).await?;
    transaction.rollback().await;
    Ok(limit.page(entries, |(number, _)| *number, view))
}

/// The entries that a request for lines gets, unless it says how many.
const LINES: u32 = 1000;
/// The age from which an entry is given as a line, in microseconds. Entries of changes that are still being made may have smaller numbers than
/// one that is there; no change takes so long.
const SETTLED: i64 = 60_000_000;

/// The place in the audit log from which lines are read.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub struct AuditLinesParams {
    /// After the entry with this number: the last one that was read; 0: from the first.
    #[param(minimum = 0)]
    pub(crate) after: i64,
    /// The most entries.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<u32>,
}

/// An entry as a line.
#[derive(Debug, Serialize)]
pub(crate) struct AuditLine {
    /// The number of the entry.
    pub(crate) number: i64,
    /// The time of the change, in microseconds since 1970.
    #[serde(skip)]
    pub(crate) at: i64,
    /// The entry.
    #[serde(flatten)]
    pub(crate) entry: AuditView,
}

impl AuditLine {
    /// The line as JSON.
    pub(crate) fn to_json(&self) -> String {
        // Texts and numbers, into memory: it cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Entries after the one with this number in their order, as far as none with a smaller number can come any more.
pub(crate) async fn settled(
    transaction: &mut Transaction,
    after: i64,
    limit: i64,
    now: i64,
) -> Result<Vec<AuditLine>, StoreError> {
    let until = now.saturating_sub(SETTLED);
    let entries = audit::after(transaction, after, limit).await?.into_iter();
    let settled = entries.take_while(|(_, entry)| entry.at < until);
    let lines = settled.map(|of| AuditLine {
        number: of.0,
        at: of.1.at,
        entry: view(of),
    });
    Ok(lines.collect())
}

/// Changes in their order, as JSON lines, for a collector that reads on from the last number. A change is there after a minute.
pub async fn lines(
    state: &ConsoleState,
    caller: &Caller,
    asked: AuditLinesParams,
) -> Result<String, ApiProblem> {
    caller.must(rights::SEE_AUDIT)?;
    let limit = asked.limit.unwrap_or(LINES);
    if !(1..=LINES).contains(&limit) {
        return Err(ApiProblem::bad("limit must be a number from 1 to 1000"));
    }
    if asked.after < 0 {
        return Err(ApiProblem::bad(
            "after must be the number of an entry, or 0",
        ));
    }
    let mut transaction = state.store.read().await?;
    let lines = settled(&mut transaction, asked.after, limit.into(), state.now()).await?;
    transaction.rollback().await;
    Ok(lines.iter().map(|line| line.to_json() + "\n").collect())
}
