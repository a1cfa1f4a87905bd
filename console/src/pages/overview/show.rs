//! The page, and the part of it that is live.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use http::Method;
use time::OffsetDateTime;

use super::attention::Fleet;
use super::first_bytes;
use super::today::Today;
use crate::api::parts::Params;
use crate::api::usage::{UsageParams, UsageView};
use crate::api::usage_top::{self, TopColumn, TopParams};
use crate::api::{Caller, ConsoleState};
use crate::pages::chart::Chart;
use crate::pages::usage::charts;
use crate::pages::{PageProblem, PageShell, SignedIn, live, page, periods, text};
use crate::timestamp;
use crate::timestamp::moment;

/// The days that charts go back.
const DAYS: i64 = 30;
/// The keys that are shown.
const KEYS: u8 = 8;

/// The live part.
#[derive(Template)]
#[template(path = "overview_live.html")]
struct OverviewPart {
    today: Today,
    fleet: Fleet,
}

/// A key with what it has spent.
struct TopKey {
    id: String,
    path: String,
    spent: String,
    requests: String,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    shell: PageShell,
    part: String,
    keys: Vec<TopKey>,
    charts: Vec<Chart>,
}

/// Returns the caller, if the role may see the overview.
fn caller(signed_in: &SignedIn) -> Result<Caller, PageProblem> {
    signed_in.api(Method::GET, "/api/v1/first-bytes")?;
    signed_in.api(Method::GET, "/api/v1/attempts")?;
    signed_in.api(Method::GET, "/api/v1/envoys")?;
    signed_in.api(Method::GET, "/api/v1/credentials")?;
    signed_in.api(Method::GET, "/api/v1/account-tests")?;
    signed_in.api(Method::GET, "/api/v1/budgets/nearly-spent")?;
    signed_in.api(Method::GET, "/api/v1/usage")
}

async fn part(state: &ConsoleState, caller: &Caller) -> Result<String, PageProblem> {
    let make = async || {
        let part = OverviewPart {
            today: Today::read(state, caller, &moment(state.now())).await?,
            fleet: Fleet::read(state).await?,
        };
        Ok::<_, PageProblem>(part.render()?)
    };
    Ok(state.live.shared(make).await?.to_string())
}

fn key(view: UsageView) -> TopKey {
    let id = view.values.get("key").cloned().unwrap_or_default();
    TopKey {
        path: format!("/keys/{}", text::in_path(&id)),
        spent: text::amount(&view.currency, &view.charge),
        requests: text::count(view.count("requests")),
        id,
    }
}

/// The keys that have spent most today, in each currency of the charts.
async fn top_keys(
    state: &ConsoleState,
    caller: &Caller,
    charts: &[Chart],
    day: &str,
) -> Result<Vec<TopKey>, PageProblem> {
    let mut keys = Vec::new();
    for currency in charts.iter().filter_map(|chart| chart.currency.as_ref()) {
        let asked = TopParams {
            by: TopColumn::Key,
            currency: currency.clone(),
            since: Some(day.to_owned()),
            until: None,
            limit: Some(KEYS),
        };
        let found = usage_top::list(State(state.clone()), caller.clone(), Params(asked)).await?;
        keys.extend(found.0.items.into_iter().map(key));
    }
    Ok(keys)
}

/// The overview. Whoever may not see it begins with what is their own.
pub async fn show(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    RawQuery(query): RawQuery,
) -> Result<Response, PageProblem> {
    let Ok(caller) = caller(&signed_in) else {
        // What was just done is told there.
        let query = query.map_or_else(String::new, |query| format!("?{query}"));
        return Ok(Redirect::to(&format!("/me{query}")).into_response());
    };
    let now = moment(state.now());
    let today = timestamp::parse(&now).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let first = today.saturating_sub(time::Duration::days(DAYS.saturating_sub(1)));
    let since = first.date().to_string();
    let asked = UsageParams {
        since: Some(since.clone()),
        ..UsageParams::default()
    };
    let mut drawn = charts::charts(&state, &caller, &asked, &now).await?;
    let keys = top_keys(&state, &caller, &drawn, now.get(..10).unwrap_or_default()).await?;
    let end = today.saturating_add(time::Duration::DAY);
    let days = periods::between(first, end, "day");
    drawn.extend(first_bytes::chart(&state, &since, &days).await?);
    page(&OverviewPage {
        part: part(&state, &caller).await?,
        shell: signed_in.shell("Overview"),
        keys,
        charts: drawn,
    })
}

/// The live part, again whenever it is another one.
pub async fn live(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
) -> Result<Response, PageProblem> {
    let caller = caller(&signed_in)?;
    let of = state.clone();
    live::events(&state, signed_in, move || {
        let (state, caller) = (of.clone(), caller.clone());
        async move { part(&state, &caller).await }
    })
}
