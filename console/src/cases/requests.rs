//! Recent requests.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::caller::Caller;
use super::fields::microseconds;
use super::paging::{ItemPage, PageParams, cursor};
use super::problem::ApiProblem;
use super::rights;
use super::state::ConsoleState;
use crate::store::requests::{self, RequestColumn, RequestPlace, RequestQuery, StoredRequest};

/// The filters of a list of requests.
#[derive(Debug, Default, Clone, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub struct RequestParams {
    /// Of this key only.
    pub(crate) key: Option<String>,
    /// Of this owner only.
    pub(crate) owner: Option<String>,
    /// Of keys of this team only.
    pub(crate) team: Option<String>,
    /// Of keys of this group only.
    pub(crate) group: Option<String>,
    /// Of this model only.
    pub(crate) model: Option<String>,
    /// Selects requests that went to this upstream account, or to it last.
    pub(crate) account: Option<String>,
    /// With this outcome only.
    pub(crate) outcome: Option<String>,
    /// With this status only, such as 429, or with one of a class, such as 4xx. 0: none was sent.
    #[param(pattern = "^([0-9]{1,3}|[1-5]xx)$")]
    pub(crate) status: Option<String>,
    /// Selects requests that began from this moment on, as RFC 3339.
    pub(crate) since: Option<String>,
    /// Selects requests that began before this moment.
    pub(crate) until: Option<String>,
}

impl RequestParams {
    /// The values that no index leads to.
    fn columns(&self) -> Result<Vec<(RequestColumn, &str)>, ApiProblem> {
        let named = [
            (RequestColumn::Team, &self.team),
            (RequestColumn::Group, &self.group),
            (RequestColumn::Model, &self.model),
            (RequestColumn::Account, &self.account),
            (RequestColumn::Outcome, &self.outcome),
        ];
        let named = named.into_iter();
        let named = named.filter_map(|(column, value)| Some((column, value.as_deref()?)));
        let mut all: Vec<_> = named.collect();
        if let Some(status) = &self.status {
            let class = status.strip_suffix("xx");
            let is_class = |class: &str| ["1", "2", "3", "4", "5"].contains(&class);
            let is_status =
                (1..=3).contains(&status.len()) && status.bytes().all(|b| b.is_ascii_digit());
            match class {
                Some(class) if is_class(class) => all.push((RequestColumn::StatusClass, class)),
                None if is_status => all.push((RequestColumn::Status, status)),
                _ => {
                    let why = text!("status must be one such as 429, or a class such as 4xx");
                    return Err(ApiProblem::bad(why));
                }
            }
        }
        Ok(all)
    }
}

/// A request.
#[derive(Debug, Serialize, ToSchema)]
pub struct RequestView {
    /// The id of the request in this console.
    pub(crate) id: String,
    /// The Envoy that served it.
    pub(crate) envoy: String,
    /// The ledger line.
    #[schema(value_type = Object)]
    pub(crate) line: Value,
}

/// A line of the ledger, as a request.
pub(super) fn view(line: StoredRequest) -> RequestView {
    RequestView {
        id: line.place().to_string(),
        envoy: line.envoy_id,
        // It could be read when it came; bytes that are no UTF-8 have been replaced since.
        line: serde_json::from_str(&line.line).unwrap_or(Value::String(line.line)),
    }
}

/// The members of a line that say what a request cost its operator.
const COSTS: [&str; 3] = [
    "trilane.cost",
    "trilane.cost_factor",
    "trilane.usage.reported_cost",
];

/// A line without what the request cost its operator, for those who pay for it.
pub(super) fn without_cost(mut request: StoredRequest) -> StoredRequest {
    if let Ok(Value::Object(mut members)) = serde_json::from_str(&request.line) {
        members.retain(|name, _| !COSTS.contains(&name.as_str()));
        request.line = Value::Object(members).to_string();
    }
    request
}

/// The latest requests, as far as their lines are kept. Members see their own, managers those of their `team`. A page looks at some thousand requests at most: where
/// few are as asked for it may be short, or empty, and `next` goes on from there.
pub async fn list(
    state: &ConsoleState,
    caller: &Caller,
    asked: RequestParams,
    page: PageParams,
) -> Result<ItemPage<RequestView>, ApiProblem> {
    caller.must(rights::SEE_REQUESTS)?;
    let limit = page.limit()?;
    let columns = asked.columns()?;
    let names = [&asked.key, &asked.owner].into_iter().flatten();
    let mut names = names
        .map(String::as_str)
        .chain(columns.iter().map(|of| of.1));
    if names.any(|name| name.contains('\0')) {
        return Err(ApiProblem::bad(text!("no name has a zero byte")));
    }
    let only = caller.only_owner_in(asked.team.as_deref());
    if let (Some(only), Some(owner)) = (only, &asked.owner)
        && only != owner
    {
        return Err(ApiProblem::forbidden(text!(
            "members see their own requests"
        )));
    }
    let before: Option<RequestPlace> = page.after()?;
    let query = RequestQuery {
        key: asked.key.as_deref(),
        owner: only.or(asked.owner.as_deref()),
        since: microseconds("since", asked.since.as_ref())?,
        until: microseconds("until", asked.until.as_ref())?,
        with: columns,
        before: before.as_ref(),
        limit: limit.to_fetch(),
    };
    let mut transaction = state.store.read().await?;
    let found = requests::recent(&mut transaction, &query).await?;
    transaction.rollback().await;
    let is_payer = caller.only_owner().is_some();
    let shown = |line| view(if is_payer { without_cost(line) } else { line });
    let mut page = limit.page(found.lines, StoredRequest::place, shown);
    if page.next.is_none() {
        page.next = found.searched_to.as_ref().map(cursor);
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_pays_is_not_told_what_it_cost() {
        let line = |text: &str| {
            let line = text.to_owned();
            let request = StoredRequest {
                line,
                ..StoredRequest::default()
            };
            without_cost(request).line
        };
        let told = r#"{"trilane.charge":"2","trilane.cost":"1","trilane.cost_factor":"0.5000","trilane.usage.reported_cost":"1"}"#;
        assert_eq!(line(told), r#"{"trilane.charge":"2"}"#);
        assert_eq!(line("{"), "{", "what cannot be read stays");
    }
}
