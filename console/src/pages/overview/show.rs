//! The page, and the part of it that is live.

use askama::Template;
use axum::extract::RawQuery;
use axum::response::{IntoResponse as _, Redirect};
use time::{Duration, OffsetDateTime};
use trilane::limits::SubjectKind;

use super::attention::Fleet;
use super::first_bytes;
use super::range::OverviewRange;
use super::totals::RangeTotals;
use crate::cases::names::{Name, Names, WantedNames};
use crate::cases::paging::PageParams;
use crate::cases::rights::{self, Right};
use crate::cases::usage::{self, UsageParams, UsageView};
use crate::cases::usage_top::{self, TopParams};
use crate::cases::{Caller, ConsoleState};
use crate::ledger::UsageColumn;
use crate::pages::chart::Chart;
use crate::pages::form::Fields;
use crate::pages::usage::charts;
use crate::pages::{
    PageProblem, PageResult, PageShell, ShownAmount, Visit, live, page, periods, text,
};
use crate::timestamp;

/// The keys that are shown.
const KEYS: u8 = 8;
/// For so long what there is is young: it is drawn by hour in each range.
const YOUNG: Duration = Duration::hours(47);

/// The live part.
#[derive(Template)]
#[template(path = "overview_live.html")]
struct OverviewPart {
    totals: RangeTotals,
    fleet: Fleet,
    range: OverviewRange,
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
    range: OverviewRange,
    /// The beginning of the range, as RFC 3339.
    since: String,
    /// The day with which it begins, if it begins with a day.
    day: Option<String>,
    part: String,
    /// `None`: too many keys were used in this time to rank them.
    keys: Option<Vec<TopKey>>,
    keys_path: String,
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

impl OverviewPage {
    fn ranges(&self) -> [OverviewRange; OverviewRange::ALL.len()] {
        OverviewRange::ALL
    }
}

async fn part(
    state: &ConsoleState,
    caller: &Caller,
    range: OverviewRange,
) -> Result<String, PageProblem> {
    let make = async || {
        let since = range.since(state.time());
        let part = OverviewPart {
            totals: RangeTotals::read(state, caller, &since).await?,
            fleet: Fleet::read(state, caller).await?,
            range,
        };
        Ok::<_, PageProblem>(part.render()?)
    };
    Ok(state.live.shared(range.name(), make).await?.to_string())
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

/// The keys that have spent most since an hour or a day, in each currency of the charts; `None`: too many keys were used.
async fn top_keys(
    state: &ConsoleState,
    caller: &Caller,
    charts: &[Chart],
    since: &str,
) -> Result<Option<Vec<TopKey>>, PageProblem> {
    let mut found = Vec::new();
    for currency in charts.iter().filter_map(|chart| chart.currency.as_ref()) {
        let asked = TopParams {
            by: UsageColumn::Key,
            currency: currency.clone(),
            since: Some(since.to_owned()),
            until: None,
            limit: Some(KEYS),
        };
        match usage_top::soon(state, caller, asked).await? {
            Some(of_currency) => found.extend(of_currency.items),
            None => return Ok(None),
        }
    }
    let mut wanted = WantedNames::default();
    wanted.all(SubjectKind::Key, found.iter().map(key_of));
    let names = wanted.find(state, caller).await?;
    Ok(Some(found.iter().map(|view| key(view, &names)).collect()))
}

/// The charts since an hour or a day: by hour while what there is is young, else by day.
async fn charts_since(
    state: &ConsoleState,
    caller: &Caller,
    mut since: String,
    now: OffsetDateTime,
) -> Result<Vec<Chart>, PageProblem> {
    let by_hour = UsageParams {
        by: "hour".to_owned(),
        since: Some(since.clone()),
        ..UsageParams::default()
    };
    let first = usage::list(state, caller, by_hour, PageParams::first(1)).await?;
    let first = first.items.first().and_then(|view| view.values.get("hour"));
    let young = timestamp::hour(now.saturating_sub(YOUNG));
    if let Some(first) = first
        && *first >= young
        && since < young
    {
        first.clone_into(&mut since);
    }
    let asked = UsageParams {
        since: Some(since.clone()),
        ..UsageParams::default()
    };
    let mut drawn = charts::charts(state, caller, &asked, &timestamp::text(now)).await?;
    let first = periods::at(&since).unwrap_or(now);
    let hours = now.unix_timestamp().saturating_sub(first.unix_timestamp());
    let length = periods::length(hours.div_euclid(3600));
    let of_charts = periods::between(first, now, length);
    drawn.extend(first_bytes::chart(state, caller, &since, length, &of_charts).await?);
    Ok(drawn)
}

/// The overview. Whoever may not see it begins with what is their own.
pub async fn show(Visit { state, signed_in }: Visit, RawQuery(query): RawQuery) -> PageResult {
    let caller = &signed_in.caller;
    if !SEEN.into_iter().all(|right| caller.may(right)) {
        // What was just done is told there.
        let query = query.map_or_else(String::new, |query| format!("?{query}"));
        return Ok(Redirect::to(&format!("/me{query}")).into_response());
    }
    let range = asked_range(query.as_deref());
    let now = state.time();
    let since = range.since(now);
    let charts = charts_since(&state, caller, since.clone(), now).await?;
    page(&OverviewPage {
        part: part(&state, caller, range).await?,
        shell: signed_in.shell(t!("Overview")),
        range,
        keys: top_keys(&state, caller, &charts, &since).await?,
        keys_path: text::path_with("/usage", &[("by", "key"), ("since", &since)]),
        charts,
        day: (!since.contains('T')).then(|| since.clone()),
        since: periods::at(&since).map_or(since, timestamp::text),
    })
}

/// The range that an address asks for.
fn asked_range(query: Option<&str>) -> OverviewRange {
    let fields = Fields::parse(query.unwrap_or_default().as_bytes());
    OverviewRange::named(fields.get("range"))
}

/// The live part, again whenever it is another one.
pub async fn live(Visit { state, signed_in }: Visit, RawQuery(query): RawQuery) -> PageResult {
    let range = asked_range(query.as_deref());
    for right in SEEN {
        signed_in.caller.must(right)?;
    }
    let (of, who) = (state.clone(), signed_in.caller.clone());
    live::events(&state, signed_in, move || {
        let (state, caller) = (of.clone(), who.clone());
        async move { part(&state, &caller, range).await }
    })
}
