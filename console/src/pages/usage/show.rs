//! The page.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::asked::{Asked, COLUMNS, FILTERS};
use super::charts;
use crate::api::paging::PageParams;
use crate::api::parts::Params;
use crate::api::usage::{self, UsageParams, UsageView};
use crate::api::{ConsoleState, moment};
use crate::pages::chart::Chart;
use crate::pages::form::Fields;
use crate::pages::{PageProblem, PageShell, SignedIn, page, text};

/// The rows of a page.
const ROWS: u16 = 100;

/// What every row counts: the API's name, and the title.
const COUNTS: [(&str, &str); 9] = [
    ("requests", "Requests"),
    ("failed", "Failed"),
    ("input", "Input"),
    ("cache_read", "Cache read"),
    ("cache_write_5m", "Cache write 5 min"),
    ("cache_write_1h", "Cache write 1 h"),
    ("output", "Output"),
    ("reasoning", "Reasoning"),
    ("images", "Images"),
];

/// A value that rows are grouped by, and the page of only those.
struct Value {
    text: String,
    narrowed: Option<String>,
}

struct Row {
    values: Vec<Value>,
    counts: Vec<String>,
    charge: String,
    estimated: Option<String>,
}

#[derive(Template)]
#[template(path = "usage.html")]
struct UsagePage {
    shell: PageShell,
    fields: Fields,
    by: Vec<&'static str>,
    titles: Vec<&'static str>,
    rows: Vec<Row>,
    totals: Vec<Row>,
    charts: Vec<Chart>,
    next: Option<String>,
    path: String,
    file: String,
    all: String,
    is_filtered: bool,
    is_everybodys: bool,
}

impl UsagePage {
    fn columns(&self) -> [(&'static str, &'static str); COLUMNS.len()] {
        COLUMNS
    }

    fn filters(&self) -> [(&'static str, &'static str); FILTERS.len()] {
        FILTERS
    }

    fn counts(&self) -> [(&'static str, &'static str); COUNTS.len()] {
        COUNTS
    }
}

fn row(asked: &Asked, view: &UsageView, by: &[&'static str]) -> Row {
    let values = by.iter().map(|name| {
        let text = view.values.get(name).cloned().unwrap_or_default();
        let can_narrow = !text.is_empty() && FILTERS.iter().any(|(of, _)| of == name);
        Value {
            narrowed: can_narrow.then(|| asked.path("/usage", &[(name, &text)])),
            text: text.replace('T', if *name == "hour" { " " } else { "T" }),
        }
    });
    let counts = COUNTS.iter().map(|(name, _)| {
        let count = i64::try_from(view.count(name)).unwrap_or(i64::MAX);
        text::number(&count)
    });
    let is_charged = !view.currency.is_empty();
    let estimated = is_charged && view.estimated_charge != "0";
    Row {
        values: values.collect(),
        counts: counts.collect(),
        charge: if is_charged {
            text::amount(&view.currency, &view.charge)
        } else {
            String::new()
        },
        estimated: estimated.then(|| text::amount(&view.currency, &view.estimated_charge)),
    }
}

/// Usage as asked for.
pub async fn show(
    State(state): State<ConsoleState>,
    signed_in: SignedIn,
    RawQuery(query): RawQuery,
) -> Result<Response, PageProblem> {
    let caller = Asked::caller(&signed_in)?;
    let now = moment(state.now());
    let asked = Asked::parse(&query.unwrap_or_default(), &now);
    let place = PageParams {
        cursor: asked.fields.given("cursor"),
        limit: Some(ROWS),
    };
    let found = usage::list(
        State(state.clone()),
        caller.clone(),
        Params(asked.params.clone()),
        Params(place),
    );
    let found = found.await?.0;
    let in_all = UsageParams {
        by: String::new(),
        ..asked.params.clone()
    };
    let totals = usage::list(
        State(state.clone()),
        caller.clone(),
        Params(in_all),
        Params(PageParams::default()),
    );
    let totals = totals.await?.0.items;
    let titles = asked.by.iter().map(|name| {
        let column = COLUMNS.iter().find(|(of, _)| of == name);
        column.map_or(*name, |(_, title)| *title)
    });
    page(&UsagePage {
        shell: signed_in.shell("Usage"),
        titles: titles.collect(),
        rows: found
            .items
            .iter()
            .map(|view| row(&asked, view, &asked.by))
            .collect(),
        totals: totals.iter().map(|view| row(&asked, view, &[])).collect(),
        charts: charts::charts(&state, &caller, &asked.params, &now).await?,
        next: found.next,
        path: format!("{}&", asked.path("/usage", &[])),
        file: asked.path("/usage.csv", &[]),
        all: asked.path("/usage", &FILTERS.map(|(name, _)| (name, ""))),
        is_filtered: asked.is_filtered(),
        is_everybodys: caller.only_owner().is_none(),
        by: asked.by,
        fields: asked.fields,
    })
}
