//! The recent requests.

use std::borrow::Cow;

use askama::Template;
use axum::extract::RawQuery;

use trilane::ledger::Ending;

use super::row::RequestRow;
use crate::cases::paging::PageParams;
use crate::cases::requests::{self, RequestParams};
use crate::cases::rights;
use crate::cases::{Caller, ConsoleState};
use crate::language::translated;
use crate::pages::form::Fields;
use crate::pages::ledger_words::outcome;
use crate::pages::{PageProblem, PageResult, PageShell, Visit, live, page, text};

/// The requests of a page.
const ROWS: u16 = 50;

/// The filters of requests, beside time, status and outcome.
const FILTERS: [(&str, &str); 6] = [
    ("key", text!("Key id")),
    ("owner", text!("Owner")),
    ("team", text!("Team")),
    ("group", text!("Group")),
    ("model", text!("Model")),
    ("account", text!("Account")),
];

/// The statuses that are offered; any other may stand in the address.
const STATUSES: [(&str, &str); 10] = [
    ("2xx", text!("2xx good")),
    ("4xx", text!("4xx all")),
    ("5xx", text!("5xx all")),
    ("0", text!("No answer")),
    ("400", "400"),
    ("401", "401"),
    ("404", "404"),
    ("429", "429"),
    ("502", "502"),
    ("503", "503"),
];

/// A query for requests and its result.
struct ListedRequests {
    rows: Vec<RequestRow>,
    next: Option<String>,
    /// The page's path with its filters, to which a cursor is added.
    path: String,
    is_filtered: bool,
    /// Whether this is not the first page.
    is_later: bool,
    is_everybodys: bool,
}

#[derive(Template)]
#[template(path = "requests.html")]
struct RequestsPage {
    shell: PageShell,
    fields: Fields,
    found: ListedRequests,
    /// The path that streams the rows as they change.
    live: String,
}

#[derive(Template)]
#[template(path = "requests_rows.html")]
struct RequestRows {
    found: ListedRequests,
}

impl RequestsPage {
    fn filters(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let is_everybodys = self.found.is_everybodys;
        let filters = FILTERS.into_iter();
        filters.filter(move |(name, _)| is_everybodys || !["owner", "account"].contains(name))
    }

    fn outcomes(&self) -> impl Iterator<Item = (&'static str, Cow<'static, str>)> {
        let names = Ending::ALL.into_iter().map(Ending::name);
        names.map(|name| (name, outcome(name)))
    }

    /// The statuses, and the one that the address names.
    fn statuses(&self) -> Vec<(String, String)> {
        let known = STATUSES.into_iter();
        let mut all: Vec<(String, String)> = known
            .map(|(value, title)| (value.to_owned(), translated(title).into_owned()))
            .collect();
        let asked = self.fields.get("status");
        if !asked.is_empty() && !all.iter().any(|(value, _)| value == asked) {
            all.push((asked.to_owned(), asked.to_owned()));
        }
        all
    }
}

/// The path with the filters of a query, to which more can be added, and whether there are any.
fn filtered(page: &str, fields: &Fields) -> (String, bool) {
    let names = FILTERS.into_iter().map(|(name, _)| name);
    fields.filtered(page, names.chain(["status", "outcome", "since", "until"]))
}

async fn find(
    state: &ConsoleState,
    caller: &Caller,
    fields: &Fields,
) -> Result<ListedRequests, PageProblem> {
    let moment = |name: &str| fields.given(name).map(|typed| text::from_local(&typed));
    let params = RequestParams {
        key: fields.given("key"),
        owner: fields.given("owner"),
        team: fields.given("team"),
        group: fields.given("group"),
        model: fields.given("model"),
        account: fields.given("account"),
        outcome: fields.given("outcome"),
        status: fields.given("status"),
        since: moment("since"),
        until: moment("until"),
    };
    let cursor = fields.given("cursor");
    let (path, is_filtered) = filtered("/requests", fields);
    let is_everybodys = caller.only_owner().is_none();
    let is_later = cursor.is_some();
    let place = PageParams::at(cursor, ROWS);
    let found = requests::list(state, caller, params, place).await?;
    Ok(ListedRequests {
        rows: RequestRow::all(state, caller, &found.items).await?,
        next: found.next,
        path,
        is_filtered,
        is_later,
        is_everybodys,
    })
}

/// The recent requests, as filtered.
pub async fn list(Visit { state, signed_in }: Visit, fields: Fields) -> PageResult {
    let found = find(&state, &signed_in.caller, &fields).await?;
    page(&RequestsPage {
        shell: signed_in.shell(t!("Requests")),
        live: filtered("/live/requests", &fields).0,
        fields,
        found,
    })
}

/// The rows alone, again whenever they are others.
pub async fn live(Visit { state, signed_in }: Visit, RawQuery(query): RawQuery) -> PageResult {
    signed_in.caller.must(rights::SEE_REQUESTS)?;
    let fields = Fields::parse(query.unwrap_or_default().as_bytes());
    let (of, who) = (state.clone(), signed_in.caller.clone());
    live::events(&state, signed_in, move || {
        let (state, caller, fields) = (of.clone(), who.clone(), fields.clone());
        async move {
            let found = find(&state, &caller, &fields).await?;
            Ok(RequestRows { found }.render()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_filters() {
        for (query, path, is_filtered) in [
            ("", "/requests?", false),
            ("cursor=a&notice=b", "/requests?", false),
            (
                "status=4xx&model=a%26b&cursor=1",
                "/requests?model=a%26b&status=4xx&",
                true,
            ),
        ] {
            let fields = Fields::parse(query.as_bytes());
            let got = filtered("/requests", &fields);
            assert_eq!(got, (path.to_owned(), is_filtered), "{query}");
        }
    }
}
