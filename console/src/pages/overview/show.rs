//! The page, and the part of it that is live.

use askama::Template;
use axum::extract::RawQuery;
use axum::response::{IntoResponse as _, Redirect};
use time::OffsetDateTime;
use trilane::limits::SubjectKind;

use super::attention::Fleet;
use super::first_bytes;
use super::today::Today;
use crate::cases::hour_counts::CountPeriod;
use crate::cases::names::{Name, Names, WantedNames};
use crate::cases::rights::{self, Right};
use crate::cases::usage::{UsageParams, UsageView};
use crate::cases::usage_top::{self, TopParams};
use crate::cases::{Caller, ConsoleState};
use crate::ledger::UsageColumn;
use crate::pages::chart::Chart;
use crate::pages::usage::charts;
use crate::pages::{
    PageProblem, PageResult, PageShell, ShownAmount, Visit, live, page, periods, text,
};
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
    name: Name,
    path: String,
    spent: ShownAmount,
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

/// The rights of those who see the overview.
const SEEN: [Right; 5] = [
    rights::SEE_COUNTS,
    rights::SEE_ENVOYS,
    rights::SEE_CREDENTIALS,
    rights::SEE_BUDGETS,
    rights::SEE_USAGE,
];

async fn part(state: &ConsoleState, caller: &Caller) -> Result<String, PageProblem> {
    let make = async || {
        let part = OverviewPart {
            today: Today::read(state, caller).await?,
            fleet: Fleet::read(state, caller).await?,
        };
        Ok::<_, PageProblem>(part.render()?)
    };
    Ok(state.live.shared(make).await?.to_string())
}

/// The id of the key that a row is of.
fn key_of(view: &UsageView) -> &str {
    view.values.get("key").map_or("", String::as_str)
}

fn key(view: &UsageView, names: &Names) -> TopKey {
    let name = names.key(key_of(view));
    TopKey {
        path: format!("/keys/{}", text::in_path(&name.id)),
        spent: ShownAmount::of(&view.currency, &view.charge),
        requests: text::count(view.count("requests")),
        name,
    }
}

/// The keys that have spent most today, in each currency of the charts.
async fn top_keys(
    state: &ConsoleState,
    caller: &Caller,
    charts: &[Chart],
    day: &str,
) -> Result<Vec<TopKey>, PageProblem> {
    let mut found = Vec::new();
    for currency in charts.iter().filter_map(|chart| chart.currency.as_ref()) {
        let asked = TopParams {
            by: UsageColumn::Key,
            currency: currency.clone(),
            since: Some(day.to_owned()),
            until: None,
            limit: Some(KEYS),
        };
        found.extend(usage_top::list(state, caller, asked).await?.items);
    }
    let mut wanted = WantedNames::default();
    wanted.all(SubjectKind::Key, found.iter().map(key_of));
    let names = wanted.find(state, caller).await?;
    Ok(found.iter().map(|view| key(view, &names)).collect())
}

/// The overview. Whoever may not see it begins with what is their own.
pub async fn show(Visit { state, signed_in }: Visit, RawQuery(query): RawQuery) -> PageResult {
    let caller = &signed_in.caller;
    if !SEEN.into_iter().all(|right| caller.may(right)) {
        // What was just done is told there.
        let query = query.map_or_else(String::new, |query| format!("?{query}"));
        return Ok(Redirect::to(&format!("/me{query}")).into_response());
    }
    let now = moment(state.now());
    let today = timestamp::parse(&now).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let first = today.saturating_sub(time::Duration::days(DAYS.saturating_sub(1)));
    let since = first.date().to_string();
    let asked = UsageParams {
        since: Some(since.clone()),
        ..UsageParams::default()
    };
    let mut drawn = charts::charts(&state, caller, &asked, &now).await?;
    let keys = top_keys(&state, caller, &drawn, now.get(..10).unwrap_or_default()).await?;
    let end = today.saturating_add(time::Duration::DAY);
    let days = periods::between(first, end, CountPeriod::Day);
    drawn.extend(first_bytes::chart(&state, caller, &since, &days).await?);
    page(&OverviewPage {
        part: part(&state, caller).await?,
        shell: signed_in.shell("Overview"),
        keys,
        charts: drawn,
    })
}

/// The live part, again whenever it is another one.
pub async fn live(Visit { state, signed_in }: Visit) -> PageResult {
    for right in SEEN {
        signed_in.caller.must(right)?;
    }
    let (of, who) = (state.clone(), signed_in.caller.clone());
    live::events(&state, signed_in, move || {
        let (state, caller) = (of.clone(), who.clone());
        async move { part(&state, &caller).await }
    })
}
